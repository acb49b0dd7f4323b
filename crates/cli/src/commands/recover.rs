//! `recover`: a session's transcript, given back to its client from the store.
//!
//! Not a backup of the store, which is `restore`, nor a repair of what is damaged, which is `repair`.

use std::path::Path;

use stemmata_api::v1::{Recovered, RecoveredFile, SIDECAR_FORMAT};
use stemmata_service::RecoverRequest;

use crate::args::maintain::Recover;
use crate::commands::doctor::file;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::table::{Column, Table, cell};
use crate::output::{session, time};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Recover) -> Result<Exit, CliError> {
    let Some(session) = &args.session else { return list(app) };
    app.bring_here(session)?;
    let request =
        RecoverRequest { session: file(app, session), replace: args.replace, dry_run: args.dry_run };
    let recovered = app.opened_host()?.recover(&request)?;
    app.console.notes(&recovered.notes);
    app.answer(&recovered, || Ok(told(app, &recovered)))?;
    if app.console.json {
        return Ok(Exit::Done);
    }
    let redacted: u64 = recovered.files.iter().map(|file| file.still_redacted).sum();
    if redacted > 0 {
        let stay = if redacted == 1 { "stays" } else { "stay" };
        app.console.say(&format!("{} {stay} redacted: no value is kept", many(redacted, "secret")));
    }
    if recovered.dry_run {
        app.console.say("Nothing was written (`--dry-run`)");
    } else if recovered.files.iter().any(|file| file.what == "beside") {
        app.console.hint(&format!("`stemma recover {session} --replace` puts it in place"));
    }
    Ok(Exit::Done)
}

/// Lists the sessions whose transcripts are gone.
fn list(app: &App) -> Result<Exit, CliError> {
    let page = app.opened_host()?.only_here()?;
    app.answer(&page, || {
        let columns = [Column::Left, Column::Left, Column::Right, Column::Left, Column::Flexible];
        let mut table = Table::new(&columns.map(|column| ("", column)));
        for session in &page.sessions {
            let last = session.last_at.map(|at| time::ago(at, app.now()));
            table.row(vec![
                cell(Style::Id, session::short(session)),
                cell(Style::Faint, last.unwrap_or_default()),
                cell(Style::Faint, size::bytes(session.bytes)),
                cell(Style::Plain, session::project_of(session.cwd.as_deref())),
                cell(Style::Plain, session::title_of(session.title.as_deref().unwrap_or_default())),
            ]);
        }
        Ok(table.render(app.console.width))
    })?;
    if app.console.json {
        return Ok(Exit::Done);
    }
    app.console.say(&if page.sessions.is_empty() {
        "Every session that was read from a file still has one; `stemma doctor --all` looks into them"
            .to_owned()
    } else {
        format!("{}: `stemma recover SESSION` gives one back to its client", Style::Hint.paint("hint"))
    });
    Ok(Exit::Done)
}

fn told(app: &App, recovered: &Recovered) -> String {
    let mut text = String::new();
    let shown = |path: &str| app.environment.shown(Path::new(path));
    let (sidecars, files): (Vec<_>, Vec<_>) =
        recovered.files.iter().partition(|file| file.format.as_str() == SIDECAR_FORMAT);
    for RecoveredFile { path, what, bytes, messages, damage, kept, .. } in files {
        let path = shown(path);
        if what == "intact" {
            let nothing = if recovered.files.len() == 1 { "Nothing to recover: " } else { "Not needed: " };
            put!(text, "{nothing}{path} is there, and its client would load it completely\n");
            continue;
        }
        let verb = match (recovered.dry_run, what.as_str()) {
            (true, "replaced") => "Would replace".to_owned(),
            (true, _) => "Would write".to_owned(),
            (false, "replaced") => Style::Good.paint("Replaced"),
            (false, _) => Style::Good.paint("Recovered"),
        };
        put!(text, "{verb} {path}: {}, {}\n", many(*messages, "message"), size::bytes(*bytes));
        if let Some(damage) = damage {
            put!(text, "  the client's own is damaged: {damage}\n");
        }
        if let Some(kept) = kept {
            put!(text, "  the damaged one is kept as {}\n", shown(kept));
        }
    }
    if !sidecars.is_empty() {
        let verb = if recovered.dry_run { "Would write".to_owned() } else { Style::Good.paint("Recovered") };
        let count = u64::try_from(sidecars.len()).unwrap_or(u64::MAX);
        let bytes = sidecars.iter().map(|file| file.bytes).sum();
        put!(text, "{verb} {} beside the transcript: {}\n", many(count, "file"), size::bytes(bytes));
    }
    text
}
