//! Writing a bundle: contents, commits, and what stands beside them, in one pass and bounded memory.
//!
//! The same store, selection and `have` give the same bytes: nothing here reads a clock, and nothing that is private
//! to a store (rows, secrets, keyed hashes) is written.

use std::collections::HashMap;
use std::io::Write;

use stemmata_api::v1::BundleExported;
use stemmata_model::{Closure, Commit, CommitId, Note, NoteCode, Sighting, to_u64};
use stemmata_store::{
    AuditRecord, Described, Link, SIDECAR_FORMAT, Session, SessionFilter, SessionKey, SessionOrigin,
};

use super::BundleSelection;
use super::bytes::{put_length, put_number};
use super::error::BundleError;
use super::facts::{
    LinkRow, SessionRow, is_portable, put_change, put_link, put_placement, put_session, put_sightings,
};
use super::frame::{FrameWriter, Kind};
use super::pack::Packer;
use super::plan::{PER_COMMIT_MAX, Plan, each_session};
use super::rows::{CommitKind, CommitRef, CommitRow, put_commits};
use crate::chain::beside::{PAGE_COMMITS, key_of_sighting};
use crate::engine::Engine;
use crate::error::Result;

/// Commits that are kept until they are written.
const COMMITS_FULL: usize = 16_384;

/// Sightings of one record.
const SIGHTINGS_FULL: usize = 8_192;

/// Bytes of other rows of one record.
const ROWS_BYTES_FULL: usize = 1024 * 1024;

/// Ids of one record.
const IDS_FULL: usize = 65_536;

/// Rows of one type, written in records of a bounded size.
struct Rows {
    kind: Kind,
    count: usize,
    bytes: Vec<u8>,
}

impl Rows {
    const fn new(kind: Kind) -> Self {
        Self { kind, count: 0, bytes: Vec::new() }
    }

    fn add(&mut self, out: &mut FrameWriter<'_>, put: impl FnOnce(&mut Vec<u8>)) -> Result<(), BundleError> {
        put(&mut self.bytes);
        self.count += 1;
        if self.bytes.len() >= ROWS_BYTES_FULL { self.write(out) } else { Ok(()) }
    }

    fn write(&mut self, out: &mut FrameWriter<'_>) -> Result<(), BundleError> {
        if self.count == 0 {
            return Ok(());
        }
        let mut body = Vec::with_capacity(self.bytes.len() + 8);
        put_length(&mut body, std::mem::take(&mut self.count));
        body.append(&mut self.bytes);
        out.record(self.kind, &body)
    }
}

struct Exporter<'e, 'o> {
    engine: &'e Engine,
    out: FrameWriter<'o>,
    packer: Packer,
    numbers: HashMap<CommitId, u64>,
    pending: Vec<CommitRow>,
    written: u64,
    sightings: Vec<(CommitRef, Sighting)>,
    /// Where travelling commits were seen, and the latest one there.
    seen: HashMap<SessionKey, CommitId>,
    sessions: u64,
    sidecars: u64,
    sidecar_commits: u64,
    left_out: u64,
}

impl Engine {
    /// Writes a bundle of what was asked for, without the commits that `have` names and all before them.
    ///
    /// One block of content is in memory at a time, besides some 150 bytes a commit.
    ///
    /// # Errors
    /// `CommitMissing`, `Corrupt` (content is verified before it is written), `Bundle` where it cannot be written.
    pub fn export_bundle(
        &self,
        what: &BundleSelection,
        have: &[CommitId],
        out: &mut dyn Write,
    ) -> Result<BundleExported> {
        let plan = self.plan_bundle(what, have)?;
        let mut packer = Packer::default();
        let had: Vec<CommitId> = plan.had.iter().copied().collect();
        for page in had.chunks(PAGE_COMMITS) {
            for Described { commit, .. } in self.store.described(page)? {
                if commit.closure != Closure::Forgotten {
                    packer.had.insert(commit.core.artifact);
                    packer.had.extend(commit.core.native);
                }
            }
        }
        let mut exporter = Exporter {
            engine: self,
            out: FrameWriter::begin(out)?,
            packer,
            numbers: HashMap::new(),
            pending: Vec::new(),
            written: 0,
            sightings: Vec::new(),
            seen: HashMap::new(),
            sessions: 0,
            sidecars: 0,
            sidecar_commits: 0,
            left_out: 0,
        };
        exporter.head(&plan)?;
        for page in plan.commits.chunks(PAGE_COMMITS) {
            for described in self.described(page)? {
                let is_sidecar = described.commit.core.format.as_str() == SIDECAR_FORMAT;
                exporter.sidecar_commits += u64::from(is_sidecar);
                exporter.commit(described)?;
            }
        }
        exporter.flush()?;
        exporter.metadata(&plan)?;
        exporter.sessions(&plan)?;
        exporter.finish(plan)
    }
}

impl Exporter<'_, '_> {
    fn head(&mut self, plan: &Plan) -> Result<(), BundleError> {
        let mut header = Vec::new();
        put_length(&mut header, plan.commits.len());
        put_length(&mut header, plan.tips.len());
        put_length(&mut header, plan.prerequisites.len());
        self.out.record(Kind::Header, &header)?;
        let prerequisites: Vec<CommitId> = plan.prerequisites.iter().copied().collect();
        for (kind, ids) in [(Kind::Tips, &plan.tips), (Kind::Prerequisites, &prerequisites)] {
            for ids in ids.chunks(IDS_FULL) {
                let mut body = Vec::with_capacity(ids.len() * 16 + 4);
                put_length(&mut body, ids.len());
                for id in ids {
                    body.extend_from_slice(&id.to_bytes());
                }
                self.out.record(kind, &body)?;
            }
        }
        Ok(())
    }

    fn reference(&self, id: CommitId) -> CommitRef {
        self.numbers.get(&id).map_or(CommitRef::Id(id), |number| CommitRef::Number(*number))
    }

    fn commit(&mut self, described: Described) -> Result<()> {
        let commit = &described.commit;
        let id = commit.id;
        let native = commit.core.native.map(|native| self.content(commit, native)).transpose()?;
        let artifact = self.content(commit, commit.core.artifact)?;
        let number = self.written + to_u64(self.pending.len());
        self.see(&described, number)?;
        let commit = described.commit;
        let row = CommitRow {
            id,
            parent: commit.core.parent.map(|parent| self.reference(parent)),
            commit_type: commit.core.commit_type,
            closure: commit.closure,
            kind: CommitKind {
                format: commit.core.format,
                template: commit.core.template,
                rules: commit.rules,
            },
            artifact,
            native,
            created_at: commit.core.created_at,
            counts: commit.counts,
        };
        self.numbers.insert(id, number);
        self.pending.push(row);
        if self.packer.is_full() || self.pending.len() >= COMMITS_FULL {
            self.flush()?;
        }
        Ok(())
    }

    fn content(
        &mut self,
        commit: &Commit,
        id: stemmata_model::ArtifactId,
    ) -> Result<super::rows::ContentRef> {
        let store = self.engine.store.as_ref();
        if commit.closure == Closure::Forgotten {
            return self.packer.add_forgotten(store, id);
        }
        self.packer.add(store, id, &mut self.out)
    }

    fn see(&mut self, described: &Described, number: u64) -> Result<()> {
        for sighting in self.engine.sightings_of(described, PER_COMMIT_MAX)?.iter() {
            if sighting.source.as_ref().is_some_and(|source| !is_portable(&source.path)) {
                self.left_out += 1;
                continue;
            }
            self.seen.insert(key_of_sighting(sighting), described.commit.id);
            self.sightings.push((CommitRef::Number(number), sighting.clone()));
        }
        Ok(())
    }

    /// Writes contents, then the commits that need them, then where these were seen.
    fn flush(&mut self) -> Result<(), BundleError> {
        self.packer.write(&mut self.out)?;
        if !self.pending.is_empty() {
            self.out.record(Kind::Commits, &put_commits(&self.pending, self.written))?;
            self.written += to_u64(self.pending.len());
            self.pending.clear();
        }
        for rows in self.sightings.chunks(SIGHTINGS_FULL) {
            self.out.record(Kind::Sightings, &put_sightings(rows))?;
        }
        self.sightings.clear();
        Ok(())
    }

    /// Writes what was said of commits, of those too that the receiver has.
    fn metadata(&mut self, plan: &Plan) -> Result<()> {
        let mut changes = Rows::new(Kind::Annotations);
        let mut links = Rows::new(Kind::Links);
        for page in plan.commits.chunks(PAGE_COMMITS).chain(plan.known.chunks(PAGE_COMMITS)) {
            for described in self.engine.described(page)? {
                let id = described.commit.id;
                let commit = self.reference(id);
                let trail = self.engine.changes_of(&described, PER_COMMIT_MAX)?.into_iter();
                let mut trail: Vec<AuditRecord> = trail.map(AuditRecord::unmarked).collect();
                trail.sort();
                for record in &trail {
                    changes.add(&mut self.out, |bytes| put_change(bytes, commit, record))?;
                }
                // Each link once: by the commit that it starts from, which is where it belongs.
                let all = self.engine.links_of(&described, PER_COMMIT_MAX)?;
                for Link { kind, to, entry, .. } in all.iter().filter(|link| link.from == id).cloned() {
                    let row = LinkRow { from: commit, kind, to: self.reference(to), entry };
                    links.add(&mut self.out, |bytes| put_link(bytes, &row))?;
                }
            }
        }
        changes.write(&mut self.out)?;
        links.write(&mut self.out)?;
        Ok(())
    }

    /// Writes the sessions that travelling commits were seen in or that end in a commit of the bundle's chains.
    fn sessions(&mut self, plan: &Plan) -> Result<()> {
        let engine = self.engine;
        let known: std::collections::HashSet<CommitId> = plan.known.iter().copied().collect();
        let mut rows = Rows::new(Kind::Sessions);
        let mut placements = Rows::new(Kind::Placements);
        let filter = SessionFilter { with_sidecars: true, ..SessionFilter::default() };
        each_session(engine.store.as_ref(), &filter, &mut |session| {
            let has = |id: CommitId| self.numbers.contains_key(&id) || known.contains(&id);
            let seen = self.seen.get(&session.key).copied();
            if !(session.tip.is_some_and(has) || seen.is_some()) {
                return Ok(());
            }
            if !is_portable(&session.key.path) {
                self.left_out += 1;
                return Ok(());
            }
            let placement = engine.store.placement(&session.key.machine, &session.key.path)?;
            if let Some(placement) = placement.filter(|placement| has(placement.ctx)) {
                let ctx = self.reference(placement.ctx);
                placements.add(&mut self.out, |bytes| put_placement(bytes, &placement, ctx))?;
            }
            let session = if session.tip.is_some_and(has) { session } else { engine.up_to(session, seen)? };
            let is_sidecar = session.is_sidecar();
            let row = SessionRow {
                tip: session.tip.map(|tip| self.reference(tip)),
                placed_from: match session.origin {
                    SessionOrigin::Placed(ctx) if has(ctx) => Some(self.reference(ctx)),
                    SessionOrigin::Placed(_) | SessionOrigin::Imported | SessionOrigin::Api => None,
                },
                session,
            };
            let counted = if is_sidecar { &mut self.sidecars } else { &mut self.sessions };
            *counted += 1;
            rows.add(&mut self.out, |bytes| put_session(bytes, &row))?;
            Ok(())
        })?;
        rows.write(&mut self.out)?;
        placements.write(&mut self.out)?;
        Ok(())
    }

    fn finish(self, plan: Plan) -> Result<BundleExported> {
        let done = self.packer.done;
        let mut trailer = Vec::new();
        for count in [self.written, done.literals, done.composed, done.named, done.literal_bytes] {
            put_number(&mut trailer, count);
        }
        let mut notes = Vec::new();
        if self.left_out > 0 {
            let message = format!(
                "{} sightings and sessions were left out: their paths are none that another machine takes",
                self.left_out
            );
            notes.push(Note::new(NoteCode::Degraded, message));
        }
        Ok(BundleExported {
            path: None,
            commits: self.written,
            known_commits: to_u64(plan.known.len()),
            prerequisites: plan.prerequisites.into_iter().collect(),
            tips: plan.tips,
            sessions: self.sessions,
            sidecars: self.sidecars,
            sidecar_commits: self.sidecar_commits,
            content_bytes: done.literal_bytes,
            bytes: self.out.finish(trailer)?,
            notes,
        })
    }
}

impl Engine {
    /// Returns a session as it was when it ended in a commit.
    fn up_to(&self, session: Session, tip: Option<CommitId>) -> Result<Session> {
        let commit = tip.map(|tip| self.store.commit(tip)).transpose()?.flatten();
        let Some(commit) = commit else { return Ok(Session { tip: None, ..session }) };
        let messages = self.totals_of(commit.id)?.messages;
        Ok(Session {
            tip: Some(commit.id),
            commits: commit.depth + 1,
            messages,
            bytes: commit.cumulative_bytes,
            last_at: Some(commit.core.created_at),
            ..session
        })
    }
}
