//! A compaction that is asked for: who writes the summary, of which entries, and what came of it.

use stemmata_api::v1::{
    CompactRequest, Compacted, Diff, LastCompactionRequest, LostCounts, Note, SUMMARY_BYTES_MAX, SummaryWith,
    Uncompacted,
};
use stemmata_api::{Code, Problem};
use stemmata_engine::{
    self as engine, CompactOf, CompactWanted, CompactWith, Engine, LiveWindow, NewestCompaction, Summarizer,
    WindowRules,
};
use stemmata_model::{CommitId, NoteCode, SessionId, Tokens};
use stemmata_prompt::window::KeepRecent;

use crate::fault::Fault;
use crate::local::counters::counter_or_estimate;
use crate::local::summarize::size_of;
use crate::local::{bad_request, ctx};

/// Bytes of a focus: it is a hint, and no conversation.
const FOCUS_BYTES_MAX: usize = 4_096;

/// Makes the client of a model, for the rules of a commit.
type Model<'a> = dyn Fn(CommitId) -> Result<Box<dyn Summarizer>, Fault> + 'a;

pub(super) fn compact(
    engine: &Engine,
    request: &CompactRequest,
    (model, rules): (&Model<'_>, &WindowRules),
) -> Result<Compacted, Fault> {
    checked(request)?;
    let tip = ctx(engine, &request.ctx)?;
    let session = session(request.session.as_deref())?;
    session.iter().try_for_each(|session| engine.check_session(tip, session))?;
    let again = request.again.then(|| engine.newest_compaction(tip, session.as_ref())).transpose()?;
    let of = again.map_or(tip, |last| last.before);
    let later =
        again.filter(|_| session.is_some()).map(|last| later(engine, last.before, tip)).transpose()?;
    let later = later.flatten();
    let model = match (&request.summary, request.with) {
        (None, Some(SummaryWith::Llm)) => Some(model(of)?),
        _ => None,
    };
    let with = match (&request.summary, request.with, &model) {
        (Some(summary), ..) => CompactWith::Given(summary),
        (None, Some(SummaryWith::Off), _) => CompactWith::Off,
        (None, _, Some(model)) => CompactWith::By(model.as_ref()),
        (None, _, None) => CompactWith::Heuristic,
    };
    let window = rules.tokens.map(Tokens);
    let keep = request
        .keep_tokens
        .map_or_else(|| rules.compact.keep_recent(window), |tokens| KeepRecent::Tokens(Tokens(tokens)));
    let wanted = CompactWanted {
        range: request.range.as_ref().map(|range| (range.from.as_str(), range.to.as_str())),
        keep,
        like: again.filter(|_| request.keep_tokens.is_none()).map(|last| last.id),
        size: request.ratio_permille.map(|share| size_of(Some(share))).transpose()?,
        window,
        session: session.as_ref(),
        tool_call_cutoff: rules.compact.visible_results(),
        focus: request.focus.as_deref(),
        ..CompactWanted::new(with)
    };
    if request.dry_run {
        let (made, diff) = engine.compact_dry(of, &wanted)?;
        return Ok(Compacted { id: None, ..answer(&made, &diff, (counted(engine, &made), later)) });
    }
    // A better summary of what was compacted once is a branch, whoever keeps the session.
    let place = if request.again { CompactOf::Branch(of) } else { CompactOf::Commit(of) };
    let made = engine.compact(&place, &wanted)?;
    Ok(answer(&made, &engine.diff(made.id)?, (counted(engine, &made), later)))
}

/// Compares the context after the last compaction with the one before it.
pub(super) fn diff(engine: &Engine, request: &LastCompactionRequest) -> Result<Diff, Fault> {
    let last = last(engine, request)?;
    let diff = engine.diff_of((last.id, last.before))?;
    Ok(Diff { notes: beside(&last).into_iter().collect(), ..diff })
}

/// Returns the commit before the last compaction.
pub(super) fn before(engine: &Engine, request: &LastCompactionRequest) -> Result<Uncompacted, Fault> {
    let last = last(engine, request)?;
    let later = match &request.session {
        Some(_) => later(engine, last.before, ctx(engine, &request.ctx)?)?,
        None => None,
    };
    Ok(Uncompacted {
        id: last.before,
        context: None,
        compaction: last.id.to_string(),
        notes: beside(&last).into_iter().chain(later).collect(),
    })
}

/// Says how many turns of a session that ends at `tip` the context of an earlier commit does not have.
fn later(engine: &Engine, before: CommitId, tip: CommitId) -> Result<Option<Note>, Fault> {
    let message = match engine.prompts_since(before, tip)? {
        0 => return Ok(None),
        1 => "1 turn of the session came later and is not in this context".to_owned(),
        count => format!("{count} turns of the session came later and are not in this context"),
    };
    Ok(Some(degraded(message)))
}

fn last(engine: &Engine, request: &LastCompactionRequest) -> Result<NewestCompaction, Fault> {
    let session = session(request.session.as_deref())?;
    Ok(engine.newest_compaction(ctx(engine, &request.ctx)?, session.as_ref())?)
}

fn session(name: Option<&str>) -> Result<Option<SessionId>, Fault> {
    name.map(|name| SessionId::new(name).map_err(|error| bad_request("session", error))).transpose()
}

/// Says which compaction was taken, where it is not one of the session's own chain.
fn beside(last: &NewestCompaction) -> Option<Note> {
    let message = format!("the compaction is {}, which was made on a branch beside the session", last.id);
    last.is_beside.then(|| degraded(message))
}

fn degraded(message: String) -> Note {
    Note::new(NoteCode::Degraded, message)
}

fn checked(request: &CompactRequest) -> Result<(), Fault> {
    if request.summary.as_ref().is_some_and(|summary| summary.len() as u64 > SUMMARY_BYTES_MAX) {
        let detail = format!("the summary has more than {SUMMARY_BYTES_MAX} bytes");
        return Err(Problem::new(Code::SummaryTooLong, detail).into());
    }
    if request.focus.as_ref().is_some_and(|focus| focus.len() > FOCUS_BYTES_MAX) {
        return Err(bad_request("focus", format!("it has more than {FOCUS_BYTES_MAX} bytes")));
    }
    if request.summary.is_some()
        && (request.with.is_some() || request.focus.is_some() || request.ratio_permille.is_some())
    {
        return Err(bad_request(
            "summary",
            "a summary that is given is not made `with` something, of a size or with a focus",
        ));
    }
    Ok(())
}

/// Returns what the window takes before and after, as `guard` counts its entries: two commands say one number. The compaction is made
/// by now: a window that `guard` cannot judge has the estimate, and no error.
fn counted(engine: &Engine, made: &engine::Compacted) -> (Tokens, Tokens) {
    let count = || -> Result<(Tokens, Tokens), Fault> {
        let live = engine.live_window(made.parent)?;
        let (counter, _) = counter_or_estimate(engine, None, live.model.as_deref())?;
        Ok((live.entry_tokens(&counter), LiveWindow::entry_tokens_of(&made.format, &made.after, &counter)?))
    };
    count().unwrap_or((Tokens(made.tokens_before), Tokens(made.tokens_after)))
}

fn answer(
    made: &engine::Compacted,
    diff: &Diff,
    ((before, after), later): ((Tokens, Tokens), Option<Note>),
) -> Compacted {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Compacted {
        id: Some(made.id),
        parent: made.parent,
        format: made.format.clone(),
        tokens_before: before.0,
        tokens_after: after.0,
        bytes: made.bytes.0,
        with: made.with.to_owned(),
        moved: made.moved.clone(),
        kept_entries: made.kept_entries,
        lost: LostCounts {
            entries: count(diff.lost_entries.len()),
            files: count(diff.lost_files.len()),
            commands: count(diff.lost_commands.len()),
            decisions: count(diff.lost_decisions.len()),
        },
        notes: made.notes.iter().cloned().chain(later).collect(),
    }
}
