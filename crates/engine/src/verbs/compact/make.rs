//! Makes a compaction: the summary, and what it keeps. Stores nothing: that is `made`.

use std::collections::HashMap;

use stemmata_model::{
    Closure, Commit, CommitId, Entry, EntryId, EntryKind, Estimate, Note, NoteCode, Role, RulesHash,
    Timestamp, Tokens, artifact_id, group_tools,
};
use stemmata_prompt::compact::summary::{Limits, Size};
use stemmata_prompt::story::prompt_text;
use stemmata_prompt::window::entry_tokens;
use stemmata_redact::Scrubber;
use stemmata_runtimes::adapter::{Adapter, Decoded, Keeping, Keeps};
use stemmata_runtimes::captured::visibility;
use stemmata_runtimes::translate::runtime_of;

use super::digest::{archived, context_after};
use super::made::MadeCompaction;
use super::plan::{Covered, as_earlier, range, recent};
use super::summary::Written;
use super::{CompactWanted, CompactWith, refused};
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};
use crate::guard::known_window;
use crate::verbs::count::count;
use crate::verbs::materialize::Stop;
use crate::verbs::snapshot::contents;
use crate::verbs::summarize::NumberedEntries;

/// A summary whose size nobody asked for takes an eighth of the window at most.
const WINDOW_SHARE: u64 = 8;

/// The same of what it stands for: a quarter, so that a compaction always saves something.
const REPLACED_SHARE: u64 = 4;

/// A context of fewer tokens is nothing to compact, where a summary of it came out longer.
const COMPACTABLE_TOKENS_MIN: u64 = 500;

/// What a compaction says and keeps.
struct Drawn {
    native: Vec<u8>,
    kept_entries: usize,
    with: &'static str,
    notes: Vec<Note>,
}

impl Engine {
    /// Makes the compaction of a commit's context. Nothing is stored.
    pub(crate) fn made_compaction(
        &self,
        parent: &Commit,
        wanted: &CompactWanted<'_>,
    ) -> Result<MadeCompaction> {
        self.drawn_compaction(parent, wanted).or_else(|error| {
            // No size and no kept part makes a summary of a few words shorter than the words.
            let what = match &error {
                EngineError::Refused { what, .. } => *what,
                _ => return Err(error),
            };
            let is_small = matches!(what, Refusal::LongSummary | Refusal::EmptySummary)
                && !matches!(wanted.with, CompactWith::Given(_));
            let tokens = if is_small { self.context_tokens(parent.id, Stop::Compaction)? } else { u64::MAX };
            if tokens >= COMPACTABLE_TOKENS_MIN {
                return Err(error);
            }
            let reason = format!("the context has about {tokens} tokens, fewer than its summary would take");
            Err(refused(Refusal::NothingToCompact, reason))
        })
    }

    /// Returns the estimated tokens of a context, as its own format has it.
    ///
    /// # Errors
    /// As [`materialize`](Self::materialize).
    pub fn context_tokens(&self, ctx: CommitId, stop: Stop) -> Result<u64> {
        let made = self.materialize(Some(ctx), None, stop, &mut std::io::sink())?;
        Ok(made.counts.tokens)
    }

    fn drawn_compaction(&self, parent: &Commit, wanted: &CompactWanted<'_>) -> Result<MadeCompaction> {
        let (scrubber, degraded) = self.compaction_scrubber(parent.id, wanted)?;
        let adapter = Self::adapter(&parent.core.format, FormatUse::Compact)?;
        let mut window = Vec::new();
        let before = self.materialize(Some(parent.id), None, Stop::Compaction, &mut window)?;
        let created_at = self.clock.now().max(parent.core.created_at);
        let at = (parent, created_at);
        let keeping = adapter.keeping(&window);
        let context = adapter.decode(&window);
        let drawn = match keeping {
            Keeping::Slices | Keeping::Recent => {
                self.drawn_keeping((adapter, &scrubber), at, (&context, keeping), wanted)?
            }
            Keeping::Restated | Keeping::Nothing => {
                self.drawn_whole((adapter, &scrubber), at, (&context, wanted))?
            }
        };
        let native_id = artifact_id(&drawn.native);
        let mut contents = contents(native_id, &drawn.native);
        let (artifact, native, after) = match keeping {
            Keeping::Slices | Keeping::Recent => {
                let made = self.compaction_artifact(adapter, Some(parent.id), (native_id, &drawn.native))?;
                contents.extend(made.composed);
                let artifact = made.artifact.0;
                // Only in lines of our own something can stand behind what is kept.
                let after = match keeping {
                    Keeping::Slices => context_after(adapter, made.bytes, &drawn.native)?,
                    Keeping::Recent | Keeping::Restated | Keeping::Nothing => made.bytes,
                };
                (artifact, Some(native_id).filter(|native| *native != artifact), after)
            }
            Keeping::Restated | Keeping::Nothing => (native_id, None, drawn.native.clone()),
        };
        let tokens_after = count(adapter, &after, &mut Vec::new()).counts.tokens;
        if tokens_after >= before.counts.tokens {
            let reason = format!(
                "the context would have about {tokens_after} tokens, and has about {}",
                before.counts.tokens
            );
            return Err(refused(Refusal::LongSummary, reason));
        }
        let open_turn = still_open(parent, &context.entries);
        Ok(MadeCompaction {
            artifact,
            native,
            contents,
            counts: count(adapter, &drawn.native, &mut Vec::new()).counts,
            bytes: drawn.native,
            after,
            created_at,
            rules: RulesHash(scrubber.rules_hash()),
            tokens_before: before.counts.tokens,
            tokens_after,
            with: drawn.with,
            is_model_asked: matches!(wanted.with, CompactWith::By(_)),
            reasons: wanted.reasons,
            format: parent.core.format.clone(),
            kept_entries: u64::try_from(drawn.kept_entries).unwrap_or(u64::MAX),
            notes: before.notes.into_iter().chain(drawn.notes).chain(open_turn).chain(degraded).collect(),
        })
    }

    /// Returns what replaces secrets in a summary, and what is to be said of it. One that the caller or a model wrote is new: it needs
    /// all the rules.
    ///
    /// # Errors
    /// As [`Engine::scrubber_of`] for such a summary, and store errors.
    pub(super) fn compaction_scrubber(
        &self,
        parent: CommitId,
        wanted: &CompactWanted<'_>,
    ) -> Result<(Scrubber, Option<Note>)> {
        match wanted.with {
            CompactWith::Given(_) | CompactWith::By(_) => Ok((self.scrubber_of(parent)?, None)),
            CompactWith::Off | CompactWith::Heuristic => self.scrubber_of_stored(parent),
        }
    }

    /// Draws up a compaction that keeps the recent entries as they are stored.
    fn drawn_keeping(
        &self,
        (adapter, scrubber): (&dyn Adapter, &Scrubber),
        (parent, at): (&Commit, Timestamp),
        (context, keeping): (&Decoded, Keeping),
        wanted: &CompactWanted<'_>,
    ) -> Result<Drawn> {
        let window = context.entries.as_slice();
        if keeping == Keeping::Recent && wanted.range.is_some() {
            return Err(no_part(parent));
        }
        let given = if let CompactWith::Given(text) = wanted.with { Some(text) } else { None };
        // Who has a summary and wants all but the end compacted needs no number of any entry.
        let root = match (given, wanted.range) {
            (Some(_), None) => NumberedEntries { entries: Vec::new(), numbers: Vec::new() },
            _ => self.numbered_entries(parent.id, Stop::Root)?,
        };
        let numbers: HashMap<&EntryId, u64> =
            root.entries.iter().map(|entry| &entry.id).zip(root.numbers.iter().copied()).collect();
        let covered = match wanted.range {
            Some(names) => range(window, &numbers, names)?,
            None => match self.covered_as(wanted.like, window)? {
                // A client's summary stands for the context from its beginning.
                Some(covered) if keeping == Keeping::Recent => Covered { from: 0, ..covered },
                Some(covered) => covered,
                None => recent(window, wanted.keep)?,
            },
        };
        let Covered { from, to } = covered;
        let border = |at: usize| window.get(at).map(|entry| &entry.id);
        let [covers_from, keeps_from] = [border(from).filter(|_| from > 0), border(to)];
        let written = if let Some(text) = given {
            // A client says by itself what its summaries are.
            Written::given(text, Some(parent).filter(|_| keeping == Keeping::Slices))
        } else {
            let covered = window.get(from..to).unwrap_or_default();
            let size = self.summary_size(parent, (window, covered), wanted)?;
            let limits = limits(wanted, size);
            Written::made(&root, root_range(&root, covers_from, keeps_from), parent, (wanted, &limits))?
        };
        let text = checked(scrubber, &written.text)?;
        let kept: Vec<Entry> =
            window.iter().skip(to).filter(|entry| entry.meta.visibility.agent).cloned().collect();
        let keeps = Keeps { covers_from, keeps_from, kept: &kept, last: context };
        let mut native = adapter.encode_compaction(&text, &keeps, at);
        let pins = visibility::pins(window);
        let may_archive = keeping == Keeping::Slices && wanted.range.is_none() && from == 0;
        let cutoff = if may_archive { wanted.tool_call_cutoff } else { 0 };
        let archived = archived(&kept, &|id| pins.contains(id), (cutoff, at));
        native.extend(archived.iter().flat_map(|archived| archived.lines.iter().copied()));
        Ok(Drawn {
            native,
            kept_entries: from + kept.len() - archived.map_or(0, |archived| archived.entries),
            with: written.with,
            notes: written.notes,
        })
    }

    /// Returns what an earlier compaction covered of a window, where that is known.
    fn covered_as(&self, earlier: Option<CommitId>, window: &[Entry]) -> Result<Option<Covered>> {
        let Some(earlier) = earlier else { return Ok(None) };
        let commit = self.store.commit(earlier)?;
        if commit.is_none_or(|commit| commit.closure == Closure::Forgotten) {
            return Ok(None);
        }
        Ok(as_earlier(window, &self.entries_of(earlier)?))
    }

    /// Draws up a compaction that stands for the whole context.
    fn drawn_whole(
        &self,
        (adapter, scrubber): (&dyn Adapter, &Scrubber),
        (parent, at): (&Commit, Timestamp),
        (context, wanted): (&Decoded, &CompactWanted<'_>),
    ) -> Result<Drawn> {
        if wanted.range.is_some() {
            return Err(no_part(parent));
        }
        let written = match wanted.with {
            CompactWith::Given(text) => Written::given(text, None),
            CompactWith::Off | CompactWith::Heuristic | CompactWith::By(_) => {
                let root = self.numbered_entries(parent.id, Stop::Root)?;
                let window = context.entries.as_slice();
                let limits = limits(wanted, self.summary_size(parent, (window, window), wanted)?);
                Written::made(&root, (0, root.entries.len()), parent, (wanted, &limits))?
            }
        };
        let text = checked(scrubber, &written.text)?;
        let last = self.last_entries(parent.id)?;
        let message = format!(
            "recent turns are summarized too: {} would not load them as they are behind a summary that it did not write",
            runtime_of(&parent.core.format)
        );
        let note = Note::new(NoteCode::Degraded, message);
        Ok(Drawn {
            native: adapter.encode_compaction(&text, &Keeps::nothing(&last), at),
            kept_entries: 0,
            with: written.with,
            notes: written.notes.into_iter().chain([note]).collect(),
        })
    }

    /// Returns the size of the summary of a window's covered part. The summary is of the whole chain, which grows without end: where
    /// nobody asks for a size, what it stands for and the window bound it.
    fn summary_size(
        &self,
        parent: &Commit,
        (window, covered): (&[Entry], &[Entry]),
        wanted: &CompactWanted<'_>,
    ) -> Result<Size> {
        if let Some(size) = wanted.size {
            return Ok(size);
        }
        let seen = covered.iter().filter(|entry| entry.meta.visibility.agent);
        let replaced: Tokens = seen.map(|entry| entry_tokens(entry, &Estimate)).sum();
        let known = match wanted.window {
            Some(tokens) => Some(tokens),
            None => self.window_of(parent, window)?,
        };
        let of_window = known.map_or(Tokens(u64::MAX), |tokens| Tokens(tokens.0 / WINDOW_SHARE));
        Ok(Size::default_within(of_window.min(Tokens(replaced.0 / REPLACED_SHARE))))
    }

    /// Returns the tokens of the window that a context is in, where its client reported them or they are known of its model.
    fn window_of(&self, parent: &Commit, window: &[Entry]) -> Result<Option<Tokens>> {
        if let Some(reported) = self.reported_window(parent.id)? {
            return Ok(Some(Tokens(reported)));
        }
        let model = window.iter().rev().find_map(|entry| entry.meta.model.as_deref());
        let known = known_window(runtime_of(&parent.core.format), model);
        Ok(known.map(|(_, known)| Tokens(known.tokens)))
    }

    /// Returns the entries of the newest commit that has some, for what follows them.
    fn last_entries(&self, ctx: CommitId) -> Result<Decoded> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        while let Some(commit) = walk.next()? {
            let bytes = read_whole(self, commit.core.native_artifact())?;
            let decoded = Self::adapter(&commit.core.format, FormatUse::Read)?.decode(&bytes);
            if decoded.entries.iter().any(|entry| entry.meta.visibility.agent) {
                return Ok(decoded);
            }
        }
        Ok(Decoded::default())
    }
}

/// Says of a turn that was not at its end that the rest of it is elsewhere. The last turn of every transcript is provisional: it is
/// open where a prompt or a result waits for the model, or a call for its result.
fn still_open(parent: &Commit, context: &[Entry]) -> Option<Note> {
    if parent.closure != Closure::Provisional {
        return None;
    }
    let is_said = |entry: &Entry| {
        entry.meta.visibility.agent && matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult)
    };
    let at = context.iter().rposition(is_said)?;
    let last = context.get(at)?;
    let is_called =
        group_tools(context).iter().any(|group| !group.open.is_empty() && group.calls.contains(&at));
    let is_result = last.kind == EntryKind::ToolResult || last.role == Role::Tool;
    let waits = is_called || is_result || prompt_text(last, last.meta.sidechain.as_deref()).is_some();
    let message = "the last turn was still open when it was read: what its client writes after that is in the session's own chain";
    waits.then(|| Note::new(NoteCode::Degraded, message))
}

fn limits(wanted: &CompactWanted<'_>, size: Size) -> Limits {
    let focus = wanted.focus.unwrap_or_default().to_owned();
    Limits { size, excludes_user: wanted.excludes_user, focus, ..Limits::default() }
}

fn no_part(parent: &Commit) -> EngineError {
    let format = &parent.core.format;
    refused(
        Refusal::CompactRange,
        format!("in `{format}` a summary stands for the context from its beginning"),
    )
}

/// Replaces the secrets of a summary. An empty one stands for nothing.
fn checked(scrubber: &Scrubber, text: &str) -> Result<String> {
    let text = scrubber.scrub_text(text)?.text.into_owned();
    if text.trim().is_empty() {
        return Err(refused(Refusal::EmptySummary, "the summary is empty"));
    }
    Ok(text)
}

/// Returns where in the entries from the root the covered part begins and ends: hidden entries between are part of it.
fn root_range(root: &NumberedEntries, from: Option<&EntryId>, to: Option<&EntryId>) -> (usize, usize) {
    // The newest copy of an id that stands there twice is the one that is in the window.
    let place = |id: &EntryId| root.entries.iter().rposition(|entry| entry.id == *id);
    let from = from.and_then(place).unwrap_or(0);
    (from, to.and_then(place).unwrap_or(root.entries.len()).max(from))
}
