//! What of a cut's demand a text shows: names, names that belong together, and what was done with what end.

use std::collections::{BTreeMap, HashSet};

use stemmata_prompt::compact::names::names;

use super::probe::{ChangedFile, Command, Demand, flat, tokens};
use super::session::Session;

/// Names that are so near belong together.
const TOGETHER_BYTES: usize = 160;
const TOGETHER_NAMES: usize = 10;

/// What was found, of how much.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Part {
    pub found: f64,
    pub of: f64,
}

impl Part {
    fn add(&mut self, other: Self) {
        self.found += other.found;
        self.of += other.of;
    }

    /// Returns the share; everything of nothing.
    pub(super) fn share(self) -> f64 {
        if self.of > 0.0 { self.found / self.of } else { 1.0 }
    }
}

/// The scores of one text, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Score {
    pub fact: Part,
    pub bind: Part,
    pub state: Part,
    pub quote: Part,
    pub user: Part,
    /// Tokens of the texts, of those that were summarized.
    pub size: Part,
}

impl Score {
    pub(super) fn add(&mut self, other: &Self) {
        self.fact.add(other.fact);
        self.bind.add(other.bind);
        self.state.add(other.state);
        self.quote.add(other.quote);
        self.user.add(other.user);
        self.size.add(other.size);
    }

    /// Returns the geometric mean of the three that count.
    pub(super) fn mean(&self) -> f64 {
        (self.fact.share() * self.bind.share() * self.state.share()).cbrt()
    }
}

/// A line of a text: its names with their places, and the name that it is about.
struct Row {
    text: String,
    head: Option<String>,
    names: HashSet<String>,
}

/// Names and pairs that a text shows.
struct Shown {
    rows: Vec<Row>,
    names: HashSet<String>,
    pairs: HashSet<(u32, u32)>,
    flat: String,
}

/// Scores a text.
pub(super) fn score(session: &Session, demand: &Demand, text: &str) -> Score {
    let shown = Shown::of(session, text);
    let part = |found: usize, of: usize| Part { found: float(found), of: float(of) };
    let has = |id: &&u32| shown.names.contains(session.words.text(**id));
    let mut state = Part::default();
    demand.files.iter().for_each(|file| state.add(Part { found: shown.file(file), of: 1.0 }));
    demand.commands.iter().for_each(|command| state.add(Part { found: shown.command(command), of: 1.0 }));
    let verbatim = |texts: &[String], chars: usize| {
        let cut = |text: &String| flat(text).chars().take(chars).collect::<String>();
        part(texts.iter().filter(|text| shown.flat.contains(&cut(text))).count(), texts.len())
    };
    state.add(verbatim(&demand.errors, 60));
    state.add(verbatim(&demand.tasks, 80));
    Score {
        fact: part(demand.facts.iter().filter(has).count(), demand.facts.len()),
        bind: part(demand.pairs.iter().filter(|pair| shown.pairs.contains(pair)).count(), demand.pairs.len()),
        state,
        quote: verbatim(&demand.quotes, usize::MAX),
        user: verbatim(&demand.prompts, usize::MAX),
        size: part(tokens(text), demand.tokens_of_others),
    }
}

impl Shown {
    fn of(session: &Session, text: &str) -> Self {
        let text = unfolded(text);
        let mut shown =
            Self { rows: Vec::new(), names: HashSet::new(), pairs: HashSet::new(), flat: flat(&text) };
        let mut head: Option<String> = None;
        for line in text.lines() {
            let found = names(line, &session.root);
            let first = found.first().map(|name| name.text.to_owned());
            if !line.starts_with([' ', '\t']) {
                head.clone_from(&first);
            }
            let about = head.clone().or(first);
            for (at, one) in found.iter().enumerate() {
                shown.pair(session, about.as_deref(), one.text);
                let near = found.iter().skip(at + 1).take(TOGETHER_NAMES);
                for other in near.take_while(|other| other.at - one.at <= TOGETHER_BYTES) {
                    shown.pair(session, Some(one.text), other.text);
                }
                shown.names.insert(one.text.to_owned());
                let ends = one.text.match_indices('/').filter_map(|(at, _)| one.text.get(at + 1..));
                shown.names.extend(ends.map(str::to_owned));
            }
            let names = found.iter().map(|name| name.text.to_owned()).collect();
            shown.rows.push(Row { text: line.to_owned(), head: about, names });
        }
        shown
    }

    fn pair(&mut self, session: &Session, one: Option<&str>, other: &str) {
        let ids = (one.and_then(|one| session.words.find(one)), session.words.find(other));
        if let (Some(one), Some(other)) = ids
            && one != other
        {
            self.pairs.insert((one.min(other), one.max(other)));
        }
    }

    /// Half for the operation that was the last one, half for something of what it put there.
    fn file(&self, file: &ChangedFile) -> f64 {
        let about =
            |row: &&Row| row.head.as_deref() == Some(file.path.as_str()) || row.names.contains(&file.path);
        let rows: Vec<&Row> = self.rows.iter().filter(about).collect();
        // Of several operations on a line, the last is the one that holds.
        let says = rows.iter().any(|row| {
            let rest = row.text.split_once(&file.path).map_or(row.text.as_str(), |(_, rest)| rest);
            last_operation(rest).is_some_and(|word| file.words.contains(&word))
        });
        let traces = |row: &&&Row| {
            let text = flat(&row.text);
            file.traces
                .iter()
                .any(|trace| row.names.contains(trace) || trace.len() >= 16 && text.contains(trace))
        };
        let has_trace =
            if file.traces.is_empty() { !rows.is_empty() } else { rows.iter().any(|row| traces(&row)) };
        half(says) + half(has_trace)
    }

    /// Half for the command, half for how it ended last.
    fn command(&self, command: &Command) -> f64 {
        let rows = || self.rows.iter().map(|row| flat(&row.text)).filter(|text| text.contains(&command.line));
        let says = rows().any(|text| {
            let rest = text.split_once(&command.line).map_or("", |(_, rest)| rest);
            let rest = rest.rsplit_once('→').map_or(rest, |(_, rest)| rest).trim();
            command.words.is_none_or(|words| words.iter().any(|word| rest.starts_with(word)))
        });
        half(rows().next().is_some()) + half(says)
    }
}

/// Every word of an operation on a file.
const OPERATIONS: [&str; 12] = [
    "created", "wrote", "written", "added", "edited", "modified", "updated", "changed", "fixed", "deleted",
    "removed", "moved",
];

fn last_operation(text: &str) -> Option<&'static str> {
    let end = text.find([':', '|']).unwrap_or(text.len());
    let mut words = text.get(..end)?.rsplit(|char: char| !char.is_ascii_alphabetic());
    words.find_map(|word| OPERATIONS.into_iter().find(|operation| *operation == word))
}

/// `dir/{a,b}` is `dir/a dir/b`.
fn unfolded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let braces = line.split_once("/{").and_then(|(dir, rest)| Some((dir, rest.split_once('}')?)));
        match braces {
            Some((dir, (inside, rest))) if !dir.contains(' ') => {
                let paths = inside.split(',').map(|path| format!("{dir}/{}", path.trim()));
                out.push_str(&paths.collect::<Vec<_>>().join(" "));
                out.push_str(rest);
            }
            _ => out.push_str(line),
        }
    }
    out
}

fn half(is_there: bool) -> f64 {
    if is_there { 0.5 } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a session are small")]
fn float(count: usize) -> f64 {
    count as f64
}

/// Scores of many cuts: of all, and by session.
#[derive(Debug, Default)]
pub(super) struct Scores {
    pub all: Score,
    by_session: BTreeMap<String, Score>,
}

impl Scores {
    pub(super) fn add(&mut self, session: &str, score: &Score) {
        self.all.add(score);
        self.by_session.entry(session.to_owned()).or_default().add(score);
    }

    /// Returns the mean over sessions that demand anything of a part.
    pub(super) fn macro_mean(&self, of: impl Fn(&Score) -> Part) -> f64 {
        let shares: Vec<f64> =
            self.by_session.values().map(of).filter(|part| part.of > 0.0).map(Part::share).collect();
        if shares.is_empty() { 1.0 } else { shares.iter().sum::<f64>() / float(shares.len()) }
    }

    /// Returns the least mean of a session that demands at least so many names.
    pub(super) fn worst(&self, items_min: f64) -> f64 {
        let wanted = self.by_session.values().filter(|score| score.fact.of >= items_min);
        wanted.map(Score::mean).fold(1.0, f64::min)
    }
}
