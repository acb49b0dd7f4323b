//! What a session changed, as the text of a pull request or the message of a commit. Made by rules: nothing is said that the
//! session's own words and results do not say.
//!
//! What was said then stands on lines that begin as an item or a quote, so that no word of it is a heading or a trailer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use stemmata_acts::command;
use stemmata_model::noun_of;
use stemmata_model::quote::{one_line_within, quoted};

use super::outline::{FileLines, TurnOutcome};
use super::session::{SessionStory, SessionTurn};
use crate::title::clean;

/// Columns of a commit's subject, of the lines below it, and of a pull request's title.
const COLUMNS: usize = 72;
/// Characters of an item.
const ITEM_CHARS: usize = 200;
/// Items of a list; of the rest the number is said.
const ITEMS_MAX: usize = 12;
/// Files of a list.
const FILES_MAX: usize = 60;
/// Characters of what the agent said last.
const ANSWER_CHARS: usize = 1_500;

/// Which text is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeForm {
    /// The title of a pull request, an empty line, and its description as Markdown.
    PullRequest,
    /// The subject of a commit, an empty line, and what comes below it, wrapped.
    Commit,
}

/// Tells what a session changed. A commit's message tells what was done since the session's last commit of git; where nothing was,
/// it tells what that is of.
/// `title` is the session's; `trailer` the last line.
pub fn change_text<K>(story: &SessionStory<K>, title: &str, trailer: &str, form: ChangeForm) -> String {
    let turns = match form {
        ChangeForm::PullRequest => story.turns.as_slice(),
        ChangeForm::Commit => since_commit(&story.turns),
    };
    let is_whole = turns.len() == story.turns.len();
    let made: Vec<&str> = turns
        .iter()
        .flat_map(|turn| &turn.outline.commits)
        .map(|made| made.subject.as_str())
        .filter(|subject| !subject.is_empty())
        .collect();
    let asked: Vec<String> = turns
        .iter()
        .filter_map(|turn| Some(clean(&turn.outline.prompt.as_ref()?.text)))
        // `yes` and `go on` say nothing to somebody who was not there.
        .filter(|prompt| prompt.split(' ').count() > 2)
        .collect();
    // A question is no title, and neither is a link; what git has was written to be one.
    let is_title =
        |prompt: &&str| !prompt.ends_with('?') && !prompt.contains("://") && !prompt.contains("/…/");
    let first = asked.iter().map(String::as_str).find(is_title);
    let made_first = made.first().map(|subject| (*subject).to_owned());
    let subject = made_first.unwrap_or_else(|| sentence(first.unwrap_or(title)));
    let mut text = Text { text: String::new(), form };
    let _infallible = writeln!(text.text, "{}", one_line_within(&subject, COLUMNS));
    text.list("Asked for", &asked);
    text.answer(turns);
    text.list("Commits", &made);
    text.files(turns);
    // Commands and decisions are known of the whole session only.
    text.tests(turns, if is_whole { &story.commands } else { &[] });
    text.list("Decisions", if is_whole { &story.decisions } else { &[] });
    text.list("Open", &open(story, turns));
    let _infallible = write!(text.text, "\n{trailer}\n");
    text.text
}

/// Returns the turns behind the last one that made a commit of git; where nothing came after it those that it is of.
fn since_commit<K>(turns: &[SessionTurn<K>]) -> &[SessionTurn<K>] {
    let behind = |turns: &[SessionTurn<K>]| {
        turns.iter().rposition(|turn| !turn.outline.commits.is_empty()).map_or(0, |last| last + 1)
    };
    let (earlier, rest) = turns.split_at(behind(turns));
    match earlier.split_last() {
        Some((_, before)) if rest.is_empty() => turns.get(behind(before)..).unwrap_or_default(),
        _ => rest,
    }
}

/// Returns the subject of the commit that the last turn of a session made: there is nothing new to commit.
pub fn committed_last<K>(story: &SessionStory<K>) -> Option<&str> {
    story.turns.last()?.outline.commits.last().map(|made| made.subject.as_str())
}

/// Returns what is left to do.
fn open<K>(story: &SessionStory<K>, turns: &[SessionTurn<K>]) -> Vec<String> {
    let mut open = story.open.clone();
    let errors = story.errors.iter().filter(|error| !error.resolved);
    open.extend(errors.map(|error| {
        let what = if error.what.is_empty() {
            String::new()
        } else {
            format!("{} fails: ", one_line_within(&error.what, COLUMNS))
        };
        format!("{what}{}", error.text)
    }));
    let last = turns.last().map(|turn| turn.outline.outcome());
    open.extend((last == Some(TurnOutcome::Interrupted)).then(|| "the last turn was interrupted".to_owned()));
    open
}

/// Begins a text with a capital, without the point at its end: as subjects are written.
fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A text that is being made.
struct Text {
    text: String,
    form: ChangeForm,
}

impl Text {
    fn head(&mut self, head: &str) {
        let _infallible = match self.form {
            ChangeForm::PullRequest => write!(self.text, "\n## {head}\n\n"),
            ChangeForm::Commit => write!(self.text, "\n{head}:\n"),
        };
    }

    fn item(&mut self, item: &str) {
        let item = one_line_within(item, ITEM_CHARS);
        match self.form {
            ChangeForm::PullRequest => {
                let _infallible = writeln!(self.text, "- {}", plain(&item));
            }
            ChangeForm::Commit => self.wrapped(&item),
        }
    }

    /// Writes an item in lines that are not too long. A word that is longer has a line of its own.
    fn wrapped(&mut self, item: &str) {
        let (mut line, mut columns) = ("-".to_owned(), 1);
        for word in item.split(' ') {
            let chars = word.chars().count();
            if columns > 2 && columns + 1 + chars > COLUMNS {
                let _infallible = writeln!(self.text, "{line}");
                (line, columns) = (" ".to_owned(), 1);
            }
            let _infallible = write!(line, " {word}");
            columns += 1 + chars;
        }
        let _infallible = writeln!(self.text, "{line}");
    }

    fn list(&mut self, head: &str, items: &[impl AsRef<str>]) {
        if items.is_empty() {
            return;
        }
        self.head(head);
        items.iter().take(ITEMS_MAX).for_each(|item| self.item(item.as_ref()));
        self.more(items.len(), ITEMS_MAX);
    }

    fn more(&mut self, items: usize, shown: usize) {
        if let Some(more) = items.checked_sub(shown).filter(|more| *more > 0) {
            self.item(&format!("and {more} more"));
        }
    }

    /// Tells in a pull request what the agent said last: most often it sums up what it did.
    fn answer<K>(&mut self, turns: &[SessionTurn<K>]) {
        let answer = turns.iter().rev().find_map(|turn| turn.outline.answer.as_deref());
        let Some(answer) = answer.filter(|_| self.form == ChangeForm::PullRequest) else { return };
        // What begins with two colons is for the client's own window.
        let lines: Vec<&str> = answer.lines().filter(|line| !line.starts_with("::")).collect();
        let answer = lines.join("\n");
        let cut: String = answer.chars().take(ANSWER_CHARS).collect();
        let more = if cut.len() < answer.len() { " …" } else { "" };
        self.head("The agent's last words");
        self.text.push_str(&plain(&quoted(&format!("{}{more}", cut.trim_end()))));
    }

    fn files<K>(&mut self, turns: &[SessionTurn<K>]) {
        let mut files: BTreeMap<&str, FileLines> = BTreeMap::new();
        for (path, lines) in turns.iter().flat_map(|turn| &turn.outline.files) {
            let known = files.entry(path).or_default();
            known.added += lines.added;
            known.removed += lines.removed;
        }
        let all = files.len();
        // What lies elsewhere is no part of the change, and says where somebody lives.
        files.retain(|path, _| !is_absolute(path));
        let outside = (all - files.len()) as u64;
        // Of a file that a command touched no lines are known: it may have been changed, or put back as it was.
        let touched = files.extract_if(.., |_, lines| lines.added + lines.removed == 0).count() as u64;
        if files.is_empty() && touched == 0 {
            return;
        }
        self.head("Changes");
        for (path, lines) in files.iter().take(FILES_MAX) {
            let path = one_line_within(path, ITEM_CHARS - COLUMNS);
            let path = if self.form == ChangeForm::PullRequest {
                format!("`{}`", path.replace('`', "'"))
            } else {
                path
            };
            self.line(&format!("{path} (+{} −{})", lines.added, lines.removed));
        }
        self.more(files.len(), FILES_MAX);
        if touched > 0 {
            self.item(&format!("{touched} {} that commands touched", noun_of(touched, "file")));
        }
        if outside > 0 {
            self.item(&format!("{outside} {} outside of the project", noun_of(outside, "file")));
        }
    }

    /// Writes an item that is ours.
    fn line(&mut self, item: &str) {
        match self.form {
            ChangeForm::PullRequest => {
                let _infallible = writeln!(self.text, "- {item}");
            }
            ChangeForm::Commit => self.wrapped(item),
        }
    }

    fn tests<K>(&mut self, turns: &[SessionTurn<K>], commands: &[String]) {
        let outlines = || turns.iter().map(|turn| &turn.outline);
        let passed: u64 = outlines().map(|turn| turn.tests_passed).sum();
        let failed: u64 = outlines().map(|turn| turn.tests_failed).sum();
        let Some(is_passed) = outlines().rev().find_map(|turn| turn.is_last_test_passed) else { return };
        self.head("Tests");
        let last = if is_passed { "passed" } else { "failed" };
        let runs = passed + failed;
        self.line(&format!(
            "{runs} {}: {passed} passed, {failed} failed; the last one {last}",
            noun_of(runs, "run")
        ));
        let mut seen = BTreeSet::new();
        let parts = commands.iter().flat_map(|line| command::parts(line));
        let tests: Vec<String> =
            parts.filter(|part| command::is_testing(part) && seen.insert(part.clone())).collect();
        tests.iter().take(ITEMS_MAX).for_each(|line| self.item(line));
        self.more(tests.len(), ITEMS_MAX);
    }
}

/// Says whether a path does not lie below the project.
fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\', '~']) || path.starts_with("..") || path.as_bytes().get(1) == Some(&b':')
}

/// Returns a text in which a page that knows HTML sees no tag.
fn plain(text: &str) -> String {
    text.replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stemmata_api::v1::{GitCommitMade, SessionError};
    use stemmata_model::EntryId;

    use super::*;
    use crate::story::{Prompt, TurnOutline};

    fn turn(prompt: &str, file: Option<&str>, commit: Option<&str>) -> SessionTurn<u32> {
        let prompt = Prompt { position: 0, entry: EntryId::new("e").unwrap(), text: prompt.to_owned() };
        let lines = FileLines { added: 3, removed: 1 };
        let outline = TurnOutline {
            prompt: Some(prompt),
            files: file.map(|file| (file.to_owned(), lines)).into_iter().collect(),
            commits: commit
                .map(|subject| GitCommitMade { hash: None, subject: subject.to_owned() })
                .into_iter()
                .collect(),
            tests_passed: 1,
            is_last_test_passed: Some(true),
            answer: Some("Done.\n# Not a heading\n<b>bold</b>".to_owned()),
            ..TurnOutline::default()
        };
        SessionTurn { number: Some(1), commit: 1, outline }
    }

    fn story(turns: Vec<SessionTurn<u32>>) -> SessionStory<u32> {
        SessionStory {
            span: None,
            active_micros: 0,
            models: BTreeMap::new(),
            tokens: None,
            files: BTreeMap::new(),
            turns,
            errors: vec![SessionError {
                what: "cargo test".to_owned(),
                text: "it fails".to_owned(),
                times: 1,
                prompt: None,
                resolved: false,
                fixed_by: Vec::new(),
            }],
            commands: vec!["ls".to_owned(), "cargo test".to_owned()],
            decisions: vec!["UTC everywhere".to_owned()],
            open: vec!["write the guide".to_owned()],
        }
    }

    #[test]
    fn a_pull_request_says_why_what_and_what_is_open() {
        let story = story(vec![
            turn("keep a log of brews", Some("src/log.rs"), Some("feat: keep a log")),
            turn("and read it", Some("/home/ada/x"), None),
        ]);
        let text = change_text(&story, "a title", "Context-Id: c", ChangeForm::PullRequest);
        let wanted = "feat: keep a log\n\n## Asked for\n\n- keep a log of brews\n- and read it\n\n## The agent's last words\n\n> Done.\n> # Not a \
            heading\n> &lt;b>bold&lt;/b>\n\n## Commits\n\n- feat: keep a log\n\n## Changes\n\n- `src/log.rs` (+3 −1)\n- 1 file outside of the \
            project\n\n## Tests\n\n- 2 runs: 2 passed, 0 failed; the last one passed\n- cargo test\n\n## Decisions\n\n- UTC \
            everywhere\n\n## Open\n\n- write the guide\n- cargo test fails: it fails\n\nContext-Id: c\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_commit_is_of_what_came_since_the_last_one_and_fits_its_columns() {
        let long =
            "explain why the parser takes a torn line for a whole brew and what it should do in its place. ";
        let turns = vec![turn("first", Some("a"), Some("One")), turn(&long.repeat(3), Some("b"), None)];
        let text = change_text(&story(turns), "first", "Context-Id: c", ChangeForm::Commit);
        assert!(text.starts_with("Explain why the parser"), "{text}");
        assert!(!text.contains("first") && text.contains("- b (+3 −1)") && !text.contains("- a "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.lines().all(|line| !line.starts_with('#')), "git would take it for a comment: {text}");
        assert!(text.ends_with("\n\nContext-Id: c\n"), "{text}");
        let all = vec![turn("first", Some("a"), None), turn("commit", None, Some("One"))];
        let text = change_text(&story(all), "first", "Context-Id: c", ChangeForm::Commit);
        assert!(text.starts_with("One\n") && text.contains("- a (+3 −1)"), "nothing came since: {text}");
        let none = change_text(&story(Vec::new()), "t", "Context-Id: c", ChangeForm::Commit);
        assert!(none.starts_with("T\n"), "{none}");
    }
}
