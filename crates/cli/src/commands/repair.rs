//! `repair`: a copy of a transcript that its client takes whole, and what was changed in it.
//!
//! Not the store's own repair, which is `verify --repair`.

use std::path::{Path, PathBuf};

use stemmata_engine::{Engine, EngineError, Mended, Refusal};

use crate::args::maintain::Repair;
use crate::commands::doctor::{path_of, sends_all, told};
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size::{self, many};
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Repair) -> Result<Exit, CliError> {
    let path = path_of(app, &args.file)?;
    let mended = Engine::mend(&path, args.client_version.as_deref())?;
    let is_changed = !mended.changes.is_empty();
    let target = match &args.out {
        Some(out) => Some(chosen(&path, out)?),
        None if is_changed => Some(Target::File(beside(&path)?)),
        None => None,
    };
    if let Some(target) = &target {
        target.write(|out| out.write_all(&mended.bytes).map_err(CliError::Output))?;
    }
    let written = match &target {
        Some(Target::File(written)) => Some(written.as_path()),
        // The transcript itself went there.
        Some(Target::Standard) => return Ok(Exit::Done),
        None => None,
    };
    if app.console.json {
        app.console.json(&wire::client::mended(&path, written, &mended))?;
    } else {
        show(app, &path, written, &mended)?;
    }
    Ok(Exit::Done)
}

fn refused(reason: String) -> CliError {
    EngineError::Refused { what: Refusal::Repair, reasons: vec![reason] }.into()
}

/// Returns where the user wants it: anywhere but in the transcript's own place.
fn chosen(path: &Path, out: &Path) -> Result<Target, CliError> {
    let target = Target::of(out);
    if let Target::File(out) = &target {
        let is_same = match (path.canonicalize(), out.canonicalize()) {
            (Ok(path), Ok(out)) => path == out,
            _ => path == out,
        };
        if is_same {
            return Err(refused("a transcript is never changed in its place: name another file".to_owned()));
        }
    }
    Ok(target)
}

/// Returns the place beside a transcript where no client looks, and which is free.
fn beside(path: &Path) -> Result<PathBuf, CliError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    let (stem, ending) = name.rsplit_once('.').map_or((name, "jsonl"), |(stem, ending)| (stem, ending));
    let out = path.with_file_name(format!("{stem}.repaired.{ending}"));
    if out.exists() {
        return Err(refused(format!("{} is there already: name a file with `--out`", out.display())));
    }
    Ok(out)
}

fn show(app: &App, path: &Path, written: Option<&Path>, mended: &Mended) -> Result<(), CliError> {
    let version = mended.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let bytes = u64::try_from(mended.bytes.len()).unwrap_or(u64::MAX);
    let mut rows =
        vec![app.environment.shown(path), format!("  {}{version}, {}", mended.format, size::bytes(bytes))];
    for change in &mended.changes {
        let line = match change.line {
            Some(line) => format!("line {line}: "),
            None if mended.is_document => String::new(),
            None => "new line: ".to_owned(),
        };
        rows.push(format!("  {line}{}", change.message));
    }
    rows.extend(mended.validation.findings.iter().map(|found| format!("  left as it is: {}", told(found))));
    rows.push(String::new());
    app.console.text(&rows.join("\n"))?;
    let (sent, present) = (mended.validation.messages_sent, mended.validation.messages_present);
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
            app.console.say(&format!("hint: `stemma import {copy} && stemma resume {copy}` goes on with it"));
        }
        Some(written) => {
            let copy = app.environment.shown(written);
            app.console.say(&format!("nothing to repair: {copy} is the same; {verdict}"));
        }
        None => app.console.say(&format!("nothing to repair; {verdict}")),
    }
    Ok(())
}
