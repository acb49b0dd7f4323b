//! `cargo xtask`: the chores of this repository, each in a module of its own.
//! Not part of the product: nothing here is linked into `stemma`.

mod bench;
mod check;
mod clients;
mod dist;
mod faults;
mod fuzz;
mod generate;
mod house;
mod http_fuzz;
mod process;
mod same;
mod simulate;
mod test;
mod tidy;
mod vectors;
mod vocabulary;
mod windows;

use std::path::Path;
use std::process::ExitCode;

use process::say;

const USAGE: &str = "\
usage: cargo xtask <task> [arguments]

  check [--skip-tests] [--full]
                        everything a change must pass: format, clippy, docs, tidy, generated files, tests; --full adds what
                        takes too long for each change: fuzzing, and every law with many inputs
  test [--full] [--slowest N]
                        the tests: tidy, documentation examples, unit and integration tests
  tidy                  the repository's own rules: crate edges, sizes, names, documents, links
  generate [--check]    write docs/reference, the picture, and the output in README and first steps, from the built
                        `stemma`, or say what is stale
  dist [--binary FILE]  make a tarball, a Debian package and a wheel for Linux in target/dist, and try each; FILE is a
                        program that is built already
  bench [arguments]     build and run the benchmarks in release mode
  simulate-window [turns=N seed=N window=N cutoff=N]
                        run a session of 2,000 turns in a small window, and show what that cost
  clients <name>        run the optional tests against a real client
  same --save FILE | --with FILE | BEFORE AFTER
                        show that two builds of `stemma` answer the same about real transcripts
  vectors FILE…         run golden vectors through the product and print each case's verdict
  fuzz [TARGET…]        read made-up and mutated bytes, led by coverage, and look for panics
  http-fuzz [--examples N --seed N]
                        hold a running `stemma serve` to its OpenAPI document, with requests made of it
  house [walks]         count lines, import circles, files that name a client, and what the commands run
  faults [arguments]    fail, tear, cut, kill and flip: show that the store loses nothing
  check-windows         compile for Windows, where its target is installed
  vocabulary FILE NAME  pack a tokenizer's vocabulary into crates/tokens/data";

/// What the user asked for, with the arguments that belong to it.
fn run(root: &Path, task: &str, arguments: &[String]) -> anyhow::Result<()> {
    match task {
        "check" => check::run(root, arguments),
        "simulate-window" => simulate::run(root, arguments),
        "test" => test::run(root, arguments),
        "tidy" => tidy::run(root, arguments),
        "house" => house::run(root, arguments),
        "generate" => generate::run(root, arguments),
        "bench" => bench::run(root, arguments),
        "dist" => dist::run(root, arguments),
        "clients" => clients::run(root, arguments),
        "faults" => faults::run(root, arguments),
        "fuzz" => fuzz::run(root, arguments),
        "http-fuzz" => http_fuzz::run(root, arguments),
        "same" => same::run(root, arguments),
        "vectors" => vectors::run(root, arguments),
        "check-windows" => windows::run(root, arguments),
        "vocabulary" => vocabulary::run(root, arguments),
        "help" | "-h" | "--help" => {
            say(USAGE);
            Ok(())
        }
        other => anyhow::bail!("unknown task `{other}`\n\n{USAGE}"),
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let task = arguments.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = arguments.collect();
    match process::repository().and_then(|root| run(&root, &task, &rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
