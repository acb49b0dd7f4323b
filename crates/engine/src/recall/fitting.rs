//! What fits what a prompt is about, without what the prompt has anyway and what its agent does not see any more.
//!
//! It is gathered once; the prompt may be tried in several forms, which have other things already.

use std::collections::HashSet;

use stemmata_model::{EntryId, Estimate, EventSeq, SessionId, Timestamp, Tokens};
use stemmata_prompt::retrieve::{Candidate, CandidateKind, Scored, choose, said};
use stemmata_prompt::select::{Hit, LeftOut};

/// Candidates that were left out and are in the trace, the best.
const LEFT_OUT_MAX: usize = 16;

/// What fits, the best first.
#[derive(Debug, Default)]
pub(crate) struct Fitting {
    /// What it fits.
    pub(super) task: String,
    pub(super) scored: Vec<Scored>,
}

/// What a prompt has already, and what it must not have.
pub(crate) struct Seen<'a> {
    /// The session of the turn.
    pub(crate) session: Option<&'a SessionId>,
    /// Its entries that were pruned or archived.
    pub(crate) hidden: &'a HashSet<EntryId>,
    /// Entries that its turns say.
    pub(crate) entries: HashSet<&'a str>,
    /// Events that its turns say.
    pub(crate) events: HashSet<(EventSeq, Timestamp)>,
    /// What its state says.
    pub(crate) state: &'a str,
}

impl Fitting {
    /// Returns hits, the best first, and behind them the best of what was left out.
    pub(crate) fn hits(&self, seen: &Seen<'_>, limit: usize) -> Vec<Hit> {
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        let known = self.events_in_state(seen);
        for one in &self.scored {
            let place = one.candidate.place.as_deref().filter(|_| one.candidate.from.event.is_some());
            let is_known = place.is_some_and(|place| known.contains(place));
            let why_not = seen.why_not(&one.candidate).or(is_known.then_some(LeftOut::InState));
            match why_not {
                Some(why) => left_out.push(hit(one, one.candidate.compact.clone(), Some(why))),
                None => kept.push(seen.without_known_window(one.clone())),
            }
        }
        // How many tokens they may have is the assembler's to say.
        let pack = choose(kept, &self.task, Tokens(u64::MAX), &Estimate);
        let chosen = pack.items.iter().map(|one| (one, said(&one.scored.candidate, one.form)));
        let (mut given, mut late) = (Vec::new(), Vec::new());
        for (place, (one, text)) in chosen.enumerate() {
            if place < limit {
                given.push(hit(&one.scored, text, None));
            } else {
                late.push(hit(&one.scored, one.scored.candidate.compact.clone(), Some(LeftOut::Limit)));
            }
        }
        left_out.extend(late);
        left_out.sort_by_key(|hit| std::cmp::Reverse(hit.score_permille));
        left_out.truncate(LEFT_OUT_MAX);
        given.extend(left_out);
        given
    }

    /// Returns the places of events of which the state says all that they say: what a decision or a task was recorded with.
    fn events_in_state(&self, seen: &Seen<'_>) -> HashSet<&str> {
        let candidates = self.scored.iter().map(|one| &one.candidate);
        let said = candidates.filter(|one| {
            let is_of_state = one.kind != CandidateKind::Hit && one.from.event.is_some();
            is_of_state && seen.why_not(one) == Some(LeftOut::InState)
        });
        said.filter_map(|one| one.place.as_deref()).collect()
    }
}

impl Seen<'_> {
    fn why_not(&self, candidate: &Candidate) -> Option<LeftOut> {
        match candidate.kind {
            CandidateKind::Hit => self.why_not_place(candidate),
            CandidateKind::Linked | CandidateKind::Turn => None,
            _ => {
                let text = core_of(&candidate.full);
                (!text.is_empty() && self.state.contains(text)).then_some(LeftOut::InState)
            }
        }
    }

    fn why_not_place(&self, candidate: &Candidate) -> Option<LeftOut> {
        let from = &candidate.from;
        let entry = from.entry.as_deref();
        if entry.is_some_and(|entry| self.is_hidden(candidate, entry)) {
            return Some(LeftOut::Hidden);
        }
        let is_event = from.event.zip(from.at).is_some_and(|event| self.events.contains(&event));
        let is_entry = entry.is_some_and(|entry| self.entries.contains(entry));
        (is_event || is_entry).then_some(LeftOut::InTurns)
    }

    /// Says whether the agent does not see an entry of a candidate's session any more.
    fn is_hidden(&self, candidate: &Candidate, entry: &str) -> bool {
        let is_own = self.session.is_some_and(|session| session.as_str() == candidate.from.session);
        is_own && EntryId::new(entry).is_ok_and(|entry| self.hidden.contains(&entry))
    }

    /// Takes out of what stands beside a candidate what the turns say, and what the agent does not see any more.
    fn without_known_window(&self, mut one: Scored) -> Scored {
        let mut window = std::mem::take(&mut one.candidate.window);
        window.retain(|beside| {
            let entry = one.candidate.entry_beside(beside);
            entry.is_none_or(|entry| !self.is_hidden(&one.candidate, entry) && !self.entries.contains(entry))
        });
        one.candidate.window = window;
        one
    }
}

/// Returns what a memory's candidate says, without the marks of its standing, which a state writes in another way.
fn core_of(text: &str) -> &str {
    let marks = ["[open] ", "[begun] ", "[done] ", "[superseded] "];
    marks.iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text).trim()
}

fn hit(scored: &Scored, text: String, left_out: Option<LeftOut>) -> Hit {
    let Scored { candidate, reasons, score_permille, .. } = scored;
    let from = &candidate.from;
    let id = match (&from.ctx, &from.entry, from.event) {
        (_, _, Some(event)) => event.to_string(),
        (Some(ctx), Some(entry), None) => format!("{ctx} {entry}"),
        (Some(ctx), None, None) => ctx.to_string(),
        (None, ..) => candidate.id.clone(),
    };
    let kind = candidate.kind.as_str();
    let origin = match from.client.as_str() {
        "" => format!("{kind}, session {}", from.session),
        client => format!("{kind}, {client}, session {}", from.session),
    };
    let reasons = reasons.iter().map(|reason| {
        let points = reason.points_permille;
        let about = if reason.text.is_empty() { String::new() } else { format!(" ({})", reason.text) };
        format!("{} {}.{:03}{about}", reason.points_for.as_str(), points / 1_000, points.abs() % 1_000)
    });
    Hit {
        id,
        at: from.at,
        origin,
        text,
        score_permille: u64::try_from(*score_permille).unwrap_or(0),
        reasons: reasons.collect(),
        left_out,
    }
}
