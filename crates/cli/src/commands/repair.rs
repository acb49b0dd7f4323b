//! `repair`: a copy of a transcript that its client takes whole, and what was changed in it.
//!
//! Not the store's own repair, which is `verify --repair`.

use std::path::Path;

use stemmata_api::v1::Mended;

use crate::args::maintain::Repair;
use crate::commands::doctor::{file, sends_all, told};
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size::{self, many};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Repair) -> Result<Exit, CliError> {
    let named = file(app, &args.file);
    let host = if named.path.exists() { app.host()? } else { app.opened_host()? };
    let mut repaired = host.mend(&named, args.client_version.as_deref())?;
    let target = match &args.out {
        Some(out) => Some(Target::of(out)),
        None if args.dry_run || repaired.told.changes.is_empty() => None,
        None => Some(Target::File(repaired.beside()?)),
    };
    if let Some(target) = &target {
        target.path().map_or(Ok(()), |out| repaired.hold_apart(Path::new(&out)))?;
        target.write(&app.temp_files(), |out| out.write_all(&repaired.bytes).map_err(CliError::Output))?;
    }
    if matches!(target, Some(Target::Standard)) {
        // The transcript itself went there.
        return Ok(Exit::Done);
    }
    let written = target.as_ref().and_then(Target::path);
    repaired.told.out.clone_from(&written);
    app.answer(&repaired.told, || Ok(changes(app, &repaired.told)))?;
    if !app.console.json {
        say_verdict(app, written.as_deref().map(Path::new), &repaired.told);
        if args.dry_run {
            app.console.say("Nothing was written (`--dry-run`)");
        }
    }
    Ok(Exit::Done)
}

fn changes(app: &App, mended: &Mended) -> String {
    let version = mended.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let path = app.environment.shown(Path::new(&mended.path));
    let mut rows = vec![path, format!("  {}{version}, {}", mended.format, size::bytes(mended.bytes))];
    for change in &mended.changes {
        let line = match change.line {
            Some(line) => format!("line {line}: "),
            None if mended.is_document => String::new(),
            None => "new line: ".to_owned(),
        };
        rows.push(format!("  {line}{}", change.message));
    }
    rows.extend(mended.findings.iter().map(|found| format!("  not changed: {}", told(found))));
    rows.push(String::new());
    rows.join("\n")
}

fn say_verdict(app: &App, written: Option<&Path>, mended: &Mended) {
    let (sent, present) = (mended.messages_sent, mended.messages_present);
    let verdict = if sent >= present {
        sends_all(present)
    } else {
        format!("the client would send {sent} of {}", many(present, "message"))
    };
    let changes = u64::try_from(mended.changes.len()).unwrap_or(u64::MAX);
    match written {
        Some(written) if changes > 0 => {
            let copy = app.environment.shown(written);
            app.console.say(&format!("repaired copy in {copy}: {}; {verdict}", many(changes, "change")));
            app.console
                .say(&format!("hint: `stemma import {copy} && stemma resume {copy}` continues with it"));
        }
        Some(written) => {
            let copy = app.environment.shown(written);
            app.console.say(&format!("nothing to repair: {copy} is the same; {verdict}"));
        }
        None if changes > 0 => {
            app.console.say(&format!("would repair: {}; {verdict}", many(changes, "change")));
        }
        None => app.console.say(&format!("nothing to repair; {verdict}")),
    }
}
