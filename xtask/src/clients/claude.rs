//! The real Claude Code goes on from what `stemma` places, judged by the requests that reach a scripted model.
//! Not a test of the client: where it behaves oddly by itself, that is in docs/reference/claude-code-loader.md.

mod story;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use super::jail;
use super::model::{Exchange, Model};
use crate::process::{cargo, execute, say};

/// The version that the facts about the loader were tried with.
const PACKAGE: &str = "@anthropic-ai/claude-code@2.1.330";

/// Seconds that one run of the client may take; it takes two.
const RUN_SECONDS_MAX: &str = "180";

/// Tells the program that it is already in a network of its own.
const INSIDE: &str = "--inside";

/// Runs the story in a network of its own.
pub(crate) fn run(root: &Path, arguments: &[String], usage: &str) -> anyhow::Result<()> {
    if let Some([folder, client, stemma]) = arguments.strip_prefix(&[INSIDE.to_owned()]) {
        return inside(Path::new(folder), Path::new(client), Path::new(stemma));
    }
    let options = Options::parse(arguments, usage)?;
    let client = match &options.client_dir {
        Some(folder) => find(folder).with_context(|| format!("no Claude Code below {}", folder.display()))?,
        None => install(&target(root)?)?,
    };
    let stemma = build(root)?;
    let folder = tempfile::Builder::new().prefix("stemma-clients-").tempdir().context("creating a folder")?;
    let path = folder.path().to_string_lossy().into_owned();
    let program = std::env::current_exe().context("asking for this program's path")?;
    let (client, stemma) = (client.to_string_lossy(), stemma.to_string_lossy());
    let mut command = jail::command(&program, &["clients", "claude", INSIDE, &path, &client, &stemma])?;
    let outcome = execute(&mut command);
    if options.keep {
        say(&format!("kept: {}", folder.keep().display()));
    }
    outcome
}

#[derive(Debug, Default)]
struct Options {
    keep: bool,
    client_dir: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String], usage: &str) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match (&**argument, argument == "--client-dir") {
                ("--keep", _) => options.keep = true,
                (_, true) => {
                    let folder = arguments
                        .next()
                        .with_context(|| format!("`--client-dir` without a folder\n\n{usage}"))?;
                    options.client_dir =
                        Some(fs::canonicalize(folder).with_context(|| format!("looking at `{folder}`"))?);
                }
                _ => anyhow::bail!("unknown argument `{argument}`\n\n{usage}"),
            }
        }
        Ok(options)
    }
}

/// Returns the folder that cargo builds into.
fn target(root: &Path) -> anyhow::Result<PathBuf> {
    let output = cargo(root, &["metadata", "--no-deps", "--format-version", "1"]).output();
    let metadata: Value = serde_json::from_slice(&output.context("starting `cargo metadata`")?.stdout)?;
    let target = metadata["target_directory"].as_str();
    Ok(PathBuf::from(target.context("`cargo metadata` names no target folder")?))
}

/// Builds the command that is tested.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    execute(&mut cargo(root, &["build", "--package", "stemmata", "--bin", "stemma"]))?;
    Ok(target(root)?.join("debug").join("stemma"))
}

/// Installs the client once, privately, without running anything of the packages.
fn install(target: &Path) -> anyhow::Result<PathBuf> {
    let folder = target.join("clients").join("claude");
    if let Some(client) = find(&folder) {
        return Ok(client);
    }
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"])
        .arg(&folder)
        .arg(PACKAGE);
    execute(&mut npm).context("installing the client needs node and npm")?;
    find(&folder).with_context(|| format!("npm installed no program below {}", folder.display()))
}

/// Finds the client's program: each platform has a package of its own.
fn find(folder: &Path) -> Option<PathBuf> {
    let places = [folder.to_path_buf(), folder.join("claude")];
    let packages = places.iter().map(|place| place.join("node_modules").join("@anthropic-ai"));
    let entries = packages.filter_map(|packages| fs::read_dir(packages).ok()).flatten().flatten();
    let programs = entries.map(|entry| entry.path().join("claude"));
    programs
        .filter(|program| program.is_file())
        .find(|program| crate::process::available(Command::new(program).arg("--version").env_clear()))
}

/// Plays the story; the network is this process's own.
fn inside(folder: &Path, client: &Path, stemma: &Path) -> anyhow::Result<()> {
    let requests = folder.join("requests");
    for name in ["requests", "home", "work", "elsewhere"] {
        fs::create_dir_all(folder.join(name)).with_context(|| format!("creating `{name}`"))?;
    }
    let bench = Bench {
        model: Model::start(requests)?,
        folder: folder.to_path_buf(),
        client: client.to_path_buf(),
        stemma: stemma.to_path_buf(),
    };
    story::play(&bench)
}

/// What a story works with.
struct Bench {
    model: Model,
    folder: PathBuf,
    client: PathBuf,
    stemma: PathBuf,
}

/// What a run of the client sent: its first request and the last one.
struct Talk {
    first: Exchange,
    last: Exchange,
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a program in a folder with nothing of this machine's environment.
    fn command(&self, program: &Path, folder: &str) -> Command {
        let mut command = Command::new("timeout");
        command
            .arg(RUN_SECONDS_MAX)
            .arg(program)
            .current_dir(self.path(folder))
            .env_clear()
            .stdin(Stdio::null());
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("TERM", "dumb");
        command.env("STEMMATA_HOME", self.path("stemmata"));
        command
    }

    /// Has the client say something and returns what it sent.
    fn client<I: AsRef<OsStr>>(&self, folder: &str, arguments: &[I], prompt: &str) -> anyhow::Result<Talk> {
        let before = self.model.count();
        let mut command = self.command(&self.client, folder);
        command.args(arguments).args([
            "-p",
            prompt,
            "--model",
            "claude-sonnet-4-5",
            "--allowedTools",
            "Bash",
        ]);
        command.env("ANTHROPIC_BASE_URL", self.model.url()).env("ANTHROPIC_API_KEY", "made-up-key");
        for switch in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_AUTOUPDATER",
        ] {
            command.env(switch, "1");
        }
        let output = command.output().context("starting the client")?;
        let printed =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        anyhow::ensure!(output.status.success(), "the client failed on `{prompt}`: {printed}");
        let mut sent = self.model.since(before).into_iter();
        let first =
            sent.next().with_context(|| format!("the client sent nothing for `{prompt}`: {printed}"))?;
        let last = sent.next_back().unwrap_or_else(|| first.clone());
        Ok(Talk { first, last })
    }

    /// Runs `stemma … --json` and returns what it printed.
    fn stemma(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut command = self.command(&self.stemma, "work");
        command.args(arguments).arg("--json");
        let output = command.output().context("starting `stemma`")?;
        let shown = arguments.join(" ");
        anyhow::ensure!(
            output.status.success(),
            "`stemma {shown}` failed: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("reading what `stemma {shown}` printed"))
    }
}
