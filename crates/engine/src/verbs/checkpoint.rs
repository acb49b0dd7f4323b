//! `checkpoint`: a commit made by a program, with every field of its own choosing.

mod compactions;
mod session;

mod again;

use std::borrow::Cow;
use std::path::Path;

use stemmata_api::v1::Checkpointed;
use stemmata_model::{
    ArtifactId, Closure, Commit, CommitCore, CommitId, CommitType, Counts, FormatId, Granularity, MachineId,
    Note, NoteCode, Principal, Reasons, RulesHash, SessionId, Sighting, SummarySource, Template, ThreadId,
    TicketId, Timestamp, Trigger, artifact_id, plural, to_u64,
};
use stemmata_redact::{ScrubbedLine, Scrubber};
use stemmata_store::{Annotation, BatchOutcome, NewCommit, Session, SessionKey, StoreError, Write};

use crate::capture::lines::split_lines;
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::scrubbing::{line_scrubber, scrubbed_whole};
use crate::verbs::count::count;
use crate::verbs::snapshot::contents;
use again::{content_mark, retry_key};

/// Characters of a session's title at most, as the store bounds them.
const TITLE_CHARS_MAX: usize = 200;

/// What a checkpoint stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointContent {
    /// Bytes; secrets in them are replaced first.
    Bytes(Vec<u8>),
    /// A content that is stored already.
    Stored(ArtifactId),
}

/// A request for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointRequest {
    /// The commit before; none for a root.
    pub parent: Option<CommitId>,
    /// What the content is.
    pub commit_type: CommitType,
    /// The content.
    pub content: CheckpointContent,
    /// How it is encoded.
    pub format: FormatId,
    /// The kind of agent.
    pub template: Template,
    /// Who ran it; the engine's own user where none is given.
    pub principal: Option<Principal>,
    /// Where it ran; this machine where none is given.
    pub machine: Option<MachineId>,
    /// The session.
    pub session: SessionId,
    /// What made it happen.
    pub trigger: Trigger,
    /// The rules by which it was due.
    pub reasons: Reasons,
    /// The ticket being worked on.
    pub ticket: Option<TicketId>,
    /// The discussion thread.
    pub thread: Option<ThreadId>,
    /// A summary.
    pub summary: Option<String>,
    /// Messages, as the caller counts them; corrected with a note where they are wrong.
    pub messages: Option<u64>,
    /// Tokens, as the caller counts them. Kept where the caller has a better counter than the estimate.
    pub tokens: Option<u64>,
    /// When; the present where none is given. A retry that must give the same commit passes the same time or
    /// the same key.
    pub created_at: Option<Timestamp>,
    /// A retry with the same key in the same session gives the same commit.
    pub idempotency_key: Option<String>,
}

impl CheckpointRequest {
    /// Asks for a root that holds these entries, made explicitly, now, by the engine's own user on this machine. All else
    /// is set in the fields.
    pub const fn delta(bytes: Vec<u8>, format: FormatId, template: Template, session: SessionId) -> Self {
        Self {
            parent: None,
            commit_type: CommitType::Delta,
            content: CheckpointContent::Bytes(bytes),
            format,
            template,
            principal: None,
            machine: None,
            session,
            trigger: Trigger::Explicit,
            reasons: Reasons::NONE,
            ticket: None,
            thread: None,
            summary: None,
            messages: None,
            tokens: None,
            created_at: None,
            idempotency_key: None,
        }
    }
}

/// A content that a commit is to hold: its id, the writes that store it, and its bytes.
pub(crate) struct Held {
    pub(crate) artifact: ArtifactId,
    /// Its own lines, where the content stands for more than these: `bytes` are these, then.
    pub(crate) native: Option<ArtifactId>,
    pub(crate) contents: Vec<Write>,
    pub(crate) bytes: Vec<u8>,
    /// Commits that are written before it, in the same act.
    pub(crate) ahead: Option<compactions::Ahead>,
}

/// Where a commit goes: below its parent, into a session, by the rules of a directory.
pub(crate) struct Spot<'a> {
    pub(crate) parent: Option<&'a Commit>,
    pub(crate) key: &'a SessionKey,
    pub(crate) cwd: Option<String>,
    pub(crate) scrubber: &'a Scrubber,
    /// Whether it is the last word on what it holds.
    pub(crate) closure: Closure,
    /// Where the session's commits end; as it was where absent.
    pub(crate) granularity: Option<Granularity>,
}

impl Engine {
    /// Stores content and commit in one durable act; the id can be used at once.
    ///
    /// # Errors
    /// `ParentMissing`, `ContentMissing`, `Bound`, `Format` for a format that cannot be counted, store errors.
    pub fn checkpoint(&self, request: &CheckpointRequest) -> Result<Checkpointed> {
        let (request, mut notes) = self.up_to_date(request)?;
        let request = request.as_ref();
        let key = SessionKey {
            machine: request.machine.clone().unwrap_or_else(|| self.identity.machine.clone()),
            path: format!("api:{}", request.session),
        };
        let (retry, given, session_key) = (retry_key(request, &key), request, key.clone());
        if let Some(first) = retry.as_ref().map(|retry| self.earlier_try(retry)).transpose()?.flatten() {
            return Ok(Checkpointed { id: self.same_try(request, &key, &first)?, existed: true, notes });
        }
        let parent = self.parent_of(request)?;
        let cwd = self.cwd_of(request, &key)?;
        let scrubber = self.scrubber_at(cwd.as_deref().map(Path::new))?;
        let (artifact, contents, bytes) = self.content_of(request, &scrubber, &mut notes)?;
        let split = self.split(request, &bytes, (&key, &scrubber), parent.as_ref())?;
        let (request, parent, held) = if let Some(split) = split {
            (Cow::Owned(split.request), split.parent, split.held)
        } else {
            let held = Held { artifact, native: None, contents, bytes, ahead: None };
            (Cow::Borrowed(request), parent, held)
        };
        let spot = Spot {
            parent: parent.as_ref(),
            key: &key,
            cwd,
            scrubber: &scrubber,
            closure: Closure::Closed,
            granularity: None,
        };
        let made = self.commit_held(request.as_ref(), held, spot, |id, batch| {
            batch.extend(retry.iter().flat_map(|key| {
                let value = format!("{id} {}", content_mark(artifact, &scrubber)).into_bytes();
                [
                    Write::ExpectCursor { key: key.clone(), value: None },
                    Write::Cursor { key: key.clone(), value },
                ]
            }));
        });
        if let (Err(EngineError::Store(StoreError::CursorMoved { .. })), Some(key)) = (&made, &retry)
            && let Some(first) = self.earlier_try(key)?
        {
            // Another try of the same caller came first.
            let id = self.same_try(given, &session_key, &first)?;
            return Ok(Checkpointed { id, existed: true, notes });
        }
        let (made, _) = made?;
        notes.extend(made.notes);
        Ok(Checkpointed { id: made.id, existed: made.existed, notes })
    }

    /// Makes a commit of a content in one batch, to which `more` adds what belongs to the same act.
    pub(crate) fn commit_held(
        &self,
        request: &CheckpointRequest,
        held: Held,
        spot: Spot<'_>,
        more: impl FnOnce(CommitId, &mut Vec<Write>),
    ) -> Result<(Checkpointed, BatchOutcome)> {
        let Held { artifact, native, contents, bytes, ahead } = held;
        let (mut batch, known) =
            ahead.map_or_else(Default::default, |ahead| (ahead.writes, Some(ahead.session)));
        batch.extend(contents);
        let Spot { parent, key, cwd, scrubber, closure, granularity } = spot;
        let mut notes = Vec::new();
        let counts = counted(request, &bytes, &mut notes);
        let core = self.core_of(request, (artifact, native), parent);
        let id = core.id();
        batch.push(Write::Commit(NewCommit {
            core,
            rules: RulesHash(scrubber.rules_hash()),
            closure,
            counts,
        }));
        let sighting = self.given_sighting(request, key)?;
        let summary = match &request.summary {
            Some(text) => Some(scrubber.scrub_text(text)?.text.into_owned()),
            None => None,
        };
        let session = self.api_session(request, &sighting, key.clone(), summary.as_deref())?;
        let granularity = granularity.unwrap_or(session.granularity);
        let title = session.title.clone().or_else(|| session::first_prompt(&request.format, &bytes));
        let session = Session { title, cwd, granularity, ..known.unwrap_or(session) };
        let native_bytes = to_u64(bytes.len());
        let session = self.grown(session, (id, counts.messages, native_bytes), parent)?;
        batch.push(Write::Session(Box::new(session)));
        if summary.is_some() {
            let change = Annotation::Summary { text: summary, source: SummarySource::Given };
            let by = sighting.principal.clone();
            batch.push(Write::Annotate { commit: id, change, at: self.clock.now(), by });
        }
        batch.push(Write::Sighting { commit: id, sighting: Box::new(sighting) });
        more(id, &mut batch);
        // Each look into the store costs as much as a tenth of the write, so the write itself says what was new.
        let done = self.commit_batch(batch)?;
        Ok((Checkpointed { id, existed: done.new_commits == 0, notes }, done))
    }

    /// Returns the commit that a request asks for, with its content and its own lines.
    pub(crate) fn core_of(
        &self,
        request: &CheckpointRequest,
        (artifact, native): (ArtifactId, Option<ArtifactId>),
        parent: Option<&Commit>,
    ) -> CommitCore {
        let floor = parent.map_or(Timestamp::EPOCH, |known| known.core.created_at);
        CommitCore {
            parent: request.parent,
            commit_type: request.commit_type,
            artifact,
            native,
            format: request.format.clone(),
            template: request.template.clone(),
            created_at: request.created_at.unwrap_or_else(|| self.clock.now()).max(floor),
        }
    }

    /// Returns a request whose parent is what that one became, where it was scrubbed since.
    fn up_to_date<'r>(
        &self,
        request: &'r CheckpointRequest,
    ) -> Result<(Cow<'r, CheckpointRequest>, Vec<Note>)> {
        let newest = request.parent.map(|parent| self.newest_of(parent)).transpose()?;
        if newest == request.parent {
            return Ok((Cow::Borrowed(request), Vec::new()));
        }
        let names = request
            .parent
            .zip(newest)
            .map(|(old, new)| format!("{old} was scrubbed of secrets; {new} is what it became"));
        let notes = names.into_iter().map(|message| Note::new(NoteCode::OtherRules, message)).collect();
        Ok((Cow::Owned(CheckpointRequest { parent: newest, ..request.clone() }), notes))
    }

    /// Returns what a commit became that was scrubbed, and any other as it is.
    pub(crate) fn newest_of(&self, id: CommitId) -> Result<CommitId> {
        if self.store.commit(id)?.is_some() {
            return Ok(id);
        }
        Ok(self.redirected_to(&id.to_string())?.first().copied().unwrap_or(id))
    }

    fn parent_of(&self, request: &CheckpointRequest) -> Result<Option<Commit>> {
        let Some(parent) = request.parent else {
            return Ok(None);
        };
        Ok(Some(self.store.commit(parent)?.ok_or(StoreError::CommitMissing(parent))?))
    }

    /// Returns the directory whose rules count: the session's, or that of what it goes on from.
    fn cwd_of(&self, request: &CheckpointRequest, key: &SessionKey) -> Result<Option<String>> {
        match (self.store.session(key)?.and_then(|known| known.cwd), request.parent) {
            (Some(cwd), _) => Ok(Some(cwd)),
            (None, Some(parent)) => self.project_of(parent),
            (None, None) => Ok(None),
        }
    }

    fn content_of(
        &self,
        request: &CheckpointRequest,
        scrubber: &Scrubber,
        notes: &mut Vec<Note>,
    ) -> Result<(ArtifactId, Vec<Write>, Vec<u8>)> {
        match &request.content {
            CheckpointContent::Stored(id) => {
                if self.store.content_length(*id)?.is_none() {
                    return Err(StoreError::ContentMissing(*id).into());
                }
                Ok((*id, Vec::new(), read_whole(self, *id)?))
            }
            CheckpointContent::Bytes(bytes) => {
                let (clean, replaced) = clean(scrubber, &request.format, bytes)?;
                if replaced > 0 {
                    let message = format!("{} redacted", plural(replaced, "secret"));
                    notes.push(Note::new(NoteCode::Redacted, message));
                }
                let artifact = artifact_id(&clean);
                Ok((artifact, contents(artifact, &clean), clean))
            }
        }
    }

    fn given_sighting(&self, request: &CheckpointRequest, key: &SessionKey) -> Result<Sighting> {
        let runtime = stemmata_runtimes::translate::runtime_of(&request.format);
        Ok(Sighting {
            principal: match &request.principal {
                Some(principal) => principal.clone(),
                None => self.identity.principal(runtime)?,
            },
            machine: key.machine.clone(),
            session: request.session.clone(),
            trigger: request.trigger,
            reasons: request.reasons,
            ticket: request.ticket.clone(),
            thread: request.thread.clone(),
            template_alias: None,
            observed_at: self.clock.now(),
            source: None,
        })
    }

    /// Returns the sighting of a commit that the engine itself makes below another one: in the session that is meant, where one
    /// is, else in the first one that the other commit was seen in. A session that was placed was never seen in what it continues.
    pub(crate) fn own_sighting(
        &self,
        commit: CommitId,
        below: CommitId,
        session: Option<&SessionId>,
    ) -> Result<Write> {
        let first = self.store.sightings(below, 1)?.into_iter().next();
        let session = match (session, &first) {
            (Some(session), _) => session.clone(),
            (None, Some(sighting)) => sighting.session.clone(),
            (None, None) => SessionId::new(below.to_string())?,
        };
        // A ticket and a thread are of the session that they were given to.
        let (ticket, thread) = first
            .filter(|known| known.session == session)
            .map(|known| (known.ticket, known.thread))
            .unwrap_or_default();
        let sighting = Sighting {
            principal: self.identity.principal("stemma")?,
            machine: self.identity.machine.clone(),
            session,
            trigger: Trigger::Explicit,
            reasons: Reasons::NONE,
            ticket,
            thread,
            template_alias: None,
            observed_at: self.clock.now(),
            source: None,
        };
        Ok(Write::Sighting { commit, sighting: Box::new(sighting) })
    }

    /// Returns a session's tip where it is provisional: what comes next replaces it.
    pub(crate) fn open_step(&self, tip: Option<CommitId>) -> Result<Option<Commit>> {
        let Some(tip) = tip else { return Ok(None) };
        Ok(self.store.commit(tip)?.filter(|tip| tip.closure == Closure::Provisional))
    }

    /// Moves a session to a commit with so many messages and native bytes. A retry of the newest one changes
    /// nothing.
    fn grown(
        &self,
        known: Session,
        (tip, messages, bytes): (CommitId, u64, u64),
        parent: Option<&Commit>,
    ) -> Result<Session> {
        if known.tip == Some(tip) {
            return Ok(known);
        }
        // Only a branch has to be counted from its root.
        let before = match parent {
            None => 0,
            Some(parent) if known.tip == Some(parent.id) => known.messages,
            Some(parent) => match self.open_step(known.tip)? {
                // What was only there until now is replaced; the chain below it is counted.
                Some(step) if step.core.parent == Some(parent.id) => {
                    known.messages.saturating_sub(step.counts.messages)
                }
                Some(_) | None => self.totals_of(parent.id)?.messages,
            },
        };
        Ok(Session {
            tip: Some(tip),
            commits: parent.map_or(1, |parent| parent.depth + 2),
            messages: before + messages,
            bytes: parent.map_or(0, |parent| parent.cumulative_bytes) + bytes,
            ..known
        })
    }
}

/// Replaces secrets; returns how many there were.
fn clean(scrubber: &Scrubber, format: &FormatId, bytes: &[u8]) -> Result<(Vec<u8>, usize)> {
    if let Some(whole) = scrubbed_whole(scrubber, format, bytes)? {
        return Ok((whole.bytes.into_owned(), whole.findings.len()));
    }
    let mut clean = Vec::with_capacity(bytes.len());
    let mut replaced = 0;
    let mut lines = line_scrubber(scrubber, format);
    let mut keep = |given: Vec<ScrubbedLine<'_>>| {
        for line in given {
            replaced += line.findings.len();
            clean.extend_from_slice(&line.bytes);
        }
    };
    for line in split_lines(bytes) {
        keep(lines.push(line)?);
    }
    keep(lines.finish()?);
    Ok((clean, replaced))
}

/// Counts a content by its format's rule; a caller's other number is corrected with a note. A format that is
/// not known is stored all the same, with the caller's counts.
fn counted(request: &CheckpointRequest, bytes: &[u8], notes: &mut Vec<Note>) -> Counts {
    let given = Counts {
        messages: request.messages.unwrap_or(0),
        entries: request.messages.unwrap_or(0),
        tokens: request.tokens.unwrap_or(0),
    };
    let Ok(adapter) = Engine::adapter(&request.format, FormatUse::Read) else {
        notes.push(Note::new(
            NoteCode::Degraded,
            format!(
                "format `{}` is not known: counts are as given, and it is given back as it is stored",
                request.format
            ),
        ));
        return given;
    };
    let counts = count(adapter, bytes, notes).counts;
    if request.messages.is_some_and(|messages| messages != counts.messages) {
        let message = format!("{} expected, {} found", plural(given.messages, "message"), counts.messages);
        notes.push(Note::new(NoteCode::CountsCorrected, message));
    }
    Counts { tokens: request.tokens.unwrap_or(counts.tokens), ..counts }
}
