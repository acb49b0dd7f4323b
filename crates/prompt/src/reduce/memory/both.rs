//! What lasts of one session that a ledger's events and a transcript both tell of.
//!
//! A harness that records its turns and whose client's transcript is captured tells every act twice, with other times, numbers
//! and ids: nothing says of two acts whether they are one. What is counted (touches of a file, errors) is therefore the
//! larger of the two tellings and not their sum: each act that both tell counts once, and where each tells some that the
//! other does not, some go uncounted. What is known by its words (decisions, tasks) is the union, which merging reduces by
//! itself. Of one command's successes the transcript's counts, as of its errors: by the other clock, an earlier success
//! would seem later than the error that came after it.

use std::collections::{BTreeMap, VecDeque};

use super::v1::{About, By, Failure, FileTouched, Items, Success};

impl Items {
    /// Returns what two tellings of one session say together. What both tell keeps the proofs of the transcript, by which
    /// copies of the session are known.
    pub(super) fn told_by_both(events: &Self, transcript: &Self) -> Self {
        let Self { decisions, decisions_let_go, tasks, threads, files, errors, successes } =
            transcript.clone();
        let is_told = |one: &&Success| transcript.successes.iter().any(|other| other.subject == one.subject);
        let other_successes = events.successes.iter().filter(|one| !is_told(one)).cloned();
        // What is found open in one telling may be answered in the other, and the transcript has all that was said.
        let other_threads = events.threads.iter().filter(|one| one.by == By::Event).cloned();
        Self {
            threads: threads.into_iter().chain(other_threads).collect(),
            decisions: decisions.into_iter().chain(events.decisions.iter().cloned()).collect(),
            decisions_let_go: decisions_let_go.saturating_add(events.decisions_let_go),
            tasks: tasks.into_iter().chain(events.tasks.iter().cloned()).collect(),
            files: files_of_both(&events.files, files),
            errors: errors_of_both(&events.errors, errors),
            successes: successes.into_iter().chain(other_successes).collect(),
        }
    }
}

fn files_of_both(events: &[FileTouched], mut files: Vec<FileTouched>) -> Vec<FileTouched> {
    let touches = |file: &FileTouched| {
        [file.read, file.edited, file.created, file.deleted, file.moved]
            .into_iter()
            .map(u64::from)
            .sum::<u64>()
    };
    for told in events {
        let Some(file) = files.iter_mut().find(|file| file.path == told.path) else {
            files.push(told.clone());
            continue;
        };
        if touches(told) > touches(file) {
            (file.how, file.to, file.last) = (told.how, told.to.clone(), told.last.clone());
        }
        file.read = file.read.max(told.read);
        file.edited = file.edited.max(told.edited);
        file.created = file.created.max(told.created);
        file.deleted = file.deleted.max(told.deleted);
        file.moved = file.moved.max(told.moved);
    }
    files
}

/// The first error of a subject in one telling is taken for the first in the other, and so on: both tell them in order.
fn errors_of_both(events: &[Failure], mut errors: Vec<Failure>) -> Vec<Failure> {
    errors.sort();
    let mut told: Vec<&Failure> = events.iter().collect();
    told.sort();
    let mut places: BTreeMap<(About, String), VecDeque<usize>> = BTreeMap::new();
    for (at, error) in errors.iter().enumerate() {
        places.entry(subject(error)).or_default().push_back(at);
    }
    for one in told {
        let at = places.get_mut(&subject(one)).and_then(VecDeque::pop_front);
        let Some(error) = at.and_then(|at| errors.get_mut(at)) else {
            errors.push(one.clone());
            continue;
        };
        if one.times > error.times {
            (error.times, error.text, error.last) = (one.times, one.text.clone(), one.last.clone());
            (error.line, error.later) = (one.line.clone(), one.later);
        }
        error.resolved = error.resolved.take().or_else(|| one.resolved.clone());
    }
    errors
}

/// What errors are about that are one: of a message its words are all there is.
fn subject(error: &Failure) -> (About, String) {
    let words = if error.subject == About::Message { error.text.clone() } else { String::new() };
    (error.subject.clone(), words)
}
