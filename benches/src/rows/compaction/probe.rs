//! What a cut demands of a summary: what the agent itself needs again, first, in the part that is not summarized and not in the
//! window. `docs/decisions/0024-compaction.md` says why it is measured so.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use stemmata_acts::{FileChange, ToolUse};

use super::session::{Piece, Session, Speaker, is_made, operation, status};

/// Where sessions are cut, as shares of their tokens.
const CUTS: [f64; 4] = [0.35, 0.5, 0.65, 0.8];
/// The window keeps at most so many tokens, and at most this share.
const RECENT_TOKENS: usize = 20_000;
const RECENT_SHARE: f64 = 0.15;
/// Cuts with less of either say little.
const COMPACTED_TOKENS_MIN: usize = 4_000;
const UNSEEN_TOKENS_MIN: usize = 3_000;
/// Names of a line that belong together.
const LINE_NAMES_MAX: usize = 10;
/// Names that recorded sessions of three projects or more had.
const COMMON: [&str; 17] = [
    "started_at",
    "100644",
    "ToolName",
    "commit_id",
    "GitHub",
    "file.txt",
    "in_progress",
    "tool_use",
    "v0.9.1",
    "duration_ms",
    "session_id",
    "CLAUDE.md",
    "--name-only",
    "package.json",
    "4096",
    "README.md",
    "tool_result",
];

/// A place where a session is cut: entries before `compacted` are summarized, those up to `now` are in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cut {
    pub compacted: usize,
    pub now: usize,
}

/// A file that was changed and is touched again.
#[derive(Debug)]
pub(super) struct ChangedFile {
    pub path: String,
    pub words: &'static [&'static str],
    /// Names and lines that its last change put there; one of them is enough.
    pub traces: Vec<String>,
}

/// A command that is run again.
#[derive(Debug)]
pub(super) struct Command {
    pub line: String,
    pub words: Option<&'static [&'static str]>,
}

/// What is demanded.
#[derive(Debug, Default)]
pub(super) struct Demand {
    /// The tokens of the compacted part without those of users.
    pub tokens_of_others: usize,
    pub facts: Vec<u32>,
    pub pairs: Vec<(u32, u32)>,
    pub files: Vec<ChangedFile>,
    pub commands: Vec<Command>,
    pub errors: Vec<String>,
    pub tasks: Vec<String>,
    pub quotes: Vec<String>,
    pub prompts: Vec<String>,
}

pub(super) fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// Returns the cuts of a session, on borders that part no call from its result.
pub(super) fn cuts(session: &Session) -> Vec<Cut> {
    let mut by_entry = vec![0; session.entries.len()];
    for piece in &session.pieces {
        if let Some(sum) = by_entry.get_mut(piece.entry) {
            *sum += tokens(&piece.text);
        }
    }
    let sum = |range: std::ops::Range<usize>| by_entry.get(range).unwrap_or_default().iter().sum::<usize>();
    let all = sum(0..by_entry.len());
    let border = |mut at: usize| {
        while session.entries.get(at).is_some_and(|entry| entry.answers().next().is_some()) {
            at += 1;
        }
        at
    };
    let mut found = BTreeSet::new();
    for share in CUTS {
        let mut at = 0;
        let mut before = 0;
        while before < scaled(all, share) && at < by_entry.len() {
            before += by_entry.get(at).copied().unwrap_or_default();
            at += 1;
        }
        let now = border(at);
        let recent = RECENT_TOKENS.min(scaled(sum(0..now), RECENT_SHARE));
        let mut start = now;
        while start > 0 && sum(start - 1..now) <= recent {
            start -= 1;
        }
        let compacted = border(start);
        let is_long =
            sum(0..compacted) >= COMPACTED_TOKENS_MIN && sum(now..by_entry.len()) >= UNSEEN_TOKENS_MIN;
        if is_long && compacted < now {
            found.insert(Cut { compacted, now });
        }
    }
    found.into_iter().collect()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a few million"
)]
fn scaled(whole: usize, share: f64) -> usize {
    (whole as f64 * share) as usize
}

/// Returns what a cut demands.
pub(super) fn demand(session: &Session, cut: Cut) -> Demand {
    let part = |from: usize, to: usize| {
        session.pieces.iter().filter(move |piece| (from..to).contains(&piece.entry)).collect::<Vec<_>>()
    };
    let (compacted, recent, unseen) =
        (part(0, cut.compacted), part(cut.compacted, cut.now), part(cut.now, session.entries.len()));
    let common: HashSet<u32> = COMMON.iter().filter_map(|text| session.words.find(text)).collect();
    let count = |pieces: &[&Piece], of: &dyn Fn(&Piece) -> bool| {
        pieces.iter().filter(|piece| of(piece)).map(|piece| tokens(&piece.text)).sum::<usize>()
    };
    let calls = session.calls(0, session.entries.len());
    let mut demand = Demand {
        tokens_of_others: count(&compacted, &|piece| piece.speaker != Speaker::User),
        tasks: session.open_tasks(cut.compacted, cut.now),
        ..Demand::default()
    };
    demand.facts = first_by_agent([&compacted, &recent, &unseen], &|piece| facts(piece));
    demand.facts.retain(|id| !common.contains(id));
    demand.pairs = first_by_agent([&compacted, &recent, &unseen], &|piece| pairs(piece));
    demand.pairs.retain(|(one, other)| {
        let (first, second) = (session.words.text(*one), session.words.text(*other));
        let ends = |path: &str, name: &str| path.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'));
        let are_common = common.contains(one) && common.contains(other);
        let is_end = ends(first, second) || ends(second, first);
        !are_common && !is_end
    });
    demand.quotes = first_by_agent([&compacted, &recent, &unseen], &|piece| quotes(piece));
    demand.prompts = compacted
        .iter()
        .filter(|piece| piece.speaker == Speaker::User)
        .flat_map(|piece| sentences(&piece.text))
        .collect();
    state(session, cut, &calls, &mut demand);
    demand
}

/// Returns items of the compacted part that are not in the window, and that the agent writes before anybody else does.
fn first_by_agent<T: Clone + Eq + std::hash::Hash>(
    [compacted, recent, unseen]: [&[&Piece]; 3],
    of: &dyn Fn(&Piece) -> Vec<T>,
) -> Vec<T> {
    let all = |pieces: &[&Piece]| pieces.iter().flat_map(|piece| of(piece)).collect::<HashSet<T>>();
    let (known, visible) = (all(compacted), all(recent));
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for piece in unseen {
        for item in of(piece) {
            if known.contains(&item)
                && seen.insert(item.clone())
                && piece.speaker == Speaker::Agent
                && !visible.contains(&item)
            {
                found.push(item);
            }
        }
    }
    found
}

fn facts(piece: &Piece) -> Vec<u32> {
    piece.lines.iter().flat_map(|line| line.names.iter().copied()).collect()
}

fn pairs(piece: &Piece) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for line in &piece.lines {
        let names = line.names.get(..LINE_NAMES_MAX.min(line.names.len())).unwrap_or_default();
        for (at, one) in names.iter().enumerate() {
            let others = names.iter().skip(at + 1).chain(piece.head.as_ref());
            found
                .extend(others.filter(|other| *other != one).map(|other| (*one.min(other), *one.max(other))));
        }
    }
    found
}

fn quotes(piece: &Piece) -> Vec<String> {
    let words =
        |text: &str| text.split(|char: char| !char.is_alphanumeric()).filter(|word| word.len() >= 3).count();
    let long = piece.lines.iter().filter(|line| line.text.chars().count() >= 24 && words(&line.text) >= 3);
    long.map(|line| flat(&line.text)).collect()
}

fn sentences(text: &str) -> Vec<String> {
    text.lines().map(flat).filter(|line| line.chars().count() >= 12).collect()
}

/// Returns a text with single blanks.
pub(super) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds files, commands and errors that come again.
fn state(session: &Session, cut: Cut, calls: &[ToolUse<'_>], demand: &mut Demand) {
    let split =
        |call: &ToolUse<'_>| usize::from(call.entry >= cut.compacted) + usize::from(call.entry >= cut.now);
    let mut last: BTreeMap<String, ChangedFile> = BTreeMap::new();
    let (mut again, mut touched) = (HashSet::new(), HashSet::new());
    let mut runs: [HashMap<String, Option<&'static [&'static str]>>; 3] = Default::default();
    let mut order = Vec::new();
    let mut errors: [Vec<String>; 3] = Default::default();
    for call in calls {
        let part = split(call);
        for file in call.files() {
            let path = session.relative(&file.path);
            let (true, Some(words)) = (is_made(file.certainty), operation(&file.change)) else {
                touched.extend((part == 2).then_some(path));
                continue;
            };
            match part {
                0 => {
                    let traces = traces(session, &file.change, &file.added_lines());
                    last.insert(path.clone(), ChangedFile { path, words, traces });
                }
                1 => drop(again.insert(path)),
                _ => drop(touched.insert(path)),
            }
        }
        for command in call.commands().filter_map(|command| command_line(&command.line)) {
            if let Some(known) = runs.get_mut(part) {
                order.extend((part == 2 && !known.contains_key(&command)).then(|| command.clone()));
                known.insert(command, status(&call.outcome));
            }
        }
        let is_telling =
            call.commands().next().is_some() || matches!(call.outcome, stemmata_acts::Outcome::Failed { .. });
        if let (true, Some(answer), Some(found)) = (is_telling, &call.answer, errors.get_mut(part)) {
            found.extend(error_lines(&answer.text));
        }
    }
    let named: HashSet<&str> = session
        .pieces
        .iter()
        .filter(|piece| piece.entry >= cut.now && piece.speaker == Speaker::Agent)
        .flat_map(|piece| piece.lines.iter().flat_map(|line| &line.names))
        .map(|id| session.words.text(*id))
        .collect();
    let needed = |path: &str| !again.contains(path) && (touched.contains(path) || named.contains(path));
    demand.files = last.into_values().filter(|file| needed(&file.path)).collect();
    let [before, recent, _] = &runs;
    let lines = order.into_iter().filter(|line| before.contains_key(line) && !recent.contains_key(line));
    demand.commands =
        lines.map(|line| Command { words: before.get(&line).copied().flatten(), line }).collect();
    let [before, recent, after] = errors;
    let mut seen = HashSet::new();
    let is_wanted = |line: &String| before.contains(line) && !recent.contains(line);
    demand.errors = after.into_iter().filter(|line| is_wanted(line) && seen.insert(line.clone())).collect();
}

fn traces(session: &Session, change: &FileChange, added: &[&str]) -> Vec<String> {
    let old: HashSet<String> = match change {
        FileChange::Edit { parts } => parts.iter().flat_map(|part| names_in(session, &part.old)).collect(),
        _ => HashSet::new(),
    };
    let new: Vec<String> = added.iter().flat_map(|line| names_in(session, line)).collect();
    let fresh: Vec<String> = new.iter().filter(|name| !old.contains(*name)).cloned().collect();
    let lines = added.iter().map(|line| flat(line)).filter(|line| line.chars().count() >= 16).take(40);
    let names = if fresh.is_empty() { new } else { fresh };
    names.into_iter().chain(lines).collect()
}

fn names_in(session: &Session, text: &str) -> Vec<String> {
    let found = stemmata_prompt::compact::names::names(text, &session.root);
    found.iter().map(|name| name.text.to_owned()).collect()
}

/// Returns a command as it comes again: its first line without the folder that it goes to, cut.
fn command_line(line: &str) -> Option<String> {
    let line = line.trim();
    let rest =
        line.strip_prefix("cd ").and_then(|rest| rest.split_once("&&").or_else(|| rest.split_once(';')));
    let line = rest.filter(|(folder, _)| !folder.contains('\n')).map_or(line, |(_, rest)| rest.trim_start());
    let cut: String = flat(line.lines().next().unwrap_or_default()).chars().take(80).collect();
    (cut.len() >= 6).then(|| cut.trim().to_owned())
}

/// Words of lines that report an error.
const ERROR_WORDS: [&str; 12] = [
    "error:",
    "Error:",
    "error[",
    "error TS",
    "panicked",
    "Traceback",
    "FAIL",
    "fatal:",
    "not found",
    "annot ",
    "undefined:",
    "No such file",
];

fn error_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| without_gutter(line).trim());
    let found = lines
        .filter(|line| (12..300).contains(&line.len()) && ERROR_WORDS.iter().any(|word| line.contains(word)));
    found.take(8).map(|line| flat(line).chars().take(60).collect()).collect()
}

fn without_gutter(line: &str) -> &str {
    let rest = line.trim_start().trim_start_matches(|char: char| char.is_ascii_digit());
    rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t')).unwrap_or(line)
}
