//! Migrating on demand: a backup, the steps and their verification in one transaction, and the way back.
//!
//! What is additive is done by `versions` when a store is opened.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::alone::Alone;
use super::backup;
use super::failure::During;
use super::open::{self, STORE_FILE, SqliteOptions, not_a_store};
use super::packs::Packs;
use super::read::Reader;
use super::versions::{self, MIGRATIONS, Migration};
use crate::error::StoreError;
use crate::maintain::migrate::{Migrated, MigrationPlan, MigrationStep, RolledBack, StepKind};
use crate::seam::Verified;

const MIGRATING: &str = "migrating the store";

/// Returns what would bring the store of a directory to this version; changes nothing.
pub(super) fn plan(dir: &Path, options: &SqliteOptions) -> Result<MigrationPlan, StoreError> {
    plan_with(&connect(dir, options)?, dir, &MIGRATIONS)
}

fn connect(dir: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    let path = dir.join(STORE_FILE);
    if !path.is_file() {
        return Err(not_a_store(&path, &"there is no such file"));
    }
    open::connect(&path, options)
}

fn plan_with(connection: &Connection, dir: &Path, list: &[Migration]) -> Result<MigrationPlan, StoreError> {
    let path = dir.join(STORE_FILE);
    let found = versions::describe(connection, &path, list)?
        .ok_or_else(|| not_a_store(&path, &"it is empty"))?
        .write_version;
    let step = |own: &Migration| MigrationStep { to: own.to, kind: own.kind, about: own.about };
    Ok(MigrationPlan {
        found,
        newest: versions::newest(list),
        steps: versions::after(list, found).map(step).collect(),
    })
}

/// Brings the store of a directory to this version, with a backup at `backup_to` first.
pub(super) fn migrate(dir: &Path, backup_to: &Path, options: &SqliteOptions) -> Result<Migrated, StoreError> {
    migrate_with(dir, backup_to, options, &MIGRATIONS)
}

fn migrate_with(
    dir: &Path,
    backup_to: &Path,
    options: &SqliteOptions,
    list: &[Migration],
) -> Result<Migrated, StoreError> {
    // A store that needs nothing may be in use.
    let plan = plan_with(&connect(dir, options)?, dir, list)?;
    if plan.steps.is_empty() {
        return Ok(Migrated { plan, backup: None, verified: None });
    }
    // A program of the version before that has it open would go on writing what the steps rewrite.
    let alone = Alone::take(dir, options)?;
    // Only now is it sure which store has the name: a restore may have ended meanwhile.
    let connection = connect(alone.dir(), options)?;
    let plan = plan_with(&connection, alone.dir(), list)?;
    if plan.steps.is_empty() {
        return Ok(Migrated { plan, backup: None, verified: None });
    }
    backup::backup(&dir.join(STORE_FILE), options, backup_to)?;
    let verified = within_transaction(connection, &alone, options, list)?;
    Ok(Migrated { plan, backup: Some(backup_to.to_owned()), verified: Some(verified) })
}

/// Does all steps and verifies the outcome before any of it counts. Whatever fails, and whenever the process is
/// killed: what is on the disk is the store as it was.
fn within_transaction(
    connection: Connection,
    alone: &Alone,
    options: &SqliteOptions,
    list: &[Migration],
) -> Result<Verified, StoreError> {
    let dir = alone.dir();
    connection.execute_batch("BEGIN IMMEDIATE").during(MIGRATING)?;
    let packs = Packs::new(&dir.join(STORE_FILE), Arc::clone(&options.files));
    let mut reader = Reader::new(connection, Arc::new(packs));
    let done = steps_verified(&mut reader, dir, list);
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = reader.connection().execute_batch(end).during(MIGRATING);
    let verified = done?;
    ended?;
    Ok(verified)
}

fn steps_verified(reader: &mut Reader, dir: &Path, list: &[Migration]) -> Result<Verified, StoreError> {
    let path = dir.join(STORE_FILE);
    // Another process may have been quicker.
    let from = versions::describe(reader.connection(), &path, list)?.map_or(0, |found| found.write_version);
    versions::run(reader.connection(), from, list)?;
    backup::restore::sound(dir, |found| Ok(reader.verify(found)))
}

/// Where a rollback finds what it needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<'a> {
    /// The backup that the migration made; it may not be there.
    pub(super) backup: &'a Path,
    /// Where the store of the newer version goes, if the backup takes its place.
    pub(super) aside: &'a Path,
    /// Whether commits that only the newer store has may be left behind in it.
    pub(super) leave_commits: bool,
}

/// Brings the store of a directory back to the version before its newest step.
pub(super) fn roll_back(dir: &Path, way: Way<'_>, options: &SqliteOptions) -> Result<RolledBack, StoreError> {
    roll_back_with(dir, way, options, &MIGRATIONS)
}

fn roll_back_with(
    dir: &Path,
    way: Way<'_>,
    options: &SqliteOptions,
    list: &[Migration],
) -> Result<RolledBack, StoreError> {
    let refused = |reason: String| StoreError::Refused {
        what: "rolling back",
        path: dir.display().to_string(),
        reason,
    };
    let alone = Alone::take(dir, options)?;
    let connection = connect(dir, options)?;
    let plan = plan_with(&connection, dir, list)?;
    let newest = list.split_last().filter(|(newest, _)| newest.to == plan.found);
    let Some((newest, before)) = newest else {
        return Err(refused(format!("it has write version {}, not {}", plan.found, plan.newest)));
    };
    let undo = newest.undo.as_ref().filter(|_| newest.kind == StepKind::Additive);
    if let Some(undo) = undo
        && undone(&connection, undo, before, &alone)?
    {
        return Ok(RolledBack::Undone { from: plan.found, to: versions::newest(before) });
    }
    if !way.backup.join(STORE_FILE).is_file() {
        return Err(refused(format!(
            "what version {} added is in use, and there is no backup from before at {}",
            plan.found,
            way.backup.display()
        )));
    }
    let lost_commits = only_in(&connection, way.backup)?;
    if lost_commits > 0 && !way.leave_commits {
        return Err(refused(format!(
            "{} stored since the backup would only be in {} then",
            stemmata_model::plural(lost_commits, "commit"),
            way.aside.display()
        )));
    }
    drop(connection);
    backup::restore::exchange(options.files.as_ref(), way.backup, &alone, way.aside)?;
    Ok(RolledBack::Restored { aside: way.aside.to_owned(), lost_commits })
}

/// Goes back to the steps `before` the newest one where nothing would be lost by it.
fn undone(
    connection: &Connection,
    undo: &versions::Undo,
    before: &[Migration],
    _alone: &Alone,
) -> Result<bool, StoreError> {
    const UNDOING: &str = "rolling the store's format back";
    let transaction = connection.unchecked_transaction().during(UNDOING)?;
    let losses: i64 = transaction.query_row(undo.lost, [], |row| row.get(0)).during(UNDOING)?;
    if losses > 0 {
        return Ok(false);
    }
    transaction.execute_batch(undo.sql).during(UNDOING)?;
    transaction
        .execute(
            "UPDATE store SET read_version = ?1, write_version = ?2",
            [versions::read_version(before), versions::newest(before)],
        )
        .during(UNDOING)?;
    transaction.commit().during(UNDOING)?;
    Ok(true)
}

/// Counts the commits of a store that its backup lacks.
fn only_in(connection: &Connection, backup: &Path) -> Result<u64, StoreError> {
    const COMPARING: &str = "comparing the store with its backup";
    let path = backup.join(STORE_FILE);
    connection.execute("ATTACH DATABASE ?1 AS backup", [path.to_string_lossy()]).during(COMPARING)?;
    let count: i64 = connection
        .query_row(
            "SELECT count(*) FROM main.commits c WHERE NOT EXISTS \
             (SELECT 1 FROM backup.commits b WHERE substr(b.id, 1, 8) = substr(c.id, 1, 8) AND b.id = c.id)",
            [],
            |row| row.get(0),
        )
        .during(COMPARING)?;
    connection.execute_batch("DETACH DATABASE backup").during(COMPARING)?;
    Ok(count.cast_unsigned())
}

#[cfg(test)]
mod tests;
