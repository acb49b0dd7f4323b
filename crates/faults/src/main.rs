//! Runs the parts that are asked for and prints their table; fails where anything was lost.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use stemmata_faults::parts::{Effort, bits, files, kill, ledger};
use stemmata_faults::report::{Row, table};
use stemmata_faults::script::{Reference, STEPS};

const USAGE: &str = "\
usage: stemmata-faults [files|fuse|power|failing|kill|bits|ledger|ledger-kill|all] [--seed N] [--short] [--percent N] \
[--step NAME]";

struct Wanted {
    part: String,
    effort: Effort,
}

fn wanted(arguments: &[String]) -> anyhow::Result<Wanted> {
    let mut wanted =
        Wanted { part: "all".to_owned(), effort: Effort { seed: 1, short: false, percent: 100, step: None } };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--short" => wanted.effort.short = true,
            "--seed" => {
                wanted.effort.seed =
                    rest.next().context("`--seed` needs a number")?.parse().context("a seed")?;
            }
            "--percent" => {
                let percent = rest.next().context("`--percent` needs a number")?;
                wanted.effort.percent = percent.parse().context("a number")?;
            }
            "--step" => {
                let name = rest.next().context("`--step` needs a name")?;
                let step = STEPS.iter().find(|step| step.name == name).context("no step has this name")?;
                wanted.effort.step = Some(step.name);
            }
            "files" | "fuse" | "power" | "failing" | "kill" | "bits" | "ledger" | "ledger-kill" | "all" => {
                argument.clone_into(&mut wanted.part);
            }
            other => anyhow::bail!("unknown argument `{other}`\n{USAGE}"),
        }
    }
    Ok(wanted)
}

/// The parts that need a disk of ours under SQLite.
#[cfg(target_os = "linux")]
fn mounted_parts(
    wanted: &Wanted,
    reference: &Reference,
    space: &anyhow::Result<()>,
) -> anyhow::Result<Vec<Row>> {
    use stemmata_faults::parts::{mounted, power};
    let mut rows = Vec::new();
    for (name, run) in [("power", power::run as fn(_, _) -> _), ("failing", mounted::run as fn(_, _) -> _)] {
        if ["fuse", "all", name].contains(&wanted.part.as_str()) {
            rows.push(match space {
                Ok(()) => run(reference, wanted.effort)?,
                Err(error) => {
                    let mut row = Row::new(name);
                    row.note(format!("skipped: {error:#}"));
                    row
                }
            });
        }
    }
    Ok(rows)
}

fn run(arguments: &[String]) -> anyhow::Result<bool> {
    if let Some((first, rest)) = arguments.split_first()
        && first == "work"
    {
        kill::work(rest)?;
        return Ok(true);
    }
    if let Some((first, rest)) = arguments.split_first()
        && first == ledger::WORK
    {
        ledger::work(rest)?;
        return Ok(true);
    }
    let wanted = wanted(arguments)?;
    // Before there is a second thread.
    #[cfg(target_os = "linux")]
    let space = stemmata_faults::mount::enter_namespace();
    let mut rows = Vec::new();
    if wanted.part != "ledger" && wanted.part != "ledger-kill" {
        rows.extend(parts_of_the_store(
            &wanted,
            #[cfg(target_os = "linux")]
            &space,
        )?);
    }
    if ["ledger", "ledger-kill", "all"].contains(&wanted.part.as_str()) {
        rows.extend(ledger::run(&std::env::current_exe()?, &wanted.part, wanted.effort)?);
    }
    let mut out = std::io::stdout().lock();
    out.write_all(table(&rows).as_bytes())?;
    out.flush()?;
    Ok(rows.iter().all(Row::is_sound))
}

/// The parts that run the workload of the store.
fn parts_of_the_store(
    wanted: &Wanted,
    #[cfg(target_os = "linux")] space: &anyhow::Result<()>,
) -> anyhow::Result<Vec<Row>> {
    let reference = Reference::run(wanted.effort.seed)?;
    let mut rows = Vec::new();
    if ["files", "all"].contains(&wanted.part.as_str()) {
        rows.extend([files::cuts(&reference, wanted.effort)?, files::fails(&reference, wanted.effort)?]);
    }
    #[cfg(target_os = "linux")]
    rows.extend(mounted_parts(wanted, &reference, space)?);
    if ["kill", "all"].contains(&wanted.part.as_str()) {
        rows.push(kill::run(&std::env::current_exe()?, &reference, wanted.effort)?);
    }
    if ["bits", "all"].contains(&wanted.part.as_str()) {
        rows.push(bits::run(wanted.effort)?);
    }
    Ok(rows)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // A closed stderr is the reader's choice; the exit code still tells the outcome.
            drop(writeln!(std::io::stderr().lock(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
