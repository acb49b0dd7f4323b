//! What the store remembers of a session that was placed: what it continues, and that it was read to its end.

use std::path::Path;

use stemmata_model::{Commit, CommitId, FormatId, Granularity, MachineId, RulesHash, SessionId, Timestamp};
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Placement, Session, SessionKey, SessionOrigin, StoreError, Write};

use crate::capture::captured::UnreadSoFar;
use crate::capture::cursor::{Cursor, FileStamp, SplitterState, Windows};
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};

/// A session that was placed, as its placer knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementRecord {
    /// The commit that it continues.
    pub ctx: CommitId,
    /// The new session id.
    pub session: SessionId,
    /// The machine that it was placed on.
    pub machine: MachineId,
    /// Where capture reads it.
    pub path: String,
    /// Its format.
    pub format: FormatId,
    /// Bytes of the file that came from the commit; what follows is new.
    pub taken_bytes: u64,
    /// Lines of these.
    pub taken_lines: u64,
    /// Bytes of the whole file.
    pub placed_bytes: u64,
    /// Messages that the client will send.
    pub messages: u64,
    /// The BLAKE3 hash of the whole file.
    pub hash: [u8; 32],
    /// What the system says of the file; none before it has its name.
    pub written: Option<WrittenFile>,
    /// Whether the client takes the file in by a command of its own and keeps a copy.
    pub taken_in_by_client: bool,
    /// The directory that the agent will work in.
    pub cwd: String,
    /// When it was placed; absent: now.
    pub placed_at: Option<Timestamp>,
}

/// What a system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenFile {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// The last change, in nanoseconds since 1970.
    pub modified_ns: i128,
}

impl Engine {
    /// Remembers a session that was placed. Called before the file has its name, so that a file that is there is known wherever
    /// this is interrupted, and again once it has; a third call changes nothing.
    ///
    /// # Errors
    /// `CommitMissing`, `Io` for a file of this machine, store errors.
    pub fn record_placement(&self, record: &PlacementRecord) -> Result<()> {
        let placed_at = record.placed_at.unwrap_or_else(|| self.clock.now());
        let Some(written) = record.written else {
            let placement = Placement {
                machine: record.machine.clone(),
                path: record.path.clone(),
                session: record.session.clone(),
                ctx: record.ctx,
                taken_bytes: record.taken_bytes,
                placed_bytes: record.placed_bytes,
                keyed_hash: keyed(&self.store.identity()?.secret, record.hash),
                placed_at,
            };
            self.commit_batch(vec![Write::Placement(Box::new(placement))])?;
            return Ok(());
        };
        let key = SessionKey { machine: record.machine.clone(), path: record.path.clone() };
        // Who reads it meanwhile knows more of it.
        if self.store.session(&key)?.is_some() {
            return Ok(());
        }
        let commit = self.store.commit(record.ctx)?.ok_or(StoreError::CommitMissing(record.ctx))?;
        let session = self.placed_session(key.clone(), (record, placed_at), &commit)?;
        let path = Path::new(&record.path);
        // What a client keeps of it is read from its beginning, and goes on from here; so is what is on another machine.
        let is_read = !record.taken_in_by_client && record.machine == self.identity.machine && path.is_file();
        let mut batch = Vec::new();
        if is_read {
            match self.placed_cursor(path, record, written) {
                Ok(cursor) => batch.push(Write::Cursor { key, value: cursor.encode(&session) }),
                // Rules that cannot be used keep nothing back that is stored: this too is read from its beginning then.
                Err(EngineError::Rules(_)) => {}
                Err(error) => return Err(error),
            }
        }
        batch.push(Write::Session(Box::new(session)));
        self.commit_batch(batch)?;
        Ok(())
    }

    fn placed_cursor(&self, path: &Path, record: &PlacementRecord, written: WrittenFile) -> Result<Cursor> {
        let mut placed = Transcript::open(path)?;
        let windows = Windows::before(&placed, record.placed_bytes)?;
        let (head, tail) = windows.hashes(&self.store.identity()?.secret);
        let WrittenFile { device, inode, modified_ns } = written;
        let adapter = Self::adapter(&record.format, FormatUse::Read)?;
        let totals = self.totals_of(record.ctx)?;
        Ok(Cursor {
            format: record.format.to_string(),
            rules: RulesHash(self.scrubber_of_file(&mut placed)?.rules_hash()).into(),
            earlier_bytes: 0,
            granularity: Granularity::Turn,
            closed_bytes: record.taken_bytes,
            closed_line: record.taken_lines.saturating_add(1),
            tip: Some(record.ctx),
            splitter: SplitterState::Whole(adapter.splitter(Granularity::Turn, None).state()),
            seen_bytes: record.placed_bytes,
            provisional: Vec::new(),
            stamp: FileStamp { device, inode, length: record.placed_bytes, modified_ns },
            head,
            tail,
            redacted_bytes: 0,
            totals,
            seen_entries: totals.entries,
            seen_redacted_bytes: 0,
            is_version_known: false,
            unread: UnreadSoFar::default(),
        })
    }

    fn placed_session(
        &self,
        key: SessionKey,
        (record, placed_at): (&PlacementRecord, Timestamp),
        commit: &Commit,
    ) -> Result<Session> {
        let title = self.title_of(record.ctx)?;
        Ok(Session {
            key,
            session: record.session.clone(),
            parent_session: None,
            format: record.format.clone(),
            template: commit.core.template.clone(),
            principal: self.identity.principal(runtime_of(&record.format))?,
            granularity: Granularity::Turn,
            origin: SessionOrigin::Placed(record.ctx),
            title,
            cwd: Some(record.cwd.clone()),
            git_branch: None,
            version: None,
            started_at: Some(placed_at),
            last_at: Some(placed_at),
            tip: Some(record.ctx),
            commits: commit.depth + 1,
            messages: record.messages,
            bytes: commit.cumulative_bytes,
        })
    }
}

/// Returns the hash that a placement keeps: nobody can compare it with hashes of guesses at a secret that was replaced.
pub(crate) fn keyed(secret: &[u8; 32], hash: [u8; 32]) -> [u8; 32] {
    *blake3::keyed_hash(secret, &hash).as_bytes()
}
