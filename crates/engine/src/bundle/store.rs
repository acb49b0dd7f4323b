//! The writes of an import, in batches, in the order of the bundle.
//!
//! What is taken was decided in `apply`, and that it is sound in `check`.

use std::collections::BTreeSet;

use stemmata_api::v1::BundleImported;
use stemmata_model::{ArtifactId, Closure, CommitCore, CommitId, RulesHash, to_u64};
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{
    AuditRecord, BATCH_WRITES_MAX, BatchOutcome, Commits, ContentPart, Link, LinkKind, MERGED_RECORDS_MAX,
    NewCommit, NewContent, NewHole, Session, SessionOrigin, Write,
};

use super::apply::{BundleImportOptions, Fate, Taken};
use super::bytes::{Malformed, Take};
use super::check::{Fault, at};
use super::copies::Arrivals;
use super::error::BundleError;
use super::facts::{take_change, take_link, take_placement, take_session, take_sightings};
use super::forgotten::Forgotten;
use super::frame::{Kind, Record};
use super::origins::Origins;
use super::rows::{CommitRef, CommitRow, ContentRef, take_commits, take_composed, take_lengths};
use crate::engine::Engine;
use crate::error::Result;

/// Bytes of content of one batch.
const BATCH_BYTES_FULL: u64 = 8 * 1024 * 1024;

/// Bytes of metadata in one merge.
const MERGE_BYTES_FULL: usize = 1024 * 1024;

pub(super) struct Applier<'a> {
    engine: &'a Engine,
    store: &'a dyn Commits,
    rules: RulesHash,
    arrivals: Arrivals<'a>,
    origins: Origins<'a>,
    taken: Taken<'a>,
    options: BundleImportOptions,
    writes: Vec<Write>,
    bytes: u64,
    outcome: BatchOutcome,
    merging: Option<(CommitId, Vec<AuditRecord>, usize)>,
    /// Literal contents, composed ones and commits that were met so far.
    counts: [u64; 3],
    forgotten: Forgotten<'a>,
    result: &'a mut BundleImported,
}

type Done = std::result::Result<(), Fault>;

impl<'a> Applier<'a> {
    /// Begins with the store of an engine and the rules in force there.
    pub(super) fn new(
        engine: &'a Engine,
        taken: Taken<'a>,
        options: BundleImportOptions,
        result: &'a mut BundleImported,
    ) -> Self {
        Self {
            engine,
            store: engine.store.as_ref(),
            rules: engine.rules().map_or(RulesHash([0; 32]), |(rules, _)| rules),
            arrivals: Arrivals::new(engine),
            origins: Origins::new(engine),
            taken,
            options,
            writes: Vec::new(),
            bytes: 0,
            outcome: BatchOutcome::default(),
            merging: None,
            counts: [0; 3],
            forgotten: Forgotten::new(engine),
            result,
        }
    }

    /// Stores what a record says.
    pub(super) fn record(&mut self, record: &Record) -> Done {
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
        if writes.is_empty() || self.options.dry_run {
            return Ok(());
        }
        let outcome = self.engine.commit_batch(writes)?;
        self.outcome.new_bytes += outcome.new_bytes;
        self.outcome.stored_bytes += outcome.stored_bytes;
        Ok(())
    }

    /// Stores what is kept, and then links the copies in it, of which all sightings are known by now.
    fn settle(&mut self) -> Done {
        self.write()?;
        if self.options.dry_run { Ok(()) } else { Ok(self.arrivals.link()?) }
    }

    fn push(&mut self, write: Write) -> Done {
        self.push_all([write])
    }

    /// Adds writes that are never apart.
    fn push_all(&mut self, writes: impl IntoIterator<Item = Write>) -> Done {
        self.writes.extend(writes);
        if self.writes.len() >= self.options.batch_writes_max.clamp(1, BATCH_WRITES_MAX) {
            self.write()
        } else {
            Ok(())
        }
    }

    fn block(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for length in take_lengths(&mut take)? {
            let bytes = take.bytes(length)?;
            let number = self.counts[0];
            self.counts[0] += 1;
            let Some(literal) = at(&self.taken.checked.literals, number) else { return changed() };
            if self.options.dry_run || !self.taken.wants(ContentRef::Literal(number)) {
                continue;
            }
            let content = NewContent::literal(bytes.to_vec());
            if content.id() != literal.hash {
                return changed();
            }
            self.bytes += to_u64(length);
            self.push(Write::Content(content))?;
        }
        Ok(())
    }

    fn hash_of(&self, of: ContentRef) -> std::result::Result<ArtifactId, Fault> {
        let hash = match of {
            ContentRef::Literal(number) => at(&self.taken.checked.literals, number).map(|own| own.hash),
            ContentRef::Composed(number) => at(&self.taken.checked.composed, number).map(|own| own.hash),
            ContentRef::Named(number) => at(&self.taken.checked.named, number).map(|own| own.hash),
        };
        hash.ok_or_else(|| Malformed::new(CHANGED).into())
    }

    fn composed(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for _ in 0..take.rows("contents")? {
            let row = take_composed(&mut take)?;
            let number = ContentRef::Composed(self.counts[1]);
            self.counts[1] += 1;
            if self.options.dry_run || !self.taken.wants(number) {
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
        let first = usize::try_from(self.counts[2]).unwrap_or(usize::MAX);
        let fates = self.taken.fates.iter().skip(first).take(rows.len());
        if fates.into_iter().any(|fate| matches!(fate, Fate::New | Fate::Known)) {
            // The lines of new commits are read again from the store.
            self.settle()?;
        }
        for row in rows {
            let number = self.counts[2];
            self.counts[2] += 1;
            self.arrivals.met(row.id, row.parent)?;
            match at(self.taken.fates, number) {
                Some(Fate::New | Fate::NewHole) => self.commit(number, row)?,
                Some(Fate::Known) => self.close(number, &row)?,
                Some(Fate::Hole | Fate::Skipped) => {}
                None => return changed(),
            }
        }
        if self.bytes >= BATCH_BYTES_FULL { self.write() } else { Ok(()) }
    }

    fn commit(&mut self, number: u64, row: CommitRow) -> Done {
        let parent = match row.parent {
            None => None,
            Some(CommitRef::Id(id)) => Some(id),
            Some(CommitRef::Number(number)) => match at(&self.taken.checked.commits, number) {
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
        if row.closure == Closure::Forgotten {
            let artifact_bytes = self.bytes_of_hole(row.artifact)?;
            let native_bytes = row.native.map_or(Ok(0), |native| self.bytes_of_hole(native))?;
            let counts = row.counts;
            let hole = NewHole { core, rules, counts, artifact_bytes, native_bytes, holds: None };
            return self.push(Write::Hole(Box::new(hole)));
        }
        self.result.other_rules_commits += u64::from(rules != self.rules && rules != RulesHash::NONE);
        let anchors = self.anchors(number, (row.id, &core, row.closure))?;
        let commit = NewCommit { core, rules, closure: row.closure, counts: row.counts };
        self.push_all(std::iter::once(Write::Commit(commit)).chain(anchors))
    }

    fn anchors(
        &mut self,
        number: u64,
        commit: (CommitId, &CommitCore, Closure),
    ) -> std::result::Result<Option<Write>, Fault> {
        let Some(depth) = at(&self.taken.checked.commits, number).map(|commit| commit.depth) else {
            return changed();
        };
        if self.options.dry_run { Ok(None) } else { Ok(self.arrivals.anchors(commit, depth)?) }
    }

    fn bytes_of_hole(&self, of: ContentRef) -> std::result::Result<u64, Fault> {
        match of {
            ContentRef::Named(number) => {
                at(&self.taken.checked.named, number).map_or_else(changed, |own| Ok(own.length))
            }
            ContentRef::Literal(_) | ContentRef::Composed(_) => changed(),
        }
    }

    /// Passes on that a commit which is here provisionally is more than that elsewhere.
    fn close(&mut self, number: u64, row: &CommitRow) -> Done {
        if self.origins.has_seen(row.id)? {
            // Its own transcript says what becomes of it.
            return Ok(());
        }
        match row.closure {
            Closure::Closed => {
                let stored = self.store.commit(row.id)?;
                match stored.filter(|stored| stored.closure == Closure::Provisional) {
                    Some(stored) => {
                        let anchors = self.anchors(number, (row.id, &stored.core, Closure::Closed))?;
                        let commit = NewCommit {
                            core: stored.core,
                            rules: stored.rules,
                            closure: Closure::Closed,
                            counts: stored.counts,
                        };
                        self.push_all(std::iter::once(Write::Commit(commit)).chain(anchors))
                    }
                    None => Ok(()),
                }
            }
            Closure::Covered => {
                if row.parent.is_none() {
                    self.arrivals.covered(row.id);
                }
                self.push(Write::Cover { commit: row.id })
            }
            Closure::Provisional | Closure::Forgotten => Ok(()),
        }
    }

    /// Returns the commit that a row is about, where it is here or will be.
    fn resolve(&self, of: CommitRef) -> std::result::Result<Option<CommitId>, Fault> {
        match of {
            CommitRef::Number(number) => {
                let is_taken =
                    matches!(at(self.taken.fates, number), Some(Fate::New | Fate::NewHole | Fate::Known));
                Ok(at(&self.taken.checked.commits, number).filter(|_| is_taken).map(|commit| commit.id))
            }
            CommitRef::Id(id) => Ok(self.store.commit(id)?.map(|commit| commit.id)),
        }
    }

    /// Returns the commit that a row says something of; none where that was forgotten here, though a hole is left.
    fn spoken_of(&mut self, of: CommitRef) -> std::result::Result<Option<CommitId>, Fault> {
        let Some(id) = self.resolve(of)? else { return Ok(None) };
        Ok((!self.forgotten.has(Tombstone::Commit(id))?).then_some(id))
    }

    fn sightings(&mut self, body: &[u8]) -> Done {
        let mut rows = Vec::new();
        take_sightings(body, &mut |commit, sighting| {
            rows.push((commit, sighting));
            Ok(())
        })?;
        for (commit, sighting) in rows {
            let session = Tombstone::Session(sighting.session.clone());
            if let Some(commit) = self.spoken_of(commit)?
                && !self.forgotten.has(session)?
                && let Some(sighting) = self.origins.sighting(commit, sighting)?
            {
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
            let Some(commit) = self.spoken_of(commit)? else { continue };
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

    /// Writes the changes of one commit that were gathered, marked as another's; what is known already stays as it is.
    fn merge(&mut self) -> Done {
        let Some((commit, records, taken)) = self.merging.take() else { return Ok(()) };
        let known: BTreeSet<AuditRecord> =
            self.store.audit(commit, usize::MAX)?.into_iter().map(AuditRecord::foreign).collect();
        let mut records: Vec<AuditRecord> = records.into_iter().map(AuditRecord::foreign).collect();
        records.retain(|record| !known.contains(record));
        if records.is_empty() {
            return Ok(());
        }
        self.push(Write::MergeAnnotations { commit, records })?;
        self.bytes += to_u64(taken);
        if self.bytes >= BATCH_BYTES_FULL { self.write() } else { Ok(()) }
    }

    fn links(&mut self, body: &[u8]) -> Done {
        let mut take = Take::new(body);
        for _ in 0..take.rows("rows")? {
            let row = take_link(&mut take)?;
            match (self.resolve(row.from)?, self.resolve(row.to)?) {
                (Some(from), Some(to)) => {
                    if row.kind == LinkKind::DerivedFrom && row.entry.is_some() {
                        self.arrivals.told(from);
                    }
                    self.push(Write::Link(Link { from, kind: row.kind, to, entry: row.entry }))?;
                }
                _ => self.result.links_left_out += 1,
            }
        }
        Ok(())
    }

    fn sessions(&mut self, body: &[u8]) -> Done {
        if self.forgotten.any()? {
            // A title is compared with commits and summaries in the store, so all that came before is stored first.
            self.merge()?;
            self.write()?;
        }
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
            let mut session = Session { tip, origin, ..row.session };
            if self.forgotten.has(Tombstone::Session(session.session.clone()))?
                || self.forgotten.has(Tombstone::Transcript(session.key.clone()))?
            {
                continue;
            }
            if !self.origins.session(&mut session)? {
                continue;
            }
            let stored = self.store.session(&session.key)?;
            if !self.options.dry_run {
                session.title = self.forgotten.title_of(&session, stored.as_ref())?;
            }
            if stored.is_none_or(|stored| rank(&stored) < rank(&session)) {
                let counted =
                    if session.is_sidecar() { &mut self.result.sidecars } else { &mut self.result.sessions };
                *counted += 1;
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
            if !self.origins.placement(&mut placement)? {
                continue;
            }
            // The one that is here may know its hash, which never travels.
            let stored = self.store.placement(&placement.machine, &placement.path)?;
            if stored.is_none_or(|stored| stored.placed_at < placement.placed_at) {
                self.push(Write::Placement(Box::new(placement)))?;
            }
        }
        Ok(())
    }

    /// Stores what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        let done = self.merge().and_then(|()| self.settle());
        match done {
            Ok(()) => {
                self.result.new_bytes = self.outcome.new_bytes;
                self.result.stored_bytes = self.outcome.stored_bytes;
                Ok(())
            }
            Err(Fault::Malformed(Malformed(reason))) => {
                Err(BundleError::Damaged { at: self.taken.checked.summary.bytes, reason }.into())
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
