//! Summaries: what was given, else one derived from the entries by rule.

use std::collections::BTreeMap;

use stemmata_api::v1::Summary;
use stemmata_model::{
    ArtifactId, Closure, Commit, CommitId, CommitType, Entry, EntryKind, Part, Role, SummarySource, plural,
};
use stemmata_prompt::title::clean;
use stemmata_store::{Described, StoreError};

use crate::chain::path::entries_of;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::verbs::at::{one_line, text_of};

/// Characters of a derived summary's text at most.
const TEXT_CHARS_MAX: usize = 100;

/// Tools that a derived summary names at most.
const TOOLS_MAX: usize = 4;

/// Bytes of a commit that are read to derive a summary; a larger one is described by its counts.
const READ_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Commits that are walked to find a title.
const TITLE_COMMITS_MAX: usize = 10_000;

impl Engine {
    /// Returns a commit's summary. Always there: without a given one it is derived from the entries, and the
    /// same entries give the same text. Where the entries cannot be read, it says so beside their number: a chain
    /// can be listed whatever became of its contents.
    ///
    /// # Errors
    /// `CommitMissing`, and what the store says about itself rather than about this one content.
    pub fn summary_of(&self, id: CommitId) -> Result<Summary> {
        let commit = self.store.commit(id)?.ok_or(stemmata_store::StoreError::CommitMissing(id))?;
        self.summary(&commit)
    }

    /// Returns a commit's summary, for a commit that was loaded already.
    ///
    /// # Errors
    /// As `summary_of`.
    pub fn summary(&self, commit: &Commit) -> Result<Summary> {
        let given = self.store.annotations(commit.id)?.summary;
        self.summary_from(commit, given, None)
    }

    /// Returns the summaries of a page of commits; their contents are read together.
    pub(crate) fn summaries(&self, page: &[Described]) -> Result<Vec<Summary>> {
        let mut summaries = Vec::with_capacity(page.len());
        let mut rest = page;
        while let Some(first) = rest.first() {
            let mut bytes = needed_bytes(first);
            let more = rest.iter().skip(1).take_while(|described| {
                bytes = bytes.saturating_add(needed_bytes(described));
                bytes <= READ_BYTES_MAX
            });
            let (part, after) = rest.split_at(1 + more.count());
            let mut contents = self.contents_of(part)?;
            for (described, content) in part.iter().zip(&mut contents) {
                let given = described.annotations.summary.clone();
                summaries.push(self.summary_from(&described.commit, given, content.take())?);
            }
            rest = after;
        }
        Ok(summaries)
    }

    /// Reads what the summaries of some commits are derived from, at once; none of those that need none, and of none where one
    /// of them cannot be read: then each is read by itself, to say what is wrong with it.
    fn contents_of(&self, part: &[Described]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut contents: Vec<Option<Vec<u8>>> = part
            .iter()
            .map(|described| {
                is_derived(&described.commit, described.annotations.summary.is_some()).then(Vec::new)
            })
            .collect();
        let places: Vec<usize> =
            contents.iter().enumerate().filter_map(|(at, wanted)| wanted.as_ref().map(|_| at)).collect();
        let natives: Vec<ArtifactId> = places
            .iter()
            .filter_map(|at| part.get(*at).map(|described| described.commit.core.native_artifact()))
            .collect();
        let read = self.store.read_contents(&natives, &mut |number, bytes| {
            if let Some(Some(content)) = places.get(number).and_then(|at| contents.get_mut(*at)) {
                content.extend_from_slice(bytes);
            }
            Ok(())
        });
        match read {
            Ok(()) => Ok(contents),
            Err(error) => {
                let error = EngineError::from(error);
                if unreadable(&error).is_none() {
                    return Err(error);
                }
                Ok(part.iter().map(|_| None).collect())
            }
        }
    }

    pub(crate) fn summary_from(
        &self,
        commit: &Commit,
        given: Option<(String, SummarySource)>,
        content: Option<Vec<u8>>,
    ) -> Result<Summary> {
        if let Some((text, source)) = given {
            return Ok(Summary { text, source });
        }
        if commit.closure == Closure::Forgotten {
            let text = format!("{} (forgotten)", plural(commit.counts.messages, "message"));
            return Ok(Summary { text, source: SummarySource::Heuristic });
        }
        let text = match self.derived_summary(commit, content) {
            Ok(text) => text,
            Err(error) => {
                let reason = unreadable(&error).ok_or(error)?;
                format!("{} ({reason})", plural(commit.counts.messages, "message"))
            }
        };
        Ok(Summary { text, source: SummarySource::Heuristic })
    }

    fn derived_summary(&self, commit: &Commit, content: Option<Vec<u8>>) -> Result<String> {
        if !is_derived(commit, false) {
            return Ok(plural(commit.counts.messages, "message"));
        }
        Self::adapter(&commit.core.format, FormatUse::Read)?;
        let bytes = match content {
            Some(bytes) => bytes,
            None => read_whole(self, commit.core.native_artifact())?,
        };
        Ok(derive(commit.core.commit_type, &entries_of(commit, &bytes)?))
    }

    /// Returns the title of the session that a commit was captured in.
    pub(crate) fn title_of(&self, ctx: CommitId) -> Result<Option<String>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        for _ in 0..TITLE_COMMITS_MAX {
            let Some(commit) = walk.next()? else { break };
            for sighting in self.store.sightings(commit.id, 4)? {
                let Some(source) = sighting.source else { continue };
                let key = stemmata_store::SessionKey { machine: sighting.machine, path: source.path };
                if let Some(title) = self.store.session(&key)?.and_then(|session| session.title) {
                    return Ok(Some(title));
                }
            }
        }
        Ok(None)
    }
}

/// Says whether a commit's summary is derived from its content.
fn is_derived(commit: &Commit, is_given: bool) -> bool {
    !is_given && commit.closure != Closure::Forgotten && commit.native_bytes <= READ_BYTES_MAX
}

/// Returns the bytes that a commit's summary is derived from.
fn needed_bytes(described: &Described) -> u64 {
    let is_given = described.annotations.summary.is_some();
    if is_derived(&described.commit, is_given) { described.commit.native_bytes } else { 0 }
}

/// Says why a commit's entries cannot be read, where that is about this commit alone.
fn unreadable(error: &EngineError) -> Option<String> {
    match error {
        EngineError::Format { format, .. } => Some(format!("format `{format}` is not known")),
        EngineError::Store(StoreError::ContentMissing(_)) => Some("their content is missing".to_owned()),
        EngineError::Store(StoreError::ContentForgotten(_)) => Some("forgotten".to_owned()),
        EngineError::Store(StoreError::Corrupt { .. }) => Some("their content is damaged".to_owned()),
        _ => None,
    }
}

/// Derives a summary: what was asked (else what was said), and which tools worked on it.
fn derive(commit_type: CommitType, entries: &[Entry]) -> String {
    let first = |wanted: &dyn Fn(&Entry) -> bool| {
        let texts = entries.iter().filter(|entry| wanted(entry));
        // What a client puts into a prompt, or sends as one, is not what was asked.
        let text = |entry| if Entry::is_prompt(entry) { clean(&text_of(entry)) } else { text_of(entry) };
        let mut texts = texts.map(text);
        texts.find(|text| !text.trim().is_empty()).map(|text| one_line(&text, TEXT_CHARS_MAX))
    };
    let summary = |entry: &Entry| entry.kind == EntryKind::CompactionSummary;
    let said = match commit_type {
        CommitType::Compaction => first(&summary).map(|text| format!("compaction: {text}")),
        CommitType::Delta | CommitType::Snapshot { .. } => None,
    };
    let said = said
        .or_else(|| first(&|entry| entry.is_prompt()))
        .or_else(|| first(&|entry| entry.role == Role::Assistant))
        .unwrap_or_else(|| plural(entries.len(), "entry"));
    let tools = tools(entries);
    if tools.is_empty() { said } else { format!("{said} [{tools}]") }
}

fn tools(entries: &[Entry]) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for part in entries.iter().flat_map(|entry| &entry.parts) {
        if let Part::ToolCall { name, .. } = part {
            *counts.entry(name).or_default() += 1;
        }
    }
    let mut ranked: Vec<(&str, u64)> = counts.into_iter().collect();
    ranked.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let beyond = ranked.len().saturating_sub(TOOLS_MAX);
    let mut shown: Vec<String> = ranked
        .iter()
        .take(TOOLS_MAX)
        .map(|(name, count)| if *count == 1 { (*name).to_owned() } else { format!("{name} ×{count}") })
        .collect();
    if beyond > 0 {
        shown.push(format!("{beyond} more"));
    }
    shown.join(", ")
}
