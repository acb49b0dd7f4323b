//! What a story works with: a scripted model, one home, the clients and `stemma`, each run with nothing of this
//! machine's environment. A scene is judged by what a client sends, never by what it prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use super::client::{Client, PATH};
use super::model::{Exchange, Model};
use super::talk::{Item, mentions, missing};
use crate::process::say;

/// Seconds that one run of a client may take; it takes two to ten.
const RUN_SECONDS_MAX: &str = "180";

/// What a story works with.
pub(crate) struct Bench {
    model: Model,
    folder: PathBuf,
    clients: Vec<(Client, PathBuf)>,
    stemma: PathBuf,
}

/// What a run of a client sent: its first request and the last one.
pub(crate) struct Talk {
    pub(crate) first: Exchange,
    pub(crate) last: Exchange,
}

/// A placed session.
pub(crate) struct Placed {
    pub(crate) path: PathBuf,
    /// What the client runs first to take the file into its own database, without its program; nothing where it needs
    /// none.
    import: Vec<String>,
    /// The client's own command, without its program.
    pub(crate) command: Vec<String>,
    /// The client's session.
    session: String,
}

impl Bench {
    /// Starts the model and writes the settings of the clients into a home of their own.
    pub(crate) fn new(
        folder: &Path,
        stemma: PathBuf,
        clients: Vec<(Client, PathBuf)>,
    ) -> anyhow::Result<Self> {
        for name in ["requests", "home", "work", "elsewhere"] {
            fs::create_dir_all(folder.join(name)).with_context(|| format!("creating `{name}`"))?;
        }
        let model = Model::start(folder.join("requests"))?;
        let bench = Self { model, folder: folder.to_path_buf(), clients, stemma };
        for (client, _) in &bench.clients {
            let Some((path, text)) = client.settings(&bench.model.url()) else { continue };
            let path = bench.path("home").join(path);
            fs::create_dir_all(path.parent().context("a path with a folder")?)?;
            fs::File::create(&path)
                .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
                .with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(bench)
    }

    /// Returns the clients that are there.
    pub(crate) fn clients(&self) -> impl Iterator<Item = Client> {
        self.clients.iter().map(|(client, _)| *client)
    }

    /// Returns a path in this run's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a program in a folder with nothing of this machine's environment.
    fn command(&self, program: &Path, folder: &str) -> Command {
        let mut command = Command::new("timeout");
        command.arg(RUN_SECONDS_MAX).arg(program).current_dir(self.path(folder));
        command.env_clear().stdin(Stdio::null());
        command.env("PATH", PATH).env("HOME", self.path("home")).env("TERM", "dumb");
        command.env("STEMMATA_HOME", self.path("stemmata"));
        command
    }

    /// Runs a client with arguments of its own and returns what it printed.
    pub(crate) fn run_client(
        &self,
        client: Client,
        folder: &str,
        arguments: &[String],
    ) -> anyhow::Result<Output> {
        let program = self.clients.iter().find(|(one, _)| *one == client);
        let (_, program) = program.with_context(|| format!("{} is not installed", client.name()))?;
        let mut command = self.command(program, folder);
        command.args(arguments).envs(client.environment(&self.model.url()));
        let output = command.output().context("starting the client")?;
        let shown = || format!("{} {}: {}", client.name(), arguments.join(" "), printed(&output));
        anyhow::ensure!(output.status.success(), "the client failed: {}", shown());
        Ok(output)
    }

    /// Has a client say something and returns what it sent.
    pub(crate) fn ask(
        &self,
        client: Client,
        folder: &str,
        resume: &[String],
        prompt: &str,
    ) -> anyhow::Result<Talk> {
        let before = self.model.count();
        let output = self.run_client(client, folder, &client.asks(resume, prompt))?;
        let mut sent = self.model.since(before).into_iter();
        let first = sent.next().with_context(|| {
            format!("{} sent nothing for `{prompt}`: {}", client.name(), printed(&output))
        })?;
        let last = sent.next_back().unwrap_or_else(|| first.clone());
        Ok(Talk { first, last })
    }

    /// Has a client go on with a placed session.
    pub(crate) fn go_on(&self, client: Client, placed: &Placed, prompt: &str) -> anyhow::Result<Talk> {
        if !placed.import.is_empty() {
            self.run_client(client, "elsewhere", &placed.import)?;
        }
        let talk = self.ask(client, "elsewhere", &placed.command, prompt)?;
        anyhow::ensure!(
            mentions(&talk.first.said, prompt),
            "`{prompt}` is not what {} sent first",
            client.name()
        );
        Ok(talk)
    }

    /// Runs `stemma … --json` and returns what it printed.
    pub(crate) fn stemma(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut command = self.command(&self.stemma, "work");
        command.args(arguments).arg("--json");
        let output = command.output().context("starting `stemma`")?;
        let shown = arguments.join(" ");
        anyhow::ensure!(output.status.success(), "`stemma {shown}` failed: {}", printed(&output));
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("reading what `stemma {shown}` printed"))
    }

    /// Places a session with `resume …` or `fork …` for work elsewhere.
    pub(crate) fn place(&self, arguments: &[&str]) -> anyhow::Result<Placed> {
        let cwd = self.path("elsewhere");
        let cwd = cwd.to_string_lossy();
        let placed = self.stemma(&[arguments, &["--cwd", &cwd]].concat())?;
        let words = |name: &str| -> Vec<String> {
            let words = placed[name].as_array().map_or(&[][..], Vec::as_slice);
            words.iter().filter_map(|word| word.as_str().map(str::to_owned)).skip(1).collect()
        };
        let path = PathBuf::from(placed["path"].as_str().context("no path was printed")?);
        anyhow::ensure!(path.is_file(), "nothing was placed at {}", path.display());
        let session = placed["session_id"].as_str().context("no session was printed")?.to_owned();
        Ok(Placed { path, import: words("import_command"), command: words("resume_command"), session })
    }

    /// Captures what a client appended to a placed session, and returns its tip.
    pub(crate) fn capture(&self, client: Client, placed: &Placed) -> anyhow::Result<String> {
        match client.database() {
            Some(database) => self.import(&self.path("home").join(database).join(&placed.session)),
            None => self.import(&placed.path),
        }
    }

    /// Imports a file and returns the tip of its session.
    pub(crate) fn import(&self, file: &Path) -> anyhow::Result<String> {
        let imported = self.stemma(&["import", &file.to_string_lossy()])?;
        let tip = imported["sessions"][0]["tip"].as_str();
        Ok(tip.with_context(|| format!("no tip in {imported}"))?.to_owned())
    }

    /// Returns the chain of a commit, newest first.
    pub(crate) fn history(&self, commit: &str) -> anyhow::Result<Vec<Value>> {
        let history = self.stemma(&["history", commit])?;
        Ok(history["commits"].as_array().cloned().unwrap_or_default())
    }

    /// Judges that a commit stands on another one.
    pub(crate) fn stands_on(&self, child: &str, ancestor: &str) -> anyhow::Result<()> {
        let is_below = self.history(child)?.iter().any(|commit| commit["id"] == *ancestor);
        anyhow::ensure!(is_below, "what the client appended ({child}) does not stand on {ancestor}");
        Ok(())
    }

    /// Finds the one file of a client's sessions that holds a prompt, as far as it holds no call.
    pub(crate) fn session_with(&self, client: Client, prompt: &str) -> anyhow::Result<PathBuf> {
        let text = prompt.split("[[").next().unwrap_or_default().trim_end();
        let folder = self.path("home").join(client.sessions());
        if let Some(database) = client.database() {
            // One session is made there before others are placed.
            let imported = self.stemma(&["import", &self.path("home").join(database).to_string_lossy()])?;
            let path = imported["sessions"][0]["path"].as_str();
            return Ok(PathBuf::from(path.with_context(|| format!("no session in {imported}"))?));
        }
        let mut folders = vec![folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let is_session = path.extension().is_some_and(|ending| ending == "jsonl");
                if path.is_dir() {
                    folders.push(path);
                } else if is_session
                    && fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
                {
                    return Ok(path);
                }
            }
        }
        anyhow::bail!("{} wrote no session with `{text}` below {}", client.name(), folder.display())
    }
}

/// Judges that the request that reached the model holds a whole earlier conversation.
pub(crate) fn holds(what: &str, talk: &Talk, expected: &[Item]) -> anyhow::Result<()> {
    anyhow::ensure!(!expected.is_empty(), "nothing to expect of {what}");
    match missing(&talk.first.said, expected) {
        None => Ok(()),
        Some(item) => anyhow::bail!("{what} lost {item:?}; sent: {:#?}", talk.first.said),
    }
}

/// Judges that the request that reached the model knows nothing of some texts.
pub(crate) fn lacks(what: &str, talk: &Talk, unwanted: &[&str]) -> anyhow::Result<()> {
    match unwanted.iter().find(|text| mentions(&talk.first.said, text)) {
        None => Ok(()),
        Some(text) => anyhow::bail!("{what} still knows `{text}`"),
    }
}

/// Says that a scene passed.
pub(crate) fn passed(scene: &str) {
    say(&format!("ok: {scene}"));
}

fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
