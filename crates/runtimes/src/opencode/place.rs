//! Rewrites a session for another place: every id is new, for a message's id names one message of all sessions.
//!
//! The client imports the file into its database; nothing here touches that.

use std::collections::HashMap;

use stemmata_model::{Note, NoteCode};

use super::client::{RESUME, SECOND_IMPORT};
use super::encode::{closed, encode, millis};
use super::ids::Ids;
use super::record::{Info, Message, Piece, Session, State, info};
use super::{DIALECT, as_told, flat};
use crate::adapter::{ClientPlace, PlaceRequest, Placer, PlanStop};
use crate::document::decode::decode;
use crate::json::{Field, Object, owned, quote, text, without};
use crate::placing::{CLOSED, CLOSED_TEXT, Edit, counted, moved, replace};

type Edits = Vec<Edit>;

/// Says where the file is put, how the client takes it in, and how it goes on.
pub(super) fn client_place(request: &PlaceRequest) -> ClientPlace {
    let session = request.session.as_str();
    ClientPlace {
        relative_path: vec!["stemmata".to_owned(), format!("{session}.json")],
        resume_command: RESUME.words(&request.session),
        import_command: if is_second(request) {
            Some(SECOND_IMPORT.iter().map(|word| (*word).to_owned()).collect())
        } else {
            RESUME.import_words()
        },
    }
}

/// Returns whether the client that will load it is of versions 2.x: its import takes only their form, and others' do not.
fn is_second(request: &PlaceRequest) -> bool {
    let major =
        request.client_version.as_deref().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= 2)
}

/// Rewrites a whole session.
pub(super) struct DocumentPlacer {
    request: PlaceRequest,
    notes: Vec<Note>,
}

impl DocumentPlacer {
    pub(super) fn new(request: &PlaceRequest) -> Self {
        Self { request: request.clone(), notes: Vec::new() }
    }

    fn edits(&mut self, document: Field<'_>) -> Option<Edits> {
        let session = Session::read(document).ok()?;
        let mut work = Work {
            request: &self.request,
            ids: Ids::new(self.request.seed, self.request.at),
            messages: HashMap::new(),
            parts: HashMap::new(),
            edits: Vec::new(),
            closed: 0,
        };
        let about = info(session.info);
        work.put(about.id, self.request.session.as_str());
        work.put(about.directory, &self.request.cwd);
        work.put(about.path, self.request.cwd.trim_start_matches('/'));
        work.put(info(about.location).directory, &self.request.cwd);
        for element in session.messages?.elements()? {
            if flat::of(element).is_some() {
                work.flat(element);
            } else {
                work.message(element);
            }
        }
        if about.location.is_some() {
            // The import looks for the session of which it is a part, and fails where that is not there.
            work.edits
                .extend(session.info.and_then(|info| Some((without(info, "parentID")?, String::new()))));
        }
        // What was taken back goes at the next prompt, here too.
        let revert = info(about.revert);
        for (field, ids) in [(revert.message_id, &work.messages), (revert.part_id, &work.parts)] {
            let new = text(field).and_then(|old| ids.get(old.as_ref()).cloned());
            work.edits.extend(field.zip(new).map(|(field, new)| (field.span(), quote(&new))));
        }
        let (edits, closed) = (work.edits, work.closed);
        self.notes.extend(counted([(closed, NoteCode::SyntheticResult, CLOSED)]));
        Some(edits)
    }
}

struct Work<'r> {
    request: &'r PlaceRequest,
    ids: Ids,
    /// The new id of each message so far.
    messages: HashMap<String, String>,
    /// The new id of each part so far.
    parts: HashMap<String, String>,
    edits: Edits,
    closed: u64,
}

impl Work<'_> {
    fn put(&mut self, field: Option<Field<'_>>, with: &str) {
        let field = field.filter(|field| field.raw().starts_with('"'));
        self.edits.extend(field.map(|field| (field.span(), quote(with))));
    }

    fn moved(&mut self, field: Option<Field<'_>>) {
        let Some(old) = text(field) else { return };
        if let Some(new) = moved(&old, self.request.origin_cwd.as_deref(), &self.request.cwd) {
            self.put(field, &new);
        }
    }

    fn message(&mut self, element: Field<'_>) {
        let fields = Message::read(element).unwrap_or_default();
        let about: Info<'_> = info(fields.info);
        let id = self.ids.next("msg");
        if let Some(old) = owned(about.id) {
            self.messages.insert(old, id.clone());
        }
        let session = self.request.session.to_string();
        if let Some(object) = fields.info.filter(|info| info.raw().starts_with('{')) {
            self.name(object, [("id", about.id, &id), ("sessionID", about.session_id, &session)]);
        }
        let parent = text(about.parent_id).and_then(|parent| self.messages.get(parent.as_ref()).cloned());
        if let Some(parent) = parent {
            self.put(about.parent_id, &parent);
        }
        let path = info(about.path);
        self.moved(path.cwd);
        self.moved(path.root);
        for part in fields.parts.and_then(|parts| parts.elements()).unwrap_or_default() {
            let read = self.part(part, &session, &id);
            // It names a message before its own: of one that is not there the loader finds none either way.
            let tail = text(read.tail_start).and_then(|tail| self.messages.get(tail.as_ref()).cloned());
            if let Some(tail) = tail {
                self.put(read.tail_start, &tail);
            }
            if self.close(&read) {
                continue;
            }
            let state = read.state.and_then(|state| State::read(state).ok()).unwrap_or_default();
            for file in state.attachments.and_then(|files| files.elements()).unwrap_or_default() {
                self.part(file, &session, &id);
            }
        }
    }

    /// Gives a message of versions 2.x its id. What is not done is left out by the import, so it is ended here.
    fn flat(&mut self, element: Field<'_>) {
        let about: Info<'_> = info(Some(element));
        let id = self.ids.next("msg");
        if let Some(old) = owned(about.id) {
            self.messages.insert(old, id.clone());
        }
        self.put(about.id, &id);
        let Some(flat) = flat::of(element).filter(|flat| text(flat.kind).as_deref() == Some("assistant"))
        else {
            return;
        };
        for call in flat::items(&flat).into_iter().filter_map(flat::open_call) {
            self.edits.push((call.state, flat::closed(&call.input, CLOSED_TEXT)));
            self.closed += 1;
        }
        if let Some(time) = about.time.filter(|time| flat::is_open(*time)) {
            let created = info(Some(time)).created.and_then(|created| created.number()).unwrap_or(0);
            let start = time.span().start + 1;
            self.edits.push((start..start, format!("\"completed\":{created},")));
        }
    }

    /// Gives a part its ids.
    fn part<'p>(&mut self, part: Field<'p>, session: &str, message: &str) -> Piece<'p> {
        let Ok(read) = Piece::read(part) else { return Piece::default() };
        let own = self.ids.next("prt");
        let ids = [
            ("id", read.id, &*own),
            ("sessionID", read.session_id, session),
            ("messageID", read.message_id, message),
        ];
        self.name(part, ids);
        self.parts.extend(owned(read.id).map(|old| (old, own)));
        read
    }

    /// Writes ids, those too that are not there: the import refuses what has none.
    fn name<const IDS: usize>(&mut self, object: Field<'_>, ids: [(&str, Option<Field<'_>>, &str); IDS]) {
        let mut missing = String::new();
        for (key, field, with) in ids {
            match field {
                Some(_) => self.put(field, with),
                None => missing.extend([&quote(key), ":", &quote(with), ","]),
            }
        }
        // A comma stands behind what is put first, so something has to follow.
        let is_empty = object.raw().get(1..).is_none_or(|rest| rest.trim_start().starts_with('}'));
        if !missing.is_empty() && !is_empty {
            let start = object.span().start + 1;
            self.edits.push((start..start, missing));
        }
    }

    /// Gives a call that is not done a result that says so: the client would show it as running for ever. Returns whether
    /// it did.
    fn close(&mut self, part: &Piece<'_>) -> bool {
        let Some(state) = part.state.filter(|_| part.tool.is_some()) else { return false };
        let Ok(read) = State::read(state) else { return false };
        if !matches!(text(read.status).as_deref(), Some("pending" | "running")) {
            return false;
        }
        let at = millis(self.request.at);
        let time = Object::new().number("start", at).number("end", at).finish();
        let input = read.input.map_or("{}", |input| input.raw());
        self.edits.push((state.span(), closed(input, CLOSED_TEXT, &time)));
        self.closed += 1;
        true
    }
}

impl DocumentPlacer {
    /// Returns a document in the form that the client's import takes, where it is in the other one, or in both.
    fn converted(&mut self, document: &[u8]) -> Option<Vec<u8>> {
        let session = Session::read(crate::document::whole(document).ok()?).ok()?;
        let has_messages = !session.messages?.elements()?.is_empty();
        let wanted = is_second(&self.request);
        if !has_messages || flat::is_flat(&session) == Some(wanted) {
            return None;
        }
        let title = owned(info(session.info).title);
        let told = as_told(decode(&DIALECT, document).entries, PlanStop::Compaction).entries;
        let (form, text) = if wanted {
            ("2.x", flat::encode::encode(&told, title.as_deref()))
        } else {
            ("1.x", encode(&told))
        };
        let note = format!(
            "written in the form of opencode {form}, as its import takes no other: what was said and done is there, the \
             client's own notes on it are not"
        );
        self.notes.push(Note::new(NoteCode::Degraded, note));
        Some(text.into_bytes())
    }
}

impl Placer for DocumentPlacer {
    fn line(&mut self, document: &[u8], out: &mut Vec<u8>) {
        let converted = self.converted(document);
        let document = converted.as_deref().unwrap_or(document);
        let edits = crate::document::whole(document).ok().and_then(|whole| self.edits(whole));
        replace(document, edits.unwrap_or_default(), out);
    }

    fn finish(&mut self, _out: &mut Vec<u8>) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }
}
