//! `verify`: recomputes what can be recomputed, and reports everything that is wrong.

use std::path::PathBuf;

use stemmata_api::v1;
use stemmata_store::Damage;

use crate::args::maintain::Verify;
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::style::Style;
use crate::wiring::App;
use stemmata_service::wire;

/// Damages that are kept for the report; one more than that says the same.
const DAMAGES_MAX: usize = 10_000;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Verify) -> Result<Exit, CliError> {
    if args.repair {
        return repair(app, &args.from);
    }
    let engine = app.engine()?;
    let mut damages: Vec<Damage> = Vec::new();
    let mut beyond = 0_u64;
    let looked = engine.store().verify(&mut |damage| {
        if damages.len() < DAMAGES_MAX { damages.push(damage) } else { beyond += 1 }
    })?;
    let result = v1::Verify {
        ok: damages.is_empty(),
        contents: looked.contents,
        commits: looked.commits,
        references: looked.references,
        leftover_files: looked.leftover_files,
        unfinished_log_at: looked.unfinished_log_at,
        kept_rows: looked.kept_rows,
        damages: damages.iter().map(wire::maintain::damage).collect(),
        repaired: Vec::new(),
    };
    show(app, &result, beyond)
}

/// Mends what can be mended, and shows what was and what could not be.
fn repair(app: &App, from: &[PathBuf]) -> Result<Exit, CliError> {
    app.service()?;
    let from: Vec<PathBuf> = from.iter().map(|from| app.environment.absolute(from)).collect();
    let result = app.host()?.repair_store(&from, &|place| app.environment.shown(place))?;
    show(app, &result, 0)
}

fn show(app: &App, result: &v1::Verify, beyond: u64) -> Result<Exit, CliError> {
    if app.console.json {
        app.console.json(result)?;
    } else {
        app.console.text(&told(result, beyond))?;
        if !result.ok {
            let hint = Style::Hint.paint("hint");
            app.console.say(&format!(
                "{hint}: `stemma verify --repair --from BACKUP` mends from a backup, another store or a bundle; importing the same transcripts into a new `STEMMATA_HOME` gives the same commits; \
                 keep this store until that is done"
            ));
        }
    }
    Ok(if result.ok { Exit::Done } else { Exit::Corrupt })
}

fn told(result: &v1::Verify, beyond: u64) -> String {
    let looked = format!(
        "{}, {} and {} checked",
        many(result.commits, "commit"),
        many(result.contents, "content"),
        many(result.references, "reference")
    );
    let left = match result.leftover_files {
        0 => String::new(),
        left => format!("  {} that nothing refers to; the next packing removes them\n", many(left, "file")),
    };
    let left = match result.unfinished_log_at {
        None => left,
        Some(at) => format!(
            "{left}  the log ends in a transaction that is not whole, at byte {at}: a crash leaves it so before \
             anything of it is promised\n"
        ),
    };
    let left = match result.kept_rows {
        0 => left,
        rows => format!(
            "{left}  {} of metadata that nothing gave back, kept as they are; `--from` a store that has them may\n",
            many(rows, "damaged row")
        ),
    };
    let mended: String = result
        .repaired
        .iter()
        .map(|own| format!("  {}  mended: {}\n", Style::Id.paint(&own.object), own.from))
        .collect();
    if result.ok {
        return mended + &format!("{}: {looked}\n{left}", Style::Good.paint("All is well"));
    }
    let count = u64::try_from(result.damages.len()).unwrap_or(u64::MAX) + beyond;
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
