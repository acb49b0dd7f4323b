//! `cargo xtask test`: the README's test command.
//! It needs nothing but a Rust toolchain; `cargo nextest` is used where it is installed.

mod slowest;

use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;

use crate::process::{available, cargo, execute, say};

const USAGE: &str = "\
usage: cargo xtask test [--full] [--in-memory] [--slowest N]

  --full       every law with four times its inputs, drawn anew; without it the inputs are a sample, the same ones each time
  --in-memory  only the engine's laws, on the store in memory
  --slowest N  after the tests the N slowest, with their seconds; needs `cargo nextest`";

/// Has the engine's laws run on the store in memory instead of the embedded one.
const IN_MEMORY: (&str, &str) = ("STEMMATA_TEST_STORE", "memory");

/// Slow tests that are listed at most.
const SLOWEST_MAX: usize = 1_000;

/// What a run of the tests is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Asked {
    full: bool,
    in_memory: bool,
    slowest: Option<usize>,
}

impl Asked {
    fn parse(arguments: &[String]) -> anyhow::Result<Self> {
        let mut asked = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--full" => asked.full = true,
                "--in-memory" => asked.in_memory = true,
                "--slowest" => {
                    let count = arguments.next().and_then(|count| count.parse().ok());
                    let count = count.filter(|count| (1..=SLOWEST_MAX).contains(count));
                    asked.slowest = Some(count.with_context(|| {
                        format!("`--slowest` wants a number from 1 to {SLOWEST_MAX}\n\n{USAGE}")
                    })?);
                }
                other => anyhow::bail!("`cargo xtask test` takes no argument `{other}`\n\n{USAGE}"),
            }
        }
        anyhow::ensure!(
            !asked.in_memory || asked.slowest.is_none(),
            "`--in-memory` measures no test, so it takes no `--slowest`\n\n{USAGE}"
        );
        Ok(asked)
    }
}

/// Runs what was asked for.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let asked = Asked::parse(arguments)?;
    // How many inputs a law tries without `--full`, and from which seed, is said in .cargo/config.toml, so that a test that is
    // run by itself does the same.
    let environment = if asked.full { whole() } else { Vec::new() };
    if asked.in_memory {
        // Chosen by name and not by package: a build of one package alone may choose other features of what it needs.
        let laws = ["test", "--workspace", "--test", "laws"];
        return execute(cargo(root, &laws).envs(environment).env(IN_MEMORY.0, IN_MEMORY.1));
    }
    every(root, asked, &environment)
}

/// Returns the profile of `cargo nextest`: what draws many inputs takes longer, and is not taken for hung.
fn profile(asked: Asked) -> &'static str {
    if asked.full { "full" } else { "default" }
}

/// Returns the environment of a run of every law with many inputs that no run before had. The seed is printed, for a second run.
#[expect(clippy::disallowed_methods, reason = "the one place that wants a number which is new each time")]
fn whole() -> Vec<(&'static str, String)> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seed = since.as_secs().to_string();
    let environment = vec![
        ("PROPTEST_CASES", "256".to_owned()),
        ("PROPTEST_RNG_SEED", seed),
        ("STEMMATA_TEST_CASES", "64".to_owned()),
    ];
    let words: Vec<String> = environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    say(&format!("every law in full; `{} cargo xtask test` repeats it", words.join(" ")));
    environment
}

/// Runs all tests. The runner's summary comes last, because that is what a reader of a log looks at: `cargo nextest` cannot run
/// documentation examples, so those go first.
fn every(root: &Path, asked: Asked, environment: &[(&str, String)]) -> anyhow::Result<()> {
    let environment = || environment.iter().map(|(name, value)| (*name, value.as_str()));
    if available(&mut cargo(root, &["nextest", "--version"])) {
        execute(cargo(root, &["test", "--workspace", "--doc", "--quiet"]).envs(environment()))?;
        let report = slowest::Report::fresh(root, profile(asked))?;
        let run = ["nextest", "run", "--workspace", "--profile", profile(asked)];
        let done = execute(cargo(root, &run).envs(environment()));
        let shown = asked.slowest.map_or(Ok(()), |count| report.print(count));
        return done.and(shown);
    }
    anyhow::ensure!(
        asked.slowest.is_none(),
        "`--slowest` needs `cargo nextest`, which measures each test: `cargo install cargo-nextest --locked`"
    );
    say("note: `cargo nextest` is not installed; `cargo test` runs the same tests, more slowly");
    execute(cargo(root, &["test", "--workspace"]).envs(environment()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> anyhow::Result<Asked> {
        Asked::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_asked_for_is_read_and_anything_else_refused() {
        assert_eq!(asked(&[]).unwrap(), Asked::default());
        let both = asked(&["--full", "--slowest", "20"]).unwrap();
        assert_eq!(both, Asked { full: true, in_memory: false, slowest: Some(20) });
        for bad in [
            &["--slowest"][..],
            &["--slowest", "0"],
            &["--slowest", "many"],
            &["--fast"],
            &["--in-memory", "--slowest", "3"],
        ] {
            let error = asked(bad).unwrap_err().to_string();
            assert!(error.contains("usage: cargo xtask test"), "{error}");
        }
    }
}
