//! `restore` without a backup: a ledger's state, what it was made from, and what was wrong on the way.
//!
//! Putting a backup in the place of the store is `backup`'s.

use std::io::ErrorKind;

use stemmata_api::v1;
use stemmata_engine::{EngineError, Remembered};
use stemmata_model::{LedgerId, Note, NoteCode};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;
use stemmata_store::StoreError;

use crate::args::maintain::Restore;
use crate::commands::events::{directory, known_ledger};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{grouped, many};
use crate::output::style::{Style, tame};
use crate::wiring::App;
use stemmata_service::wire;

/// The folder of version 1 in the data directory, and how many of its files are named at most.
const VERSION_ONE: &str = "contexts";
const VERSION_ONE_MAX: usize = 16;

/// What was restored.
struct Restored {
    ledger: LedgerId,
    root: Option<String>,
    last: u64,
    in_files: bool,
    reducers: Vec<Reduced>,
    remembered: Option<Remembered>,
    quarantined: u64,
    lost: Vec<String>,
    notes: Vec<Note>,
}

/// What one reducer's state was restored from.
struct Reduced {
    name: &'static str,
    saved_through: u64,
    replayed: u64,
}

/// Runs the command.
pub(crate) fn run(app: &App, args: &Restore) -> Result<Exit, CliError> {
    let ledger = ledger_to_restore(app, args)?;
    let mut restored = Restored {
        ledger,
        root: None,
        last: 0,
        in_files: app.home()?.ledger_files()?.is_some(),
        reducers: Vec::new(),
        remembered: None,
        quarantined: 0,
        lost: Vec::new(),
        notes: Vec::new(),
    };
    let readable = from_files(app, args.repair, &mut restored)?;
    if readable {
        fold(app, &mut restored)?;
    }
    if app.console.json {
        app.console.json(&wire(&restored))?;
    } else {
        app.console.notes(&restored.notes);
        app.console.text(&told(app, &restored))?;
    }
    // What was met on the way is in the notes, once.
    drop(app.home()?.ledger_findings());
    Ok(if readable { Exit::Done } else { Exit::Corrupt })
}

/// Returns the ledger that is meant, even where it cannot be read.
fn ledger_to_restore(app: &App, args: &Restore) -> Result<LedgerId, CliError> {
    let unread = match known_ledger(app, &args.which) {
        Err(error) if error.exit() == Exit::Corrupt => error,
        found => return found,
    };
    if let Some(id) = &args.which.ledger {
        return Ok(id.clone());
    }
    app.engine()?.marked_ledger_at(&directory(app, &args.which))?.ok_or(unread)
}

/// Restores the files of a ledger that is kept in files. Says whether it can be read.
fn from_files(app: &App, repair: bool, restored: &mut Restored) -> Result<bool, CliError> {
    let Some(files) = app.home()?.ledger_files()? else {
        if repair {
            return Err(CliError::Usage(
                "this ledger is in the store; `stemma verify --repair` mends a store".to_owned(),
            ));
        }
        restored.notes.extend(version_one(app)?);
        return Ok(true);
    };
    let note = |finding: &stemmata_store::Finding| Note::new(NoteCode::Degraded, finding.to_string());
    let found = files.restore(&restored.ledger, app.now())?;
    restored.notes.extend(found.findings.iter().map(note));
    if repair && found.ledger.is_some() {
        let mended = files.repair(&restored.ledger)?;
        restored.quarantined = mended.quarantined;
        restored.lost = mended.lost.iter().map(ToString::to_string).collect();
        restored.notes.extend(mended.findings.iter().map(note));
    }
    restored.notes.dedup();
    // A line in the middle stops every reader until somebody has it set aside.
    Ok(repair || !found.findings.iter().any(stemmata_store::Finding::stops))
}

/// Names files of version 1 in the data directory, which ledgers in files name themselves: nothing reads them.
fn version_one(app: &App) -> Result<Vec<Note>, CliError> {
    let folder = app.home()?.dir().join(VERSION_ONE);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let is_one =
        |name: &str| name.strip_prefix("context-").is_some_and(|rest| rest.strip_suffix(".json").is_some());
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_one(name)).collect();
    names.sort();
    names.truncate(VERSION_ONE_MAX);
    let found = names.into_iter().map(|name| {
        let finding = stemmata_store::Finding::VersionOne { path: folder.join(name) };
        Note::new(NoteCode::Degraded, finding.to_string())
    });
    Ok(found.collect())
}

fn fold(app: &App, restored: &mut Restored) -> Result<(), CliError> {
    reduce::<MemoryReducer>(app, restored)?;
    reduce::<StateSnapshotter>(app, restored)?;
    let engine = app.engine()?;
    let remembered = engine.remember(&restored.ledger)?;
    restored.notes.extend(
        remembered.notes.iter().filter(|note| !restored.notes.contains(note)).cloned().collect::<Vec<_>>(),
    );
    restored.remembered = Some(remembered);
    if let Some(known) = engine.log().ledger(&restored.ledger)? {
        restored.last = known.last;
        restored.root = known.root;
    }
    Ok(())
}

/// Folds what is after a reducer's saved state, and saves that.
fn reduce<R: Reducer>(app: &App, restored: &mut Restored) -> Result<(), CliError> {
    let engine = app.engine()?;
    let folded = engine.fold::<R>(&restored.ledger, None)?;
    let unsaved = engine.save_folded(&restored.ledger, &folded, true).err();
    if let Some(error) = unsaved {
        // What somebody may only read is told all the same.
        let may_not = match &error {
            EngineError::Store(StoreError::ReadOnly { .. }) => true,
            EngineError::Store(StoreError::Io { source, .. }) => source.kind() == ErrorKind::PermissionDenied,
            _ => false,
        };
        if !may_not {
            return Err(error.into());
        }
        let message = "nothing here may be written, so the state was not saved".to_owned();
        restored.notes.push(Note::new(NoteCode::Degraded, message));
    }
    let (saved_through, replayed) = (folded.saved_through, folded.replayed);
    restored.reducers.push(Reduced { name: R::NAME, saved_through, replayed });
    let new: Vec<Note> = folded.notes.into_iter().filter(|note| !restored.notes.contains(note)).collect();
    restored.notes.extend(new);
    restored.notes.dedup();
    Ok(())
}

fn told(app: &App, restored: &Restored) -> String {
    let name = restored.root.as_deref().map_or_else(
        || restored.ledger.to_string(),
        |root| app.environment.shown(std::path::Path::new(root)),
    );
    let place = if restored.in_files { "in files" } else { "in the store" };
    let mut text = format!(
        "{}  {}\n",
        Style::Strong.paint(&tame(&name)),
        Style::Faint.paint(&format!("{}, {place}", many(restored.last, "event")))
    );
    if restored.quarantined > 0 || !restored.lost.is_empty() {
        put!(
            text,
            "{} set aside, {} lost{}\n",
            many(restored.quarantined, "damaged line"),
            many(u64::try_from(restored.lost.len()).unwrap_or(u64::MAX), "event"),
            restored.lost.first().map_or_else(String::new, |first| format!(", from {first} on"))
        );
    }
    for one in &restored.reducers {
        let saved = match one.saved_through {
            0 => "no saved state".to_owned(),
            through => format!("saved at event {}", grouped(through)),
        };
        put!(text, "  {:<17}  {saved}, {} folded again\n", one.name, many(one.replayed, "event"));
    }
    if let Some(remembered) = &restored.remembered {
        put!(text, "  {:<17}  {}\n", "transcripts", many(remembered.transcripts, "captured session"));
    }
    if restored.reducers.is_empty() {
        text.push_str("Nothing was folded: the ledger cannot be read past the damage. `stemma restore --repair` sets it aside\n");
    }
    text
}

fn wire(restored: &Restored) -> v1::RestoredLedger {
    v1::RestoredLedger {
        ledger: restored.ledger.to_string(),
        root: restored.root.clone(),
        last: restored.last.to_string(),
        engine: if restored.in_files { "files" } else { "store" }.to_owned(),
        reducers: restored
            .reducers
            .iter()
            .map(|one| v1::RestoredReducer {
                name: one.name.to_owned(),
                saved_through: one.saved_through.to_string(),
                replayed: one.replayed,
            })
            .collect(),
        transcripts: restored.remembered.as_ref().map_or(0, |remembered| remembered.transcripts),
        read: restored.remembered.as_ref().map_or(0, |remembered| remembered.read),
        quarantined: restored.quarantined,
        lost: restored.lost.clone(),
        notes: wire::notes(&restored.notes),
    }
}
