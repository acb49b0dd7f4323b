//! `checkpoint` of a list in which an API compacted: what stands before the compaction, the compaction and what follows it are
//! commits of their own, in one act.

use stemmata_model::{Closure, Commit, CommitType, NativeSpan, RulesHash, Trigger, artifact_id, to_u64};
use stemmata_redact::Scrubber;
use stemmata_runtimes::adapter::Adapter;
use stemmata_runtimes::registry;
use stemmata_store::{NewCommit, Session, SessionKey, Write};

use super::{CheckpointContent, CheckpointRequest, Held, counted};
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::snapshot::contents;

/// Commits that are written with the one that was asked for, before it.
pub(crate) struct Ahead {
    pub(super) writes: Vec<Write>,
    /// The session as they leave it.
    pub(super) session: Session,
    /// The last of them.
    pub(super) parent: Commit,
}

/// A request for the last of several commits.
pub(super) struct Split {
    pub(super) request: CheckpointRequest,
    pub(super) parent: Option<Commit>,
    pub(super) held: Held,
}

/// A commit of a list that is split.
struct Part {
    commit_type: CommitType,
    bytes: Vec<u8>,
}

impl Engine {
    /// Splits a list around the compactions in it; `None` where it holds none that stands for something.
    pub(super) fn split(
        &self,
        request: &CheckpointRequest,
        bytes: &[u8],
        (key, scrubber): (&SessionKey, &Scrubber),
        parent: Option<&Commit>,
    ) -> Result<Option<Split>> {
        let is_added = request.commit_type == CommitType::Delta
            && matches!(request.content, CheckpointContent::Bytes(_));
        let Some(adapter) = registry::by_format(&request.format).filter(|_| is_added) else {
            return Ok(None);
        };
        let mut parts = parts(adapter, bytes, parent.is_some());
        let Some(last) = parts.pop() else { return Ok(None) };
        let mut own = CheckpointRequest {
            content: CheckpointContent::Bytes(Vec::new()),
            messages: None,
            tokens: None,
            created_at: Some(request.created_at.unwrap_or_else(|| self.clock.now())),
            ..request.clone()
        };
        let mut ahead: Option<Ahead> = None;
        for part in parts {
            own.commit_type = part.commit_type;
            let before = ahead.take();
            let made = self.part(&own, &part, (key, scrubber), (parent, before))?;
            own.parent = Some(made.parent.id);
            ahead = Some(made);
        }
        own.commit_type = last.commit_type;
        let artifact = artifact_id(&last.bytes);
        let parent = ahead.as_ref().map(|ahead| &ahead.parent).or(parent).cloned();
        let writes = contents(artifact, &last.bytes);
        let held = Held { artifact, native: None, contents: writes, bytes: last.bytes, ahead };
        Ok(Some(Split { request: own, parent, held }))
    }

    /// Adds a commit to those that are written before the last one.
    fn part(
        &self,
        request: &CheckpointRequest,
        part: &Part,
        (key, scrubber): (&SessionKey, &Scrubber),
        (parent, before): (Option<&Commit>, Option<Ahead>),
    ) -> Result<Ahead> {
        let artifact = artifact_id(&part.bytes);
        let mut sighting = self.given_sighting(request, key)?;
        if part.commit_type == CommitType::Compaction {
            sighting.trigger = Trigger::Compaction;
        }
        let (mut writes, session, above) = match before {
            Some(before) => (before.writes, before.session, Some(before.parent)),
            None => (Vec::new(), self.api_session(request, &sighting, key.clone(), None)?, parent.cloned()),
        };
        let core = self.core_of(request, (artifact, None), above.as_ref());
        let (id, counts) = (core.id(), counted(request, &part.bytes, &mut Vec::new()));
        let (rules, closure) = (RulesHash(scrubber.rules_hash()), Closure::Closed);
        let native_bytes = to_u64(part.bytes.len());
        let session = self.grown(session, (id, counts.messages, native_bytes), above.as_ref())?;
        writes.extend(contents(artifact, &part.bytes));
        writes.push(Write::Commit(NewCommit { core: core.clone(), rules, closure, counts }));
        writes.push(Write::Sighting { commit: id, sighting: Box::new(sighting) });
        let depth = above.as_ref().map_or(0, |above| above.depth + 1);
        let cumulative_bytes = above.as_ref().map_or(0, |above| above.cumulative_bytes) + native_bytes;
        let parent = Commit { id, core, rules, closure, counts, native_bytes, depth, cumulative_bytes };
        Ok(Ahead { writes, session, parent })
    }
}

/// Returns what a list becomes, in its order; nothing where it stays one commit. A compaction at its beginning stands for
/// nothing where no commit is before it.
fn parts(adapter: &dyn Adapter, bytes: &[u8], has_parent: bool) -> Vec<Part> {
    let compactions = adapter.compactions(bytes);
    if compactions.is_empty() {
        return Vec::new();
    }
    let spans: Vec<NativeSpan> = adapter.decode(bytes).entries.iter().map(|entry| entry.native).collect();
    let place = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let list = |from: usize, to: usize| -> Option<Part> {
        let (frame, first) = (spans.first()?, spans.get(from)?);
        let last = spans.get(from..to)?.last()?;
        let end = place(last.offset + last.length);
        let mut own = bytes.get(..place(frame.offset))?.to_vec();
        own.extend_from_slice(bytes.get(place(first.offset)..end)?);
        own.extend(adapter.closing(bytes, end));
        Some(Part { commit_type: CommitType::Delta, bytes: own })
    };
    let (mut parts, mut done) = (Vec::new(), 0);
    for compaction in compactions {
        // Entries of this delta that stand before the compaction are new. They are not the messages that the API kept of the context
        // before, even if they are a user's.
        let at = place(compaction.entries_through.saturating_sub(1));
        if at == 0 && !has_parent {
            continue;
        }
        parts.extend(list(done, at));
        parts.extend(list(at, at + 1).map(|part| Part { commit_type: CommitType::Compaction, ..part }));
        done = at + 1;
    }
    if !parts.is_empty() {
        parts.extend(list(done, spans.len()));
    }
    parts
}
