//! `doctor`: what a client's loader would make of a transcript, without changing anything.
//!
//! What loaders stumble over is known to the adapters; here a file is read line by line.

pub(crate) mod history;

use std::path::{Path, PathBuf};

use stemmata_model::{CommitId, FormatId, Granularity, to_u64};
use stemmata_runtimes::adapter::{Finding, Severity, Shape, Validation, Validator};
use stemmata_runtimes::clients::is_subagents_folder;

use crate::capture::events;
use crate::capture::kept::Kept;
use crate::capture::lines::split_lines;
use crate::capture::source::look;
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{EngineError, Result, Wanted};
use crate::verbs::find::Meant;
use history::History;

/// What was found out about a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// Its format.
    pub format: FormatId,
    /// The version of the client that wrote it, where it says so.
    pub version: Option<String>,
    /// Its lines.
    pub lines: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Whether it is a subagent's, which no client resumes.
    pub is_subagent: bool,
    /// What the loader would stumble over, and how much it would send.
    pub validation: Validation,
}

impl Engine {
    /// Returns the transcript of a session or of a commit that was read from a file of this machine. `path` is the name as a
    /// whole path, `here` the directory that `@` means.
    ///
    /// # Errors
    /// `TranscriptGone` where only the store still has it; `NotFound`, `Ambiguous`, store errors.
    pub fn named_transcript(&self, text: &str, path: &Path, here: Option<&str>) -> Result<PathBuf> {
        let is_path = Path::new(text).components().count() > 1;
        let session = match self.find_session(text)? {
            None if is_path => self.find_session(&path.to_string_lossy())?,
            None => self.session_meant(text, here)?,
            session => session,
        };
        if let Some(session) = session {
            // Of a transcript that was cut the rest is looked at, not what the store has of all of it.
            let left = self.left_of(&session)?.map(|left| left.key.path);
            return there(PathBuf::from(left.unwrap_or(session.key.path)), session.tip);
        }
        // Where several sessions go by a prefix, commits are what is offered to choose from.
        let (seen, ctx) = match self.meant(text, here) {
            Ok(Meant { ctx, .. }) => (self.show(ctx)?.sightings, Some(ctx)),
            Err(EngineError::NotFound { .. }) => (Vec::new(), None),
            Err(error) => return Err(error),
        };
        let mut here = seen.into_iter().filter(|sighting| sighting.machine == self.identity.machine);
        match here.find_map(|sighting| sighting.source) {
            Some(source) => there(PathBuf::from(source.path), ctx),
            None => Err(EngineError::NotFound { what: Wanted::Transcript, text: text.to_owned() }),
        }
    }

    /// Reads a transcript as its client's loader would: of the version that `version` returns for the client, else of the newest
    /// that is known. Which version wrote it counts for nothing: the client that is installed loads it.
    ///
    /// # Errors
    /// `NotATranscript` for a file of no known format, `Io`, `LineTooLong` and `DocumentTooLong` with the place.
    pub fn doctor(path: &Path, version: &dyn Fn(&FormatId) -> Option<String>) -> Result<Diagnosis> {
        Self::doctor_as(path, path, version)
    }

    /// As [`Engine::doctor`], of a transcript whose client looks for it in another place: what it points to is found from there.
    ///
    /// # Errors
    /// As [`Engine::doctor`].
    pub(crate) fn doctor_as(
        path: &Path,
        place: &Path,
        version: &dyn Fn(&FormatId) -> Option<String>,
    ) -> Result<Diagnosis> {
        let mut opened = Transcript::open_whole(path)?;
        let (adapter, detection) = opened.detected()?;
        let detection = detection.clone();
        let judged_by = version(&detection.format);
        let mut validator = adapter.validator(judged_by.as_deref());
        // What wrote it may lose what the installed one does not: that is worth a note.
        let writer = detection.version.as_deref().filter(|writer| Some(*writer) != judged_by.as_deref());
        let mut by_writer = writer.map(|writer| adapter.validator(Some(writer)));
        if let Some(history) = History::of(adapter, &opened, place)? {
            history.read_into(validator.as_mut())?;
            by_writer.as_mut().map_or(Ok(()), |writer| history.read_into(writer.as_mut()))?;
        }
        let mut unread = adapter.splitter(Granularity::Turn, None);
        let mut take = |bytes: &[u8]| {
            validator.line(bytes);
            unread.line(bytes.strip_suffix(b"\n").unwrap_or(bytes), &mut Vec::new());
            if let Some(writer) = &mut by_writer {
                writer.line(bytes);
            }
        };
        let gap = opened.gap();
        let mut loaded = gap.as_ref().map(|_| adapter.validator(judged_by.as_deref()));
        let mut count = 0;
        match adapter.shape() {
            Shape::Lines => {
                let mut lines = opened.lines(0, 1)?;
                while let Some(line) = lines.next()? {
                    take(line.bytes);
                    count += 1;
                    if let (Some(loaded), Some(gap)) = (&mut loaded, &gap)
                        && count <= gap.before
                    {
                        loaded.line(line.bytes);
                    }
                }
                count = lines.next_number() - 1;
            }
            Shape::Document => {
                let bytes = opened.document()?;
                take(&bytes);
                let lines = split_lines(&bytes).count();
                count = to_u64(lines);
            }
        }
        let mut validation = validator.finish();
        if let (Some(gap), Some(mut loaded)) = (gap, loaded) {
            validation.messages_sent = loaded.finish().messages_sent;
            validation.findings.push(of_place(Severity::Fatal, "event_gap", gap.message()));
        }
        judge_place(opened.path(), &mut validation, adapter.validator(judged_by.as_deref()));
        name_unknown(&mut validation.findings, unread.unknown());
        let by_writer = by_writer.map(|mut validator| validator.finish());
        let quirk = by_writer.zip(writer).and_then(|(old, version)| quirk(&validation, &old, version));
        validation.findings.extend(quirk);
        Ok(Diagnosis {
            format: detection.format,
            version: detection.version,
            lines: count,
            bytes: opened.stamp().length,
            is_subagent: is_subagent(path),
            validation,
        })
    }
}

impl Diagnosis {
    /// Returns whether a client would refuse it or lose some of it. What a subagent wrote no client resumes.
    pub fn loses(&self) -> bool {
        let Validation { messages_sent, messages_present, .. } = self.validation;
        !self.is_subagent && (!self.validation.is_accepted() || messages_sent < messages_present)
    }
}

/// Adds what the client does not load of a transcript because of what is in its place. `alone` is to judge what it loads instead.
fn judge_place(path: &Path, validation: &mut Validation, mut alone: Box<dyn Validator>) {
    for damaged in events::damaged(path) {
        let severity = if damaged.is_empty { Severity::Warning } else { Severity::Fatal };
        validation.findings.push(of_place(severity, "event_damaged", damaged.message()));
        validation.messages_sent *= u64::from(damaged.is_empty);
    }
    let unloaded = match Kept::of(path).map_or(Ok(None), |kept| kept.unloaded()) {
        Ok(unloaded) => unloaded,
        Err(error) => {
            let message = format!("what is elsewhere of the session could not be compared: {error}");
            validation.findings.push(of_place(Severity::Warning, "place_unread", message));
            None
        }
    };
    if let Some(unloaded) = unloaded {
        if unloaded.is_left {
            validation.findings.push(of_place(Severity::Warning, "left_behind", unloaded.message()));
            return;
        }
        alone.line(&unloaded.loaded);
        validation.messages_sent = alone.finish().messages_sent;
        validation.messages_present += if unloaded.is_joined { 0 } else { unloaded.messages };
        validation.findings.push(of_place(Severity::Fatal, "half_migrated", unloaded.message()));
    }
}

/// Returns a finding that is about no line.
const fn of_place(severity: Severity, check: &'static str, message: String) -> Finding {
    Finding { severity, check, line: None, message }
}

/// Says what an old version of the client would lose of a transcript that is loaded completely by another one.
fn quirk(now: &Validation, old: &Validation, version: &str) -> Option<Finding> {
    let is_worse = old.messages_sent < now.messages_sent || (now.is_accepted() && !old.is_accepted());
    is_worse.then(|| Finding {
        severity: Severity::Info,
        check: "old_client",
        line: None,
        message: format!(
            "version {version}, which wrote it, would load {} of {} messages; nothing to do unless you go back to it",
            old.messages_sent, old.messages_present
        ),
    })
}

/// Names what is not known and no check of the client's loader names, as an import does.
fn name_unknown(findings: &mut Vec<Finding>, unknown: &[(String, u64)]) {
    for (name, count) in unknown {
        let named = format!("`{name}`");
        let is_named =
            |finding: &Finding| finding.check == "unknown_type" && finding.message.contains(&named);
        if !findings.iter().any(is_named) {
            let records = stemmata_model::plural(*count, "record");
            let message = format!(
                "the type {named} is unknown to us ({records}): kept with all its words, not understood"
            );
            let (severity, check) = (Severity::Info, "unknown_type");
            findings.push(Finding { severity, check, line: None, message });
        }
    }
}

/// Returns whether a file is where a client keeps what its subagents wrote.
pub(crate) fn is_subagent(path: &Path) -> bool {
    path.parent()
        .and_then(Path::file_name)
        .and_then(|folder| folder.to_str())
        .is_some_and(is_subagents_folder)
}

/// Returns the path of a transcript that is still there, or says what the store has of it.
fn there(path: PathBuf, tip: Option<CommitId>) -> Result<PathBuf> {
    // A session of a database or of a bundle has no file of its own; who reads it says what is wrong with it.
    let is_file = path.is_absolute() && path.parent().is_some_and(|folder| !folder.is_file());
    match (look(&path), tip) {
        // Its client may have compressed it.
        (Some((found, _)), _) if is_file => Ok(found),
        (None, Some(ctx)) if is_file => Err(EngineError::TranscriptGone { path, ctx }),
        _ => Ok(path),
    }
}
