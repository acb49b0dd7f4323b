//! Scores: the sum of what speaks for a candidate and against it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::Timestamp;

use super::candidate::{Candidate, CandidateKind, Standing};
use super::relevance::TaskWords;
use super::weights::RetrieveWeights;

/// Words that a reason names at most.
const REASON_WORDS_MAX: usize = 8;

/// How near in meaning a candidate has to be to fit the task without a word of it.
const NEAR_MATCHES: f32 = 0.5;

/// What points are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PointsFor {
    /// Words of the task.
    Text,
    /// Search's own score.
    Rank,
    /// A meaning that is near to the task's, by vectors.
    Dense,
    /// Being recent among the candidates.
    Recency,
    /// The same thread.
    Thread,
    /// The same ticket.
    Ticket,
    /// A file that the task names.
    File,
    /// An entry next to it that was found as well.
    Near,
    /// What it is.
    Kind,
    /// What was chosen in its place: less than nothing.
    Superseded,
    /// Being what a tool said: less than nothing.
    ToolOutput,
}

impl PointsFor {
    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A part of a score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallReason {
    /// What the points are for.
    pub points_for: PointsFor,
    /// Thousandths of a point; less than 0 where it speaks against the candidate.
    pub points_permille: i64,
    /// The words or the name that it is about; may be empty.
    pub text: String,
}

/// A candidate with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// The candidate.
    pub candidate: Candidate,
    /// Thousandths of a point: the sum of the reasons.
    pub score_permille: i64,
    /// What made the score.
    pub reasons: Vec<RecallReason>,
    /// Whether something ties it to the task: a word, a thread, a ticket.
    pub is_match: bool,
}

/// Scores candidates, the best first. Equal ones in the order of their kinds, then the newer one, then by id. Where anything
/// matches the task, what does not match stays only if it is standing state: a decision, an open thread, task or error.
pub fn score(mut candidates: Vec<Candidate>, words: &TaskWords, weights: &RetrieveWeights) -> Vec<Scored> {
    rank_by_place(&mut candidates);
    let scale = Scale::of(&candidates);
    let mut scored: Vec<Scored> =
        candidates.into_iter().map(|candidate| scale.scored(candidate, words, weights)).collect();
    let has_match = scored.iter().any(|one| one.is_match);
    scored.retain(|one| one.is_match || is_standing_state(&one.candidate, has_match));
    scored.sort_by(|one, other| order(one).cmp(&order(other)));
    scored
}

/// What an entry decided, left open, failed at or touched was found where the entry was.
fn rank_by_place(candidates: &mut [Candidate]) {
    let hits = candidates.iter().filter(|one| one.kind == CandidateKind::Hit);
    let found: BTreeMap<String, f32> = hits.filter_map(|one| Some((one.place.clone()?, one.rank?))).collect();
    for one in candidates.iter_mut().filter(|one| one.rank.is_none() && !one.kind.is_said()) {
        one.rank = one.place.as_ref().and_then(|place| found.get(place).copied());
    }
}

type Order<'a> = (Reverse<i64>, CandidateKind, Reverse<Option<Timestamp>>, &'a str);

fn order(one: &Scored) -> Order<'_> {
    let Candidate { kind, from, id, .. } = &one.candidate;
    (Reverse(one.score_permille), *kind, Reverse(from.at), id)
}

/// What holds is worth knowing whatever the task. Without any match the recent turns are as well.
fn is_standing_state(candidate: &Candidate, has_match: bool) -> bool {
    let is_open = candidate.standing == Standing::Open;
    match candidate.kind {
        CandidateKind::Decision | CandidateKind::Thread | CandidateKind::Task | CandidateKind::Error => {
            is_open
        }
        CandidateKind::Fact | CandidateKind::Turn => is_open && !has_match,
        CandidateKind::File | CandidateKind::Linked | CandidateKind::Hit => false,
    }
}

/// What the candidates are compared with.
struct Scale {
    rank_max: f32,
    newest: Option<Timestamp>,
    /// The logarithm of the greatest age.
    age_max: f64,
    hits: BTreeSet<String>,
}

impl Scale {
    fn of(candidates: &[Candidate]) -> Self {
        let times = || candidates.iter().filter_map(|one| one.from.at);
        let newest = times().max();
        let age_max = times().min().map_or(0.0, |oldest| aged(newest, oldest));
        let hits = candidates
            .iter()
            .filter(|one| one.kind == CandidateKind::Hit)
            .filter_map(|one| one.place.clone());
        Self {
            rank_max: candidates.iter().filter_map(|one| one.rank).fold(0.0, f32::max),
            newest,
            age_max,
            hits: hits.collect(),
        }
    }

    fn scored(&self, candidate: Candidate, words: &TaskWords, weights: &RetrieveWeights) -> Scored {
        let covered = words.covered(&candidate.full, candidate.from.at);
        let is_match = covered.share > 0.0
            || candidate.rank.is_some()
            || candidate.nearness.is_some_and(|near| near >= NEAR_MATCHES)
            || candidate.shares.thread
            || candidate.shares.ticket;
        let mut reasons = Vec::new();
        let mut add = |points_for: PointsFor, points: f64, text: String| {
            let points_permille = permille(points);
            if points_permille != 0 {
                reasons.push(RecallReason { points_for, points_permille, text });
            }
        };
        let mut named = covered.typed;
        named.truncate(REASON_WORDS_MAX);
        add(PointsFor::Text, weights.text * covered.share, named.join(", "));
        if let Some(rank) = candidate.rank.filter(|_| self.rank_max > 0.0) {
            add(PointsFor::Rank, weights.rank * f64::from(rank / self.rank_max), String::new());
        }
        let near = candidate.nearness.map_or(0.0, f64::from);
        add(PointsFor::Dense, weights.dense * near, String::new());
        if let Some(at) = candidate.from.at {
            let age = if self.age_max > 0.0 { aged(self.newest, at) / self.age_max } else { 0.0 };
            add(PointsFor::Recency, weights.recency * (1.0 - age), String::new());
        }
        let given = |is_so: bool, points: f64| if is_so { points } else { 0.0 };
        add(PointsFor::Thread, given(candidate.shares.thread, weights.thread), String::new());
        add(PointsFor::Ticket, given(candidate.shares.ticket, weights.ticket), String::new());
        add(PointsFor::File, given(covered.file.is_some(), weights.file), covered.file.unwrap_or_default());
        let is_near = candidate.window.iter().any(|beside| self.hits.contains(&beside.place));
        add(PointsFor::Near, given(is_near, weights.near), String::new());
        let kind = weights.kind(candidate.kind, candidate.standing);
        add(PointsFor::Kind, kind, candidate.kind.as_str().to_owned());
        let is_superseded = candidate.standing == Standing::Superseded;
        add(PointsFor::Superseded, given(is_superseded, weights.superseded), String::new());
        add(PointsFor::ToolOutput, given(candidate.is_tool_output, weights.tool_output), String::new());
        let score_permille = reasons.iter().map(|reason| reason.points_permille).sum();
        Scored { candidate, score_permille, reasons, is_match }
    }
}

/// Returns the logarithm of an age in hours: an hour matters today, and not in a year.
fn aged(newest: Option<Timestamp>, at: Timestamp) -> f64 {
    const HOUR_MICROS: f64 = 3_600_000_000.0;
    let micros = newest.map_or(0, |newest| newest.as_micros().saturating_sub(at.as_micros())).max(0);
    #[expect(clippy::cast_precision_loss, reason = "an age; 52 bits are more than it means")]
    let micros = micros as f64;
    (micros / HOUR_MICROS).ln_1p()
}

/// Returns points as thousandths: whole numbers add up the same in any order.
fn permille(points: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "weights are far below what saturates")]
    let points = (points * 1_000.0).round() as i64;
    points
}
