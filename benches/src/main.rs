//! `cargo xtask bench`: measures what `docs/benchmarks.md` shows, ours beside its peers in one run.
//! Not a test: nothing here fails because a figure is bad; a table that is honest when we lose is the point.

mod arguments;
mod child;
mod input;
mod machine;
mod measure;
mod peers;
mod report;
mod rows;
mod scratch;
mod stored;
mod stores;

use std::process::ExitCode;

use arguments::{Arguments, Request};
use report::{Report, say};
use rows::Bench;

fn run(words: &[String]) -> anyhow::Result<()> {
    let arguments = match Request::parse(words)? {
        Request::Help => {
            say(arguments::USAGE);
            return Ok(());
        }
        Request::Child(task) => return child::run(&task),
        Request::Run(arguments) => arguments,
    };
    let bench = Bench::new(&arguments)?;
    let mut report = Report::begin(&command(words), &bench.about());
    for row in &arguments.rows {
        report.section(row.run(&bench)?);
    }
    report.end(arguments.json.as_deref())
}

fn command(words: &[String]) -> String {
    let corpus = arguments::corpus().map_or("", |_| "STEMMATA_CORPUS=… ");
    format!("{corpus}cargo xtask bench {}", words.join(" ")).trim_end().to_owned()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The largest size where none is named.
const SCALE_MAX: u32 = 10;

impl Arguments {
    /// Returns the sizes to measure at: one, ten and a hundred times, up to what was asked for.
    fn scales(&self) -> Vec<u32> {
        let scale_max = self.scale_max.unwrap_or(SCALE_MAX);
        [1, 10, 100].into_iter().filter(|scale| *scale <= scale_max).collect()
    }
}
