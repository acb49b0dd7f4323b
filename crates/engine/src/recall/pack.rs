//! From candidates to what callers get: a pack with its items, or hits for a prompt's source.

use std::time::Duration;

use stemmata_api::v1::{RecallReason, RecallSkipped, RecalledItem};
use stemmata_model::{EventSeq, Links, Note, NoteCode, SessionId};
use stemmata_prompt::retrieve::{
    CandidateKind, Chosen, Pack, Provenance, RecallReason as Reason, RetrieveWeights, choose, score,
};
use stemmata_prompt::select::RetrieveQuery;
use stemmata_store::Ledger;

use super::fitting::Fitting;
use super::gather::{Gathering, Span};
use super::{RECALL_TOKENS_MIN, RecallNote, RecallWanted, Recalled};
use crate::engine::Engine;
use crate::error::{EngineError, Result, Wanted};
use crate::ledger::Line;
use crate::search::{SearchError, SearchNote, SettleBudget};

/// How long the index may take in what is new before a prompt is made. Whatever it leaves is scanned for each prompt, so a loop
/// that never searches would pay for an import again and again with less.
const SETTLE_FOR_PROMPT: Duration = Duration::from_millis(250);

/// For what a prompt's source retrieves.
#[derive(Clone, Copy)]
pub(crate) struct RetrieveOf<'a> {
    /// The ledger.
    pub(crate) ledger: &'a Ledger,
    /// The session of the turn.
    pub(crate) session: Option<&'a SessionId>,
    /// Its thread and its ticket.
    pub(crate) links: &'a Links,
    /// What the session goes on from, where it goes on from a context: nothing of another branch is retrieved then.
    pub(crate) line: Option<Line<'a>>,
    /// The event that began the turn, which the prompt has anyway, and its session.
    pub(crate) trigger: Option<&'a (EventSeq, SessionId)>,
    /// Whether the prompt is of a place in the past: of sessions that were captured only what was said by then counts.
    pub(crate) is_past: bool,
}

impl Engine {
    /// Returns what of earlier work fits a task, within a budget. Changes nothing but what folds save. The same question to the
    /// same store has the same answer.
    ///
    /// # Errors
    /// `Search` for a text that is empty or too long and for a budget below [`RECALL_TOKENS_MIN`], `NotFound` for a ledger
    /// that is not there; store errors.
    pub fn recall(&self, wanted: &RecallWanted<'_>) -> Result<Recalled> {
        if wanted.max_tokens < RECALL_TOKENS_MIN {
            let reason = format!("{} is too few, at least {RECALL_TOKENS_MIN}", wanted.max_tokens);
            return Err(SearchError::Filter { field: "max_tokens", reason }.into());
        }
        let missing = |id: &stemmata_model::LedgerId| EngineError::NotFound {
            what: Wanted::Ledger,
            text: id.to_string(),
        };
        let ledger = match wanted.ledger {
            Some(id) => Some(self.log.ledger(id)?.ok_or_else(|| missing(id))?),
            None => None,
        };
        let gathered = self.gather(&Gathering {
            text: wanted.text,
            ledger: ledger.as_ref(),
            thread: wanted.thread,
            ticket: wanted.ticket,
            session: wanted.session,
            foreign: wanted.foreign,
            budget: wanted.budget,
            span: Span::default(),
            line: None,
            trigger: None,
        })?;
        let mut candidates = gathered.candidates;
        let lack = self.weigh_meaning(ledger.as_ref(), wanted.text, &mut candidates)?;
        let scored = score(candidates, &gathered.words, &RetrieveWeights::CHOSEN);
        let has_match = scored.iter().any(|one| one.is_match);
        let Pack { text, tokens, items, skipped, needs } =
            choose(scored, wanted.text, wanted.max_tokens, wanted.counter);
        let mut notes = gathered.notes;
        notes.extend(lack);
        notes.extend((!has_match).then_some(RecallNote::NoMatch));
        notes.extend(needs.map(|needs| RecallNote::NothingFits { needs }));
        Ok(Recalled {
            text,
            tokens,
            items: items.into_iter().map(recalled).collect(),
            skipped: RecallSkipped {
                budget: skipped.budget,
                duplicate: skipped.duplicate,
                foreign: gathered.foreign,
            },
            notes,
        })
    }

    /// Gathers what fits what a prompt is about, and what the user should know of how it was found. Passages and what is known
    /// alike: decisions, tasks, threads, errors and files that have a word of it.
    pub(crate) fn fitting(
        &self,
        of: &RetrieveOf<'_>,
        query: &RetrieveQuery<'_>,
    ) -> Result<(Fitting, Vec<Note>)> {
        if query.task.trim().is_empty() || query.limit == 0 {
            return Ok((Fitting::default(), Vec::new()));
        }
        let longest = stemmata_prompt::search::QUERY_BYTES_MAX;
        let end = (0..=query.task.len().min(longest)).rev().find(|at| query.task.is_char_boundary(*at));
        let text = query.task.get(..end.unwrap_or(0)).unwrap_or_default();
        let gathered = self.gather(&Gathering {
            text,
            ledger: Some(of.ledger),
            thread: of.links.thread.as_ref(),
            ticket: of.links.ticket.as_ref(),
            session: of.session,
            foreign: false,
            budget: SettleBudget::Within(SETTLE_FOR_PROMPT),
            span: self.span(of, query.after, query.through)?,
            line: of.line,
            trigger: of.trigger,
        })?;
        let mut scored = score(gathered.candidates, &gathered.words, &RetrieveWeights::CHOSEN);
        scored.retain(|one| one.is_match && one.candidate.kind != CandidateKind::Turn);
        let notes = gathered.notes.into_iter().filter_map(note).collect();
        Ok((Fitting { task: text.to_owned(), scored }, notes))
    }
}

/// Returns what a prompt says of a search that lacks something. That nothing matches, or that a name was mended, is no lack.
fn note(note: RecallNote) -> Option<Note> {
    let lack = match note {
        RecallNote::Memory(note) => return Some(note),
        RecallNote::NoMatch | RecallNote::NothingFits { .. } => return None,
        RecallNote::Search(note) => match note {
            SearchNote::NotIndexed => "there is no index".to_owned(),
            SearchNote::Index(trouble) => format!("the index has trouble ({trouble:?})"),
            SearchNote::Behind { .. } | SearchNote::EventsBehind => {
                "the index does not have all of the newest work yet".to_owned()
            }
            SearchNote::Damaged { commits } => {
                format!("content of {} is damaged", stemmata_model::plural(commits, "commit"))
            }
            SearchNote::CheckedCut { .. } | SearchNote::ScanCut { .. } => {
                "not every match was examined".to_owned()
            }
            // A prompt may be as long as it likes: its first words are looked for.
            SearchNote::QueryCut
            | SearchNote::SearchedText
            | SearchNote::NothingImported
            | SearchNote::Mended { .. }
            | SearchNote::NoSuchSession { .. }
            | SearchNote::OpenTurn { .. }
            | SearchNote::Excluded { .. }
            | SearchNote::QuoteOpen => {
                return None;
            }
        },
    };
    Some(Note::new(
        NoteCode::Degraded,
        format!("what was retrieved is not complete: {lack}; `stemma search` with any word indexes the rest"),
    ))
}

fn recalled(chosen: Chosen) -> RecalledItem {
    let Chosen { scored, text, tokens, form } = chosen;
    let Provenance { ctx, entry, event, ledger, session, client, at, foreign_machine, .. } =
        scored.candidate.from;
    let known = |text: String| (!text.is_empty()).then_some(text);
    let reason = |reason: Reason| RecallReason {
        name: reason.points_for.as_str().to_owned(),
        points: points(reason.points_permille),
        text: known(reason.text),
    };
    RecalledItem {
        kind: scored.candidate.kind.as_str().to_owned(),
        ctx,
        entry,
        event,
        ledger,
        session: known(session),
        client: known(client),
        timestamp: at,
        tokens: tokens.0,
        score: points(scored.score_permille),
        reasons: scored.reasons.into_iter().map(reason).collect(),
        text,
        form: form.as_str().to_owned(),
        foreign_machine,
    }
}

/// Thousandths are whole numbers, so that the sum of the reasons is the score; JSON has points.
#[expect(clippy::cast_precision_loss, reason = "points are far below 2^53 thousandths")]
fn points(permille: i64) -> f64 {
    permille as f64 / 1_000.0
}
