//! What somebody says was done beyond files and checks: pushed, merged, deployed. Not whether it is wanted.

use std::collections::HashSet;

use stemmata_acts::{Act, Outcome, ToolUse, command};
use stemmata_model::{Entry, EntryKind, Part, Role};

use super::claims::{Word, each_statement};
use super::outcomes::Shown;
use super::sentences;

/// Words of what was done, and words of a command or a tool that may have done it.
const EVENTS: &[(&[&str], &[&str])] = &[
    (&["pushed", "gepusht"], &["push", "publish"]),
    (&["merged", "gemergt"], &["merge", "rebase", "pull"]),
    (&["committed", "commited"], &["commit", "amend"]),
    (&["tagged"], &["tag"]),
    (
        &["deployed", "deployt", "shipped", "ausgerollt", "déployé", "desplegado"],
        &["deploy", "ship", "apply", "rollout", "upgrade", "publish", "release", "up"],
    ),
    (
        &["released", "published", "veröffentlicht", "publié", "publicado"],
        &["release", "publish", "deploy", "upload", "push", "create"],
    ),
    (&["migrated", "migriert"], &["migrate", "migration", "migrations", "upgrade", "alembic", "flyway"]),
    (
        &["installed", "installiert"],
        &["install", "i", "add", "ci", "get", "sync", "upgrade", "bootstrap", "setup"],
    ),
    (&["rebooted", "restarted"], &["reboot", "restart", "up", "start", "run"]),
];
/// What people approve is shown by their own words alone.
const APPROVED: &[&str] = &["approved", "approves", "genehmigt", "abgenommen"];
const APPROVES: &[&str] = &[
    "approved",
    "approve",
    "lgtm",
    "yes",
    "ok",
    "okay",
    "agreed",
    "ja",
    "genehmigt",
    "sure",
    "fine",
    "good",
    "great",
    "perfect",
    "ship",
];
/// Words before a word of what was done that make it say which one: «the merged branch».
const WHICH: &[&str] = &[
    "the", "a", "an", "any", "each", "every", "all", "this", "that", "these", "those", "its", "our", "their",
    "of", "with", "for", "from", "in", "on", "to", "as", "der", "die", "das", "den",
];
/// Words between a negation and what was not done.
const NOT_WORDS_MAX: usize = 3;
/// Words of a command that are looked at: behind them are names of files and messages.
const COMMAND_WORDS_MAX: usize = 4;

/// What was done.
#[derive(Default)]
pub(super) struct Events {
    /// Words of the commands and tools that did not fail.
    done: HashSet<String>,
    /// Those of [`EVENTS`] that a person or the agent said were done.
    said: HashSet<usize>,
    is_approved: bool,
}

impl Events {
    pub(super) fn read(&mut self, uses: &[ToolUse<'_>], entries: &[Entry]) {
        let has_failed = |used: &&ToolUse<'_>| {
            matches!(used.outcome, Outcome::Failed { .. } | Outcome::Refused | Outcome::Open)
        };
        for used in uses.iter().filter(|used| !has_failed(used)) {
            let is_other =
                used.acts.iter().any(|act| matches!(act, Act::Unknown | Act::Subagent | Act::Client));
            if is_other {
                self.add(used.name);
            }
            for part in used.commands().flat_map(|command| command::parts(&command.line)) {
                part.split(' ').take(COMMAND_WORDS_MAX).for_each(|word| self.add(word));
            }
        }
        let is_said = |entry: &&Entry| entry.role != Role::Tool && entry.kind != EntryKind::CompactionSummary;
        for entry in entries.iter().filter(is_said) {
            for part in &entry.parts {
                let Part::Text(text) = part else { continue };
                for sentence in text.lines().flat_map(sentences) {
                    each_event(sentence, &mut |event| self.said.extend(event));
                }
                let mut words = text.split(|char: char| !char.is_alphanumeric()).map(str::to_lowercase);
                self.is_approved |=
                    entry.role == Role::User && words.any(|word| APPROVES.contains(&word.as_str()));
            }
        }
    }

    fn add(&mut self, name: &str) {
        let words = name.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
        self.done.extend(words.map(str::to_lowercase));
    }

    /// Says whether what a sentence says was done was so: by a call that did not fail, or by somebody's word.
    pub(super) fn shown(&self, claim: &str) -> Shown {
        let mut shown = Shown::Held;
        each_event(claim, &mut |event| {
            let is_shown = match event {
                None => self.is_approved,
                Some(at) => {
                    let words = EVENTS.get(at).map_or(&[][..], |(_, by)| by);
                    self.said.contains(&at) || words.iter().any(|word| self.done.contains(*word))
                }
            };
            if !is_shown {
                shown = Shown::Unsaid;
            }
        });
        shown
    }
}

/// Reports what a sentence says was done, by its place in [`EVENTS`]; `None` is an approval.
fn each_event(sentence: &str, found: &mut dyn FnMut(Option<usize>)) {
    each_statement(sentence, &mut |words: &[Word<'_>]| {
        for (at, word) in words.iter().enumerate() {
            let before = words.get(..at).unwrap_or_default();
            let is_not = || before.iter().rev().take(NOT_WORDS_MAX + 1).any(Word::negates);
            if before.last().is_some_and(|word| word.is_of(WHICH)) || is_not() {
                continue;
            }
            if word.is_of(APPROVED) {
                found(None);
            } else if let Some(event) = EVENTS.iter().position(|(said, _)| word.is_of(said)) {
                found(Some(event));
            }
        }
    });
}
