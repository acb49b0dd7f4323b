//! Where within a chain a fork begins: at a commit, or at an entry of one.

mod late_cut;

use std::io::Write;

use stemmata_model::{
    Closure, Commit, CommitCore, CommitId, CommitType, Entry, EntryKind, FormatId, Part, Role, Timestamp,
    artifact_id, to_u64,
};
use stemmata_runtimes::adapter::Shape;
use stemmata_store::{ContentPart, Link, LinkKind, NewCommit, NewContent, Write as StoreWrite};

use self::late_cut::LateLine;
use crate::chain::path::entries_of;
use crate::chain::segments::{NewestBytes, read_whole};
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{Candidate, EngineError, FormatUse, Refusal, Result, Wanted};
use crate::verbs::around::{AroundQuery, ENTRY_CHARS_MIN};
use crate::verbs::count::count;
use crate::verbs::find::CANDIDATES_MAX;
use crate::verbs::materialize::{Materialized, Stop};

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
    shape: Shape,
    /// The end of the entry before it in the same commit, 0 for the first.
    before: u64,
    /// Whether nothing was said before it in the same commit.
    is_first: bool,
    is_last: bool,
}

/// Where a commit is cut.
struct Cut {
    /// Its bytes that are kept.
    keep: u64,
    /// Lines further down that are said before the cut: a client wrote them late.
    late: Vec<LateLine>,
}

impl Cut {
    fn late_bytes(&self) -> Vec<u8> {
        self.late.iter().flat_map(|line| line.bytes.iter().copied()).collect()
    }
}

/// A commit with its content.
struct Content {
    commit: Commit,
    native: Vec<u8>,
    entries: Vec<Entry>,
    /// How many entries it begins with that stand above it.
    restated: usize,
    shape: Shape,
}

impl Content {
    /// Returns the entry at a position.
    fn found(self, position: usize) -> Option<Found> {
        let Self { commit, native, entries, shape, .. } = self;
        let before = position.checked_sub(1).and_then(|index| entries.get(index)).map_or(0, end_of_entry);
        let is_last = position + 1 == entries.len();
        let is_said = |entry: &Entry| {
            use EntryKind::{CompactionSummary, Message, ToolResult, ToolSummary};
            matches!(entry.kind, Message | ToolResult | ToolSummary | CompactionSummary)
        };
        let is_first = !entries.iter().take(position).any(is_said);
        let entry = entries.into_iter().nth(position)?;
        Some(Found { commit, native, entry, shape, before, is_first, is_last })
    }
}

impl Engine {
    /// Returns the commit that ends at an entry of a chain: with it for an assistant's or a tool's, before it for
    /// a user's. A cut within a commit becomes a provisional commit that stores no bytes of its own.
    pub(crate) fn head(&self, ctx: CommitId, at: Option<&str>) -> Result<Head> {
        self.head_with(ctx, at, &mut |found, cut| self.cut_commit(found, cut))
    }

    /// Returns the head as [`Engine::head`] does, without storing anything: for a cut within a commit it is that whole commit.
    /// The second value says whether it is.
    pub(crate) fn head_uncut(&self, ctx: CommitId, at: Option<&str>) -> Result<(Head, bool)> {
        let mut is_within = false;
        let head = self.head_with(ctx, at, &mut |found, _| {
            is_within = true;
            Ok(found.commit.id)
        })?;
        Ok((head, is_within))
    }

    /// Writes the context of a chain that ends at an entry, as a fork there would have it. Where that is within a commit nothing is
    /// stored for it; of what is translated or whole in each commit it is the context to that commit's end.
    ///
    /// # Errors
    /// As [`Engine::materialize_best`], and `NotFound` and `Ambiguous` for the entry.
    pub fn materialize_at(
        &self,
        (ctx, at): (CommitId, &str),
        format: Option<&FormatId>,
        (stop, budget_tokens): (Stop, u64),
        out: &mut dyn Write,
    ) -> Result<Materialized> {
        let mut kept = None;
        let head = self.head_with(ctx, Some(at), &mut |found, cut| {
            kept = Some(NewestBytes { first: cut.keep, behind: cut.late_bytes() });
            Ok(found.commit.id)
        })?;
        if kept.is_none() || !self.is_cut_as_lines(head.ctx, format, stop)? {
            return self.materialize_best(Some(head.ctx), format, (stop, budget_tokens), out);
        }
        let mut context = self.plan_context_within(head.ctx, stop, kept)?;
        let (bytes, counts) = context.write(&mut |piece: &[u8]| out.write_all(piece))?;
        Ok(context.finish(bytes, counts))
    }

    /// Returns whether the first lines of a commit are a context by themselves, in a format.
    pub(crate) fn is_cut_as_lines(
        &self,
        ctx: CommitId,
        format: Option<&FormatId>,
        stop: Stop,
    ) -> Result<bool> {
        let Some(commit) = self.store.commit(ctx)? else { return Ok(false) };
        let is_plain = commit.core.commit_type == CommitType::Delta
            && Self::adapter(&commit.core.format, FormatUse::Read)?.shape() == Shape::Lines;
        Ok(is_plain && self.other_format(ctx, format, stop)?.is_none())
    }

    fn head_with(
        &self,
        ctx: CommitId,
        at: Option<&str>,
        cut: &mut dyn FnMut(&Found, &Cut) -> Result<CommitId>,
    ) -> Result<Head> {
        let Some(at) = at else {
            return Ok(Head { ctx, prompt: None });
        };
        let found = self.find_entry(ctx, at)?;
        // The summary of a compaction has the role of a user, too, and there is nothing to edit in it.
        let is_prompt = found.entry.role == Role::User
            && found.entry.kind == EntryKind::Message
            && found.entry.answers().next().is_none();
        let keep = match (is_prompt, found.shape, is_within(&found)) {
            (true, Shape::Lines, false) => found.entry.native.offset,
            // What separates records of a document goes with the one behind.
            (true, ..) => found.before,
            (false, _, false) => end_of(&found),
            (false, _, true) => end_of_entry(&found.entry),
        };
        let prompt = is_prompt.then(|| text_of(&found.entry));
        if let Some((found, cut_at)) = self.cut_of_late(ctx, &found, is_prompt)? {
            return Ok(Head { ctx: cut(&found, &cut_at)?, prompt });
        }
        let whole = to_u64(found.native.len());
        let stands_for_all = matches!(found.commit.core.commit_type, CommitType::Snapshot { .. });
        let begins = found.commit.core.parent.is_none() || stands_for_all;
        let ctx = match (keep, found.commit.core.parent) {
            _ if is_prompt && found.is_first && begins => {
                return Err(EngineError::Refused {
                    what: Refusal::ForkBeforeFirst,
                    reasons: vec!["nothing comes before it; start a new session instead".to_owned()],
                });
            }
            (0, Some(parent)) if !stands_for_all => parent,
            (keep, _) if keep >= whole => found.commit.id,
            (keep, _) => cut(&found, &Cut { keep, late: Vec::new() })?,
        };
        Ok(Head { ctx, prompt })
    }

    fn find_entry(&self, ctx: CommitId, at: &str) -> Result<Found> {
        let not_found = || EngineError::NotFound { what: Wanted::Entry, text: at.to_owned() };
        if at.strip_prefix('@').is_some_and(|number| number.parse::<u64>().is_ok()) {
            let (ctx, position) = self.counted_entry(ctx, at)?;
            let commit = self.store.commit(ctx)?.ok_or_else(not_found)?;
            let mut content = self.content(commit)?;
            // It counts lines: what stands within one is named by its id.
            content.entries =
                Self::adapter(&content.commit.core.format, FormatUse::Read)?.decode(&content.native).entries;
            return content.found(position).ok_or_else(not_found);
        }
        let is_beginning = at.chars().count() >= ENTRY_CHARS_MIN;
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let mut found: Option<Found> = None;
        let mut candidates: Vec<Candidate> = Vec::new();
        while let Some(commit) = walk.next()? {
            if commit.closure == Closure::Forgotten {
                continue;
            }
            let content = self.content(commit)?;
            let own = || content.entries.iter().enumerate().skip(content.restated);
            if let Some((position, _)) = own().find(|(_, entry)| entry.id.as_str() == at) {
                return content.found(position).ok_or_else(not_found);
            }
            let mut like = None;
            for (position, entry) in
                own().filter(|(_, entry)| is_beginning && entry.id.as_str().starts_with(at))
            {
                if candidates.len() < CANDIDATES_MAX {
                    let summary = one_line(&text_of(entry), 80);
                    candidates.push(Candidate { id: entry.id.to_string(), summary });
                }
                like = Some(position);
            }
            if let Some(position) = like {
                found = content.found(position);
            }
        }
        if candidates.len() > 1 {
            return Err(EngineError::Ambiguous { text: at.to_owned(), candidates });
        }
        found.ok_or_else(not_found)
    }

    fn content(&self, commit: Commit) -> Result<Content> {
        let native = read_whole(self, commit.core.native_artifact())?;
        let adapter = Self::adapter(&commit.core.format, FormatUse::Read)?;
        let entries = entries_of(&commit, &native)?;
        // What a snapshot restates stands above it, in its own place.
        let restated = usize::try_from(commit.core.commit_type.restated()).unwrap_or(usize::MAX);
        Ok(Content { commit, native, entries, restated, shape: adapter.shape() })
    }

    /// Returns the commit that `@N` names an entry of, of those up to a commit, and the entry's position in it.
    fn counted_entry(&self, ctx: CommitId, at: &str) -> Result<(CommitId, usize)> {
        let query = AroundQuery { ctx, entry: Some(at.to_owned()), around: 0, tokens_max: 1 };
        let found = self.around(&query)?.entries.into_iter().find(|found| found.is_match);
        let depth = |id| self.store.commit(id).map(|commit| commit.map_or(0, |commit| commit.depth));
        match found {
            // A page goes on below the commit; a fork of the commit does not.
            Some(found) if depth(found.ctx)? <= depth(ctx)? => Ok((found.ctx, found.position)),
            _ => Err(EngineError::NotFound { what: Wanted::Entry, text: at.to_owned() }),
        }
    }

    /// Makes a commit of the first bytes of another one, as a range of its content.
    fn cut_commit(&self, found: &Found, Cut { keep, late }: &Cut) -> Result<CommitId> {
        let keep = *keep;
        let end = usize::try_from(keep).unwrap_or(usize::MAX).min(found.native.len());
        let adapter = Self::adapter(&found.commit.core.format, FormatUse::Read)?;
        let (without, opening) = adapter.opening(&found.native, end);
        let closing = adapter.closing(&found.native, end);
        let kept = found.native.get(without..end).unwrap_or_default();
        let mut bytes = [&opening, kept, &closing].concat();
        bytes.extend(late.iter().flat_map(|line| &line.bytes));
        let facts = count(adapter, &bytes, &mut Vec::new());
        let floor = match found.commit.core.parent {
            Some(parent) => {
                self.store.commit(parent)?.map_or(Timestamp::EPOCH, |known| known.core.created_at)
            }
            None => Timestamp::EPOCH,
        };
        let artifact = artifact_id(&bytes);
        let core = CommitCore {
            parent: found.commit.core.parent,
            commit_type: match found.commit.core.commit_type {
                // The beginning of what stands for the chain before it stands for that, too.
                whole @ CommitType::Snapshot { .. } => whole,
                CommitType::Delta | CommitType::Compaction => CommitType::Delta,
            },
            artifact,
            native: None,
            format: found.commit.core.format.clone(),
            template: found.commit.core.template.clone(),
            created_at: facts.timestamp.unwrap_or(floor).max(floor),
        };
        let id = core.id();
        let of = found.commit.core.native_artifact();
        let length = |bytes: usize| to_u64(bytes);
        let slice = ContentPart::Slice { of, offset: length(without), length: length(kept.len()) };
        let mut parts = vec![ContentPart::Bytes(opening), slice, ContentPart::Bytes(closing)];
        parts.extend(late.iter().map(|line| ContentPart::Slice {
            of: line.of,
            offset: line.offset,
            length: length(line.bytes.len()),
        }));
        parts.retain(|part| match part {
            ContentPart::Bytes(bytes) => !bytes.is_empty(),
            ContentPart::Slice { length, .. } => *length > 0,
        });
        let mut batch = vec![
            StoreWrite::Content(NewContent::composed(artifact, parts)),
            StoreWrite::Commit(NewCommit {
                core,
                rules: found.commit.rules,
                closure: Closure::Provisional,
                counts: facts.counts,
            }),
            StoreWrite::Cover { commit: id },
        ];
        // Behind a parent its siblings say where it is from; a root has none.
        batch.extend(found.commit.core.parent.is_none().then(|| {
            StoreWrite::Link(Link {
                from: id,
                kind: LinkKind::DerivedFrom,
                to: found.commit.id,
                entry: Some(found.entry.id.clone()),
            })
        }));
        self.commit_batch(batch)?;
        Ok(id)
    }
}

/// Returns where a commit ends that ends with an entry: behind its line, or, of a document, behind all that follows the
/// last one.
fn end_of(found: &Found) -> u64 {
    let end = end_of_entry(&found.entry);
    let next = usize::try_from(end).ok().and_then(|end| found.native.get(end..)).unwrap_or_default();
    let more = match found.shape {
        Shape::Lines => {
            next.iter().position(|byte| *byte == b'\n').map_or(next.len(), |position| position + 1)
        }
        Shape::Document if found.is_last => next.len(),
        Shape::Document => 0,
    };
    end + to_u64(more)
}

/// Returns whether an entry stands within a line, with others.
fn is_within(found: &Found) -> bool {
    let start = usize::try_from(found.entry.native.offset).unwrap_or(usize::MAX);
    let before = start.checked_sub(1).and_then(|at| found.native.get(at));
    found.shape == Shape::Lines && before.is_some_and(|byte| *byte != b'\n')
}

const fn end_of_entry(entry: &Entry) -> u64 {
    entry.native.offset + entry.native.length
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
