//! `cargo xtask fuzz`: builds the fuzz targets with coverage and runs them one after the other.
//! Works with the stable compiler: coverage needs no nightly option, only sanitizers do, and safe code has little for
//! them to find. Needs a C++ compiler for libFuzzer.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::process::{available, cargo, execute, say};

const USAGE: &str = "\
usage: cargo xtask fuzz [--seconds N | --runs N] [TARGET…]

  TARGET is scrub, ledger, acts, tokens, or adapter:FORMAT, as adapter:codex-v1; none: all of them. Runs each for N seconds (5 where nothing
  is said), beginning with what earlier runs kept below target/fuzz; or for N inputs, the same ones each time. A target that fails leaves its input in
  target/fuzz/found and names it.";

/// Has every basic block counted, as libFuzzer wants it.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                        -Cllvm-args=-sanitizer-coverage-pc-table -Ccodegen-units=16 --cfg fuzzing";

/// Bounds of one input: bytes, seconds and mebibytes of memory.
const LIMITS: [&str; 3] = ["-max_len=8192", "-timeout=10", "-rss_limit_mb=1024"];

/// Runs the targets that were named, or all.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let mut bound = vec!["-max_total_time=5".to_owned()];
    let mut targets = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" | "--runs" => {
                let given =
                    arguments.next().with_context(|| format!("`{argument}` without a number\n\n{USAGE}"))?;
                given.parse::<u32>().with_context(|| format!("`{argument} {given}`\n\n{USAGE}"))?;
                bound = match argument.as_str() {
                    "--seconds" => vec![format!("-max_total_time={given}")],
                    _ => vec![format!("-runs={given}"), "-seed=1".to_owned()],
                };
            }
            "scrub" | "ledger" | "acts" | "tokens" => targets.push(argument.clone()),
            name if name.starts_with("adapter:") => targets.push(argument.clone()),
            other => anyhow::bail!("unknown target or option `{other}`\n\n{USAGE}"),
        }
    }
    let compilers = ["c++", "g++", "clang++"];
    if !compilers.iter().any(|compiler| available(Command::new(compiler).arg("--version"))) {
        anyhow::bail!(
            "libFuzzer is built from source and there is no C++ compiler (Debian: `apt-get install g++`)"
        );
    }
    let folder = root.join("target").join("fuzz");
    let host = host()?;
    let mut build = cargo(root, &["build", "--release", "--manifest-path", "fuzz/Cargo.toml"]);
    build.args(["--target", &host, "--target-dir"]).arg(&folder).env("RUSTFLAGS", COVERAGE);
    execute(&mut build)?;
    let program = folder.join(&host).join("release").join("stemmata-fuzz");
    if targets.is_empty() {
        targets = all(&program)?;
    }
    for target in &targets {
        one(&program, &folder, target, &bound)?;
    }
    say(&format!("{} targets: nothing found", targets.len()));
    Ok(())
}

/// Returns every target, as the program lists them.
fn all(program: &Path) -> anyhow::Result<Vec<String>> {
    let output = Command::new(program).env("STEMMATA_FUZZ_TARGET", "list").output();
    let output = output.with_context(|| format!("starting {}", program.display()))?;
    anyhow::ensure!(output.status.success(), "the targets are not known: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

/// Returns the machine's own triple: named, so that what runs while building has no coverage.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("starting `rustc -vV`")?;
    let printed = String::from_utf8(output.stdout)?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

fn one(program: &Path, folder: &Path, target: &str, bound: &[String]) -> anyhow::Result<()> {
    let name = target.replace(':', "-");
    let (inputs, found) = (folder.join("inputs").join(&name), folder.join("found"));
    for folder in [&inputs, &found] {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    let mut command = Command::new(program);
    command.env("STEMMATA_FUZZ_TARGET", target).env("STEMMATA_FUZZ_SEEDS", &inputs).args(LIMITS);
    command.args(bound);
    command.arg(format!("-artifact_prefix={}/{name}-", found.display())).arg(&inputs);
    let output = command.output().with_context(|| format!("starting the target `{target}`"))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    let done = printed.lines().rev().find(|line| line.starts_with("Done ")).unwrap_or_default();
    say(&format!("{target}: {done}"));
    if output.status.success() {
        return Ok(());
    }
    let shown = printed.lines().rev().take(40).collect::<Vec<_>>();
    say(&shown.into_iter().rev().collect::<Vec<_>>().join("\n"));
    anyhow::bail!("`{target}` failed; its input is in {}", found.display())
}
