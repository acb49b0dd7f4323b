//! Rows of commits, sightings, sessions and metadata as a database stores them, and what they say.
//!
//! Specified in `docs/format/store.md`; how a row is found and taken is each backend's own.

use stemmata_model::{
    ArtifactId, Commit, CommitCore, CommitId, EntryId, FormatId, MachineId, NameError, Principal, RulesHash,
    SessionId, Sighting, Source, Template, ThreadId, TicketId, Timestamp,
};

use super::figures::Figures;
use super::{codes, state};
use crate::error::{StoreError, unreadable};
use crate::write::{Annotations, AuditRecord, Link, Session, SessionKey};

/// A combination of format, template and rules that commits have; real stores have a dozen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the columns are specified in docs/format/store.md")]
pub struct Kind {
    pub format: FormatId,
    pub template: Template,
    pub rules: RulesHash,
}

/// A commit's row, with the hashes of the contents that it names and its parent's id.
#[derive(Debug)]
#[expect(missing_docs, reason = "the columns are specified in docs/format/store.md")]
pub struct CommitRow {
    pub row: i64,
    pub id: CommitId,
    pub parent_row: Option<i64>,
    pub kind: i64,
    pub state: i64,
    pub created_at: i64,
    pub figures: Vec<u8>,
    pub artifact: Option<ArtifactId>,
    pub native: Option<ArtifactId>,
    pub parent: Option<CommitId>,
}

impl CommitRow {
    /// Returns the commit; `kind` is what its own stands for.
    ///
    /// # Errors
    /// `Backend` for a row that no version writes, as for all rows.
    pub fn into_commit(self, kind: &Kind) -> Result<Commit, StoreError> {
        let figures = Figures::decode(&self.figures, self.row)?;
        let (commit_type, closure) = state::decode(self.state, figures.restated_entries)
            .ok_or_else(|| unreadable("commits.state", &self.id, &self.state))?;
        let artifact =
            self.artifact.ok_or_else(|| unreadable("commits.artifact", &self.id, &"no content's row"))?;
        Ok(Commit {
            id: self.id,
            core: CommitCore {
                parent: self.parent,
                commit_type,
                artifact,
                native: self.native,
                format: kind.format.clone(),
                template: kind.template.clone(),
                created_at: Timestamp::from_micros(self.created_at),
            },
            rules: kind.rules,
            closure,
            counts: figures.counts,
            native_bytes: figures.native_bytes,
            depth: figures.depth,
            cumulative_bytes: figures.cumulative_bytes,
        })
    }
}

/// A row of a sighting and its origin.
#[derive(Debug)]
#[expect(missing_docs, reason = "the columns are specified in docs/format/store.md")]
pub struct SightingRow {
    pub principal: String,
    pub machine: String,
    pub session: String,
    pub path: Option<String>,
    pub ticket: Option<String>,
    pub thread: Option<String>,
    pub template_alias: Option<String>,
    pub trigger: i64,
    pub observed_at: i64,
    pub offset: Option<i64>,
    pub length: Option<i64>,
}

impl SightingRow {
    /// Returns the sighting.
    ///
    /// # Errors
    /// `Backend`.
    pub fn into_sighting(self) -> Result<Sighting, StoreError> {
        let bad = |error: NameError| unreadable("origin", &"a sighting", &error);
        let (trigger, reasons) = codes::cause_from(self.trigger)
            .ok_or_else(|| unreadable("sighting.trigger", &"a sighting", &self.trigger))?;
        Ok(Sighting {
            principal: Principal::new(self.principal).map_err(bad)?,
            machine: MachineId::new(self.machine).map_err(bad)?,
            session: SessionId::new(self.session).map_err(bad)?,
            trigger,
            reasons,
            ticket: self.ticket.map(TicketId::new).transpose().map_err(bad)?,
            thread: self.thread.map(ThreadId::new).transpose().map_err(bad)?,
            template_alias: self.template_alias.map(Template::new).transpose().map_err(bad)?,
            observed_at: Timestamp::from_micros(self.observed_at),
            source: self.path.map(|path| Source {
                path,
                offset: self.offset.unwrap_or(0).cast_unsigned(),
                length: self.length.unwrap_or(0).cast_unsigned(),
            }),
        })
    }
}

/// A session's row: its texts, its numbers and its commits, each in the order of the columns.
#[derive(Debug)]
#[expect(missing_docs, reason = "the columns are specified in docs/format/store.md")]
pub struct SessionRow {
    pub texts: [Option<String>; 11],
    pub numbers: [Option<i64>; 7],
    pub commits: [Option<[u8; 16]>; 2],
}

impl SessionRow {
    /// Returns the session.
    ///
    /// # Errors
    /// `Backend`.
    pub fn into_session(self) -> Result<Session, StoreError> {
        let [path, machine, session, parent, format, template, principal, title, cwd, git_branch, version] =
            self.texts;
        let [granularity, came, started_at, last_at, commits, messages, bytes] = self.numbers;
        let [placed_from, tip] = self.commits.map(|id| id.map(CommitId::from_bytes));
        let path = path.unwrap_or_default();
        let bad = |error: NameError| unreadable("session", &path, &error);
        let text = Option::<String>::unwrap_or_default;
        let number = |number: Option<i64>| number.unwrap_or(0).cast_unsigned();
        let granularity = granularity.unwrap_or(-1);
        let came = came.unwrap_or(-1);
        Ok(Session {
            session: SessionId::new(text(session)).map_err(bad)?,
            parent_session: parent.map(SessionId::new).transpose().map_err(bad)?,
            format: FormatId::new(text(format)).map_err(bad)?,
            template: Template::new(text(template)).map_err(bad)?,
            principal: Principal::new(text(principal)).map_err(bad)?,
            granularity: codes::granularity_from(granularity)
                .ok_or_else(|| unreadable("session.granularity", &path, &granularity))?,
            origin: codes::session_origin_from(came, placed_from)
                .ok_or_else(|| unreadable("session.came", &path, &came))?,
            title,
            cwd,
            git_branch,
            version,
            started_at: started_at.map(Timestamp::from_micros),
            last_at: last_at.map(Timestamp::from_micros),
            tip,
            commits: number(commits),
            messages: number(messages),
            bytes: number(bytes),
            key: SessionKey { machine: MachineId::new(text(machine)).map_err(bad)?, path },
        })
    }
}

/// The record of a change: time, author, number of the change, text, source.
pub type AuditRow = (i64, String, i64, Option<String>, Option<i64>);

/// Reads the record of a change.
///
/// # Errors
/// `Backend`.
pub fn audit_record(row: AuditRow, commit: CommitId) -> Result<AuditRecord, StoreError> {
    let (at, by, change, text, source) = row;
    Ok(AuditRecord {
        at: Timestamp::from_micros(at),
        by: Principal::new(by).map_err(|error| unreadable("audit.by", &commit, &error))?,
        change: codes::change_from(change, text, source)
            .ok_or_else(|| unreadable("audit.change", &commit, &change))?,
    })
}

/// Adds a row of current metadata (kind, text, source) to a commit's annotations. Rows of the audit trail are not taken.
///
/// # Errors
/// `Backend`.
pub fn note_annotation(
    annotations: &mut Annotations,
    commit: CommitId,
    (kind, text, source): (i64, Option<String>, Option<i64>),
) -> Result<(), StoreError> {
    let text = text.unwrap_or_default();
    match kind {
        codes::KIND_SUMMARY => {
            let source = source.unwrap_or(-1);
            let source = codes::summary_source_from(source)
                .ok_or_else(|| unreadable("annotation.source", &commit, &source))?;
            annotations.summary = Some((text, source));
        }
        codes::KIND_TAG => annotations.tags.push(text),
        codes::KIND_NOTE => annotations.notes.push(text),
        codes::KIND_PIN => annotations.pinned = true,
        other => return Err(unreadable("annotation.kind", &commit, &other)),
    }
    Ok(())
}

/// A link: the id that it starts at, its kind, the id that it ends at, and its entry, empty for none.
pub type LinkRow = ([u8; 16], i64, [u8; 16], String);

/// Reads a link; `commit` is the one that it was asked for.
///
/// # Errors
/// `Backend`.
pub fn link(row: LinkRow, commit: CommitId) -> Result<Link, StoreError> {
    let (from, kind, to, entry) = row;
    let entry = Some(entry).filter(|entry| !entry.is_empty()).map(EntryId::new).transpose();
    Ok(Link {
        from: CommitId::from_bytes(from),
        kind: codes::link_kind_from(kind).ok_or_else(|| unreadable("link.kind", &commit, &kind))?,
        to: CommitId::from_bytes(to),
        entry: entry.map_err(|error| unreadable("link.entry", &commit, &error))?,
    })
}
