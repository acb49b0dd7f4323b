//! Where within a chain a fork begins: at a commit, or at an entry of one.

use stemmata_model::{
    Closure, Commit, CommitCore, CommitId, CommitType, Entry, Part, Role, Timestamp, artifact_id,
};
use stemmata_store::{ContentPart, NewCommit, NewContent, Write};

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{Candidate, EngineError, Result};
use crate::verbs::count::count;
use crate::verbs::find::CANDIDATES_MAX;

/// Characters of an entry's id that are enough to name it.
const ENTRY_CHARS_MIN: usize = 4;

/// The commit that a fork continues, and the prompt that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub ctx: CommitId,
    pub prompt: Option<String>,
}

struct Found {
    commit: Commit,
    native: Vec<u8>,
    entry: Entry,
}

impl Engine {
    /// Returns the commit that ends at an entry of a chain: with it for an assistant's or a tool's, before it for
    /// a user's. A cut within a commit becomes a provisional commit that stores no bytes of its own.
    pub(crate) fn head(&self, ctx: CommitId, at: Option<&str>) -> Result<Head> {
        let Some(at) = at else {
            return Ok(Head { ctx, prompt: None });
        };
        let found = self.find_entry(ctx, at)?;
        let is_prompt = found.entry.role == Role::User && found.entry.answers().next().is_none();
        let keep = if is_prompt { found.entry.native.offset } else { end_of_line(&found) };
        let prompt = is_prompt.then(|| text_of(&found.entry));
        let whole = u64::try_from(found.native.len()).expect("a length fits 64 bits");
        let ctx = match (keep, found.commit.core.parent) {
            (0, None) => {
                return Err(EngineError::Refused {
                    what: "a fork before the first entry",
                    reasons: vec!["nothing comes before it; start a new session instead".to_owned()],
                });
            }
            (0, Some(parent)) => parent,
            (keep, _) if keep >= whole => found.commit.id,
            (keep, _) => self.cut_commit(&found, keep)?,
        };
        Ok(Head { ctx, prompt })
    }

    fn find_entry(&self, ctx: CommitId, at: &str) -> Result<Found> {
        let not_found = || EngineError::NotFound { what: "entry of this chain", text: at.to_owned() };
        if at.len() < ENTRY_CHARS_MIN {
            return Err(not_found());
        }
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let mut found: Option<Found> = None;
        let mut candidates: Vec<Candidate> = Vec::new();
        while let Some(commit) = walk.next()? {
            if commit.closure == Closure::Forgotten {
                continue;
            }
            let native = read_whole(self, commit.core.native_artifact())?;
            let entries = Self::adapter(&commit.core.format, "read")?.decode(&native).entries;
            // What a snapshot restates stands above it, in its own place.
            let restated = match commit.core.commit_type {
                CommitType::Snapshot { restated_entries } => {
                    usize::try_from(restated_entries).unwrap_or(usize::MAX)
                }
                CommitType::Delta | CommitType::Compaction => 0,
            };
            let mut own = entries.into_iter().skip(restated);
            let mut like = None;
            while let Some(entry) = own.find(|entry| entry.id.as_str().starts_with(at)) {
                if entry.id.as_str() == at {
                    return Ok(Found { commit, native, entry });
                }
                if candidates.len() < CANDIDATES_MAX {
                    candidates.push(Candidate {
                        id: entry.id.to_string(),
                        summary: one_line(&text_of(&entry), 80),
                    });
                }
                like = Some(entry);
            }
            if let Some(entry) = like {
                found = Some(Found { commit, native, entry });
            }
        }
        if candidates.len() > 1 {
            return Err(EngineError::Ambiguous { text: at.to_owned(), candidates });
        }
        found.ok_or_else(not_found)
    }

    /// Makes a commit of the first bytes of another one, as a range of its content.
    fn cut_commit(&self, found: &Found, keep: u64) -> Result<CommitId> {
        let end = usize::try_from(keep).unwrap_or(usize::MAX).min(found.native.len());
        let head = found.native.get(..end).unwrap_or_default();
        let adapter = Self::adapter(&found.commit.core.format, "read")?;
        let facts = count(adapter, head, &mut Vec::new());
        let floor = match found.commit.core.parent {
            Some(parent) => {
                self.store.commit(parent)?.map_or(Timestamp::EPOCH, |known| known.core.created_at)
            }
            None => Timestamp::EPOCH,
        };
        let artifact = artifact_id(head);
        let core = CommitCore {
            parent: found.commit.core.parent,
            commit_type: CommitType::Delta,
            artifact,
            native: None,
            format: found.commit.core.format.clone(),
            template: found.commit.core.template.clone(),
            created_at: facts.timestamp.unwrap_or(floor).max(floor),
        };
        let id = core.id();
        let slice = ContentPart::Slice { of: found.commit.core.native_artifact(), offset: 0, length: keep };
        self.commit_batch(vec![
            Write::Content(NewContent::composed(artifact, vec![slice])),
            Write::Commit(NewCommit {
                core,
                rules: found.commit.rules,
                closure: Closure::Provisional,
                counts: facts.counts,
            }),
            Write::Cover { commit: id },
        ])?;
        Ok(id)
    }
}

fn end_of_line(found: &Found) -> u64 {
    let end = found.entry.native.offset + found.entry.native.length;
    let next = usize::try_from(end).ok().and_then(|end| found.native.get(end..)).unwrap_or_default();
    let newline = next.iter().position(|byte| *byte == b'\n').map_or(next.len(), |position| position + 1);
    end + u64::try_from(newline).expect("a length fits 64 bits")
}

/// Returns the text parts of an entry, joined.
pub(crate) fn text_of(entry: &Entry) -> String {
    let texts: Vec<&str> = entry
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) | Part::Summary { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// Returns a text on one line, cut to so many characters.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.len() > chars_max * 4 {
            break;
        }
    }
    if words.chars().count() <= chars_max {
        return words;
    }
    let mut cut: String = words.chars().take(chars_max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
