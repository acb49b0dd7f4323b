//! Copies among what a bundle brings: the anchors of new commits, and which links follow from them.
//!
//! What is kept of a commit and what is linked is as for a capture: `capture::anchors` and `capture::copies` say it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use stemmata_model::{ArtifactId, Closure, CommitCore, CommitId, CommitType};
use stemmata_runtimes::adapter::{Adapter, Shape};
use stemmata_runtimes::registry;
use stemmata_store::{StoreError, Write};

use super::rows::CommitRef;
use crate::capture::anchors::{Anchored, Anchors, News};
use crate::capture::document::DOCUMENT_BYTES_MAX;
use crate::capture::lines::{LINE_BYTES_MAX, split_lines};
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::Result;

/// What a bundle brought by which copies are found.
pub(super) struct Arrivals<'a> {
    engine: &'a Engine,
    /// The root of each commit of the bundle that was met, by its number.
    roots: Vec<CommitId>,
    /// The root of the commit outside of the bundle that was met last.
    outside: Option<(CommitId, CommitId)>,
    /// What is kept of commits that were not compared yet, by their roots.
    anchored: BTreeMap<CommitId, Vec<Anchored>>,
    covered_roots: Vec<CommitId>,
    told: BTreeSet<CommitId>,
}

impl<'a> Arrivals<'a> {
    pub(super) const fn new(engine: &'a Engine) -> Self {
        Self {
            engine,
            roots: Vec::new(),
            outside: None,
            anchored: BTreeMap::new(),
            covered_roots: Vec::new(),
            told: BTreeSet::new(),
        }
    }

    /// Takes the next commit of the bundle, with its parent.
    pub(super) fn met(&mut self, id: CommitId, parent: Option<CommitRef>) -> Result<()> {
        let root = match parent {
            None => id,
            Some(CommitRef::Number(number)) => {
                let known = usize::try_from(number).ok().and_then(|number| self.roots.get(number));
                known.copied().unwrap_or(id)
            }
            Some(CommitRef::Id(parent)) => match self.outside {
                Some((known, root)) if known == parent => root,
                Some(_) | None => {
                    let root = self.engine.root_of(parent)?.unwrap_or(id);
                    self.outside = Some((parent, root));
                    root
                }
            },
        };
        self.roots.push(root);
        Ok(())
    }

    /// Returns what is to be stored with the commit that was met last. Its contents are in the store.
    pub(super) fn anchors(
        &mut self,
        (id, core, closure): (CommitId, &CommitCore, Closure),
        depth: u64,
    ) -> Result<Option<Write>> {
        // As a capture: a provisional commit behind another one is found by that one.
        let is_kept = match closure {
            Closure::Closed => true,
            Closure::Provisional => depth == 0,
            Closure::Covered | Closure::Forgotten => false,
        };
        // A root that is a snapshot is a document; any other snapshot says again what stands before it.
        if !is_kept || (depth > 0 && matches!(core.commit_type, CommitType::Snapshot { .. })) {
            return Ok(None);
        }
        let hashes = self.hashes_of(core, depth)?;
        let Some(root) = self.roots.last().copied().filter(|_| !hashes.is_empty()) else { return Ok(None) };
        let known = Anchored { commit: id, depth, hashes: hashes.clone() };
        self.anchored.entry(root).or_default().push(known);
        Ok(Some(Write::Anchors { commit: id, hashes }))
    }

    /// Takes a root that is covered from now on.
    pub(super) fn covered(&mut self, root: CommitId) {
        self.covered_roots.push(root);
    }

    /// Takes a link that was found by ids elsewhere.
    pub(super) fn told(&mut self, copy: CommitId) {
        self.told.insert(copy);
    }

    /// Links what was stored since the last time.
    pub(super) fn link(&mut self) -> Result<()> {
        let covered = std::mem::take(&mut self.covered_roots);
        let told = std::mem::take(&mut self.told).into_iter().collect();
        self.engine.link_copies(&News::of(Vec::new(), covered, told))?;
        for (_, anchored) in std::mem::take(&mut self.anchored) {
            self.engine.link_copies(&News::of(anchored, Vec::new(), Vec::new()))?;
        }
        Ok(())
    }

    fn hashes_of_document(&self, adapter: &dyn Adapter, core: &CommitCore, depth: u64) -> Result<Vec<u64>> {
        let native = core.native_artifact();
        if self.engine.store.content_length(native)?.is_none_or(|length| length > DOCUMENT_BYTES_MAX) {
            return Ok(Vec::new());
        }
        let mut anchors = Anchors::default();
        anchors.line(adapter, depth, &read_whole(self.engine, native)?);
        Ok(anchors.kept(depth))
    }

    /// Returns what is kept of the lines of a commit; nothing where they cannot be read.
    fn hashes_of(&self, core: &CommitCore, depth: u64) -> Result<Vec<u64>> {
        let Some(adapter) = registry::by_format(&core.format) else { return Ok(Vec::new()) };
        let mut anchors = Anchors::default();
        if adapter.shape() == Shape::Document {
            return self.hashes_of_document(adapter, core, depth);
        }
        let mut line = Vec::new();
        let read = each_line(self.engine, core.native_artifact(), &mut line, &mut |line| {
            anchors.line(adapter, depth, line);
            !anchors.is_complete(depth)
        });
        match read {
            Ok(()) => Ok(anchors.kept(depth)),
            Err(StoreError::Sink(error)) if error.kind() == io::ErrorKind::Interrupted => {
                Ok(anchors.kept(depth))
            }
            // A bundle may tell of contents that the next one brings; what cannot be read says nothing.
            Err(StoreError::ContentMissing(_) | StoreError::ContentForgotten(_)) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Hands out complete lines without their newlines, until told to stop or one is longer than a capture takes.
fn each_line(
    engine: &Engine,
    of: ArtifactId,
    line: &mut Vec<u8>,
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> std::result::Result<(), StoreError> {
    engine.store.read_content(of, None, &mut |piece| {
        for part in split_lines(piece) {
            if line.len().saturating_add(part.len()) > LINE_BYTES_MAX {
                return Err(io::ErrorKind::Interrupted.into());
            }
            line.extend_from_slice(part);
            if let Some(whole) = line.strip_suffix(b"\n") {
                let goes_on = each(whole);
                line.clear();
                if !goes_on {
                    return Err(io::ErrorKind::Interrupted.into());
                }
            }
        }
        Ok(())
    })
}
