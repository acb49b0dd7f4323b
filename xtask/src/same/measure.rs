//! A measurement: everything that one build answers about a corpus, asked in two lanes at once.
//! Not the comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;

use anyhow::Context as _;
use serde_json::Value;

use super::answer::Compared;
use super::corpus::Corpus;
use super::lane::{Imported, Lane, Project, Session};
use super::program::Program;
use super::recipe;
use super::record::{Asked, Header, Outcome, Record, Sample};
use crate::process::say;

/// Lanes. Answers may depend on which sessions share a lane, so it is not the number of processors.
const LANES: usize = 2;

/// What is measured.
pub(super) struct Measure<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) sample: Option<Sample>,
    /// Where answers are written as they are compared.
    pub(super) outputs: Option<&'a Path>,
}

/// The answers so far.
pub(super) struct Answers<'a> {
    outcomes: BTreeMap<Asked, Outcome>,
    outputs: Option<&'a Path>,
}

/// Asks a build everything.
///
/// # Errors
/// Where it cannot import the corpus, or cannot be started.
pub(super) fn measure(program: &Program, wanted: &Measure<'_>) -> anyhow::Result<Record> {
    let folder = tempfile::tempdir().context("creating a folder for the homes")?;
    // The system's folder for temporary files may be a link, and `stemma` says where it leads.
    let folder = (folder.path().canonicalize()?, folder);
    let corpus = wanted.corpus;
    let results = thread::scope(|scope| {
        let run = |lane: usize| lane_of(program, wanted, (lane, &folder.0.join(format!("lane-{lane}"))));
        let lanes: Vec<_> = (0..LANES).map(|lane| scope.spawn(move || run(lane))).collect();
        lanes.into_iter().map(|lane| lane.join().expect("a lane returns its errors")).collect::<Vec<_>>()
    });
    let mut answers = BTreeMap::new();
    for result in results {
        answers.extend(result?);
    }
    let header = Header { recipe: recipe::digest(), corpus: corpus.digest.clone(), sample: wanted.sample };
    Ok(Record { header, answers })
}

/// Imports the corpus, and asks about this lane's share.
fn lane_of(
    program: &Program,
    wanted: &Measure<'_>,
    (number, folder): (usize, &Path),
) -> anyhow::Result<BTreeMap<Asked, Outcome>> {
    let (lane, imported) = Lane::open(&program.path(), folder.to_owned(), &wanted.corpus.folder)?;
    let mut sessions = sessions(&imported, &wanted.corpus.folder)?;
    if let Some(sample) = wanted.sample {
        sessions = chosen(sessions, sample);
    }
    let mut answers = Answers { outcomes: BTreeMap::new(), outputs: wanted.outputs };
    if number == 0 {
        say(&format!("{}: asking about {} sessions", program.shown, sessions.len()));
        lane.ask_store(&imported.said, &mut answers)?;
    }
    let projects = projects(&sessions);
    // The largest first, so that lanes end at about the same time.
    sessions.sort_by(|one, other| (other.bytes, &one.path).cmp(&(one.bytes, &other.path)));
    lane.ask(&dealt(sessions, number), &dealt(projects, number), &mut answers)?;
    Ok(answers.outcomes)
}

/// Joins what the import said of sessions with what the store lists.
fn sessions(imported: &Imported, corpus: &Path) -> anyhow::Result<Vec<Session>> {
    let said = imported.said["sessions"].as_array().context("the import lists no sessions")?;
    let listed = imported.listed["sessions"].as_array().context("the store lists no sessions")?;
    let listed: BTreeMap<&str, &Value> =
        listed.iter().map(|session| (text(session, "path"), session)).collect();
    let session = |(number, imported): (usize, &Value)| {
        let path = text(imported, "path");
        let row = listed.get(path).copied().unwrap_or(&Value::Null);
        let below = Path::new(path).strip_prefix(corpus).unwrap_or(Path::new(path));
        let title = Some(text(imported, "title")).filter(|title| !title.is_empty()).unwrap_or("untitled");
        Session {
            number,
            subject: below.display().to_string(),
            path: path.to_owned(),
            tip: text(imported, "tip").to_owned(),
            client: text(row, "client").to_owned(),
            title: title.to_owned(),
            directory: text(row, "cwd").to_owned(),
            bytes: imported["bytes_in"].as_u64().unwrap_or(0),
            imported: imported.clone(),
        }
    };
    Ok(said.iter().enumerate().map(session).collect())
}

fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of[field].as_str().unwrap_or_default()
}

/// Returns the sessions of a sample: those whose names have the least digests. A session that joins the corpus takes the place
/// of one at most.
fn chosen(mut sessions: Vec<Session>, sample: Sample) -> Vec<Session> {
    let seed = sample.seed.to_le_bytes();
    sessions.sort_by_cached_key(|session| {
        *blake3::Hasher::new().update(&seed).update(session.subject.as_bytes()).finalize().as_bytes()
    });
    sessions.truncate(sample.sessions);
    sessions
}

/// Returns the directories that sessions worked in, each once.
fn projects(sessions: &[Session]) -> Vec<Project> {
    let directories: BTreeSet<&str> = sessions.iter().map(|session| session.directory.as_str()).collect();
    let named = directories.into_iter().filter(|directory| !directory.is_empty()).enumerate();
    named.map(|(number, directory)| Project { number, directory: directory.to_owned() }).collect()
}

/// Returns a lane's share.
fn dealt<T>(all: Vec<T>, lane: usize) -> Vec<T> {
    all.into_iter().skip(lane).step_by(LANES).collect()
}

impl Answers<'_> {
    /// Keeps an answer as a digest, and as a file where that is wanted.
    ///
    /// # Errors
    /// Where the file cannot be written.
    #[expect(
        clippy::disallowed_methods,
        reason = "a file for people to compare; it is made again at any time"
    )]
    pub(super) fn keep(&mut self, step: (&str, &str, &str), compared: &Compared) -> anyhow::Result<()> {
        let (subject, kind, name) = step;
        if let Some(outputs) = self.outputs {
            let folder = outputs.join(subject.trim_start_matches('/').replace(" /", "/"));
            fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
            let path = folder.join(format!("{kind}.{name}"));
            fs::write(&path, &compared.bytes).with_context(|| format!("writing {}", path.display()))?;
        }
        let twice = self.outcomes.insert(Asked::new(subject, kind, name), compared.outcome()).is_some();
        anyhow::ensure!(!twice, "{kind}/{name} was asked twice of {subject}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn some(paths: &[&str]) -> Vec<Session> {
        let said: Vec<Value> =
            paths.iter().map(|path| json!({"path": path, "tip": "ctx-1", "bytes_in": 3})).collect();
        let rows: Vec<Value> =
            paths.iter().map(|path| json!({"path": path, "client": "pi", "cwd": "/src"})).collect();
        let imported = Imported { said: json!({"sessions": said}), listed: json!({"sessions": rows}) };
        sessions(&imported, Path::new("/corpus")).unwrap()
    }

    fn subjects(sessions: &[Session]) -> Vec<&str> {
        sessions.iter().map(|session| session.subject.as_str()).collect()
    }

    #[test]
    fn a_session_is_named_by_its_path_below_the_corpus() {
        let sessions = some(&["/corpus/a/b.jsonl", "/elsewhere/c.jsonl"]);
        assert_eq!(subjects(&sessions), ["a/b.jsonl", "/elsewhere/c.jsonl"]);
        assert_eq!((sessions[0].client.as_str(), sessions[0].title.as_str()), ("pi", "untitled"));
        assert_eq!(projects(&sessions).len(), 1);
    }

    #[test]
    fn lanes_share_all_sessions_and_none_twice() {
        let mut dealt: Vec<u32> = (0..LANES).flat_map(|lane| dealt((0..101).collect(), lane)).collect();
        dealt.sort_unstable();
        assert_eq!(dealt, (0..101).collect::<Vec<_>>());
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed_and_changes_by_one_when_a_session_joins() {
        let names: Vec<String> = (0..40).map(|number| format!("/corpus/{number}.jsonl")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sample =
            |paths: &[&str], seed| subjects(&chosen(some(paths), Sample { sessions: 10, seed })).join(" ");
        assert_eq!(sample(&names, 1), sample(&names, 1));
        assert_ne!(sample(&names, 1), sample(&names, 2));
        let more = chosen(some(&names), Sample { sessions: 10, seed: 1 });
        let fewer = chosen(some(&names[1..]), Sample { sessions: 10, seed: 1 });
        let lost =
            more.iter().filter(|session| !subjects(&fewer).contains(&session.subject.as_str())).count();
        assert!(lost <= 1, "{lost} sessions changed");
    }
}
