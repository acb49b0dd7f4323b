//! Open threads: questions that nobody answered, prompts that got no answer, work that was put off.
//!
//! Few and sure: a sentence that might put something off does not. No language but English is known.

use std::collections::BTreeMap;

use super::bounds::{Bounds, bound_threads};
use super::naming;
use super::phrases::WORDS_MIN;
use super::prose;
use super::v1::{By, Evidence, Items, Task, TaskStatus, Thread, ThreadKind};
use super::words::Words;

/// Characters of a thread at most.
pub(super) const THREAD_CHARS_MAX: usize = 200;
/// Threads that one answer opens at most.
const DEFERRED_MAX: usize = 4;
/// Later prompts of a session after which what was put off is taken for dropped.
const STALE_AFTER: u32 = 10;
/// Characters of a sentence that is looked at, at most.
const SENTENCE_CHARS_MAX: usize = 400;

/// What a sentence says that puts something off, in lower case.
const PUTS_OFF: [&str; 13] = [
    "left for later",
    "leave that for later",
    "leaving that for later",
    "leave this for later",
    "leaving this for later",
    "for a follow-up",
    "in a follow-up",
    "as a follow-up",
    "not done yet",
    "still to do:",
    "still needs to be done",
    "remains to be done",
    "out of scope for now",
];

/// How a sentence begins that puts something off, in lower case.
const BEGINS: [&str; 6] =
    ["follow-up:", "follow-ups:", "todo:", "still to do:", "still open:", "open question:"];

/// Headings of lists of what is open, in lower case.
const HEADINGS: [&str; 17] = [
    "open questions",
    "open question",
    "open issues",
    "open items",
    "open threads",
    "next steps",
    "remaining",
    "remaining work",
    "remaining tasks",
    "remaining steps",
    "remaining issues",
    "still to do",
    "left to do",
    "not done",
    "not done yet",
    "follow-ups",
    "follow-up",
];

/// How a question begins that asks for nothing in particular, in lower case.
const COURTESIES: [&str; 10] = [
    "anything else",
    "is there anything",
    "does that help",
    "does this help",
    "does that make sense",
    "does this make sense",
    "how can i help",
    "what can i help",
    "what would you like",
    "what do you think",
];

/// Words of a question that asks for leave to go on and names nothing of what it would do: «Ready to commit these changes?»,
/// «Which approach do you prefer?». Who reads it in another session learns nothing from it.
#[rustfmt::skip]
const ASKS_LEAVE: [&str; 45] = [
    "add", "approach", "approaches", "begin", "change", "changes", "choice", "commit", "committing", "complete", "continue",
    "correct", "files", "fix", "implement", "implementing", "intent", "look", "looks", "main", "match", "merge", "missing", "move",
    "moves", "next", "option", "preference", "proceed", "push", "ready", "refactoring", "review", "save", "start", "starting",
    "step", "steps", "stop", "structure", "tackle", "task", "test", "what's", "work",
];

/// How a sentence begins that answers, in lower case: what it puts off was named in the question.
const ANSWERS: [&str; 6] = ["yes,", "yes ", "no,", "nope", "yeah", "sure,"];

/// Returns what an answer puts off, in its order.
pub(super) fn deferred(text: &str) -> Vec<Words> {
    let mut found: Vec<Words> = Vec::new();
    let mut is_listing = false;
    for line in prose::lines(text) {
        match line {
            prose::Line::Heading(heading) => is_listing = lists_open(heading),
            prose::Line::Other(other) if other.ends_with(':') && lists_open(other) => is_listing = true,
            prose::Line::Check(item, false) | prose::Line::Item(item) if is_listing => {
                found.extend(words(item));
            }
            prose::Line::Check(..) => {}
            prose::Line::Item(said) | prose::Line::Other(said) => {
                is_listing = false;
                found.extend(prose::sentences(said).filter(|sentence| puts_off(sentence)).filter_map(words));
            }
        }
        if found.len() >= DEFERRED_MAX {
            break;
        }
    }
    found.truncate(DEFERRED_MAX);
    found
}

/// Returns the question that an answer ends with.
pub(super) fn asked(text: &str) -> Option<Words> {
    let last = prose::lines(text).last()?;
    let (prose::Line::Heading(said)
    | prose::Line::Item(said)
    | prose::Line::Check(said, _)
    | prose::Line::Other(said)) = last;
    let sentence = prose::plain(prose::sentences(said).last()?);
    let lower = sentence.trim().to_lowercase();
    let is_courtesy = COURTESIES.iter().any(|begin| lower.starts_with(begin));
    if !lower.ends_with('?') || is_courtesy || is_long(&sentence) || !names(lower.trim()) {
        return None;
    }
    words(&sentence)
}

/// Says whether a question names what it is about.
fn names(lower: &str) -> bool {
    let is_own = |word: &&str| {
        let bare = word.trim_matches(|character: char| !character.is_alphanumeric());
        !ASKS_LEAVE.contains(&bare)
    };
    let own: Vec<&str> = lower.split_whitespace().filter(is_own).collect();
    naming::is_clear(lower, 0) && naming::is_clear(&own.join(" "), 1)
}

fn lists_open(heading: &str) -> bool {
    let heading = prose::plain(heading).to_lowercase();
    let words = heading.trim_end_matches(':').trim();
    HEADINGS.contains(&words.trim_start_matches(|character: char| !character.is_alphabetic()))
}

fn puts_off(sentence: &str) -> bool {
    let lower = prose::plain(sentence).to_lowercase().replace('\u{2019}', "'");
    let lower = lower.trim();
    // What is asked or only weighed is not put off; and what is no longer so is done.
    let is_answer = ANSWERS.iter().any(|begin| lower.starts_with(begin));
    let is_unsure = ["if you", "could ", "would ", "no longer", "nothing ", "happy to"]
        .iter()
        .any(|words| lower.contains(words));
    !lower.ends_with('?')
        && !is_long(lower)
        && !is_unsure
        && !is_answer
        && (PUTS_OFF.iter().any(|words| lower.contains(words))
            || BEGINS.iter().any(|words| lower.starts_with(words) && lower.len() > words.len()))
}

fn is_long(sentence: &str) -> bool {
    sentence.chars().nth(SENTENCE_CHARS_MAX).is_some()
}

fn words(said: &str) -> Option<Words> {
    let plain = prose::plain(said);
    let words = Words::of(plain.trim().trim_end_matches([',', ';', ':']), THREAD_CHARS_MAX);
    (words.text.split(' ').count() >= WORDS_MIN).then_some(words)
}

/// Returns a thread that is open.
pub(super) fn opened(kind: ThreadKind, by: By, words: Words, proof: &Evidence) -> Thread {
    let Words { text, hash } = words;
    Thread { proof: proof.clone(), kind, by, text, hash, later: 0, closed: None }
}

impl Items {
    /// Opens a thread, in place of one with the same words.
    pub(super) fn open_thread(&mut self, thread: Thread, bounds: &Bounds) {
        let key = thread.key();
        self.threads.retain(|one| one.key() != key);
        self.threads.push(thread);
        bound_threads(&mut self.threads, bounds.threads_max);
    }

    /// Takes a user's prompt in: it answers what was asked, stands in for a prompt that got no answer, and makes what was put
    /// off older.
    pub(super) fn prompted(&mut self, text: &str, proof: &Evidence, bounds: &Bounds) {
        self.threads.retain(|one| match one.kind {
            ThreadKind::Question | ThreadKind::Prompt => false,
            ThreadKind::Deferred | ThreadKind::Told => true,
        });
        for thread in self.threads.iter_mut().filter(|one| one.kind == ThreadKind::Deferred && one.is_open())
        {
            thread.later = thread.later.saturating_add(1);
            if thread.later >= STALE_AFTER {
                thread.closed = Some(proof.clone());
            }
        }
        let first = prose::lines(text).find_map(|line| match line {
            prose::Line::Heading(said)
            | prose::Line::Item(said)
            | prose::Line::Check(said, _)
            | prose::Line::Other(said) => words(said),
        });
        if let Some(words) = first {
            self.open_thread(opened(ThreadKind::Prompt, By::User, words, proof), bounds);
        }
    }

    /// Takes an answer in: the last one of a turn says what is open after it. What this turn's earlier words opened after
    /// `prompt` goes.
    pub(super) fn answered(&mut self, text: &str, prompt: Option<u64>, proof: &Evidence, bounds: &Bounds) {
        self.threads.retain(|one| match one.kind {
            ThreadKind::Prompt => false,
            ThreadKind::Question | ThreadKind::Deferred => {
                prompt.is_some_and(|prompt| one.proof.ordinal <= prompt)
            }
            ThreadKind::Told => true,
        });
        for words in deferred(text) {
            self.open_thread(opened(ThreadKind::Deferred, By::Assistant, words, proof), bounds);
        }
        if let Some(words) = asked(text) {
            self.open_thread(opened(ThreadKind::Question, By::Assistant, words, proof), bounds);
        }
    }

    /// Closes the thread with these words, whatever session opened it.
    pub(super) fn close_thread(&mut self, words: Words, proof: &Evidence, bounds: &Bounds) {
        let closed = Some(proof.clone());
        self.open_thread(Thread { closed, ..opened(ThreadKind::Told, By::Event, words, proof) }, bounds);
    }
}

impl Thread {
    /// Says whether nobody has closed it.
    pub const fn is_open(&self) -> bool {
        self.closed.is_none()
    }
}

/// Of threads with the same words one stays: open if it was opened after the last time that it was closed. A task that is done
/// closes the thread with its words.
pub(super) fn merged_threads(mut all: Vec<Thread>, tasks: &[Task], bounds: &Bounds) -> Vec<Thread> {
    all.sort();
    all.dedup();
    let done = tasks.iter().filter(|task| task.status == TaskStatus::Done);
    let mut done_at: BTreeMap<String, &Evidence> = BTreeMap::new();
    for task in done {
        let slot = done_at.entry(task.key()).or_insert(&task.proof);
        *slot = (*slot).max(&task.proof);
    }
    let mut by_words: BTreeMap<String, Thread> = BTreeMap::new();
    for thread in all {
        match by_words.get_mut(&thread.key()) {
            Some(one) => *one = both(one, &thread),
            None => drop(by_words.insert(thread.key(), thread)),
        }
    }
    let mut threads: Vec<Thread> = by_words.into_values().collect();
    for thread in threads.iter_mut().filter(|thread| thread.is_open()) {
        let done = done_at.get(&thread.key()).filter(|done| ***done > thread.proof);
        thread.closed = done.map(|done| (*done).clone());
    }
    threads.sort();
    bound_threads(&mut threads, bounds.threads_max);
    threads
}

/// Returns what two threads with the same words are together. Which comes first does not matter.
fn both(one: &Thread, other: &Thread) -> Thread {
    let state = |thread: &Thread| {
        let last = thread.closed.clone().unwrap_or_else(|| thread.proof.clone());
        // Of the same moment the end counts.
        (last, !thread.is_open(), thread.clone())
    };
    let (one, other) = (state(one), state(other));
    if one > other { one.2 } else { other.2 }
}
