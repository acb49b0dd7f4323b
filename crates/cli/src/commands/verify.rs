//! `verify`: recomputes what can be recomputed, and reports everything that is wrong.

use std::path::PathBuf;

use stemmata_api::{Control, v1};

use crate::args::maintain::Verify;
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Verify) -> Result<Exit, CliError> {
    if args.repair {
        return repair(app, &args.from);
    }
    show(app, &app.service()?.verify(&Control::none())?)
}

/// Mends what can be mended, and shows what was and what could not be.
fn repair(app: &App, from: &[PathBuf]) -> Result<Exit, CliError> {
    app.service()?;
    let from: Vec<PathBuf> = from.iter().map(|from| app.environment.absolute(from)).collect();
    let result = app.host()?.repair_store(&from, &|place| app.environment.shown(place))?;
    show(app, &result)
}

fn show(app: &App, result: &v1::Verify) -> Result<Exit, CliError> {
    app.answer(result, || Ok(told(result)))?;
    if !app.console.json && !result.ok {
        app.console.hint("`stemma verify --repair --from BACKUP` repairs from a backup, another store or a bundle, `stemma restore BACKUP` replaces the store; \
                 importing the same transcripts into a new `STEMMATA_HOME` gives the same commits; keep this store until then");
    }
    Ok(if result.ok { Exit::Done } else { Exit::Corrupt })
}

fn told(result: &v1::Verify) -> String {
    let beside = match result.sidecar_commits {
        0 => String::new(),
        states => format!(", {} of files beside transcripts", many(states, "state")),
    };
    let looked = format!(
        "{}{beside}, {} and {} checked",
        many(result.commits.saturating_sub(result.sidecar_commits), "commit"),
        many(result.contents, "content"),
        many(result.references, "reference")
    );
    let left = match result.leftover_files {
        0 => String::new(),
        left => {
            format!("  {} that nothing references; the next `stemma pack` removes them\n", many(left, "file"))
        }
    };
    let left = match result.unfinished_log_at {
        None => left,
        Some(at) => format!(
            "{left}  the WAL ends in an incomplete transaction at byte {at}: a crash left it; nothing acknowledged is \
             lost\n"
        ),
    };
    let left = match result.kept_rows {
        0 => left,
        rows => format!(
            "{left}  {} of metadata kept as is; a store given with `--from` may have intact copies\n",
            many(rows, "damaged row")
        ),
    };
    let mended: String = result
        .repaired
        .iter()
        .map(|own| format!("  {}  repaired: {}\n", Style::Id.paint(&own.object), own.from))
        .collect();
    if result.ok {
        return mended + &format!("{}: {looked}\n{left}", Style::Good.paint("All is well"));
    }
    let beyond = result.damages_unlisted;
    let count = u64::try_from(result.damages.len()).unwrap_or(u64::MAX).saturating_add(beyond);
    let mut lines =
        vec![format!("{}: {looked}", Style::Error.paint(&format!("{} found", many(count, "damage"))))];
    for damage in &result.damages {
        lines.push(format!("  {}  {}: {}", Style::Id.paint(&damage.object), damage.check, damage.message));
    }
    if beyond > 0 {
        lines.push(format!("  … and {beyond} more"));
    }
    mended + &lines.join("\n") + "\n"
}
