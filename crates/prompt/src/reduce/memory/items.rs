//! What lasts: how items come in, replace one another, merge and stay within their bounds.
//!
//! Where they come from is decided elsewhere.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::bounds::{Bounds, bound, bound_decisions, bound_errors, bound_files, bound_tasks, rank};
use super::families;
use super::naming;
use super::phrases::DECISION_CHARS_MAX;
use super::threads::merged_threads;
use super::v1::{
    About, By, Decision, Evidence, Failure, FileTouched, How, Items, Success, Task, TaskList, TaskStatus,
};
use super::words::Words;

/// Characters of a task at most.
pub(super) const TASK_CHARS_MAX: usize = 160;
/// Tasks of one list at most.
pub(super) const TASKS_MAX: usize = 48;

/// Decisions that are compared with one another for each that stays.
const COMPARED_MAX: usize = 16;

impl Items {
    /// Adds a decision, unless it is said already; marks those that it replaces.
    pub(super) fn decide(&mut self, decision: Decision, bounds: &Bounds) {
        let said = decision.key();
        if let Some(at) = self.decisions.iter().position(|one| one.superseded.is_none() && one.key() == said)
        {
            let Some(repeated) = repeated(&self.decisions[at], &decision) else { return };
            self.decisions.remove(at);
            self.decisions.push(repeated);
            return;
        }
        if let Some(replaced) = Replaced::by(&decision) {
            for one in self.decisions.iter_mut().filter(|one| one.superseded.is_none()) {
                if replaced.means(one, &one.text.to_lowercase()) {
                    one.superseded = Some(decision.proof.clone());
                }
            }
        }
        self.decisions.push(decision);
        self.decisions_let_go =
            self.decisions_let_go.saturating_add(bound_decisions(&mut self.decisions, bounds));
    }

    /// Replaces the tasks of a list.
    pub(super) fn list(&mut self, list: TaskList, tasks: Vec<Task>, bounds: &Bounds) {
        self.tasks.retain(|task| task.list != list);
        self.tasks.extend(tasks);
        bound_tasks(&mut self.tasks, bounds);
    }

    /// Adds a task, or says how far one is that has the same words.
    pub(super) fn task(&mut self, task: Task, bounds: &Bounds) {
        let said = task.key();
        match self
            .tasks
            .iter_mut()
            .find(|one| one.list == task.list && one.key() == said && one.id == task.id)
        {
            Some(one) => *one = task,
            None => self.tasks.push(task),
        }
        bound_tasks(&mut self.tasks, bounds);
    }

    /// Says how far a tracker's task is.
    pub(super) fn tracked(
        &mut self,
        id: &str,
        status: Option<TaskStatus>,
        is_dropped: bool,
        proof: &Evidence,
    ) {
        let is_meant = |task: &Task| task.list == TaskList::Tracker && task.id.as_deref() == Some(id);
        if is_dropped {
            self.tasks.retain(|task| !is_meant(task));
        } else if let (Some(task), Some(status)) = (self.tasks.iter_mut().find(|task| is_meant(task)), status)
        {
            task.status = status;
            task.proof = proof.clone();
        }
    }

    /// Adds a touch of a file.
    pub(super) fn touch(&mut self, path: String, how: How, proof: &Evidence, bounds: &Bounds) {
        let known = self.files.iter().position(|file| file.path == path).map(|at| self.files.remove(at));
        let file = known.unwrap_or_else(|| {
            let last = proof.clone();
            FileTouched { path, read: 0, edited: 0, created: 0, deleted: 0, moved: 0, how, to: None, last }
        });
        let mut file = FileTouched { how, to: None, last: proof.clone(), ..file };
        let count = match how {
            How::Read => &mut file.read,
            How::Edited => &mut file.edited,
            How::Created => &mut file.created,
            How::Deleted => &mut file.deleted,
            How::Moved => &mut file.moved,
        };
        *count = count.saturating_add(1);
        self.files.push(file);
        bound_files(&mut self.files, bounds.files_max);
    }

    /// Says where a file was moved to.
    pub(super) fn moved(&mut self, path: &str, to: String) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path && file.how == How::Moved) {
            file.to = Some(to);
        }
    }

    /// Says whether a file was touched.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    /// Adds an error, or counts it where the same is open.
    pub(super) fn fail(&mut self, failed: Failed, proof: &Evidence, bounds: &Bounds) {
        let Failed { subject, text, line } = failed;
        let is_same = |one: &Failure| {
            one.resolved.is_none()
                && one.subject == subject
                && (subject != About::Message || one.text == text)
        };
        match self.errors.iter_mut().find(|one| is_same(one)) {
            Some(one) => {
                one.times = one.times.saturating_add(1);
                (one.text, one.line, one.later, one.last) = (text, line, 0, proof.clone());
            }
            None => self.errors.push(Failure {
                proof: proof.clone(),
                subject,
                text,
                line,
                later: 0,
                times: 1,
                last: proof.clone(),
                resolved: None,
            }),
        }
        bound_errors(&mut self.errors, bounds.errors_max);
    }

    /// Resolves what a success resolves, and keeps it for the errors of other sessions.
    pub(super) fn succeed(&mut self, subject: About, proof: &Evidence, bounds: &Bounds) {
        for error in self.errors.iter_mut().filter(|error| error.resolved.is_none()) {
            if resolves(&subject, &error.subject) {
                error.resolved = Some(proof.clone());
            } else if matches!(subject, About::Command { .. }) {
                error.later = error.later.saturating_add(1);
            }
        }
        if matches!(subject, About::Command { .. }) {
            self.successes.retain(|one| one.subject != subject);
            self.successes.push(Success { proof: proof.clone(), subject });
            let surplus = self.successes.len().saturating_sub(bounds.successes_max);
            self.successes.drain(..surplus);
        }
    }

    /// Resolves open errors as somebody says so: of one subject, or with one message.
    pub(super) fn resolve(&mut self, subject: &About, text: &str, proof: &Evidence) {
        for error in self.errors.iter_mut().filter(|error| error.resolved.is_none()) {
            let is_meant = match subject {
                About::Message => error.text == text,
                About::Command { .. } | About::File { .. } | About::Tool { .. } => error.subject == *subject,
            };
            if is_meant {
                error.resolved = Some(proof.clone());
            }
        }
    }

    /// Says whether no list is longer than its bound.
    pub(super) fn is_within(&self, bounds: &Bounds) -> bool {
        let decisions_found = self.decisions.iter().filter(|one| one.is_found()).count();
        let tasks_found = self.tasks.iter().filter(|one| one.is_found()).count();
        self.decisions.len() <= bounds.decisions_max
            && decisions_found <= bounds.decisions_found_max
            && self.tasks.len() <= bounds.tasks_max
            && self.threads.len() <= bounds.threads_max
            && tasks_found <= bounds.tasks_found_max
            && self.files.len() <= bounds.files_max
            && self.errors.len() <= bounds.errors_max
            && self.successes.len() <= bounds.successes_max
    }

    /// Merges items of several sessions. The order in which they come does not matter.
    pub(super) fn merged(all: impl IntoIterator<Item = Self>, bounds: &Bounds) -> Self {
        let mut items = Self::default();
        for one in all {
            items.decisions.extend(one.decisions);
            items.decisions_let_go = items.decisions_let_go.saturating_add(one.decisions_let_go);
            items.tasks.extend(one.tasks);
            items.threads.extend(one.threads);
            items.files.extend(one.files);
            items.errors.extend(one.errors);
            items.successes.extend(one.successes);
        }
        let (decisions, let_go) = merged_decisions(items.decisions, bounds);
        items.decisions = decisions;
        items.decisions_let_go = items.decisions_let_go.saturating_add(let_go);
        items.tasks = merged_tasks(items.tasks, bounds);
        items.threads = merged_threads(items.threads, &items.tasks, bounds);
        items.files = merged_files(items.files, bounds.files_max);
        items.successes = merged_successes(items.successes, bounds.successes_max);
        items.errors = merged_errors(items.errors, &items.successes, bounds.errors_max);
        items
    }
}

/// What failed, and how.
pub(super) struct Failed {
    pub(super) subject: About,
    /// What it said, one line.
    pub(super) text: String,
    /// The command line, where its parts do not say it.
    pub(super) line: Option<String>,
}

/// Says whether a success of one thing resolves an error of another.
fn resolves(success: &About, error: &About) -> bool {
    match (success, error) {
        (About::Command { parts: success }, About::Command { parts: error }) => {
            families::covers(success, error)
        }
        (About::Message, _) | (_, About::Message) => false,
        (success, error) => success == error,
    }
}

/// What a decision replaces: what it names, and what it says is no longer chosen.
struct Replaced {
    named: Option<String>,
    given_up: Option<String>,
}

impl Replaced {
    /// None where it replaces nothing, as most do.
    fn by(decision: &Decision) -> Option<Self> {
        let named = decision.supersedes.as_ref().map(|named| named.to_lowercase());
        let given_up = naming::replaced(&decision.text);
        (named.is_some() || given_up.is_some()).then_some(Self { named, given_up })
    }

    /// Says whether an earlier decision, with its words in lower case, is meant. What an event said is replaced by what an
    /// event names, and never by words that happen to be in it.
    fn means(&self, earlier: &Decision, words: &str) -> bool {
        self.named.as_deref().is_some_and(|named| is_named(earlier, words, named))
            || (earlier.is_found() && self.given_up.as_deref().is_some_and(|name| naming::chose(words, name)))
    }
}

/// Says whether a decision is named by its event's number, its entry's id, or words of it. A number is never a word: many
/// decisions have a 3 in them.
fn is_named(earlier: &Decision, words: &str, named: &str) -> bool {
    let by_source = earlier.proof.source.eq_ignore_ascii_case(named);
    if named.bytes().all(|byte| byte.is_ascii_digit()) {
        return by_source && earlier.by == By::Event;
    }
    by_source || words.contains(named) || earlier.hash.as_deref() == Some(named)
}

/// Returns what is left of a decision that is said again: one that an event says stays, with the newest reason; one that was
/// found in a text makes room for it. None where nothing is new.
fn repeated(known: &Decision, again: &Decision) -> Option<Decision> {
    if again.is_found() {
        return None;
    }
    if known.is_found() {
        return Some(again.clone());
    }
    let reason = again.reason.clone().filter(|_| again.reason != known.reason)?;
    Some(Decision { reason: Some(reason), ..known.clone() })
}

impl Decision {
    /// Says whether it is meant by its event's number, its entry's id, or words of it.
    pub fn is_named(&self, named: &str) -> bool {
        let named = Words::reference(named, DECISION_CHARS_MAX).to_lowercase();
        is_named(self, &self.text.to_lowercase(), &named)
    }
}

impl FileTouched {
    /// Says whether nothing of it was changed.
    pub fn is_only_read(&self) -> bool {
        self.edited == 0 && self.created == 0 && self.deleted == 0 && self.moved == 0
    }
}

/// Returns them with how many went that events said.
fn merged_decisions(mut all: Vec<Decision>, bounds: &Bounds) -> (Vec<Decision>, u64) {
    all.sort();
    all.dedup();
    let mut copies = BTreeSet::new();
    // A session that goes on from another one's copy has its entries again.
    all.retain(|one| {
        let is_dated = one.proof.at.is_some();
        !is_dated || copies.insert((one.proof.at, one.proof.source.clone(), one.text.clone()))
    });
    // Each may be compared with all before it.
    let order = |one: &Decision, other: &Decision| rank(one).cmp(&rank(other));
    bound(&mut all, bounds.decisions_max.saturating_mul(COMPARED_MAX), order);
    let mut merged: Vec<Decision> = Vec::with_capacity(all.len());
    let mut lower: Vec<String> = Vec::with_capacity(all.len());
    let mut standing: BTreeMap<String, usize> = BTreeMap::new();
    for decision in all {
        let (words, key) = (decision.text.to_lowercase(), decision.key());
        let before = standing.get(&key).and_then(|at| merged.get_mut(*at));
        if let Some(one) = before.filter(|one| one.superseded.is_none()) {
            if let Some(repeated) = repeated(one, &decision) {
                *one = repeated;
            }
            continue;
        }
        if let Some(replaced) = Replaced::by(&decision) {
            for (one, words) in merged.iter_mut().zip(&lower).filter(|(one, _)| one.superseded.is_none()) {
                if replaced.means(one, words) {
                    one.superseded = Some(decision.proof.clone());
                }
            }
        }
        standing.insert(key, merged.len());
        merged.push(decision);
        lower.push(words);
    }
    // What took the place of one that was found is newer than it.
    merged.sort();
    let let_go = bound_decisions(&mut merged, bounds);
    (merged, let_go)
}

/// Ends tasks that another session says are done by their ids alone.
fn end_named(all: &mut Vec<Task>) {
    let is_bare =
        |task: &Task| task.list == TaskList::Event && task.id.as_deref() == Some(task.text.as_str());
    let mut ended: BTreeMap<String, Evidence> = BTreeMap::new();
    for task in all.iter().filter(|task| is_bare(task) && task.status == TaskStatus::Done) {
        let proof = ended.entry(task.text.clone()).or_insert_with(|| task.proof.clone());
        *proof = proof.clone().max(task.proof.clone());
    }
    let mut named = BTreeSet::new();
    for task in all.iter_mut().filter(|task| task.list == TaskList::Event && !is_bare(task)) {
        let Some(proof) = task.id.as_ref().and_then(|id| ended.get(id)) else { continue };
        if *proof > task.proof {
            (task.status, task.proof) = (TaskStatus::Done, proof.clone());
        }
        named.extend(task.id.clone());
    }
    all.retain(|task| !(is_bare(task) && task.status == TaskStatus::Done && named.contains(&task.text)));
}

/// Of each session's lists the newest counts; of tasks with the same words the newest.
fn merged_tasks(mut all: Vec<Task>, bounds: &Bounds) -> Vec<Task> {
    end_named(&mut all);
    let is_whole = |list: TaskList| matches!(list, TaskList::Tool | TaskList::Checklist);
    let mut newest: BTreeMap<(String, TaskList), Evidence> = BTreeMap::new();
    for task in all.iter().filter(|task| is_whole(task.list)) {
        let slot =
            newest.entry((task.proof.session.clone(), task.list)).or_insert_with(|| task.proof.clone());
        if *slot < task.proof {
            *slot = task.proof.clone();
        }
    }
    let mut by_words: BTreeMap<String, Task> = BTreeMap::new();
    for task in all {
        let key = (task.proof.session.clone(), task.list);
        if newest.get(&key).is_some_and(|proof| *proof != task.proof) {
            continue;
        }
        let words = task.key();
        match by_words.get(&words) {
            Some(one) if (&one.proof, one) >= (&task.proof, &task) => {}
            _ => drop(by_words.insert(words, task)),
        }
    }
    let mut tasks: Vec<Task> = by_words.into_values().collect();
    tasks.sort();
    bound_tasks(&mut tasks, bounds);
    tasks
}

fn merged_files(mut all: Vec<FileTouched>, count_max: usize) -> Vec<FileTouched> {
    all.sort_by(|one, other| (&one.path, &one.last, one).cmp(&(&other.path, &other.last, other)));
    let mut by_path: BTreeMap<String, FileTouched> = BTreeMap::new();
    for file in all {
        match by_path.get_mut(&file.path) {
            Some(one) => {
                // A copy of a session counts what the session counts.
                let is_copy = one.last.at.is_some()
                    && (one.last.at, &one.last.source) == (file.last.at, &file.last.source);
                let both =
                    |one: u32, other: u32| if is_copy { one.max(other) } else { one.saturating_add(other) };
                one.read = both(one.read, file.read);
                one.edited = both(one.edited, file.edited);
                one.created = both(one.created, file.created);
                one.deleted = both(one.deleted, file.deleted);
                one.moved = both(one.moved, file.moved);
                if (&one.last, one.how, &one.to) < (&file.last, file.how, &file.to) {
                    (one.last, one.how, one.to) = (file.last, file.how, file.to);
                }
            }
            None => drop(by_path.insert(file.path.clone(), file)),
        }
    }
    let mut files: Vec<FileTouched> = by_path.into_values().collect();
    files.sort_by(|one, other| (&one.last, &one.path).cmp(&(&other.last, &other.path)));
    bound_files(&mut files, count_max);
    files
}

fn merged_successes(all: Vec<Success>, count_max: usize) -> Vec<Success> {
    let mut by_subject: BTreeMap<About, Evidence> = BTreeMap::new();
    for success in all {
        let slot = by_subject.entry(success.subject).or_insert_with(|| success.proof.clone());
        if *slot < success.proof {
            *slot = success.proof;
        }
    }
    let mut successes: Vec<Success> =
        by_subject.into_iter().map(|(subject, proof)| Success { proof, subject }).collect();
    successes.sort();
    let surplus = successes.len().saturating_sub(count_max);
    successes.drain(..surplus);
    successes
}

fn merged_errors(mut all: Vec<Failure>, successes: &[Success], count_max: usize) -> Vec<Failure> {
    all.sort();
    let mut copies = BTreeSet::new();
    all.retain(|one| {
        let key = (one.proof.at, one.proof.source.clone(), one.subject.clone());
        one.proof.at.is_none() || copies.insert(key)
    });
    for error in all.iter_mut().filter(|error| error.resolved.is_none()) {
        // Without times nobody knows which came first.
        let is_later = |one: &&Success| {
            one.proof.at.is_some() && error.last.at.is_some() && one.proof.at > error.last.at
        };
        let later = successes.iter().filter(is_later);
        error.resolved =
            later.filter(|one| resolves(&one.subject, &error.subject)).map(|one| &one.proof).min().cloned();
    }
    let mut merged: Vec<Failure> = Vec::with_capacity(all.len());
    let mut open: BTreeMap<About, usize> = BTreeMap::new();
    for error in all {
        let is_countable = error.resolved.is_none() && error.subject != About::Message;
        let known = open.get(&error.subject).filter(|_| is_countable);
        if let Some(one) = known.and_then(|at| merged.get_mut(*at)) {
            one.times = one.times.saturating_add(error.times);
            if one.last < error.last {
                (one.last, one.text, one.line, one.later) = (error.last, error.text, error.line, error.later);
            }
        } else {
            if is_countable {
                open.insert(error.subject.clone(), merged.len());
            }
            merged.push(error);
        }
    }
    bound_errors(&mut merged, count_max);
    merged
}

/// Returns tasks as a person wants them: what is being done, what is open, what is done; the newest lists first.
pub(super) fn ordered(tasks: &[Task]) -> Vec<&Task> {
    let mut ordered: Vec<&Task> = tasks.iter().collect();
    ordered.sort_by_key(|task| (task.status, Reverse(&task.proof)));
    ordered
}
