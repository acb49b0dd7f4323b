//! What a summary of a session's beginning keeps of what the session's rest needs. Not how fast it is made, but for two lines.
//!
//! The demand comes from the unseen rest alone. The product's tokenizer of names and its reading of tool calls are shared: an error in
//! these is seen by neither side; `docs/decisions/0024-compaction.md` says what that means.

mod kept;
mod probe;
mod score;
mod session;
mod speed;
mod variants;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use stemmata_prompt::compact::summary::{Counted, count};

use super::Bench;
use crate::report::{Figure, Line, Section, Target};
use probe::{Cut, Demand, cuts, demand};
use score::{Part, Score, Scores, score};
use session::Session;
use variants::{Case, Compactor, Heuristic, compactors};

/// Sizes of a summary, in thousandths of what is compacted.
const SIZES: [usize; 3] = [50, 100, 200];
/// Names that a session must demand to be called the worst.
const WORST_ITEMS_MIN: f64 = 5.0;
/// The sessions that are judged: those that were not looked at, and those that are named.
const JUDGED: [&str; 2] = ["test", "all"];
/// A session with its cuts.
struct Measured {
    session: Session,
    counted: Vec<Counted>,
    cuts: Vec<(Cut, Demand)>,
}

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut section = Section {
        name: "compaction",
        title: "what a summary keeps of what the session's rest needs".to_owned(),
        notes: Vec::new(),
        lines: Vec::new(),
    };
    section.lines.extend(speed::lines()?);
    let files = match (bench.files(), bench.corpus()) {
        ([], None) => {
            section
                .notes
                .push("Needs STEMMATA_CORPUS or files: made-up sessions need nothing again.".to_owned());
            return Ok(section);
        }
        ([], Some(corpus)) => transcripts(corpus)?,
        (named, _) => named.to_vec(),
    };
    let all = load(&files)?;
    section.notes.push(
        "FACT: names that the agent writes again before it sees them; BIND: pairs of names; STATE: files, commands, errors and tasks, \
         with words that agree; G: their geometric mean. Shares of all items / mean by session; prompts of users are left out."
            .to_owned(),
    );
    // Files that are named are none that the weights were chosen by: the targets are for all of them together.
    let halves: Vec<(&str, Vec<&Measured>)> = if bench.files().is_empty() {
        let half = |is_half: bool| all.iter().filter(|one| is_tune(&one.session.name) == is_half).collect();
        vec![("tune", half(true)), (JUDGED[0], half(false))]
    } else {
        vec![(JUDGED[1], all.iter().collect())]
    };
    for (name, half) in halves.into_iter().filter(|(_, half)| !half.is_empty()) {
        section.notes.push(items(name, &half));
        let (rows, lines) = table(name, &half);
        section.notes.extend(rows);
        section.lines.extend(lines);
        section.lines.extend(clients(name, &half));
    }
    section.lines.push(leaks(&all));
    section.lines.push(kept::pins(&all));
    section.lines.push(kept::recoverable(&all)?);
    Ok(section)
}

/// Half of the sessions were looked at while the weights were chosen: a hash of the file's name decides.
fn is_tune(name: &str) -> bool {
    let file =
        Path::new(name).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    blake3::hash(file.as_bytes()).as_bytes()[0].is_multiple_of(2)
}

fn transcripts(corpus: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![corpus.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl" || end == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads sessions; of several that begin alike, which are snapshots of one, the longest.
fn load(files: &[PathBuf]) -> anyhow::Result<Vec<Measured>> {
    let mut sessions: Vec<Session> = Vec::new();
    for file in files {
        let Some(session) = Session::load(file, file.display().to_string())? else { continue };
        let start =
            |one: &Session| one.pieces.iter().take(3).map(|piece| piece.text.clone()).collect::<Vec<_>>();
        let same = sessions.iter_mut().find(|known| start(known) == start(&session));
        match same {
            Some(known) if known.entries.len() < session.entries.len() => *known = session,
            Some(_) => {}
            None => sessions.push(session),
        }
    }
    let measured = sessions.into_iter().map(|session| {
        let cuts = cuts(&session).into_iter().map(|cut| (cut, demand(&session, cut))).collect();
        Measured { counted: count(&session.entries), session, cuts }
    });
    Ok(measured.filter(|one| !one.cuts.is_empty()).collect())
}

fn items(name: &str, half: &[&Measured]) -> String {
    let all = || half.iter().flat_map(|one| &one.cuts).map(|(_, demand)| demand);
    let sum = |of: &dyn Fn(&Demand) -> usize| all().map(of).sum::<usize>();
    format!(
        "{name}: {} sessions, {} cuts; {} names, {} pairs, {} files, {} commands, {} errors, {} tasks",
        half.len(),
        all().count(),
        sum(&|demand| demand.facts.len()),
        sum(&|demand| demand.pairs.len()),
        sum(&|demand| demand.files.len()),
        sum(&|demand| demand.commands.len()),
        sum(&|demand| demand.errors.len()),
        sum(&|demand| demand.tasks.len()),
    )
}

/// Returns a row for each compactor and size, and the figures of ours.
fn table(name: &str, half: &[&Measured]) -> (Vec<String>, Vec<Line>) {
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for compactor in compactors() {
        for size in SIZES.into_iter().filter(|size| compactor.is_sized() || *size == SIZES[0]) {
            let scores = scores(half, &*compactor, size);
            let of = if compactor.is_sized() { format!(" {} %", size / 10) } else { String::new() };
            rows.push(row(&format!("{name}, {}{of}", compactor.name()), &scores));
            if compactor.name() == Heuristic.name() {
                let is_goal = size == 100 && JUDGED.contains(&name);
                lines.extend(shown(&format!("{name}{of}"), &scores, is_goal));
            }
        }
    }
    (rows, lines)
}

fn row(name: &str, scores: &Scores) -> String {
    let percent = |share: f64| format!("{:5.1}", 100.0 * share);
    let both = |of: fn(&Score) -> Part| {
        format!("{}/{}", percent(of(&scores.all).share()), percent(scores.macro_mean(of)))
    };
    format!(
        "{name:<34} size {} G {} worst {} FACT {} BIND {} STATE {} QUOTE {}",
        percent(scores.all.size.share()),
        percent(scores.all.mean()),
        percent(scores.worst(WORST_ITEMS_MIN)),
        both(|score| score.fact),
        both(|score| score.bind),
        both(|score| score.state),
        percent(scores.all.quote.share()),
    )
}

fn scores(half: &[&Measured], compactor: &dyn Compactor, size: usize) -> Scores {
    let mut scores = Scores::default();
    for one in half {
        for (cut, demand) in &one.cuts {
            let case = Case { session: &one.session, counted: &one.counted, cut: *cut };
            let text = compactor.compact(&case, demand.tokens_of_others * size / 1_000);
            scores.add(&one.session.name, &score(&one.session, demand, &text));
        }
    }
    scores
}

/// Returns the lines of one compactor at one size; those with a target where it is the one that is judged.
fn shown(name: &str, scores: &Scores, is_goal: bool) -> Vec<Line> {
    let percent = |share: f64| Figure::Percent(100.0 * share);
    let parts: [(&str, f64, f64, f64); 3] = [
        ("FACT", scores.all.fact.share(), scores.macro_mean(|score| score.fact), 95.0),
        ("BIND", scores.all.bind.share(), scores.macro_mean(|score| score.bind), 80.0),
        ("STATE", scores.all.state.share(), scores.macro_mean(|score| score.state), 95.0),
    ];
    let judged = |line: Line, least: f64| {
        if is_goal { line.target(Target::AtLeast(Figure::Percent(least))) } else { line }
    };
    let mean = Line::ours(1, format!("{name}: G"), percent(scores.all.mean()))
        .beside("its worst session", percent(scores.worst(WORST_ITEMS_MIN)));
    let size = Line::ours(1, format!("{name}: size"), percent(scores.all.size.share()));
    let mut lines = vec![size, judged(mean, 90.0)];
    for (part, micro, by_session, least) in parts {
        let line = Line::ours(1, format!("{name}: {part}"), percent(micro))
            .beside("mean by session", percent(by_session));
        lines.push(judged(line, least));
    }
    lines
}

/// Measures what clients' own summaries keep, and ours of the same size.
fn clients(name: &str, half: &[&Measured]) -> Vec<Line> {
    let (mut theirs, mut ours) = (Scores::default(), Scores::default());
    for one in half {
        for (entry, text) in &one.session.summaries {
            let cut = Cut { compacted: *entry, now: *entry };
            let demand = demand(&one.session, cut);
            let case = Case { session: &one.session, counted: &one.counted, cut };
            let own = Heuristic.compact(&case, probe::tokens(text));
            theirs.add(&one.session.name, &score(&one.session, &demand, text));
            ours.add(&one.session.name, &score(&one.session, &demand, &own));
        }
    }
    if theirs.all.fact.of == 0.0 {
        return Vec::new();
    }
    let percent = |share: f64| Figure::Percent(100.0 * share);
    let part = |part: &str, of: &dyn Fn(&Score) -> f64| {
        Line::ours(1, format!("{name}, as long as a client's: {part}"), percent(of(&ours.all)))
            .beside("the client's summary", percent(of(&theirs.all)))
    };
    vec![
        part("size", &|score| score.size.share()),
        part("FACT", &|score| score.fact.share()),
        part("BIND", &|score| score.bind.share()),
        part("STATE", &|score| score.state.share()),
    ]
}

/// Counts the cuts whose summary is another one where the rest of the session is known.
fn leaks(all: &[Measured]) -> Line {
    let mut leaks = 0;
    for one in all {
        for (cut, demand) in &one.cuts {
            let known = one.session.entries.get(..cut.now).unwrap_or_default();
            let case = |counted| Case { session: &one.session, counted, cut: *cut };
            let size = demand.tokens_of_others / 10;
            let alone = count(known);
            leaks += u64::from(
                Heuristic.compact(&case(&alone), size) != Heuristic.compact(&case(&one.counted), size),
            );
        }
    }
    Line::ours(1, "cuts where the unseen rest changes the summary", Figure::count(leaks))
        .target(Target::AtMost(Figure::count(0)))
}
