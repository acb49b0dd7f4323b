//! What people wait for: whole commands, each a process of its own, on ten thousand sessions and on a long one.
//! Not what they print: tests have that.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use stemmata_testkit::claude::ClaudeSession;

use crate::measure::{Contender, alternate, spent};
use crate::report::{Figure, Line, Section, Target};
use crate::{input, scratch};

use super::Bench;

/// Sessions of the store.
const SESSIONS: u64 = 10_000;

/// Turns of each.
const TURNS: u64 = 4;

/// Bytes of the long session.
const LONG_BYTES: u64 = 22_000_000;

/// One of the projects that they are of.
const PROJECT: &str = "/workspace/orchard";

/// Calls of each command.
const ROUNDS: usize = 20;

/// The most that a start may take, a list or a turn, and a long session at a glance.
const START: Target = Target::AtMost(Figure::Seconds(0.015));
const LIST: Target = Target::AtMost(Figure::Seconds(0.050));
const LONG: Target = Target::AtMost(Figure::Seconds(0.300));

/// The program, and the home that it has.
struct Person {
    program: PathBuf,
    home: PathBuf,
}

impl Person {
    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("HOME", &self.home).env("STEMMATA_HOME", self.home.join("stemmata"));
        command.env("COLUMNS", "100").current_dir(&self.home).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> anyhow::Result<()> {
        let status = self.command(args).status().with_context(|| format!("`{}`", self.program.display()))?;
        let words: Vec<String> = args.iter().map(|arg| arg.as_ref().to_string_lossy().into_owned()).collect();
        anyhow::ensure!(status.success(), "`stemma {}` ended with {status}", words.join(" "));
        Ok(())
    }

    /// Measures a command from its start to its end.
    fn line(&self, name: &str, args: &[&str], target: Target) -> anyhow::Result<[Line; 2]> {
        self.run(args)?;
        let call: Contender<'_> = Box::new(|_| spent(|| self.run(args)));
        let [ours] = alternate(ROUNDS, [call])?;
        Ok([
            Line::ours(1, format!("{name}, in the middle"), Figure::time(ours.wall.median())).target(target),
            Line::ours(1, format!("{name}, slowest of {ROUNDS}"), Figure::time(ours.wall.max())),
        ])
    }
}

pub(super) fn run(_bench: &Bench) -> anyhow::Result<Section> {
    let folder = scratch::folder()?;
    let program = std::env::current_exe()?.with_file_name("stemma");
    let person = Person { program, home: folder.path().to_owned() };
    let projects = folder.path().join("projects/-home-ann-shop");
    sessions(&projects)?;
    let long = "be9c1111-0000-4000-8000-000000000009";
    let text = input::claude_session(9, LONG_BYTES)?;
    let text = String::from_utf8(text)?.replace("be9c0000-0000-4000-8000-000000000009", long);
    scratch::write(&projects.join(format!("{long}.jsonl")), |output| {
        std::io::Write::write_all(output, text.as_bytes())
    })?;
    person.run(&[OsStr::new("import"), projects.as_os_str()])?;
    person.run(&["search", "retry"])?;
    let mut lines = Vec::new();
    for (name, args, target) in [
        ("start", vec!["--version"], START),
        ("list", vec!["list"], LIST),
        ("list --all -n 200", vec!["list", "--all", "-n", "200"], LIST),
        ("list of a project", vec!["list", "--project", PROJECT], LIST),
        ("search", vec!["search", "retry"], LIST),
        ("state of a project", vec!["state", "--project", PROJECT], LIST),
        ("show of a turn", vec!["show", "be9c1111:3"], LIST),
        ("show of a session of 22 MB", vec!["show", "be9c1111"], LONG),
    ] {
        lines.extend(person.line(name, &args, target)?);
    }
    let notes = vec![format!(
        "{SESSIONS} sessions of {TURNS} turns and one of 22 MB are in the store and its index; each figure is a process from its start to \
         its end, with what it prints thrown away."
    )];
    Ok(Section { name: "surface", title: "what people wait for".to_owned(), notes, lines })
}

fn sessions(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for seed in 0..SESSIONS {
        let path = folder.join(format!("be9c0000-0000-4000-8000-{seed:012}.jsonl"));
        let session = ClaudeSession::new(seed).turns(TURNS).compactions(0);
        scratch::write(&path, |output| session.write_to(output).map(drop))?;
    }
    Ok(())
}
