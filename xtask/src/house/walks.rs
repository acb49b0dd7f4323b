//! `cargo xtask house walks`: runs commands of a debug `stemma` under valgrind and counts what they meet.
//! Not a benchmark: nothing is timed, and a walk that runs a line a thousand times has met it once.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;
use tempfile::TempDir;

use super::callgrind::Profile;
use super::circles::circles;
use super::declared::Declared;
use super::lines::{Counted, product};
use super::scenes::{START_UP, Step, WALKS, Walk};
use super::table::{render, row};
use crate::process::{available, cargo, say};

/// Recorded sessions, as a folder that `CLAUDE_CONFIG_DIR` may name.
const SESSIONS: &str = "examples/claude-code";

const HEADING: [&str; 8] = [
    "walk",
    "files",
    "functions",
    "lines of these",
    "types",
    "lines of these files",
    "mutual pairs",
    "largest circle",
];

/// Prints the figures of the walks that were named, or of all.
pub(super) fn run(root: &Path, files: &[Counted<'_>], names: &[&str]) -> anyhow::Result<()> {
    let walks = chosen(names)?;
    if !available(Command::new("valgrind").arg("--version")) {
        say(
            "note: the walks were skipped: they need `valgrind`, which is not installed (Debian: `apt-get install valgrind`)",
        );
        return Ok(());
    }
    let program = build(root)?;
    let declared = Declared::new(files);
    let known: BTreeSet<&str> = product(files).map(|file| file.source.path).collect();
    let start_up = Stage::new(root, &program)?.watch(START_UP, None, &known)?;
    let mut rows = Vec::new();
    for walk in walks {
        say(&format!("==> {}", walk.name));
        let stage = Stage::new(root, &program)?;
        for step in walk.before {
            stage.play(*step)?;
        }
        let profile = stage.watch(walk.step, walk.only, &known)?.without(&start_up);
        anyhow::ensure!(
            !profile.functions.is_empty(),
            "the walk `{}` met nothing; is `{}` still the name of a function?",
            walk.name,
            walk.only.unwrap_or_default()
        );
        rows.push(row(walk.name, &figures(&profile, &declared, files)));
    }
    super::print(&render(&HEADING, &rows))
}

fn chosen(names: &[&str]) -> anyhow::Result<Vec<&'static Walk>> {
    let known = || WALKS.iter().map(|walk| walk.name).collect::<Vec<_>>().join(", ");
    let unknown = names.iter().find(|name| !WALKS.iter().any(|walk| walk.name == **name));
    if let Some(name) = unknown {
        anyhow::bail!("unknown walk `{name}`; there are {}", known());
    }
    Ok(WALKS.iter().filter(|walk| names.is_empty() || names.contains(&walk.name)).collect())
}

/// Returns the numbers of a row.
fn figures(profile: &Profile, declared: &Declared, files: &[Counted<'_>]) -> [usize; HEADING.len() - 1] {
    let met = declared.meet(&profile.lines);
    let whole = files.iter().filter(|file| profile.functions.contains_key(file.source.path));
    let largest = circles(&profile.graph()).first().map_or(0, Vec::len);
    [
        profile.functions.len(),
        met.functions,
        met.lines,
        met.types.len(),
        whole.map(|file| file.lines.product).sum(),
        profile.mutual_pairs(),
        largest,
    ]
}

/// Builds `stemma` with line tables and none of our crates optimised, whatever the profile says of them: an optimised
/// function is gone where it was inlined, so that a walk would get shorter by a setting of the compiler. Returns the
/// program.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let mut command = cargo(root, &["build", "--package", "stemmata", "--bin", "stemma"]);
    command.args(["--config", "profile.dev.debug=\"line-tables-only\""]);
    for package in packages(root)? {
        command.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    say("==> cargo build --package stemmata --bin stemma, without optimisation");
    let output = command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit()).output();
    let output = output.context("starting `cargo build`")?;
    anyhow::ensure!(output.status.success(), "`cargo build` failed ({})", output.status);
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut programs = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    });
    programs.next_back().context("`cargo build` names no program")
}

/// Returns the names of the workspace's packages.
fn packages(root: &Path) -> anyhow::Result<Vec<String>> {
    let output = cargo(root, &["metadata", "--no-deps", "--format-version", "1"]).output();
    let output = output.context("starting `cargo metadata`")?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).context("reading what `cargo metadata` printed")?;
    let packages =
        metadata.get("packages").and_then(Value::as_array).context("`cargo metadata` names no package")?;
    Ok(packages.iter().filter_map(|package| Some(package.get("name")?.as_str()?.to_owned())).collect())
}

/// A home with the recorded sessions in it, and nothing of this machine.
struct Stage<'a> {
    program: &'a Path,
    folder: TempDir,
}

impl<'a> Stage<'a> {
    fn new(root: &Path, program: &'a Path) -> anyhow::Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("stemma-walks-").tempdir().context("creating a folder")?;
        let stage = Self { program, folder };
        fs::create_dir_all(stage.path("temp")).context("creating a folder")?;
        copy(&root.join(SESSIONS), &stage.path("home/.claude"))?;
        Ok(stage)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Runs a step.
    fn play(&self, step: Step) -> anyhow::Result<()> {
        self.finish(Command::new(self.program), step)
    }

    /// Runs a step under valgrind and returns what ran.
    fn watch(&self, step: Step, only: Option<&str>, known: &BTreeSet<&str>) -> anyhow::Result<Profile> {
        let out = self.path("profile");
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no"]);
        command.arg(format!("--callgrind-out-file={}", out.display()));
        command.args(only.map(|function| format!("--toggle-collect={function}")));
        command.arg(self.program);
        self.finish(command, step)?;
        let file = File::open(&out).context("opening what valgrind wrote")?;
        Profile::read(BufReader::new(file), known).context("reading what valgrind wrote")
    }

    fn finish(&self, mut command: Command, step: Step) -> anyhow::Result<()> {
        let home = self.path("home");
        command.args(step.arguments).current_dir(&home).env_clear();
        command.env("HOME", &home).env("STEMMATA_HOME", self.path("data")).env("TMPDIR", self.path("temp"));
        command.env("USER", "robin").env("TZ", "UTC").env("LC_ALL", "C.UTF-8").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let shown = format!("stemma {}", step.arguments.join(" "));
        let mut child = command.spawn().with_context(|| format!("starting `{shown}`"))?;
        if let Some(mut input) = child.stdin.take() {
            // A command that reads nothing may have closed it.
            drop(input.write_all(step.input.as_bytes()));
        }
        let output = child.wait_with_output().with_context(|| format!("waiting for `{shown}`"))?;
        let error = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "`{shown}` failed ({}):\n{error}", output.status);
        Ok(())
    }
}

/// Copies a folder with all below it.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating `{}`", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("listing `{}`", from.display()))? {
        let entry = entry.with_context(|| format!("listing `{}`", from.display()))?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)
                .with_context(|| format!("copying `{}`", entry.path().display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_are_chosen_by_name_and_an_unknown_name_lists_them() {
        assert_eq!(chosen(&[]).unwrap().len(), WALKS.len());
        let some: Vec<&str> = chosen(&["list", "import"]).unwrap().iter().map(|walk| walk.name).collect();
        assert_eq!(some, ["import", "list"]);
        let error = chosen(&["walk"]).unwrap_err().to_string();
        assert!(error.starts_with("unknown walk `walk`; there are import, capture, "), "{error}");
    }
}
