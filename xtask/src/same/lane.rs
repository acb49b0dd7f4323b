//! A lane: one home in which a share of the sessions is asked about, one command after the other.
//! Lanes share nothing, so that what a command writes changes no answer in another lane, and the answers do not depend on how
//! fast each of them is. Which sessions a lane has depends only on the corpus.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::answer::Answer;
use super::home::Home;
use super::measure::Answers;
use super::normal::Normal;
use super::recipe::{IDS, IDS_BY_MESSAGE, PROJECT, READS, SAY, STORE, Step, Taken, WRITES};

/// A session that was imported.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// Its number among all sessions, in the order of their paths.
    pub(super) number: usize,
    /// Its path below the corpus.
    pub(super) subject: String,
    pub(super) path: String,
    pub(super) tip: String,
    pub(super) client: String,
    pub(super) title: String,
    /// Where its agent worked; empty where that is not known.
    pub(super) directory: String,
    /// Bytes of its transcript.
    pub(super) bytes: u64,
    /// What the import said of it.
    pub(super) imported: Value,
}

/// A directory that sessions worked in.
#[derive(Debug, Clone)]
pub(super) struct Project {
    pub(super) number: usize,
    pub(super) directory: String,
}

/// What an import said, and what is in the store after it.
pub(super) struct Imported {
    pub(super) said: Value,
    pub(super) listed: Value,
}

/// A home with an imported corpus, and what differs between lanes for no reason of the build's.
pub(super) struct Lane {
    home: Home,
    /// A home where each message closes a commit.
    by_message: Home,
    folder: PathBuf,
    names: Vec<(String, &'static str)>,
    since: Timestamp,
}

/// Under which name answers about all sessions are kept.
const STORE_SUBJECT: &str = "(store)";

/// What the words in the braces of a step stand for.
type Words<'a> = [(&'static str, &'a str)];

/// A step and its subject.
struct Asking<'a> {
    home: &'a Home,
    subject: &'a str,
    directory: &'a Path,
    words: &'a Words<'a>,
    /// Commits that were there before.
    known: &'a [String],
}

impl Lane {
    /// Imports the corpus into empty homes.
    ///
    /// # Errors
    /// Where the build cannot import at all.
    pub(super) fn open(program: &Path, folder: PathBuf, corpus: &Path) -> anyhow::Result<(Self, Imported)> {
        let since = Timestamp::now();
        let home = Home::create(program, folder.join("turns"))?;
        let by_message = Home::create(program, folder.join("messages"))?;
        let mut names = vec![
            (folder.join("messages").display().to_string(), "<home>"),
            (folder.join("turns").display().to_string(), "<home>"),
            (folder.display().to_string(), "<lane>"),
            (corpus.display().to_string(), "<corpus>"),
        ];
        let corpus = corpus.display().to_string();
        // One after the other: which of two copies comes first is seen in what they share.
        let said = needed(&home, &["import", "--threads", "1", &corpus])?;
        needed(&by_message, &["import", "--threads", "1", "--granularity", "message", &corpus])?;
        // So that no search has to index first, and finds the same at whatever speed.
        needed(&home, &["index", "rebuild"])?;
        let listed = needed(&home, &["list", "--all", "-n", "0"])?;
        for listed in [&listed, &needed(&by_message, &["list", "--all", "-n", "1"])?] {
            let machine = listed["sessions"][0]["machine"].as_str().unwrap_or_default();
            names.extend((!machine.is_empty()).then(|| (machine.to_owned(), "<machine>")));
        }
        Ok((Self { home, by_message, folder, names, since }, Imported { said, listed }))
    }

    /// Asks everything about the sessions and projects of this lane.
    ///
    /// # Errors
    /// Where a command cannot be started.
    pub(super) fn ask(
        &self,
        sessions: &[Session],
        projects: &[Project],
        answers: &mut Answers<'_>,
    ) -> anyhow::Result<()> {
        let mut known = Vec::new();
        for session in sessions {
            known.push(self.read(session, answers)?);
        }
        for project in projects {
            self.ask_project(project, answers)?;
        }
        for steps in WRITES {
            for (session, known) in sessions.iter().zip(&known) {
                self.ask_all(steps, session, known, answers)?;
            }
        }
        Ok(())
    }

    /// Asks what is asked once.
    ///
    /// # Errors
    /// Where a command cannot be started.
    pub(super) fn ask_store(&self, said: &Value, answers: &mut Answers<'_>) -> anyhow::Result<()> {
        let imported = Answer::of_json(said).compared(&self.normal(&[]));
        answers.keep((STORE_SUBJECT, "import", "all"), &imported)?;
        let directory = self.home.work();
        let asking = Asking {
            home: &self.home,
            subject: STORE_SUBJECT,
            directory: &directory,
            words: &[],
            known: &[],
        };
        STORE.iter().try_for_each(|step| self.step(step, &asking, answers))
    }

    /// Asks what changes nothing. Returns the session's commits.
    fn read(&self, session: &Session, answers: &mut Answers<'_>) -> anyhow::Result<Vec<String>> {
        let imported = Answer::of_json(&session.imported);
        answers.keep((&session.subject, "import", "result"), &imported.compared(&self.normal(&[])))?;
        let by_message = self.commit_of(session)?;
        let directory = self.home.work();
        let words = [("{tip}", by_message.as_str())];
        let home = &self.by_message;
        let asking =
            Asking { home, subject: &session.subject, directory: &directory, words: &words, known: &[] };
        self.step(&IDS_BY_MESSAGE, &asking, answers)?;
        let words = [("{tip}", session.tip.as_str())];
        let history = self.home.ask(&directory, &arguments(&IDS, &words), "")?;
        let commits = history.json().and_then(|history| Some(history.get("commits")?.as_array()?.clone()));
        let ids = commits
            .unwrap_or_default()
            .iter()
            .filter_map(|commit| Some(commit["id"].as_str()?.to_owned()))
            .collect();
        answers.keep((&session.subject, IDS.kind, IDS.name), &history.ids(&self.normal(&[])))?;
        self.ask_all(READS, session, &[], answers)?;
        Ok(ids)
    }

    /// Returns the newest commit of a session in the home where each message closes one.
    fn commit_of(&self, session: &Session) -> anyhow::Result<String> {
        let words = ["--json", "show", &session.path].map(str::to_owned);
        let shown = self.by_message.ask(&self.by_message.work(), &words, "")?;
        Ok(shown.json().and_then(|shown| Some(shown.get("id")?.as_str()?.to_owned())).unwrap_or_default())
    }

    fn ask_all(
        &self,
        steps: &[Step],
        session: &Session,
        known: &[String],
        answers: &mut Answers<'_>,
    ) -> anyhow::Result<()> {
        let turn = format!("same-{:05}", session.number);
        let (work, out) = (self.home.work().display().to_string(), self.home.out().display().to_string());
        let hook = json!({
            "session_id": turn, "transcript_path": session.path, "cwd": work,
            "hook_event_name": "SessionStart", "source": "compact",
        });
        let hook = hook.to_string();
        let words = [
            ("{tip}", session.tip.as_str()),
            ("{path}", &session.path),
            ("{title}", &session.title),
            ("{client}", &session.client),
            ("{turn}", &turn),
            ("{hook}", &hook),
            ("{out}", &out),
        ];
        let directory = self.home.work();
        let asking = Asking {
            home: &self.home,
            subject: &session.subject,
            directory: &directory,
            words: &words,
            known,
        };
        steps.iter().try_for_each(|step| self.step(step, &asking, answers))
    }

    fn ask_project(&self, project: &Project, answers: &mut Answers<'_>) -> anyhow::Result<()> {
        let directory = self.folder.join("turns").join(format!("project-{:05}", project.number));
        fs::create_dir_all(&directory).context("creating a project's folder")?;
        let words = [("{project}", project.directory.as_str()), ("{say}", SAY)];
        let subject = format!("(project) {}", project.directory);
        let asking =
            Asking { home: &self.home, subject: &subject, directory: &directory, words: &words, known: &[] };
        PROJECT.iter().try_for_each(|step| self.step(step, &asking, answers))
    }

    fn step(&self, step: &Step, asking: &Asking<'_>, answers: &mut Answers<'_>) -> anyhow::Result<()> {
        let word =
            |name: &str| asking.words.iter().find(|(known, _)| *known == name).map_or("", |(_, word)| word);
        let input = step.input.text(word("{tip}"), word("{turn}"));
        let mut answer = asking.home.ask(asking.directory, &arguments(step, asking.words), &input)?;
        let compared = match step.taken {
            Taken::Whole => answer.compared(&self.normal(&[])),
            Taken::Done => {
                answer.stdout.clear();
                answer.compared(&self.normal(&[]))
            }
            Taken::Ids => answer.ids(&self.normal(&[])),
            Taken::New => answer.compared(&Normal { known: Some(asking.known), ..self.normal(&[]) }),
            Taken::Placed => {
                let names = [placed_names(&mut answer), self.names.clone()].concat();
                answer.compared(&Normal { known: Some(asking.known), ..self.normal(&names) })
            }
        };
        answers.keep((asking.subject, step.kind, step.name), &compared)
    }

    /// Returns what to replace in an answer that just came, by the names of this lane or by others.
    fn normal<'a>(&'a self, names: &'a [(String, &'static str)]) -> Normal<'a> {
        let names = if names.is_empty() { &self.names } else { names };
        Normal { names, since: self.since, until: Timestamp::now(), known: None }
    }
}

fn arguments(step: &Step, words: &Words<'_>) -> Vec<String> {
    let word = |argument: &&str| {
        let found = words.iter().find(|(name, _)| name == argument);
        found.map_or(*argument, |(_, word)| word).to_owned()
    };
    std::iter::once("--json".to_owned()).chain(step.arguments.iter().map(word)).collect()
}

/// Runs a command whose answer the rest depends on.
fn needed(home: &Home, words: &[&str]) -> anyhow::Result<Value> {
    let arguments: Vec<String> =
        std::iter::once(&"--json").chain(words).map(|word| (*word).to_owned()).collect();
    let answer = home.ask(&home.work(), &arguments, "")?;
    let said = || format!("`stemma {}`: {}", words.join(" "), String::from_utf8_lossy(&answer.stderr));
    answer.json().with_context(said)
}

/// Takes the placed file into the answer. Returns the new session's path and id, which hold a moment and chance.
fn placed_names(answer: &mut Answer) -> Vec<(String, &'static str)> {
    let placed = answer.json().unwrap_or_default();
    let (Some(path), Some(id)) = (placed["path"].as_str(), placed["session_id"].as_str()) else {
        return Vec::new();
    };
    // A build that names a file which is not there answers differently, and the others are still asked.
    answer.file = fs::read(path).ok();
    vec![(path.to_owned(), "<placed>"), (id.to_owned(), "<session>")]
}

impl Answer {
    fn of_json(value: &Value) -> Self {
        let stdout = format!("{value:#}").into_bytes();
        Self { exit: "0".to_owned(), stdout, stderr: Vec::new(), file: None }
    }
}
