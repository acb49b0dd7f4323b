//! All that a store hands out, as a list of answers: what must not change without anybody noticing.

use std::collections::BTreeMap;

use stemmata_engine::{Engine, EngineError, ErrorKind};
use stemmata_model::{Commit, CommitId};
use stemmata_store::{Page, SessionFilter, StoreError, StoreErrorKind, TipFilter};

use crate::ledger::native_hash;

/// Rows of each listing that are asked for.
const ROWS_MAX: usize = 100;

/// Answers by question: the answer in words, or that there was none.
pub type Dump = BTreeMap<String, Result<String, String>>;

/// Asks a store everything about some commits, and everything that needs no commit.
pub fn dump(engine: &Engine, commits: &[CommitId]) -> Dump {
    let store = engine.store();
    let mut dump = Dump::new();
    let mut note = |question: String, answer: Result<String, StoreError>| {
        dump.insert(question, absent(answer));
    };
    let page = Page { skip: 0, rows_max: ROWS_MAX };
    for id in commits {
        let commit = store.commit(*id);
        let core =
            |found: &Option<Commit>| format!("{:?}", found.as_ref().map(|found| (found.id, &found.core)));
        note(
            format!("figures {id}"),
            commit.as_ref().map_or(Ok(String::new()), |found| Ok(format!("{found:?}"))),
        );
        note(format!("commit {id}"), commit.map(|found| core(&found)));
        note(format!("children {id}"), store.children(*id, ROWS_MAX).map(|found| ids(&found)));
        note(format!("ancestors {id}"), store.ancestors(*id, ROWS_MAX).map(|found| ids(&found)));
        note(format!("sightings {id}"), store.sightings(*id, ROWS_MAX).map(|found| format!("{found:?}")));
        note(format!("annotations {id}"), store.annotations(*id).map(|found| format!("{found:?}")));
        note(format!("audit {id}"), store.audit(*id, ROWS_MAX).map(|found| format!("{found:?}")));
        note(format!("links {id}"), store.links(*id, ROWS_MAX).map(|found| format!("{found:?}")));
    }
    note("tips".to_owned(), store.tips(&TipFilter::default(), page).map(|found| ids(&found)));
    note("commits".to_owned(), store.commits_after(None, ROWS_MAX).map(|found| ids(&found)));
    let sessions = store.sessions(&SessionFilter::default(), page);
    if let Ok(sessions) = &sessions {
        for session in sessions {
            note(
                format!("cursor {}", session.key.path),
                store.cursor(&session.key).map(|found| format!("{found:?}")),
            );
        }
    }
    note("sessions".to_owned(), sessions.map(|found| format!("{found:?}")));
    for id in commits {
        let native = native_hash(engine, *id).map(|hash| format!("{hash:?}"));
        let native =
            native.or_else(|error| match error.downcast_ref::<EngineError>().map(EngineError::kind) {
                Some(ErrorKind::NotFound) => Ok("nothing".to_owned()),
                _ => Err(format!("{error:#}")),
            });
        dump.insert(format!("native {id}"), native);
    }
    dump
}

/// To say that there is nothing is an answer, and may be a wrong one.
fn absent(answer: Result<String, StoreError>) -> Result<String, String> {
    match answer {
        Err(error) if error.kind() == StoreErrorKind::NotFound => Ok("nothing".to_owned()),
        answer => answer.map_err(|error| error.to_string()),
    }
}

fn ids(commits: &[Commit]) -> String {
    commits.iter().map(|commit| commit.id.to_string()).collect::<Vec<_>>().join(" ")
}

/// Returns the questions that have another answer than before. No answer is no other answer.
pub fn differences(sound: &Dump, now: &Dump) -> Vec<String> {
    let differs = |(question, answer): &(&String, &Result<String, String>)| match now.get(*question) {
        Some(Ok(other)) => answer.as_ref() != Ok(other),
        Some(Err(_)) => false,
        // Which sessions there are decides whose cursors are asked for.
        None => !question.starts_with("cursor"),
    };
    sound.iter().filter(differs).map(|(question, _)| question.clone()).collect()
}

/// Says whether something that was answered is no longer.
pub fn refused(sound: &Dump, now: &Dump) -> bool {
    sound.iter().any(|(question, answer)| answer.is_ok() && matches!(now.get(question), Some(Err(_))))
}
