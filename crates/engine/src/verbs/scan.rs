//! `scan`: what today's rules would find in what is stored. Reads commit by commit and line by line, then ledger by ledger and
//! event by event, and changes nothing.
//!
//! Which stretches are secrets is `stemmata-redact`'s; rewriting them is `scrub`'s.

mod events;
pub(crate) mod files;
mod place;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;

use stemmata_api::v1::UnreadLedger;
use stemmata_model::{ArtifactId, Closure, CommitId, EventSeq, LedgerId, SessionId, to_u64};
use stemmata_redact::{ScrubbedLine, Scrubber};
use stemmata_runtimes::adapter::{Adapter, IdKind};
use stemmata_runtimes::registry;
use stemmata_store::{Annotation, Described, Session, SessionKey, StoreError};

pub use self::place::ScanPlace;
use crate::capture::lines::{LINE_BYTES_MAX, split_lines};
use crate::chain::beside::{PAGE_COMMITS, key_of_sighting};
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::scrubbing::{is_document, line_scrubber, scrubbed_whole};
use crate::verbs::forget::ForgetTarget;

/// Changes of one commit's metadata that are looked at.
const AUDIT_MAX: usize = 10_000;

/// Domain of fingerprints.
const CONTEXT: &[u8] = b"stemmata secret fingerprint v1";

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanTarget {
    /// These commits, and the events of these sessions in all ledgers.
    These(Vec<CommitId>, Vec<SessionId>),
    /// All that sessions hold, their subagents and events included; or a commit with all that it continues.
    Of(ForgetTarget),
    /// All commits, in the order of their ids, and then all events and saved states, ledger by ledger; after a place.
    All(Option<ScanPlace>),
}

/// What holds something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A commit.
    Commit(CommitId),
    /// An event.
    Event {
        /// Its ledger.
        ledger: LedgerId,
        /// Its number.
        seq: EventSeq,
        /// Its session.
        session: SessionId,
    },
    /// A saved state, which was made of events or commits.
    State {
        /// Its ledger.
        ledger: LedgerId,
        /// Its name.
        name: String,
    },
}

/// Where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundIn {
    /// A line of the commit's own content, 1 = first.
    Line(u64),
    /// What was said of the commit: its summary, a tag or a note, of now or before.
    Annotation,
    /// What is known of a session that ends at the commit: the name of the field, as in `title`.
    Session(&'static str),
    /// What an event says: `text`, `data`, `entry` or `metadata`.
    Event(&'static str),
    /// What is in a saved state.
    State,
}

/// Something that today's rules take for a secret. Holds no byte of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFound {
    /// What holds it.
    pub holder: Holder,
    /// Where in it.
    pub place: FoundIn,
    /// The id of the record that the line is, where it has one.
    pub entry: Option<String>,
    /// The rule's kind, as in `github-token`.
    pub kind: String,
    /// Bytes of it.
    pub bytes: u64,
    /// Equal for equal secrets in this store, and for nobody else of any use.
    pub fingerprint: String,
}

/// What a scan looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scanned {
    /// Commits.
    pub commits: u64,
    /// Events that say something.
    pub events: u64,
    /// Bytes of commits and events.
    pub bytes: u64,
    /// Commits whose content is not there any more.
    pub holes: u64,
    /// Findings.
    pub found: u64,
    /// What was looked at last: a walk over the whole store goes on after it.
    pub last: Option<ScanPlace>,
    /// Ledgers of which not all could be read. The scan says nothing of what they hold beyond that.
    pub unread: Vec<UnreadLedger>,
}

/// What was looked at, and who is told what was found there.
type Telling<'t> = (&'t mut Scanned, &'t mut dyn FnMut(SecretFound) -> bool);

/// What replaces secrets, by the directories that sessions worked in.
pub(crate) struct Rulers<'e> {
    engine: &'e Engine,
    known: HashMap<Option<String>, Scrubber>,
    /// Directories by the session that worked there.
    directories: HashMap<SessionKey, Option<String>>,
    /// Sessions by the commit that they end at, once somebody asked.
    ending: Option<HashMap<CommitId, Vec<Session>>>,
}

impl<'e> Rulers<'e> {
    pub(crate) fn new(engine: &'e Engine) -> Self {
        Self { engine, known: HashMap::new(), directories: HashMap::new(), ending: None }
    }

    /// Returns the sessions that end at a commit.
    fn ending_at(&mut self, commit: CommitId) -> Result<&[Session]> {
        if self.ending.is_none() {
            let mut ending: HashMap<CommitId, Vec<Session>> = HashMap::new();
            for session in self.engine.all_sessions()? {
                if let Some(tip) = session.tip {
                    ending.entry(tip).or_default().push(session);
                }
            }
            self.ending = Some(ending);
        }
        Ok(self.ending.as_ref().and_then(|ending| ending.get(&commit)).map_or(&[], Vec::as_slice))
    }

    /// Returns the rules for a commit: those of the directory that it belongs to.
    pub(crate) fn of(&mut self, commit: CommitId) -> Result<Scrubber> {
        let cwd = self.engine.project_of(commit)?;
        self.at(cwd)
    }

    /// Returns the rules for a commit, as [`Rulers::of`], with one query a session.
    pub(crate) fn of_described(&mut self, described: &Described) -> Result<Scrubber> {
        let Some(key) = described.sightings.first().map(key_of_sighting) else {
            return self.of(described.commit.id);
        };
        if let Some(cwd) = self.directories.get(&key) {
            return self.at(cwd.clone());
        }
        let Some(session) = self.engine.store.session(&key)? else { return self.of(described.commit.id) };
        self.directories.insert(key, session.cwd.clone());
        self.at(session.cwd)
    }

    fn at(&mut self, cwd: Option<String>) -> Result<Scrubber> {
        if let Some(known) = self.known.get(&cwd) {
            return Ok(known.clone());
        }
        let scrubber = self.engine.scrubber_at(cwd.as_deref().map(Path::new))?;
        self.known.insert(cwd, scrubber.clone());
        Ok(scrubber)
    }
}

impl Engine {
    /// Returns the commits and the sessions that are looked at for a name.
    fn held_by(&self, target: &ForgetTarget) -> Result<(Vec<CommitId>, Vec<SessionId>)> {
        if let ForgetTarget::Commit(id) = target {
            let (mut chain, mut walk) = (Vec::new(), Walk::new(self.store.as_ref(), Some(*id)));
            while let Some(commit) = walk.next()? {
                chain.push(commit.id);
            }
            return Ok((chain, Vec::new()));
        }
        let sessions = self.sessions_of(target)?;
        let commits = self.commits_of(&sessions)?.into_iter().map(|commit| commit.id).collect();
        Ok((commits, sessions.into_iter().map(|session| session.session).collect()))
    }

    /// Tells `found` what today's rules would find, also in ledgers that are not in use since `ledger.engine` was changed. Stops where
    /// `found` says so, after all of that commit or event. A ledger that is damaged is looked at as far as it can be read, and named in
    /// [`Scanned::unread`].
    ///
    /// # Errors
    /// `CommitMissing`, `Rules`, store errors.
    pub fn scan(&self, target: &ScanTarget, found: &mut dyn FnMut(SecretFound) -> bool) -> Result<Scanned> {
        if let ScanTarget::Of(target) = target {
            let (commits, sessions) = self.held_by(target)?;
            return self.scan(&ScanTarget::These(commits, sessions), found);
        }
        let mut goes_on = true;
        let mut tell = |secret| {
            goes_on &= found(secret);
            goes_on
        };
        let after = match target {
            ScanTarget::All(Some(ScanPlace::Beside(after))) => Some(after.as_ref().clone()),
            _ => None,
        };
        let mut scanned =
            if after.is_some() { Scanned::default() } else { self.scan_in_use(target, &mut tell)? };
        let Some(other) = self.with_other_log().filter(|_| goes_on) else { return Ok(scanned) };
        let last = scanned.last.take();
        match target {
            ScanTarget::These(_, sessions) => other.scan_sessions(sessions, (&mut scanned, found))?,
            ScanTarget::All(_) | ScanTarget::Of(_) => other.scan_ledgers(after, (&mut scanned, found))?,
        };
        scanned.last = scanned.last.take().map(|place| ScanPlace::Beside(Box::new(place))).or(last);
        Ok(scanned)
    }

    /// The same, without ledgers that are not in use.
    ///
    /// # Errors
    /// As [`Engine::scan`].
    pub(crate) fn scan_in_use(
        &self,
        target: &ScanTarget,
        found: &mut dyn FnMut(SecretFound) -> bool,
    ) -> Result<Scanned> {
        let mut rulers = Rulers::new(self);
        let mut scanned = Scanned::default();
        match target {
            ScanTarget::Of(target) => {
                let (commits, sessions) = self.held_by(target)?;
                return self.scan_in_use(&ScanTarget::These(commits, sessions), found);
            }
            ScanTarget::These(commits, sessions) => {
                for page in commits.chunks(PAGE_COMMITS) {
                    for described in self.described(page)? {
                        if !self.scan_commit(&described, &mut rulers, (&mut scanned, found))? {
                            return Ok(scanned);
                        }
                    }
                }
                self.scan_sessions(sessions, (&mut scanned, found))?;
            }
            ScanTarget::All(after) => {
                let after = after.clone();
                let mut commit = match &after {
                    None => None,
                    Some(ScanPlace::Commit(commit)) => Some(*commit),
                    Some(ScanPlace::Event(..) | ScanPlace::Ledger(_) | ScanPlace::Beside(_)) => {
                        self.scan_ledgers(after, (&mut scanned, found))?;
                        return Ok(scanned);
                    }
                };
                loop {
                    let page = self.store.commits_after(commit, PAGE_COMMITS)?;
                    let Some(last) = page.last().map(|commit| commit.id) else { break };
                    let ids: Vec<CommitId> = page.iter().map(|commit| commit.id).collect();
                    // One that is gone by now holds nothing.
                    for described in self.store.described(&ids)? {
                        if !self.scan_commit(&described, &mut rulers, (&mut scanned, found))? {
                            return Ok(scanned);
                        }
                    }
                    commit = Some(last);
                }
                self.scan_ledgers(None, (&mut scanned, found))?;
            }
        }
        Ok(scanned)
    }

    fn scan_commit(
        &self,
        described: &Described,
        rulers: &mut Rulers<'_>,
        (scanned, found): Telling<'_>,
    ) -> Result<bool> {
        let commit = &described.commit;
        scanned.commits += 1;
        scanned.last = Some(ScanPlace::Commit(commit.id));
        let mut goes_on = true;
        let mut tell = |secret: SecretFound| {
            scanned.found += 1;
            goes_on &= found(secret);
        };
        let scrubber = rulers.of_described(described)?;
        let key = self.store.identity()?.secret;
        for record in self.changes_of(described, AUDIT_MAX)? {
            let Some(text) = text_of(&record.change) else { continue };
            for finding in scrubber.scrub_text(text)?.findings {
                let secret = text.as_bytes().get(finding.offset..finding.offset + finding.len);
                tell(SecretFound {
                    holder: Holder::Commit(commit.id),
                    place: FoundIn::Annotation,
                    entry: None,
                    kind: finding.kind.to_string(),
                    bytes: to_u64(finding.len),
                    fingerprint: fingerprint(&key, secret.unwrap_or_default()),
                });
            }
        }
        for session in rulers.ending_at(commit.id)? {
            for (field, text) in words_of(session) {
                for finding in scrubber.scrub_text(text)?.findings {
                    let secret = text.as_bytes().get(finding.offset..finding.offset + finding.len);
                    tell(SecretFound {
                        holder: Holder::Commit(commit.id),
                        place: FoundIn::Session(field),
                        entry: None,
                        kind: finding.kind.to_string(),
                        bytes: to_u64(finding.len),
                        fingerprint: fingerprint(&key, secret.unwrap_or_default()),
                    });
                }
            }
        }
        if commit.closure == Closure::Forgotten {
            scanned.holes += 1;
            return Ok(goes_on);
        }
        scanned.bytes += commit.native_bytes;
        let adapter = registry::by_format(&commit.core.format);
        let mut number = 0;
        self.each_scrubbed(described, &scrubber, &mut |scrubbed| {
            number += 1;
            let line = scrubbed.raw.as_ref();
            let entry =
                if scrubbed.findings.is_empty() { None } else { adapter.and_then(|own| entry_of(own, line)) };
            for finding in &scrubbed.findings {
                let secret = line.get(finding.offset..finding.offset + finding.len);
                tell(SecretFound {
                    holder: Holder::Commit(commit.id),
                    place: FoundIn::Line(number + lines_before(line, finding.offset)),
                    entry: entry.clone(),
                    kind: finding.kind.to_string(),
                    bytes: to_u64(finding.len),
                    fingerprint: fingerprint(&key, secret.unwrap_or_default()),
                });
            }
            Ok(())
        })?;
        Ok(goes_on)
    }

    /// Hands out each line of a commit's own content with what an import, or a checkpoint, would make of it: its newline
    /// included; what is looked at as a whole as one line.
    pub(crate) fn each_scrubbed(
        &self,
        described: &Described,
        scrubber: &Scrubber,
        each: &mut dyn FnMut(&ScrubbedLine<'_>) -> Result<()>,
    ) -> Result<()> {
        let (commit, first) = (&described.commit, described.sightings.first());
        let id = commit.core.native_artifact();
        // It was read from no file.
        let is_given = first.is_some_and(|sighting| sighting.source.is_none());
        // What a client wrote is a document or lines; what a program gave, text too.
        if is_document(&commit.core.format) || is_given {
            let bytes = read_whole(self, id)?;
            if let Some(whole) = scrubbed_whole(scrubber, &commit.core.format, &bytes)? {
                let raw = Cow::Borrowed(bytes.as_slice());
                return each(&ScrubbedLine { raw, bytes: whole.bytes, findings: whole.findings });
            }
        }
        let mut lines = line_scrubber(scrubber, &commit.core.format);
        let mut failed = None;
        let read = self.each_line(id, &mut |line| {
            let given = lines.push(line).map_err(EngineError::from);
            failed = given.and_then(|given| given.iter().try_for_each(&mut *each)).err();
            failed.is_none()
        });
        match failed {
            Some(error) => return Err(error),
            None => read?,
        }
        lines.finish()?.iter().try_for_each(each)
    }

    /// Hands out lines with their newlines, the last one maybe without, until told to stop.
    fn each_line(&self, of: ArtifactId, each: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        let mut line: Vec<u8> = Vec::new();
        let stopped = || io::Error::from(io::ErrorKind::Interrupted);
        let read = self.store.read_content(of, None, &mut |piece| {
            for part in split_lines(piece) {
                // No capture takes a longer one: it came whole from somewhere else, and is looked at in parts.
                let is_long = line.len().saturating_add(part.len()) > LINE_BYTES_MAX;
                if is_long && !each(&std::mem::take(&mut line)) {
                    return Err(stopped());
                }
                line.extend_from_slice(part);
                if line.ends_with(b"\n") {
                    let goes_on = each(&line);
                    line.clear();
                    if !goes_on {
                        return Err(stopped());
                    }
                }
            }
            Ok(())
        });
        match read {
            Err(StoreError::Sink(error)) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        if !line.is_empty() {
            each(&line);
        }
        Ok(())
    }
}

/// Returns what is known of a session in words, with the name of each field.
fn words_of(session: &Session) -> impl Iterator<Item = (&'static str, &str)> {
    let fields = [
        ("title", &session.title),
        ("cwd", &session.cwd),
        ("git_branch", &session.git_branch),
        ("version", &session.version),
    ];
    fields.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)))
}

/// Returns the text of a change of metadata.
pub(crate) fn text_of(change: &Annotation) -> Option<&str> {
    match change {
        Annotation::Summary { text, .. } => text.as_deref(),
        Annotation::AddTag(text) | Annotation::RemoveTag(text) | Annotation::AddNote(text) => Some(text),
        Annotation::Pin | Annotation::Unpin => None,
    }
}

/// Counts the line breaks before an offset.
fn lines_before(text: &[u8], offset: usize) -> u64 {
    to_u64(memchr::memchr_iter(b'\n', text.get(..offset).unwrap_or_default()).count())
}

fn entry_of(adapter: &dyn Adapter, line: &[u8]) -> Option<String> {
    let mut entry = None;
    adapter.ids(line.strip_suffix(b"\n").unwrap_or(line), &mut |kind, id| {
        if kind == IdKind::Entry {
            entry.get_or_insert_with(|| id.to_owned());
        }
    });
    entry
}

/// Names a secret for whoever has the store's key, and tells nobody else anything.
fn fingerprint(key: &[u8; 32], secret: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(CONTEXT).update(secret);
    hasher.finalize().to_hex().chars().take(16).collect()
}
