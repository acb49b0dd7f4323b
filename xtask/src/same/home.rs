//! An empty home in which a build is asked: a data directory, a working directory, and an environment that has nothing of the
//! machine but the path of programs.
//! Not what is asked there.

use std::fs::{self, File};
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::answer::Answer;

/// A home below a folder of its own.
pub(super) struct Home {
    program: PathBuf,
    folder: PathBuf,
}

impl Home {
    /// Makes the folders.
    ///
    /// # Errors
    /// Where they cannot be made.
    pub(super) fn create(program: &Path, folder: PathBuf) -> anyhow::Result<Self> {
        let home = Self { program: program.to_owned(), folder };
        for name in ["home", "tmp", "work"] {
            let folder = home.folder.join(name);
            fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        Ok(home)
    }

    /// Returns the folder in which commands run.
    pub(super) fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Returns a file for a command to write.
    pub(super) fn out(&self) -> PathBuf {
        self.folder.join("tmp").join("out")
    }

    /// Runs the program in `directory` and returns what it answers. How it ends is part of the answer.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub(super) fn ask(&self, directory: &Path, arguments: &[String], input: &str) -> anyhow::Result<Answer> {
        let out = self.out();
        if out.exists() {
            fs::remove_file(&out).context("removing what the command before wrote")?;
        }
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(directory).env_clear();
        command.envs(self.environment()).stdin(self.input(input)?);
        let output = command.output().with_context(|| format!("starting {}", self.program.display()))?;
        let mut file = None;
        if out.exists() {
            file = Some(fs::read(&out).context("reading what a command wrote")?);
        }
        let exit = output.status.code().map_or("signal".to_owned(), |code| code.to_string());
        Ok(Answer { exit, stdout: output.stdout, stderr: output.stderr, file })
    }

    /// Keeps the input in a file: a command that ends without reading it would break a pipe.
    fn input(&self, text: &str) -> anyhow::Result<Stdio> {
        if text.is_empty() {
            return Ok(Stdio::null());
        }
        let path = self.folder.join("tmp").join("input");
        let mut file = File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
        file.write_all(text.as_bytes()).context("writing a command's input")?;
        file.rewind()?;
        Ok(file.into())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the edge: where programs are is all that is passed on"
    )]
    fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        let below = |name: &str| self.folder.join(name).into_os_string();
        vec![
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("HOME", below("home")),
            ("XDG_CACHE_HOME", below("home/cache")),
            ("XDG_CONFIG_HOME", below("home/config")),
            ("XDG_DATA_HOME", below("home/data")),
            ("XDG_STATE_HOME", below("home/state")),
            ("STEMMATA_HOME", below("stemmata")),
            ("TMPDIR", below("tmp")),
            // Else the names of user and machine would be in every principal.
            ("STEMMATA_USER", "user".into()),
            ("STEMMATA_MACHINE_LABEL", "machine".into()),
            ("USER", "user".into()),
            ("TZ", "UTC".into()),
            ("NO_COLOR", "1".into()),
        ]
    }
}
