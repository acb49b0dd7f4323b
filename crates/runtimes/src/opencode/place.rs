//! Rewrites a session for another place: every id is new, for a message's id names one message of all sessions.
//!
//! The client imports the file into its database; nothing here touches that.

use std::collections::HashMap;
use std::ops::Range;

use stemmata_model::{Note, NoteCode};

use super::encode::{closed, millis};
use super::ids::Ids;
use super::record::{Info, Message, Piece, Session, State, info};
use crate::adapter::{ClientPlace, PlaceRequest, Placer};
use crate::json::{Field, Object, owned, quote, text};
use crate::placing::{CLOSED_TEXT, moved, replace};

type Edits = Vec<(Range<usize>, String)>;

/// Says where the file is put, how the client takes it in, and how it goes on.
pub(super) fn client_place(request: &PlaceRequest) -> ClientPlace {
    let session = request.session.as_str();
    ClientPlace {
        relative_path: vec!["stemmata".to_owned(), format!("{session}.json")],
        resume_command: ["opencode", "--session", session].map(str::to_owned).to_vec(),
        import_command: Some(["opencode", "import"].map(str::to_owned).to_vec()),
    }
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
            edits: Vec::new(),
            closed: 0,
        };
        let about = info(session.info);
        work.put(about.id, self.request.session.as_str());
        work.put(about.directory, &self.request.cwd);
        work.put(about.path, self.request.cwd.trim_start_matches('/'));
        for element in session.messages?.elements()? {
            work.message(element);
        }
        let (edits, closed) = (work.edits, work.closed);
        if closed > 0 {
            let text = format!("{closed} tool calls without a result got a marked one");
            self.notes.push(Note::new(NoteCode::SyntheticResult, text));
        }
        Some(edits)
    }
}

struct Work<'r> {
    request: &'r PlaceRequest,
    ids: Ids,
    /// The new id of each message so far.
    messages: HashMap<String, String>,
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
        self.put(about.id, &id);
        let session = self.request.session.to_string();
        self.put(about.session_id, &session);
        let parent = text(about.parent_id).and_then(|parent| self.messages.get(parent.as_ref()).cloned());
        if let Some(parent) = parent {
            self.put(about.parent_id, &parent);
        }
        let path = info(about.path);
        self.moved(path.cwd);
        self.moved(path.root);
        for part in fields.parts.and_then(|parts| parts.elements()).unwrap_or_default() {
            let read = Piece::read(part).unwrap_or_default();
            let own = self.ids.next("prt");
            self.put(read.id, &own);
            self.put(read.session_id, &session);
            self.put(read.message_id, &id);
            self.close(&read);
        }
    }

    /// Gives a call that is not done a result that says so: the client would show it as running for ever.
    fn close(&mut self, part: &Piece<'_>) {
        let Some(state) = part.state.filter(|_| part.tool.is_some()) else { return };
        let Ok(read) = State::read(state) else { return };
        if !matches!(text(read.status).as_deref(), Some("pending" | "running")) {
            return;
        }
        let at = millis(self.request.at);
        let time = Object::new().number("start", at).number("end", at).finish();
        let input = read.input.map_or("{}", |input| input.raw());
        self.edits.push((state.span(), closed(input, CLOSED_TEXT, &time)));
        self.closed += 1;
    }
}

impl Placer for DocumentPlacer {
    fn line(&mut self, document: &[u8], out: &mut Vec<u8>) {
        let edits = crate::document::whole(document).ok().and_then(|whole| self.edits(whole));
        replace(document, edits.unwrap_or_default(), out);
    }

    fn finish(&mut self, _out: &mut Vec<u8>) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }
}
