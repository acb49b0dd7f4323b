//! `verify`: recomputes what can be recomputed, and reports everything that is wrong.

use stemmata_store::Damage;

use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::style::Style;
use crate::output::v1;
use crate::wiring::App;

/// Damages that are kept for the report; one more than that says the same.
const DAMAGES_MAX: usize = 10_000;

/// Runs the command.
pub(crate) fn run(app: &App) -> Result<Exit, CliError> {
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
        damages: damages.iter().map(wire).collect(),
    };
    if app.console.json {
        app.console.json(&result)?;
    } else {
        app.console.text(&told(&result, beyond))?;
        if !result.ok {
            let hint = Style::Hint.paint("hint");
            app.console.say(&format!(
                "{hint}: importing the same transcripts into a new `STEMMATA_HOME` gives the same commits; \
                 keep this store until that is done"
            ));
        }
    }
    Ok(if result.ok { Exit::Done } else { Exit::Corrupt })
}

/// Returns the wire form of a damage.
pub(crate) fn wire(damage: &Damage) -> v1::Damage {
    v1::Damage {
        check: damage.check.to_owned(),
        object: damage.object.clone(),
        message: damage.message.clone(),
    }
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
    if result.ok {
        return format!("{}: {looked}\n{left}", Style::Good.paint("All is well"));
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
    lines.join("\n") + "\n"
}
