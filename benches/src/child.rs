//! The processes that a row starts beside itself: this same program with other first words.
//! Not threads: what is asked is whether processes disturb each other, or what one of them needs alone.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use stemmata_model::Granularity;

use crate::arguments::CHILD;
use crate::report::say;
use crate::{input, machine, stores};

/// Bytes of one delta, as in the row that starts these processes.
pub(crate) const DELTA_BYTES: usize = 2048;

/// What a started process does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// Makes `count` checkpoints in a session of its own.
    Checkpoints { store: PathBuf, number: u64, count: usize },
    /// Imports one file.
    Import { store: PathBuf, file: PathBuf },
}

impl Task {
    /// Reads the words after the first.
    ///
    /// # Errors
    /// When they are none that `words` makes.
    pub(crate) fn parse(words: &[String]) -> anyhow::Result<Self> {
        match words {
            [name, store, number, count] if name == "checkpoints" => Ok(Self::Checkpoints {
                store: PathBuf::from(store),
                number: number.parse()?,
                count: count.parse()?,
            }),
            [name, store, file] if name == "import" => {
                Ok(Self::Import { store: PathBuf::from(store), file: PathBuf::from(file) })
            }
            _ => anyhow::bail!("`{CHILD}` is how benchmarks start themselves; use `--help`"),
        }
    }

    fn command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(CHILD);
        match self {
            Self::Checkpoints { store, number, count } => {
                command.arg("checkpoints").arg(store).arg(number.to_string()).arg(count.to_string())
            }
            Self::Import { store, file } => command.arg("import").arg(store).arg(file),
        };
        Ok(command)
    }
}

/// Does the task; what it found goes to stdout, for the process that started it.
///
/// # Errors
/// When the store or the file cannot be opened; a checkpoint that fails is counted.
pub(crate) fn run(task: &Task) -> anyhow::Result<()> {
    match task {
        Task::Checkpoints { store, number, count } => checkpoints(store, *number, *count),
        Task::Import { store, file } => import(store, file),
    }
}

fn checkpoints(store: &Path, number: u64, count: usize) -> anyhow::Result<()> {
    let deltas = input::deltas(1000 + number, count, DELTA_BYTES)?;
    let engine = stores::engine(store)?;
    let mut thread = stores::Thread::new(&engine, &format!("process-{number}"), stores::CLAUDE_FORMAT)?;
    say("ready");
    std::io::stdin().lock().read_line(&mut String::new())?;
    let failed = deltas.iter().filter(|delta| thread.checkpoint(delta).is_err()).count();
    say(&format!("{} {failed}", count - failed));
    Ok(())
}

fn import(store: &Path, file: &Path) -> anyhow::Result<()> {
    let engine = stores::engine(store)?;
    let before = machine::peak_memory_bytes();
    let imported = stores::import(&engine, &[file.to_owned()], Granularity::Turn)?;
    let peak = machine::peak_memory_bytes();
    say(&format!("{} {} {}", before.unwrap_or(0), peak.unwrap_or(0), imported.commits));
    Ok(())
}

/// What several processes did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Together {
    /// Checkpoints that were acknowledged.
    pub done: u64,
    /// Checkpoints that failed.
    pub failed: u64,
    /// From the common start to the end of the last.
    pub elapsed: Duration,
}

/// Starts processes that make checkpoints in one store, all at the same moment.
///
/// # Errors
/// When one cannot be started, or ends without having done what it was for.
pub(crate) fn checkpoint_together(store: &Path, processes: u64, count: usize) -> anyhow::Result<Together> {
    let mut started = (0..processes)
        .map(|number| Started::new(&Task::Checkpoints { store: store.to_owned(), number, count }))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for process in &mut started {
        process.expect("ready")?;
    }
    let start = Instant::now();
    for process in &mut started {
        process.go()?;
    }
    let mut together = Together::default();
    for process in started {
        if let [done, failed] = process.numbers()?[..] {
            together.done += done;
            together.failed += failed;
        }
    }
    together.elapsed = start.elapsed();
    Ok(together)
}

/// What an import in a process of its own needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The most bytes in memory before the import began.
    pub before_bytes: u64,
    /// The most bytes in memory at once.
    pub peak_bytes: u64,
    /// Commits that were made.
    pub commits: u64,
}

/// Imports a file in a process of its own.
///
/// # Errors
/// When the process cannot be started or fails.
pub(crate) fn import_apart(store: &Path, file: &Path) -> anyhow::Result<Memory> {
    let started = Started::new(&Task::Import { store: store.to_owned(), file: file.to_owned() })?;
    match started.numbers()?[..] {
        [before_bytes, peak_bytes, commits] => Ok(Memory { before_bytes, peak_bytes, commits }),
        _ => anyhow::bail!("the importing process did not say what it needed"),
    }
}

struct Started {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Started {
    fn new(task: &Task) -> anyhow::Result<Self> {
        let mut command = task.command()?;
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a process of a benchmark")?;
        let output = BufReader::new(process.stdout.take().context("no pipe to read from")?);
        Ok(Self { process, output })
    }

    fn expect(&mut self, word: &str) -> anyhow::Result<()> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        anyhow::ensure!(line.trim() == word, "a process of a benchmark said `{}`", line.trim());
        Ok(())
    }

    fn go(&mut self) -> anyhow::Result<()> {
        let mut input = self.process.stdin.take().context("no pipe to write to")?;
        Ok(input.write_all(b"go\n")?)
    }

    /// Reads the numbers of the last line and waits for the end.
    fn numbers(mut self) -> anyhow::Result<Vec<u64>> {
        let mut text = String::new();
        self.output.read_to_string(&mut text)?;
        let status = self.process.wait()?;
        anyhow::ensure!(status.success(), "a process of a benchmark failed ({status})");
        Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_as_it_is_written() {
        let tasks = [
            Task::Checkpoints { store: PathBuf::from("/a"), number: 3, count: 7 },
            Task::Import { store: PathBuf::from("/a"), file: PathBuf::from("/b c") },
        ];
        for task in tasks {
            let command = task.command().expect("this program has a file");
            let words: Vec<String> =
                command.get_args().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            assert_eq!(Task::parse(&words).ok(), Some(task));
        }
    }
}
