//! The programs that tasks start, and the lines that tasks print.
//! Not a shell: every argument is passed as it is, and the first failure ends the task.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;

/// Returns the repository's root: the folder above this crate, so that a task does the same from every
/// folder below it. Cargo says where that is when it runs the program. The path that was known when it was
/// built will not do: checkouts that share a target folder share the built program too.
///
/// # Errors
/// When the program was not started by cargo.
#[expect(clippy::disallowed_methods, reason = "this is the edge: the one variable that cargo passes")]
pub(crate) fn repository() -> anyhow::Result<PathBuf> {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").context("not started by cargo: run `cargo xtask`")?;
    let root = Path::new(&manifest).parent().context("the crate `xtask` has no folder above it")?;
    Ok(root.to_path_buf())
}

/// Prints a line about the task itself to stderr: stdout belongs to the program that the task runs.
pub(crate) fn say(line: &str) {
    // A closed stderr is the reader's choice; the task's exit code still tells the outcome.
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}

/// Returns a `cargo` command that runs at the repository's root.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root);
    command
}

/// Returns the folder that cargo builds into.
///
/// # Errors
/// When cargo does not say it.
pub(crate) fn target(root: &Path) -> anyhow::Result<PathBuf> {
    let output = cargo(root, &["metadata", "--no-deps", "--format-version", "1"]).output();
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.context("starting `cargo metadata`")?.stdout)?;
    let target = metadata["target_directory"].as_str();
    Ok(PathBuf::from(target.context("`cargo metadata` names no target folder")?))
}

/// Prints the command, runs it with the terminal's own streams, waits, and prints how long it took: a log of checks shows
/// where the minutes go.
///
/// # Errors
/// When the program cannot be started or ends with anything but success.
pub(crate) fn execute(command: &mut Command) -> anyhow::Result<()> {
    let shown = show(command);
    say(&format!("==> {shown}"));
    let begun = Instant::now();
    let status = command.status().with_context(|| format!("starting `{shown}`"))?;
    anyhow::ensure!(status.success(), "`{shown}` failed ({status})");
    say(&format!("<== {:.0} s: {shown}", begun.elapsed().as_secs_f64()));
    Ok(())
}

/// Returns whether the command can be run at all; what it prints is dropped.
pub(crate) fn available(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Returns an error that names the first argument, for a task that takes none.
///
/// # Errors
/// When there is an argument.
pub(crate) fn no_arguments(task: &str, arguments: &[String]) -> anyhow::Result<()> {
    match arguments.first() {
        None => Ok(()),
        Some(first) => anyhow::bail!("`cargo xtask {task}` takes no argument `{first}`"),
    }
}

/// Returns whether the one optional flag of a task was given.
///
/// # Errors
/// When there is any other argument.
pub(crate) fn flag(task: &str, name: &str, arguments: &[String]) -> anyhow::Result<bool> {
    match arguments {
        [] => Ok(false),
        [only] if only == name => Ok(true),
        _ => anyhow::bail!("`cargo xtask {task}` takes nothing but `{name}`"),
    }
}

fn show(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}
