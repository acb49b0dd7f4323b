//! Writes what commits become: scrubbed contents, commits on the new chain, and all that stands beside them.
//!
//! Old commits, sessions and cursors stay as they are here.

use std::collections::{BTreeSet, HashMap, HashSet};

use stemmata_model::{
    ArtifactId, Closure, Commit, CommitCore, CommitId, CommitType, Granularity, RulesHash, Template,
    artifact_id,
};
use stemmata_redact::{ScrubbedLine, Scrubber};
use stemmata_runtimes::adapter::Adapter;
use stemmata_runtimes::registry;
use stemmata_runtimes::sidecar::TEMPLATE_ALTERED;
use stemmata_store::maintain::forget::Reworded;
use stemmata_store::{
    Annotation, AuditRecord, Coverage, Described, Link, NewCommit, NewHole, SIDECAR_FORMAT, Write,
};

use super::{Scope, end_of};
use crate::capture::anchors::Anchors;
use crate::capture::segment::OpenSegment;
use crate::chain::beside::PAGE_COMMITS;
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::scan::{Rulers, text_of};

/// Writes after which a batch is handed to the store.
const BATCH_WRITES: usize = 512;

/// Bytes of new content after which a batch is handed to the store.
const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// Sightings, links and changes of one commit that are taken along.
const BESIDE_MAX: usize = 10_000;

/// What became of what.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// What each old commit became, now or in an earlier scrub that was interrupted.
    pub map: HashMap<CommitId, CommitId>,
    /// New holes of commits that were forgotten: nothing may fill them.
    pub sealed: Vec<CommitId>,
    /// Lines in which something was found: events that are such a line say nothing any more, whoever said it.
    pub lines: BTreeSet<ArtifactId>,
    /// What lines gave as a title, where scrubbing changes it.
    pub titles: HashMap<String, String>,
}

impl Made {
    pub(super) fn new_of(&self, old: CommitId) -> CommitId {
        end_of(&self.map, old)
    }
}

/// A commit's own content as it will be.
struct Content {
    artifact: ArtifactId,
    bytes: u64,
    writes: Vec<Write>,
}

/// A rewriting under way.
struct Rewrite<'e> {
    engine: &'e Engine,
    rulers: Rulers<'e>,
    scope: &'e Scope,
    changing: &'e HashSet<CommitId>,
    made: Made,
    pending: Vec<Write>,
    pending_bytes: u64,
}

impl Engine {
    pub(super) fn rewrite(&self, scope: &Scope, changing: &HashSet<CommitId>) -> Result<Made> {
        let mut rewrite = Rewrite {
            engine: self,
            rulers: Rulers::new(self),
            scope,
            changing,
            made: Made { map: scope.left.clone(), ..Made::default() },
            pending: Vec::new(),
            pending_bytes: 0,
        };
        let changed: Vec<Commit> =
            scope.commits.iter().filter(|commit| changing.contains(&commit.id)).cloned().collect();
        self.each_described(&changed, &mut |described| match scope.left.get(&described.commit.id) {
            Some(new) => rewrite.left(&described, *new),
            None if rewrite.leads_to_what_covers(&described.commit)? => Ok(()),
            None => rewrite.commit(&described),
        })?;
        rewrite.resolve_looks();
        self.each_described(&changed, &mut |described| rewrite.beside(&described))?;
        rewrite.anchors(&changed)?;
        rewrite.flush()?;
        Ok(rewrite.made)
    }
}

impl Engine {
    /// Returns what is said of commits that stay, as it is and as it is to be.
    pub(super) fn reworded<'c>(&self, of: impl Iterator<Item = &'c CommitId>) -> Result<Vec<Reworded>> {
        let mut rulers = Rulers::new(self);
        let mut all = Vec::new();
        for commit in of.copied() {
            let scrubber = rulers.of(commit)?;
            for from in self.store.audit(commit, BESIDE_MAX)? {
                let to = scrubbed(from.clone(), &scrubber)?;
                all.extend((from != to).then_some(Reworded { commit, from, to }));
            }
        }
        all.sort_by_key(|reworded| reworded.commit);
        Ok(all)
    }
}

impl Rewrite<'_> {
    /// One that an earlier scrub rewrote and did not get to remove: what that scrub knew and did not get to say.
    fn left(&mut self, described: &Described, new: CommitId) -> Result<()> {
        let old = &described.commit;
        if old.closure != Closure::Forgotten {
            let scrubber = self.rulers.of_described(described)?;
            let adapter = registry::by_format(&old.core.format);
            let (titles, lines) = (&mut self.made.titles, &mut self.made.lines);
            return self.engine.each_scrubbed(described, &scrubber, &mut |line| {
                lines.extend(dirty(line));
                titles.extend(adapter.and_then(|adapter| retitled(adapter, line)));
                Ok(())
            });
        }
        if self.engine.is_sealed(old)? {
            self.made.sealed.push(new);
        }
        Ok(())
    }

    fn commit(&mut self, described: &Described) -> Result<()> {
        let old = &described.commit;
        let parent = old.core.parent.map(|parent| self.made.new_of(parent));
        if old.closure == Closure::Forgotten {
            return self.hole(old, parent);
        }
        let scrubber = self.rulers.of_described(described)?;
        let content = self.content(described, &scrubber)?;
        let native = content.artifact;
        self.pending_bytes += content.bytes;
        self.pending.extend(content.writes);
        let adapter = registry::by_format(&old.core.format);
        let (artifact, native) = match (old.core.commit_type, old.core.native, adapter) {
            // A client's compaction is composed of the chain before it, which is another one now.
            (CommitType::Compaction, Some(_), Some(adapter)) => {
                self.flush()?;
                let bytes = read_whole(self.engine, native)?;
                let made = self.engine.compaction_artifact(adapter, parent, (native, &bytes))?;
                self.pending.extend(made.composed);
                (made.artifact.0, Some(native).filter(|native| *native != made.artifact.0))
            }
            _ => (native, None),
        };
        let mut core = CommitCore { parent, artifact, native, ..old.core.clone() };
        if core.format.as_str() == SIDECAR_FORMAT && artifact != old.core.artifact {
            core.template = Template::new(TEMPLATE_ALTERED)?;
        }
        let id = core.id();
        let closure = match old.closure {
            Closure::Closed => Closure::Closed,
            Closure::Provisional | Closure::Covered | Closure::Forgotten => Closure::Provisional,
        };
        let rules = RulesHash(scrubber.rules_hash());
        self.pending.push(Write::Commit(NewCommit { core, rules, closure, counts: old.counts }));
        if old.closure == Closure::Covered {
            self.pending.push(Write::Cover { commit: id });
        }
        self.took(old, id)
    }

    /// A commit that was forgotten stays forgotten on the new chain.
    fn hole(&mut self, old: &Commit, parent: Option<CommitId>) -> Result<()> {
        let core = CommitCore { parent, ..old.core.clone() };
        let id = core.id();
        let (rules, counts, bytes) = (old.rules, old.counts, old.native_bytes);
        let artifact_bytes = self.engine.store.content_length(old.core.artifact)?.unwrap_or(bytes);
        let hole = NewHole { core, rules, counts, artifact_bytes, native_bytes: bytes, holds: None };
        self.pending.push(Write::Hole(Box::new(hole)));
        if self.engine.is_sealed(old)? {
            self.made.sealed.push(id);
        }
        self.took(old, id)
    }

    fn took(&mut self, old: &Commit, id: CommitId) -> Result<()> {
        // What stays itself leads nowhere, and must not go.
        if id != old.id {
            self.made.map.insert(old.id, id);
        }
        if self.pending.len() >= BATCH_WRITES || self.pending_bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// An early look that nothing goes on from is no part of what an import gives: its id leads to what covers it.
    fn leads_to_what_covers(&mut self, old: &Commit) -> Result<bool> {
        let Some(parent) = old.core.parent.filter(|_| old.closure == Closure::Covered) else {
            return Ok(false);
        };
        let store = &self.engine.store;
        if !store.children(old.id, 1)?.is_empty() {
            return Ok(false);
        }
        let covers = |other: &&Commit| {
            matches!(other.closure, Closure::Closed | Closure::Provisional)
                && other.native_bytes >= old.native_bytes
        };
        let beside = store.children(parent, BESIDE_MAX)?;
        let by =
            beside.iter().filter(covers).min_by_key(|other| (other.native_bytes, other.id)).map(|by| by.id);
        // What covers it may not be rewritten yet: the two are looked up when all are.
        if let Some(by) = by.filter(|by| self.changing.contains(by)) {
            self.made.map.insert(old.id, by);
        }
        Ok(by.is_some_and(|by| self.changing.contains(&by)))
    }

    /// Has early looks lead to the new commits at once, where they led to the old ones that cover them.
    fn resolve_looks(&mut self) {
        let ends: Vec<(CommitId, CommitId)> =
            self.made.map.keys().map(|old| (*old, self.made.new_of(*old))).collect();
        self.made.map.extend(ends);
    }

    fn content(&mut self, described: &Described, scrubber: &Scrubber) -> Result<Content> {
        let old = &described.commit;
        let (artifact, bytes) = (old.core.native_artifact(), old.native_bytes);
        if !self.scope.dirty.contains(&old.id) {
            return Ok(Content { artifact, bytes: 0, writes: Vec::new() });
        }
        let adapter = registry::by_format(&old.core.format);
        let mut segment = OpenSegment::default();
        let (mut spilled, mut titles) = (Vec::new(), Vec::new());
        let (engine, lines) = (self.engine, &mut self.made.lines);
        engine.each_scrubbed(described, scrubber, &mut |line| {
            lines.extend(dirty(line));
            let writes = segment.push(&line.bytes);
            if !writes.is_empty() {
                spilled.extend(writes);
                engine.commit_batch(std::mem::take(&mut spilled))?;
            }
            titles.extend(adapter.and_then(|adapter| retitled(adapter, line)));
            Ok(())
        })?;
        self.made.titles.extend(titles);
        let finished = segment.finish(None);
        // Only what was said of it may hold a secret.
        if finished.artifact == artifact {
            return Ok(Content { artifact, bytes: 0, writes: Vec::new() });
        }
        Ok(Content { artifact: finished.artifact, bytes, writes: vec![finished.write] })
    }

    /// Takes along sightings, what was said, and links.
    fn beside(&mut self, described: &Described) -> Result<()> {
        let old = &described.commit;
        let new = self.made.new_of(old.id);
        if new == old.id {
            return Ok(());
        }
        for sighting in self.engine.sightings_of(described, BESIDE_MAX)?.iter().cloned() {
            self.pending.push(Write::Sighting { commit: new, sighting: Box::new(sighting) });
        }
        let records = self.engine.changes_of(described, BESIDE_MAX)?;
        if !records.is_empty() {
            let scrubber = self.rulers.of_described(described)?;
            let records =
                records.into_iter().map(|record| scrubbed(record, &scrubber)).collect::<Result<_>>()?;
            self.pending.push(Write::MergeAnnotations { commit: new, records });
        }
        for link in self.engine.links_of(described, BESIDE_MAX)?.iter().cloned() {
            let link = Link { from: self.made.new_of(link.from), to: self.made.new_of(link.to), ..link };
            if link.from != link.to {
                self.pending.push(Write::Link(link));
            }
        }
        // What goes on from the new chain repeats nothing that it holds.
        if let Some(covers) = &described.coverage {
            self.pending.push(Write::Covers(Coverage { commit: new, ..covers.clone() }));
        }
        if self.pending.len() >= BATCH_WRITES {
            self.flush()?;
        }
        Ok(())
    }

    /// Takes along anchors. Ids are never secrets: those of the old contents are those of the new ones.
    fn anchors(&mut self, changed: &[Commit]) -> Result<()> {
        let has_anchors = |old: &&Commit| {
            let is_state = matches!(old.core.commit_type, CommitType::Snapshot { .. }) && old.depth > 0;
            let is_kept =
                old.closure == Closure::Closed || (old.closure == Closure::Provisional && old.depth == 0);
            is_kept && !is_state && self.made.new_of(old.id) != old.id
        };
        let with: Vec<&Commit> = changed.iter().filter(has_anchors).collect();
        for page in with.chunks(PAGE_COMMITS) {
            let contents: Vec<ArtifactId> = page.iter().map(|old| old.core.native_artifact()).collect();
            let (made, pending) = (&self.made, &mut self.pending);
            self.engine.each_whole(&contents, &mut |number, bytes| {
                let Some(old) = page.get(number) else { return Ok(()) };
                let Some(adapter) = registry::by_format(&old.core.format) else { return Ok(()) };
                let mut anchors = Anchors::default();
                for line in bytes.split(|byte| *byte == b'\n') {
                    if anchors.is_complete(old.depth) {
                        break;
                    }
                    anchors.line(adapter, old.depth, line);
                }
                let hashes = anchors.kept(old.depth);
                if !hashes.is_empty() {
                    pending.push(Write::Anchors { commit: made.new_of(old.id), hashes });
                }
                Ok(())
            })?;
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.pending_bytes = 0;
        let batch = std::mem::take(&mut self.pending);
        if !batch.is_empty() {
            self.engine.commit_batch(batch)?;
        }
        Ok(())
    }
}

/// Returns what names a line in which something was found.
fn dirty(line: &ScrubbedLine<'_>) -> Option<ArtifactId> {
    (!line.findings.is_empty()).then(|| artifact_id(&line.raw))
}

/// Returns the title that a line with secrets would give, and what it is without them.
fn retitled(adapter: &dyn Adapter, line: &ScrubbedLine<'_>) -> Option<(String, String)> {
    let old = title_of(adapter, &line.raw).filter(|_| !line.findings.is_empty())?;
    Some((old, title_of(adapter, &line.bytes).unwrap_or_default()))
}

/// Returns the title that a line alone would give.
fn title_of(adapter: &dyn Adapter, line: &[u8]) -> Option<String> {
    let mut splitter = adapter.splitter(Granularity::Turn, None);
    splitter.line(line.strip_suffix(b"\n").unwrap_or(line), &mut Vec::new());
    splitter.facts().title.clone()
}

fn scrubbed(record: AuditRecord, scrubber: &Scrubber) -> Result<AuditRecord> {
    let clean = match text_of(&record.change) {
        Some(text) => scrubber.scrub_text(text)?.text.into_owned(),
        None => return Ok(record),
    };
    let change = match record.change {
        Annotation::Summary { source, .. } => Annotation::Summary { text: Some(clean), source },
        Annotation::AddTag(_) => Annotation::AddTag(clean),
        Annotation::RemoveTag(_) => Annotation::RemoveTag(clean),
        Annotation::AddNote(_) => Annotation::AddNote(clean),
        Annotation::Pin => Annotation::Pin,
        Annotation::Unpin => Annotation::Unpin,
    };
    Ok(AuditRecord { change, ..record })
}
