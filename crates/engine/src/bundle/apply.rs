//! Storing a bundle that was checked: contents, commits, and what stands beside them, in batches.
//!
//! Each batch is a whole of its own: a store that fails in between has chains without their last commits, and the
//! same import goes on from there.

use std::collections::BTreeSet;

use stemmata_model::{ArtifactId, Closure, CommitCore, CommitId, Note, NoteCode, RulesHash};
use stemmata_store::{
    AuditRecord, BatchOutcome, ContentPart, Link, MERGED_RECORDS_MAX, NewCommit, NewContent, Session,
    SessionOrigin, Store, Write,
};

use super::bytes::{Malformed, Take};
use super::check::{BundleLimits, BundleSummary, Checked, CheckedCommit, Fault, at, check};
use super::error::BundleError;
use super::facts::{take_change, take_link, take_placement, take_session, take_sightings};
use super::frame::{Kind, Record};
use super::rows::{
    CommitRef, CommitRow, ContentRef, take_commits, take_composed, take_lengths,
};
use super::source::{self, BundleSource};
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Writes of one batch, below what a store takes at most.
const BATCH_WRITES_FULL: usize = 12_000;

/// Bytes of content of one batch.
const BATCH_BYTES_FULL: u64 = 8 * 1024 * 1024;

/// Bytes of metadata in one merge.
const MERGE_BYTES_FULL: usize = 1024 * 1024;

/// How to import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BundleImportOptions {
    /// Bounds.
    pub limits: BundleLimits,
    /// Checks everything and stores nothing.
    pub dry_run: bool,
}

/// What an import did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleImported {
    /// What the bundle holds.
    pub summary: BundleSummary,
    /// Commits that were not here.
    pub new_commits: u64,
    /// Commits that were here.
    pub known_commits: u64,
    /// Commits that were not taken: they were forgotten here, or continue such a one.
    pub skipped_commits: u64,
    /// Sessions that are new here or were told of better than before.
    pub sessions: u64,
    /// Links of which only one end is here.
    pub links_left_out: u64,
    /// Bytes of content that were not here, uncompressed.
    pub new_bytes: u64,
    /// Bytes that they take in storage.
    pub stored_bytes: u64,
    /// New commits that went through other redaction rules than ours.
    pub other_rules_commits: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What becomes of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    New,
    Known,
    /// It is here as a hole and stays one; what continues it can be stored.
    Hole,
    Skipped,
}

impl Engine {
    /// Reads a bundle to its end and says what it holds; nothing is stored. With `against_store` what it continues
    /// has to be here, as for an import.
    ///
    /// # Errors
    /// `Bundle` says what is wrong with it.
    pub fn show_bundle(source: &dyn BundleSource, limits: BundleLimits) -> Result<BundleSummary> {
        Ok(check(source, None, limits)?.summary)
    }

    /// Takes the commits of a bundle into the store, with all that stands beside them. Everything is checked before
    /// anything is stored: a bundle that is cut off or altered changes nothing. Repeating it changes nothing either.
    ///
    /// # Errors
    /// `Bundle` for what is wrong with it or missing here; store errors, after which a repeated import goes on.
    pub fn import_bundle(
        &self,
        source: &dyn BundleSource,
        options: &BundleImportOptions,
    ) -> Result<BundleImported> {
        let checked = check(source, Some(self.store.as_ref()), options.limits)?;
        let fates = fates(self.store.as_ref(), &checked.commits)?;
        let count = |fate: Fate| {
            u64::try_from(fates.iter().filter(|own| **own == fate).count()).expect("a length fits 64 bits")
        };
        let mut result = BundleImported {
            summary: checked.summary.clone(),
            new_commits: count(Fate::New),
            known_commits: count(Fate::Known),
            skipped_commits: count(Fate::Skipped) + count(Fate::Hole),
            sessions: 0,
            links_left_out: 0,
            new_bytes: 0,
            stored_bytes: 0,
            other_rules_commits: 0,
            notes: Vec::new(),
        };
        let needed = needed(source, &checked, &fates)?;
        let mut applier = Applier {
            store: self.store.as_ref(),
            rules: self.rules().0,
            checked: &checked,
            fates: &fates,
            needed,
            is_dry: options.dry_run,
            writes: Vec::new(),
            bytes: 0,
            outcome: BatchOutcome::default(),
            merging: None,
            counts: [0; 3],
            result: &mut result,
        };
        each_record(source, &mut |record| applier.record(record))?;
        applier.finish()?;
        self.tell(&mut result);
        Ok(result)
    }

    fn tell(&self, result: &mut BundleImported) {
        if result.other_rules_commits > 0 {
            let message = format!(
                "{} new commits were scrubbed of secrets by other rules than those of this version ({}); their \
                 content was taken as it is",
                result.other_rules_commits,
                self.rules().1
            );
            result.notes.push(Note::new(NoteCode::OtherRules, message));
        }
        if result.skipped_commits > 0 {
            let message = format!(
                "{} commits were left out: they were forgotten here, or continue such a one",
                result.skipped_commits
            );
            result.notes.push(Note::new(NoteCode::Forgotten, message));
        }
        if result.links_left_out > 0 {
            let message = format!(
                "{} links were left out: one of their ends is not here",
                result.links_left_out
            );
            result.notes.push(Note::new(NoteCode::Degraded, message));
        }
    }
}

/// Reads a bundle again, record by record.
fn each_record(
    source: &dyn BundleSource,
    each: &mut dyn FnMut(&Record) -> std::result::Result<(), Fault>,
) -> Result<()> {
    let mut reader = source::begin(source)?;
    loop {
        let record = reader.next()?;
        if record.kind == Some(Kind::Trailer) {
            return Ok(());
        }
        match each(&record) {
            Ok(()) => {}
            Err(Fault::Malformed(Malformed(reason))) => {
                return Err(BundleError::Damaged { at: record.at, reason }.into());
            }
            Err(Fault::Other(error)) => return Err(error),
        }
    }
}

fn fates(store: &dyn Store, commits: &[CheckedCommit]) -> Result<Vec<Fate>> {
    let mut fates: Vec<Fate> = Vec::with_capacity(commits.len());
    for commit in commits {
        let fate = match store.commit(commit.id)? {
            Some(stored) if stored.closure == Closure::Forgotten => Fate::Hole,
            Some(_) => Fate::Known,
            None => {
                let is_cut = match commit.parent {
                    Some(CommitRef::Number(parent)) => at(&fates, parent) == Some(&Fate::Skipped),
                    Some(CommitRef::Id(_)) | None => false,
                };
                if is_cut || commit.closure == Closure::Forgotten { Fate::Skipped } else { Fate::New }
            }
        };
        fates.push(fate);
    }
    Ok(fates)
}

/// Which contents new commits need; none where all commits are taken, and so are all contents.
struct Needed {
    literals: Vec<bool>,
    composed: Vec<bool>,
}

fn needed(source: &dyn BundleSource, checked: &Checked, fates: &[Fate]) -> Result<Option<Needed>> {
    if !fates.iter().any(|fate| matches!(fate, Fate::Hole | Fate::Skipped)) {
        return Ok(None);
    }
    let mut needed = Needed {
        literals: vec![false; checked.literals.len()],
        composed: vec![false; checked.composed.len()],
    };
    let mark = |needed: &mut Needed, of: ContentRef| {
        let (rows, number) = match of {
            ContentRef::Literal(number) => (&mut needed.literals, number),
            ContentRef::Composed(number) => (&mut needed.composed, number),
            ContentRef::Named(_) => return,
        };
        if let Some(row) = usize::try_from(number).ok().and_then(|number| rows.get_mut(number)) {
            *row = true;
        }
    };
    for (commit, _) in checked.commits.iter().zip(fates).filter(|(_, fate)| **fate == Fate::New) {
        mark(&mut needed, commit.artifact);
        commit.native.into_iter().for_each(|native| mark(&mut needed, native));
    }
    let mut number = 0;
    each_record(source, &mut |record| {
        if record.kind == Some(Kind::Composed) {
            let mut take = Take::new(&record.body);
            for _ in 0..take.rows("contents")? {
                let row = take_composed(&mut take)?;
                if needed.composed.get(number) == Some(&true) {
                    row.parts.iter().for_each(|part| mark(&mut needed, part.of));
                }
                number += 1;
            }
        }
        Ok(())
    })?;
    Ok(Some(needed))
}

struct Applier<'a> {
    store: &'a dyn Store,
    rules: RulesHash,
    checked: &'a Checked,
    fates: &'a [Fate],
    needed: Option<Needed>,
    is_dry: bool,
    writes: Vec<Write>,
    bytes: u64,
    outcome: BatchOutcome,
    merging: Option<(CommitId, Vec<AuditRecord>, usize)>,
    /// Literal contents, composed ones and commits that were met so far.
    counts: [u64; 3],
    result: &'a mut BundleImported,
}

type Done = std::result::Result<(), Fault>;

impl Applier<'_> {
    fn record(&mut self, record: &Record) -> Done {
        let body = record.body.as_slice();
        match record.kind {
            Some(Kind::Block) => self.block(body),
            Some(Kind::Composed) => self.composed(body),
            Some(Kind::Commits) => self.commits(body),
            Some(Kind::Sightings) => self.sightings(body),
            Some(Kind::Annotations) => self.changes(body),
            Some(Kind::Links) => self.links(body),
            Some(Kind::Sessions) => self.sessions(body),
            Some(Kind::Placements) => self.placements(body),
            Some(Kind::Header | Kind::Prerequisites | Kind::Tips | Kind::Named | Kind::Trailer) | None => {
                Ok(())
            }
        }
    }

    /// Stores what is kept, as one transaction.
    fn write(&mut self) -> Done {
        self.bytes = 0;
        let writes = std::mem::take(&mut self.writes);
        if writes.is_empty() || self.is_dry {
            return Ok(());
        }
        let outcome = self.store.commit_batch(writes)?;
        self.outcome.new_bytes += outcome.new_bytes;
        self.outcome.stored_bytes += outcome.stored_bytes;
        Ok(())
    }

    fn push(&mut self, write: Write) -> Done {
        self.writes.push(write);
        if self.writes.len() >= BATCH_WRITES_FULL { self.write() } else { Ok(()) }
    }

    fn wants(&self, of: ContentRef) -> bool {
        match (&self.needed, of) {
            (None, _) => true,
            (Some(needed), ContentRef::Literal(number)) => at(&needed.literals, number) == Some(&true),
            (Some(needed), ContentRef::Composed(number)) => at(&needed.composed, number) == Some(&true),
            (Some(_), ContentRef::Named(_)) => false,
        }
    }

    fn block(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for length in take_lengths(&mut take)? {
            let bytes = take.bytes(length)?;
            let number = self.counts[0];
            self.counts[0] += 1;
            let Some(literal) = at(&self.checked.literals, number) else { return changed() };
            if self.is_dry || !self.wants(ContentRef::Literal(number)) || self.is_here(literal.hash)? {
                continue;
            }
            let content = NewContent::literal(bytes.to_vec());
            if content.id() != literal.hash {
                return changed();
            }
            self.bytes += u64::try_from(length).expect("a length fits 64 bits");
            self.push(Write::Content(content))?;
        }
        Ok(())
    }

    fn is_here(&self, hash: ArtifactId) -> std::result::Result<bool, Fault> {
        Ok(self.store.content_length(hash)?.is_some())
    }

    fn hash_of(&self, of: ContentRef) -> std::result::Result<ArtifactId, Fault> {
        let hash = match of {
            ContentRef::Literal(number) => at(&self.checked.literals, number).map(|own| own.hash),
            ContentRef::Composed(number) => at(&self.checked.composed, number).map(|own| own.hash),
            ContentRef::Named(number) => at(&self.checked.named, number).map(|own| own.hash),
        };
        hash.ok_or_else(|| Malformed::new(CHANGED).into())
    }

    fn composed(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for _ in 0..take.rows("contents")? {
            let row = take_composed(&mut take)?;
            let number = ContentRef::Composed(self.counts[1]);
            self.counts[1] += 1;
            if self.is_dry || !self.wants(number) {
                continue;
            }
            let mut parts = Vec::with_capacity(row.parts.len());
            for part in row.parts {
                parts.push(ContentPart::Slice {
                    of: self.hash_of(part.of)?,
                    offset: part.offset,
                    length: part.length,
                });
            }
            self.push(Write::Content(NewContent::composed(self.hash_of(number)?, parts)))?;
        }
        Ok(())
    }

    fn commits(&mut self, body: &[u8]) -> Done {
        let mut rows = Vec::new();
        take_commits(body, self.counts[2], &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        for row in rows {
            let number = self.counts[2];
            self.counts[2] += 1;
            match at(self.fates, number) {
                Some(Fate::New) => self.commit(row)?,
                Some(Fate::Known) => self.close(&row)?,
                Some(Fate::Hole | Fate::Skipped) => {}
                None => return changed(),
            }
        }
        if self.bytes >= BATCH_BYTES_FULL { self.write() } else { Ok(()) }
    }

    fn commit(&mut self, row: CommitRow) -> Done {
        let parent = match row.parent {
            None => None,
            Some(CommitRef::Id(id)) => Some(id),
            Some(CommitRef::Number(number)) => match at(&self.checked.commits, number) {
                Some(parent) => Some(parent.id),
                None => return changed(),
            },
        };
        let core = CommitCore {
            parent,
            commit_type: row.commit_type,
            artifact: self.hash_of(row.artifact)?,
            native: row.native.map(|native| self.hash_of(native)).transpose()?,
            format: row.kind.format,
            template: row.kind.template,
            created_at: row.created_at,
        };
        if core.id() != row.id {
            return changed();
        }
        let rules = row.kind.rules;
        self.result.other_rules_commits += u64::from(rules != self.rules && rules != RulesHash::NONE);
        self.push(Write::Commit(NewCommit { core, rules, closure: row.closure, counts: row.counts }))
    }

    /// Passes on that a commit which is here provisionally is more than that elsewhere.
    fn close(&mut self, row: &CommitRow) -> Done {
        match row.closure {
            Closure::Closed => {
                let stored = self.store.commit(row.id)?;
                match stored.filter(|stored| stored.closure == Closure::Provisional) {
                    Some(stored) => self.push(Write::Commit(NewCommit {
                        core: stored.core,
                        rules: stored.rules,
                        closure: Closure::Closed,
                        counts: stored.counts,
                    })),
                    None => Ok(()),
                }
            }
            Closure::Covered => self.push(Write::Cover { commit: row.id }),
            Closure::Provisional | Closure::Forgotten => Ok(()),
        }
    }

    /// Returns the commit that a row is about, where it is here or will be.
    fn resolve(&self, of: CommitRef) -> std::result::Result<Option<CommitId>, Fault> {
        match of {
            CommitRef::Number(number) => {
                let is_taken = matches!(at(self.fates, number), Some(Fate::New | Fate::Known));
                Ok(at(&self.checked.commits, number).filter(|_| is_taken).map(|commit| commit.id))
            }
            CommitRef::Id(id) => Ok(self.store.commit(id)?.map(|commit| commit.id)),
        }
    }

    fn sightings(&mut self, body: &[u8]) -> Done {
        let mut rows = Vec::new();
        take_sightings(body, &mut |commit, sighting| {
            rows.push((commit, sighting));
            Ok(())
        })?;
        for (commit, sighting) in rows {
            if let Some(commit) = self.resolve(commit)? {
                self.push(Write::Sighting { commit, sighting: Box::new(sighting) })?;
            }
        }
        Ok(())
    }

    fn changes(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for _ in 0..take.rows("rows")? {
            let before = take.rest().len();
            let (commit, record) = take_change(&mut take)?;
            let bytes = before - take.rest().len();
            let Some(commit) = self.resolve(commit)? else { continue };
            let goes_on = self.merging.as_ref().is_some_and(|(own, records, taken)| {
                *own == commit && records.len() < MERGED_RECORDS_MAX && *taken < MERGE_BYTES_FULL
            });
            if !goes_on {
                self.merge()?;
            }
            let (_, records, taken) = self.merging.get_or_insert_with(|| (commit, Vec::new(), 0));
            records.push(record);
            *taken += bytes;
        }
        Ok(())
    }

    /// Writes the changes of one commit that were gathered.
    fn merge(&mut self) -> Done {
        let Some((commit, records, taken)) = self.merging.take() else { return Ok(()) };
        self.push(Write::MergeAnnotations { commit, records })?;
        self.bytes += u64::try_from(taken).expect("a length fits 64 bits");
        if self.bytes >= BATCH_BYTES_FULL { self.write() } else { Ok(()) }
    }

    fn links(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for _ in 0..take.rows("rows")? {
            let row = take_link(&mut take)?;
            match (self.resolve(row.from)?, self.resolve(row.to)?) {
                (Some(from), Some(to)) => {
                    self.push(Write::Link(Link { from, kind: row.kind, to, entry: row.entry }))?;
                }
                _ => self.result.links_left_out += 1,
            }
        }
        Ok(())
    }

    fn sessions(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for _ in 0..take.rows("rows")? {
            let row = take_session(&mut take)?;
            let tip = row.tip.map(|tip| self.resolve(tip)).transpose()?.flatten();
            let placed_from = row.placed_from.map(|ctx| self.resolve(ctx)).transpose()?.flatten();
            if tip.is_none() && row.tip.is_some() {
                continue;
            }
            let origin = match (row.session.origin, placed_from) {
                (SessionOrigin::Placed(_), Some(ctx)) => SessionOrigin::Placed(ctx),
                (SessionOrigin::Api, _) => SessionOrigin::Api,
                (SessionOrigin::Imported | SessionOrigin::Placed(_), _) => SessionOrigin::Imported,
            };
            let session = Session { tip, origin, ..row.session };
            let stored = self.store.session(&session.key)?;
            if stored.is_none_or(|stored| rank(&stored) < rank(&session)) {
                self.result.sessions += 1;
                self.push(Write::Session(Box::new(session)))?;
            }
        }
        Ok(())
    }

    fn placements(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for _ in 0..take.rows("rows")? {
            let (mut placement, ctx) = take_placement(&mut take)?;
            let Some(ctx) = self.resolve(ctx)? else { continue };
            placement.ctx = ctx;
            // The one that is here may know its hash, which never travels.
            let stored = self.store.placement(&placement.machine, &placement.path)?;
            if stored.is_none_or(|stored| stored.placed_at < placement.placed_at) {
                self.push(Write::Placement(Box::new(placement)))?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        let done = self.merge().and_then(|()| self.write());
        match done {
            Ok(()) => {
                self.result.new_bytes = self.outcome.new_bytes;
                self.result.stored_bytes = self.outcome.stored_bytes;
                Ok(())
            }
            Err(Fault::Malformed(Malformed(reason))) => {
                Err(BundleError::Damaged { at: self.result.summary.bytes, reason }.into())
            }
            Err(Fault::Other(error)) => Err(error),
        }
    }
}

/// What a bundle is found to be that was altered between checking and storing.
const CHANGED: &str = "it changed while it was read";

fn changed<T>() -> std::result::Result<T, Fault> {
    Err(Malformed::new(CHANGED).into())
}

/// Orders what is known of one session: of two the greater one stays, so that the order of learning does not matter.
fn rank(session: &Session) -> impl Ord + use<> {
    let texts: Vec<Option<String>> = [&session.title, &session.cwd, &session.git_branch, &session.version]
        .map(Clone::clone)
        .into_iter()
        .collect();
    let origin = match session.origin {
        SessionOrigin::Imported => (0, None),
        SessionOrigin::Placed(ctx) => (1, Some(ctx)),
        SessionOrigin::Api => (2, None),
    };
    let names = [session.session.to_string(), session.format.to_string(), session.template.to_string()];
    let progress = (session.last_at, session.commits, session.bytes, session.messages);
    (progress, session.tip, origin, texts, names, session.principal.to_string(), session.started_at)
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        Self::Other(error)
    }
}

/// Returns the rules of a set that are not ours.
pub(super) fn others(rules: &BTreeSet<RulesHash>, ours: RulesHash) -> impl Iterator<Item = &RulesHash> {
    rules.iter().filter(move |rules| **rules != ours && **rules != RulesHash::NONE)
}
