//! What a memory knows, as candidates.
//!
//! Which of it fits a task is decided elsewhere.

use stemmata_model::quote::is_line_break;

use super::candidate::{Candidate, CandidateKind, Provenance, Shares, Standing};
use crate::reduce::cut::cut;
use crate::reduce::memory::v1::{By, Decision, Evidence, Kind, TaskList, TaskStatus};
use crate::reduce::memory::{ProjectMemory, Replaced};

/// Turns of a memory's window that are candidates, the newest.
pub const TURNS_MAX: usize = 12;
/// Characters of a compact form at most.
const COMPACT_CHARS_MAX: usize = 120;

/// Says where a proof was found, given whether an event is the proof.
type PlaceOf<'a> = dyn Fn(&Evidence, bool) -> Provenance + 'a;

/// Marks what says a decision that another one replaced, wherever it was said and whatever stands beside it.
pub fn mark_superseded(candidates: &mut [Candidate], memory: &ProjectMemory) {
    let replaced = Replaced::of(memory);
    for candidate in candidates.iter_mut().filter(|one| one.kind.is_said()) {
        let is_its_event = |one: &Decision| {
            let place = || Candidate::place_of(&one.proof.session, &one.proof.source);
            one.by == By::Event && candidate.from.event.is_some() && candidate.place == Some(place())
        };
        if let Some((mark, is_all)) = replaced.mark(&candidate.full, is_its_event) {
            if is_all {
                candidate.standing = Standing::Superseded;
            }
            candidate.full = marked(&candidate.full, &mark, is_all);
            candidate.compact = marked(&candidate.compact, &mark, is_all);
        }
        for beside in &mut candidate.window {
            if let Some((mark, _)) = replaced.mark(&beside.text, |_| false) {
                beside.text = format!("{mark} {}", beside.text);
            }
        }
    }
}

/// Returns a text with a mark in front: who reads on knows what it is, and what is cut off is never the mark. Where all of the text is
/// replaced, each line has it: one alone would read as if the others still held.
fn marked(text: &str, mark: &str, is_all: bool) -> String {
    let mut is_first = true;
    let line = |line: &str| {
        let has_mark = std::mem::take(&mut is_first) || is_all && !line.trim().is_empty();
        if has_mark { format!("{mark} {line}") } else { line.to_owned() }
    };
    text.split(is_line_break).map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the candidates of a memory: decisions and facts, tasks, threads, errors, files, recent turns.
pub fn known(memory: &ProjectMemory, place: &PlaceOf<'_>) -> Vec<Candidate> {
    let of = |kind, proof: &Evidence, standing, (full, is_event): (String, bool)| Candidate {
        speaker: None,
        kind,
        id: format!("{}/{}/{}", proof.session, proof.ordinal, proof.source),
        compact: cut(&full, COMPACT_CHARS_MAX),
        full,
        from: place(proof, is_event),
        rank: None,
        nearness: None,
        shares: Shares::default(),
        standing,
        is_tool_output: false,
        place: Some(Candidate::place_of(&proof.session, &proof.source)),
        window: Vec::new(),
    };
    let items = &memory.items;
    let decisions = items.decisions.iter().map(|one| {
        let kind = if one.kind == Kind::Fact { CandidateKind::Fact } else { CandidateKind::Decision };
        let (standing, mark) = match one.superseded {
            Some(_) => (Standing::Superseded, "[superseded] "),
            None => (Standing::Open, ""),
        };
        let reason = one.reason.as_ref().map_or_else(String::new, |reason| format!(" — {reason}"));
        of(kind, &one.proof, standing, (format!("{mark}{}{reason}", one.text), one.by == By::Event))
    });
    let tasks = items.tasks.iter().map(|one| {
        let (standing, mark) = match one.status {
            TaskStatus::Active => (Standing::Open, "begun"),
            TaskStatus::Open => (Standing::Open, "open"),
            TaskStatus::Done => (Standing::Settled, "done"),
        };
        of(
            CandidateKind::Task,
            &one.proof,
            standing,
            (format!("[{mark}] {}", one.text), one.list == TaskList::Event),
        )
    });
    let threads = items.threads.iter().map(|one| {
        let standing = if one.is_open() { Standing::Open } else { Standing::Settled };
        of(CandidateKind::Thread, &one.proof, standing, (one.describe(), one.by == By::Event))
    });
    let errors = items.errors.iter().map(|one| {
        let standing = if one.is_open() { Standing::Open } else { Standing::Settled };
        of(CandidateKind::Error, &one.last, standing, (one.describe(), false))
    });
    let files = items
        .files
        .iter()
        .map(|one| of(CandidateKind::File, &one.last, Standing::Open, (one.describe(), false)));
    let old = memory.window.len().saturating_sub(TURNS_MAX);
    let turns = memory.window.iter().skip(old).map(|turn| {
        let one = of(CandidateKind::Turn, &turn.proof, Standing::Open, (turn.text.clone(), false));
        Candidate { speaker: Some(turn.by.name().to_owned()), ..one }
    });
    decisions.chain(tasks).chain(threads).chain(errors).chain(files).chain(turns).collect()
}
