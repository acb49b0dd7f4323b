//! Rewrites a session for another place: session and project change, everything else stays as it is.
//!
//! It never writes a file: that is the engine's.

use sha2::{Digest as _, Sha256};
use stemmata_model::{Note, NoteCode, Part};

use super::client::RESUME;
use super::encode::header;
use super::part::response;
use super::record::{Call, Kind, Record, apart, elements};
use crate::adapter::{ClientPlace, PlaceRequest, Placer};
use crate::apart::each;
use crate::json::{Object, is_string, owned, push_line, quote, text};
use crate::lines::iso;
use crate::placing::{CLOSED, CLOSED_TEXT, Edit, TORN, counted, put, replace, unreadable};

/// Characters of a session's id that its file is named by.
const NAME_ID_CHARS: usize = 8;

/// Says where Gemini CLI looks for a session, and how to start it.
///
/// The client names a project's folder in its `projects.json`; which name it gave only that file says. This is the one
/// that it gives to the first project whose directory is called so.
pub(super) fn client_place(request: &PlaceRequest) -> ClientPlace {
    let session = request.session.as_str();
    let at = request.at.to_string();
    let minute = at.get(0..16).unwrap_or("1970-01-01T00:00").replace(':', "-");
    let id = name_of(session);
    let path = ["tmp", &short_name(&request.cwd), "chats", &format!("session-{minute}-{id}.jsonl")];
    ClientPlace {
        relative_path: path.map(str::to_owned).to_vec(),
        resume_command: RESUME.words(&request.session),
        import_command: RESUME.import_words(),
    }
}

/// Returns the part of a session's id that its file is named by.
pub(super) fn name_of(session: &str) -> &str {
    session.char_indices().nth(NAME_ID_CHARS).map_or(session, |(end, _)| session.split_at(end).0)
}

/// Returns the name that the client gives to a project.
fn short_name(cwd: &str) -> String {
    let last = cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    let mut name = String::new();
    for character in last.to_lowercase().chars() {
        if character.is_ascii_alphanumeric() {
            name.push(character);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "project".to_owned() } else { name.to_owned() }
}

/// Returns what the client calls the project of a directory.
pub(super) fn project_hash(cwd: &str) -> String {
    Sha256::digest(cwd.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Rewrites a session line by line.
pub(super) struct LinePlacer {
    request: PlaceRequest,
    /// The session that the transcript was.
    origin: Option<String>,
    has_header: bool,
    messages: u64,
    /// Calls without a result so far, and their tools.
    open: Vec<(String, String)>,
    dropped_tails: u64,
    named: u64,
}

impl LinePlacer {
    /// Starts with nothing written.
    pub(super) fn new(request: &PlaceRequest) -> Self {
        Self {
            request: request.clone(),
            origin: None,
            has_header: false,
            messages: 0,
            open: Vec::new(),
            dropped_tails: 0,
            named: 0,
        }
    }

    fn record(&mut self, line: &[u8], record: &Record<'_>, out: &mut Vec<u8>) {
        let mut edits = Vec::new();
        match record.kind {
            Kind::Header => {
                if !self.has_header {
                    self.origin = owned(record.fields.session_id);
                }
                self.has_header = true;
                edits = self.header_edits(record);
            }
            _ if !self.has_header => {
                self.has_header = true;
                let made = header(self.request.session.as_str(), &self.request.cwd, self.request.at);
                push_line(out, &made);
            }
            _ => {}
        }
        if matches!(record.kind, Kind::User | Kind::Gemini) {
            self.messages += 1;
            if record.fields.id.and_then(|id| id.text()).is_none() {
                edits.extend(self.id_edit(record));
            }
            self.track(record);
        }
        if record.checkpoint().is_some() {
            self.open.clear();
        }
        // The client writes its session's name again when it resumes, and goes by the last one.
        if let Some(session) = record.set.and_then(|set| set.session_id) {
            edits.push((session.span(), quote(self.request.session.as_str())));
        }
        replace(line, edits, out);
        if !line.ends_with(b"\n") {
            out.push(b'\n');
        }
    }

    fn header_edits(&self, record: &Record<'_>) -> Vec<Edit> {
        let fields = &record.fields;
        let wanted = [
            ("sessionId", fields.session_id, quote(self.request.session.as_str())),
            ("projectHash", fields.project_hash, quote(&project_hash(&self.request.cwd))),
        ];
        let mut edits = put((record.whole.raw().as_bytes(), 0), wanted);
        // A session of its own: the client does not list those of subagents.
        let kind = fields.session_kind.filter(|kind| is_string(*kind, "subagent"));
        edits.extend(kind.map(|kind| (kind.span(), quote("main"))));
        edits
    }

    /// Gives an id to a message that the loader would not take.
    fn id_edit(&mut self, record: &Record<'_>) -> Vec<Edit> {
        self.named += 1;
        put((record.whole.raw().as_bytes(), 0), [("id", record.fields.id, quote(&self.made_id()))])
    }

    fn made_id(&self) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.request.seed);
        hasher.update(&self.messages.to_le_bytes());
        hasher.finalize().to_hex().split_at(32).0.to_owned()
    }

    /// Follows which calls have no result yet.
    fn track(&mut self, record: &Record<'_>) {
        for call in elements(record.fields.tool_calls) {
            let Ok(call) = Call::read(call) else { continue };
            let (Some(id), Some(name)) = (text(call.id), text(call.name)) else { continue };
            self.open.retain(|(open, _)| *open != id);
            if elements(call.result).is_empty() {
                self.open.push((id.into_owned(), name.into_owned()));
            }
        }
        if record.kind == Kind::User {
            for part in super::part::content(record.fields.content).1 {
                if let Part::ToolResult { call_id, .. } = part {
                    self.open.retain(|(open, _)| *open != call_id);
                }
            }
        }
    }
}

impl Placer for LinePlacer {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        // Of a line that holds several records, each gets a line of its own.
        let taken = each(line, apart, &mut |text, _| {
            Record::parse(text).map(|record| self.record(text, &record, out))
        });
        if taken.is_err() {
            self.dropped_tails += unreadable(line, out);
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Vec<Note> {
        let open = std::mem::take(&mut self.open);
        for (call, name) in &open {
            self.messages += 1;
            let result = response(call, name, true, &[Part::Text(CLOSED_TEXT.to_owned())]).finish();
            let content = format!("[{}]", Object::new().raw("functionResponse", &result).finish());
            let message = Object::new()
                .text("id", &self.made_id())
                .text("timestamp", &iso(self.request.at))
                .text("type", "user")
                .raw("content", &content);
            push_line(out, &message.finish());
        }
        let closed = u64::try_from(open.len()).unwrap_or(u64::MAX);
        counted([
            (self.dropped_tails, NoteCode::TornTail, TORN),
            (self.named, NoteCode::Degraded, ("message", "without an id got one")),
            (closed, NoteCode::SyntheticResult, CLOSED),
        ])
    }
}
