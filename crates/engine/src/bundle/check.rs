//! Checking a bundle from its first byte to its last, before anything of it is stored.
//!
//! Every hash and id is computed again, every reference looked up, every name held to its rules. What is stored then
//! is `apply`'s.

mod contents;

use std::collections::BTreeSet;

use stemmata_api::v1::BundleShown;
use stemmata_model::{ArtifactId, Closure, CommitCore, CommitId, to_u64};
use stemmata_store::{Commits, SIDECAR_FORMAT, Session, StoreError};

use super::bytes::{Malformed, Take};
use super::error::BundleError;
use super::facts::{take_change, take_link, take_placement, take_session, take_sightings};
use super::frame::{Kind, Record};
use super::rows::{CommitRef, CommitRow, ContentRef, NamedRow, take_commits};
use super::source::{self, Blocks, BundleSource, Literal};
use super::summary::{BUNDLE_CONTENT_BYTES_MAX, BundleLimits};
use crate::error::{EngineError, Result};
use crate::verbs::sessions::shown::session_shown;

/// How many times as long as the bundle its contents may be, behind a free allowance, unless the caller allows more.
const CONTENT_RATIO_MAX: u64 = 4096;

/// Bytes of content that need no justification by the bundle's own length.
const CONTENT_BYTES_FREE: u64 = 256 * 1024 * 1024;

/// Rows beside commits (sightings, changes, links, sessions, placements) at most.
const FACTS_MAX: u64 = 16 * 1024 * 1024;

/// Sessions that a summary of a bundle tells at most.
const SESSIONS_SHOWN_MAX: usize = 1_000;

/// A commit that was checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedCommit {
    pub(super) id: CommitId,
    pub(super) parent: Option<CommitRef>,
    pub(super) depth: u64,
    pub(super) artifact: ContentRef,
    pub(super) native: Option<ContentRef>,
    pub(super) closure: Closure,
}

/// A bundle that is sound.
pub(super) struct Checked {
    pub(super) summary: BundleShown,
    pub(super) commits: Vec<CheckedCommit>,
    pub(super) literals: Vec<Literal>,
    pub(super) composed: Vec<ContentRow>,
    pub(super) named: Vec<NamedRow>,
}

/// The hash of a content, and whether it was computed from all of its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContentRow {
    pub(super) hash: ArtifactId,
    is_checked: bool,
}

struct Checker<'a> {
    store: Option<&'a dyn Commits>,
    limits: BundleLimits,
    blocks: Blocks<'a>,
    found: Checked,
    announced: Option<[u64; 3]>,
    missing: BTreeSet<CommitId>,
    missing_contents: BTreeSet<ArtifactId>,
    /// Contents that are named and here.
    known_contents: BTreeSet<ArtifactId>,
    content_bytes: u64,
    facts: u64,
    at: u64,
}

/// Why a record cannot be taken.
pub(super) enum Fault {
    Malformed(Malformed),
    Other(EngineError),
}

impl From<Malformed> for Fault {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl<E: Into<EngineError>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Reads a bundle whole and checks everything; with a store, what it continues has to be there.
pub(super) fn check(
    source: &dyn BundleSource,
    store: Option<&dyn Commits>,
    limits: BundleLimits,
) -> Result<Checked> {
    let mut reader = source::begin(source)?;
    let mut checker = Checker {
        store,
        limits,
        blocks: Blocks::new(source),
        found: Checked {
            summary: BundleShown {
                tips: Vec::new(),
                prerequisites: Vec::new(),
                commits: 0,
                forgotten: 0,
                contents: 0,
                needed_contents: 0,
                unchecked: 0,
                content_bytes: 0,
                bytes: 0,
                sightings: 0,
                changes: 0,
                links: 0,
                placements: 0,
                session_count: 0,
                sidecars: 0,
                sidecar_commits: 0,
                sessions: Vec::new(),
                formats: BTreeSet::new(),
                machines: BTreeSet::new(),
                rules: BTreeSet::new(),
            },
            commits: Vec::new(),
            literals: Vec::new(),
            composed: Vec::new(),
            named: Vec::new(),
        },
        announced: None,
        missing: BTreeSet::new(),
        missing_contents: BTreeSet::new(),
        known_contents: BTreeSet::new(),
        content_bytes: 0,
        facts: 0,
        at: 0,
    };
    loop {
        let record = reader.next()?;
        checker.at = record.at;
        let damaged = |reason: String| BundleError::Damaged { at: record.at, reason };
        let is_last = record.kind == Some(Kind::Trailer);
        match checker.record(&record) {
            Ok(()) => {}
            Err(Fault::Malformed(malformed)) => return Err(damaged(malformed.0).into()),
            Err(Fault::Other(error)) => return Err(error),
        }
        if is_last {
            checker.found.summary.bytes = reader.end()?;
            return checker.finish();
        }
    }
}

impl Checker<'_> {
    fn record(&mut self, record: &Record) -> std::result::Result<(), Fault> {
        let body = record.body.as_slice();
        let Some(kind) = record.kind else { return Ok(()) };
        if self.announced.is_none() && kind != Kind::Header {
            return Err(Malformed::new("it does not begin with a header").into());
        }
        match kind {
            Kind::Header => self.header(body)?,
            Kind::Prerequisites => self.found.summary.prerequisites.extend(ids(body)?),
            Kind::Tips => self.found.summary.tips.extend(ids(body)?),
            Kind::Block => self.block(body)?,
            Kind::Named => self.named(body)?,
            Kind::Composed => self.composed(body)?,
            Kind::Commits => self.commits(body)?,
            Kind::Sightings => self.sightings(body)?,
            Kind::Annotations | Kind::Links | Kind::Sessions | Kind::Placements => self.facts(kind, body)?,
            Kind::Trailer => self.trailer(body, &record.before)?,
        }
        Ok(())
    }

    fn header(&mut self, body: &[u8]) -> std::result::Result<(), Fault> {
        if self.announced.is_some() {
            return Err(Malformed::new("it has two headers").into());
        }
        let mut take = Take::new(body);
        let counts = [take.number()?, take.number()?, take.number()?];
        take.end()?;
        self.announced = Some(counts);
        self.count_commits(counts[0])
    }

    fn count_commits(&self, commits: u64) -> std::result::Result<(), Fault> {
        let bound = self.limits.commits_max;
        if commits <= bound {
            return Ok(());
        }
        let flag = Some("--max-commits");
        Err(BundleError::Bound { what: "commits", value: commits, bound, flag }.into())
    }

    /// Counts bytes of content against what a bundle of this length may hold.
    fn unfold(&mut self, bytes: u64) -> std::result::Result<(), Fault> {
        self.content_bytes = self.content_bytes.saturating_add(bytes);
        let by_length = CONTENT_BYTES_FREE.saturating_add(self.at.saturating_mul(CONTENT_RATIO_MAX));
        let bound = self.limits.content_bytes_max.unwrap_or(by_length.min(BUNDLE_CONTENT_BYTES_MAX));
        let value = self.content_bytes.saturating_add(self.blocks.again_bytes);
        if value <= bound {
            return Ok(());
        }
        let flag = Some("--max-bytes");
        Err(BundleError::Bound { what: "bytes of content", value, bound, flag }.into())
    }

    fn commits(&mut self, body: &[u8]) -> std::result::Result<(), Fault> {
        let first = to_u64(self.found.commits.len());
        let mut rows = Vec::new();
        take_commits(body, first, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        self.count_commits(first + to_u64(rows.len()))?;
        rows.into_iter().try_for_each(|row| self.commit(row))
    }

    fn commit(&mut self, row: CommitRow) -> std::result::Result<(), Fault> {
        let artifact = self.content(row.artifact)?;
        let native = row.native.map(|native| self.content(native)).transpose()?;
        let (parent, depth) = match row.parent {
            None => (None, 0),
            Some(CommitRef::Number(number)) => {
                let parent = at(&self.found.commits, number)
                    .ok_or_else(|| Malformed(format!("{} continues a commit that comes later", row.id)))?;
                (Some(parent.id), parent.depth + 1)
            }
            Some(CommitRef::Id(id)) => (Some(id), self.depth_of_known(id)?),
        };
        let bound = self.limits.chain_max;
        if depth >= bound {
            let what = "commits of a chain";
            return Err(BundleError::Bound { what, value: depth + 1, bound, flag: None }.into());
        }
        self.names_of_forgotten(&row)?;
        let core = CommitCore {
            parent,
            commit_type: row.commit_type,
            artifact: artifact.hash,
            native: native.map(|native| native.hash),
            format: row.kind.format,
            template: row.kind.template,
            created_at: row.created_at,
        };
        if core.id() != row.id {
            return Err(Malformed(format!("{} has other content than its id stands for", row.id)).into());
        }
        let is_checked = artifact.is_checked && native.is_none_or(|native| native.is_checked);
        let summary = &mut self.found.summary;
        summary.unchecked += u64::from(!is_checked);
        summary.forgotten += u64::from(row.closure == Closure::Forgotten);
        summary.sidecar_commits += u64::from(core.format.as_str() == SIDECAR_FORMAT);
        summary.formats.insert(core.format);
        summary.rules.insert(row.kind.rules);
        self.found.commits.push(CheckedCommit {
            id: row.id,
            parent: row.parent,
            depth,
            artifact: row.artifact,
            native: row.native,
            closure: row.closure,
        });
        Ok(())
    }

    /// Only a hole has contents whose bytes were forgotten, and it has no others.
    fn names_of_forgotten(&self, row: &CommitRow) -> std::result::Result<(), Malformed> {
        for content in std::iter::once(row.artifact).chain(row.native) {
            let is_forgotten = match content {
                ContentRef::Named(number) => {
                    at(&self.found.named, number).is_some_and(|own| own.is_forgotten)
                }
                ContentRef::Literal(_) | ContentRef::Composed(_) => false,
            };
            let reason = match (is_forgotten, row.closure == Closure::Forgotten) {
                (true, false) => "has no bytes, though it was not forgotten",
                (false, true) => "has bytes, though it was forgotten",
                (true, true) | (false, false) => continue,
            };
            return Err(Malformed(format!("{} {reason}", row.id)));
        }
        Ok(())
    }

    /// Returns the depth of a commit that continues one which is not in the bundle.
    fn depth_of_known(&mut self, parent: CommitId) -> std::result::Result<u64, Fault> {
        let Some(store) = self.store else { return Ok(1) };
        if let Some(commit) = store.commit(parent)? {
            return Ok(commit.depth + 1);
        }
        self.missing.insert(parent);
        Ok(1)
    }

    fn fact(&mut self) -> std::result::Result<(), Fault> {
        self.facts += 1;
        if self.facts <= FACTS_MAX {
            return Ok(());
        }
        let what = "sightings, changes, links and sessions";
        Err(BundleError::Bound { what, value: self.facts, bound: FACTS_MAX, flag: None }.into())
    }

    fn reference(&self, of: CommitRef) -> std::result::Result<(), Malformed> {
        match of {
            CommitRef::Number(number) if at(&self.found.commits, number).is_none() => {
                Err(Malformed::new("it is about a commit that there is not"))
            }
            CommitRef::Number(_) | CommitRef::Id(_) => Ok(()),
        }
    }

    fn sightings(&mut self, body: &[u8]) -> std::result::Result<(), Fault> {
        let mut count = 0;
        let mut machines = BTreeSet::new();
        take_sightings(body, &mut |commit, sighting| {
            self.reference(commit)?;
            count += 1;
            if !machines.contains(&sighting.machine) {
                machines.insert(sighting.machine);
            }
            Ok(())
        })?;
        self.found.summary.sightings += count;
        self.found.summary.machines.append(&mut machines);
        self.facts += count;
        self.fact()
    }

    fn facts(&mut self, kind: Kind, body: &[u8]) -> std::result::Result<(), Fault> {
        let mut take = Take::new(body);
        for _ in 0..take.rows("rows")? {
            self.fact()?;
            match kind {
                Kind::Annotations => {
                    let (commit, _) = take_change(&mut take)?;
                    self.reference(commit)?;
                    self.found.summary.changes += 1;
                }
                Kind::Links => {
                    let link = take_link(&mut take)?;
                    self.reference(link.from)?;
                    self.reference(link.to)?;
                    self.found.summary.links += 1;
                }
                Kind::Sessions => {
                    let row = take_session(&mut take)?;
                    row.tip.into_iter().chain(row.placed_from).try_for_each(|of| self.reference(of))?;
                    self.session(row.tip, row.session);
                }
                _ => {
                    let (_, ctx) = take_placement(&mut take)?;
                    self.reference(ctx)?;
                    self.found.summary.placements += 1;
                }
            }
        }
        Ok(take.end()?)
    }

    fn session(&mut self, tip: Option<CommitRef>, session: Session) {
        let tip = tip.and_then(|tip| match tip {
            CommitRef::Number(number) => at(&self.found.commits, number).map(|commit| commit.id),
            CommitRef::Id(id) => Some(id),
        });
        if session.is_sidecar() {
            self.found.summary.sidecars += 1;
            return;
        }
        self.found.summary.session_count += 1;
        if self.found.summary.sessions.len() < SESSIONS_SHOWN_MAX {
            self.found.summary.sessions.push(session_shown(&Session { tip, ..session }));
        }
    }

    fn trailer(&mut self, body: &[u8], before: &[u8; 32]) -> std::result::Result<(), Fault> {
        let mut take = Take::new(body);
        let counts = [(); 5].map(|()| take.number());
        let hash: [u8; 32] = take.array()?;
        take.end()?;
        if hash != *before {
            return Err(Malformed::new("the bundle does not have the hash that it was written with").into());
        }
        let found = &self.found;
        let contents = [found.literals.len(), found.composed.len(), found.named.len()].map(to_u64);
        let commits = to_u64(found.commits.len());
        let wanted = std::iter::once(commits).chain(contents).chain([found.summary.content_bytes]);
        let tips = [found.summary.tips.len(), found.summary.prerequisites.len()].map(to_u64);
        let announced = [commits, tips[0], tips[1]];
        for (counted, wanted) in counts.into_iter().zip(wanted) {
            if counted? != wanted {
                return Err(Malformed::new("the bundle does not hold as much as it says").into());
            }
        }
        if self.announced != Some(announced) {
            return Err(Malformed::new("the bundle does not hold as much as its header says").into());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Checked> {
        if !self.missing.is_empty() {
            return Err(BundleError::Missing { commits: self.missing.into_iter().collect() }.into());
        }
        if let Some(missing) = self.missing_contents.first() {
            let was_here =
                self.store.is_some_and(|store| matches!(contents::is_forgotten(store, *missing), Ok(true)));
            let error = if was_here { StoreError::ContentForgotten } else { StoreError::ContentMissing };
            return Err(error(*missing).into());
        }
        let found = &mut self.found;
        found.summary.commits = to_u64(found.commits.len());
        found.summary.contents = to_u64(found.literals.len()) + to_u64(found.composed.len());
        Ok(self.found)
    }
}

fn ids(body: &[u8]) -> std::result::Result<Vec<CommitId>, Malformed> {
    let mut take = Take::new(body);
    let ids = (0..take.rows("ids")?).map(|_| take.commit()).collect::<std::result::Result<_, _>>()?;
    take.end()?;
    Ok(ids)
}

/// Returns a row by its number.
pub(super) fn at<T>(rows: &[T], number: u64) -> Option<&T> {
    usize::try_from(number).ok().and_then(|number| rows.get(number))
}
