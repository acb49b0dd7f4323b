//! A summary of the beginning of a context: which entries it is made of, and its wire form.

use stemmata_api::v1::{Note, SummarizeRequest, Summarized, SummarySection};
use stemmata_engine::{Candidate, Engine, EngineError, NumberedEntries, Stop, Wanted, pinned_before};
use stemmata_model::{Entry, Estimate, NoteCode, TokenCounter as _, Tokens};
use stemmata_prompt::compact::summary::{Limits, Section, Size, Summary, Window, compose, count, pins};

use super::{bad_request, ctx, stop};
use crate::fault::Fault;

/// A summary is never longer than what it is made of.
const RATIO_PERMILLE_MAX: u32 = 1_000;

pub(super) fn summarize(engine: &Engine, request: &SummarizeRequest) -> Result<Summarized, Fault> {
    let size = size_of(request.ratio_permille)?;
    let id = ctx(engine, &request.ctx)?;
    let stop = stop(engine, &request.stop)?;
    let NumberedEntries { entries, numbers } = engine.numbered_entries(id, stop)?;
    let place = |wanted: &Option<String>| {
        wanted.as_deref().map(|text| position(&entries, &numbers, text)).transpose()
    };
    let at = place(&request.at)?.unwrap_or(entries.len());
    let recent_from = place(&request.recent_from)?.unwrap_or(at);
    if recent_from > at {
        return Err(bad_request(
            "recent_from",
            "this entry comes after the one that the context ends before",
        ));
    }
    // What stands after `at` is not known: nothing of it may change the summary.
    let known = entries.get(..at).unwrap_or_default();
    let limits = Limits { size, excludes_user: request.exclude_user, ..Limits::default() };
    let pins = pins(known, pinned_before(known, known, recent_from).into_iter());
    let window = Window { entries: &count(known), recent_from, pins: &pins, numbers: &numbers, commit: None };
    let made = compose(&window, &limits);
    let no_room =
        (made.text.is_empty() && recent_from > 0).then(|| no_room(&window, &limits, request.ratio_permille));
    let nothing = (recent_from == 0).then(|| "no summary: there is no entry to summarize".to_owned());
    let notes = nothing.into_iter().chain(no_room).chain(pins_left_out(&made));
    let notes = notes.map(|message| Note::new(NoteCode::Degraded, message));
    let Tokens(token_count) = Estimate.count(&made.text);
    // Of a whole context it is the number that every other answer gives.
    let is_whole = recent_from == entries.len() && !request.exclude_user;
    let tokens_before = match stop {
        Stop::Root if is_whole => engine.chain_tokens(id)?,
        _ if is_whole => engine.context_tokens(id, stop)?,
        _ => made.compacted_tokens.0,
    };
    let sections = Section::ALL.into_iter().map(|section| SummarySection {
        name: section.as_str().to_owned(),
        reason: section.reason().to_owned(),
        kept: made.kept.iter().filter(|kept| kept.section == section).count() as u64,
        dropped: made
            .dropped
            .iter()
            .filter(|(of, _)| *of == section)
            .map(|(_, count)| u64::from(*count))
            .sum(),
    });
    Ok(Summarized {
        ctx: id,
        entries: recent_from as u64,
        recent_entries: (at - recent_from) as u64,
        tokens_before,
        tokens_max: made.chars_max / 4,
        token_count,
        sections: sections.filter(|section| section.kept + section.dropped > 0).collect(),
        text: made.text,
        notes: notes.collect(),
    })
}

/// Says that a summary of the asked size has no room for its heading, and which size has.
fn no_room(window: &Window<'_>, limits: &Limits, asked: Option<u32>) -> String {
    let has_room =
        |share: u32| !compose(window, &Limits { size: Size::Share(share), ..limits.clone() }).text.is_empty();
    if !has_room(RATIO_PERMILLE_MAX) {
        return "no summary: the entries take fewer tokens than its heading would".to_owned();
    }
    // The smallest share that has room, by halves: a larger one has room, too.
    let (mut below, mut enough) = (asked.unwrap_or(0), RATIO_PERMILLE_MAX);
    while enough - below > 1 {
        let middle = below.midpoint(enough);
        if has_room(middle) { enough = middle } else { below = middle }
    }
    let ratio = |permille: u32| f64::from(permille) / 1_000.0;
    let asked = asked.map_or_else(
        || "the default size".to_owned(),
        |asked| format!("{} of the conversation", ratio(asked)),
    );
    format!(
        "no summary: {asked} has no room for its heading; {} of it is the smallest size that has",
        ratio(enough)
    )
}

/// Says that not all that is pinned fits the summary.
fn pins_left_out(made: &Summary) -> Option<String> {
    let (_, count) = made.dropped.iter().find(|(section, _)| *section == Section::Pins)?;
    let entries =
        if *count == 1 { "an entry that is".to_owned() } else { format!("{count} entries that are") };
    Some(format!(
        "what is pinned takes more than the summary may have: it lacks the text of {entries} pinned; ask for a \
         larger share (`--ratio`)"
    ))
}

/// Reads the size of a summary.
pub(super) fn size_of(ratio_permille: Option<u32>) -> Result<Size, Fault> {
    match ratio_permille {
        None => Ok(Size::DEFAULT),
        Some(share) if (1..=RATIO_PERMILLE_MAX).contains(&share) => Ok(Size::Share(share)),
        Some(share) => {
            let reason = format!("{share} is not between 1 and {RATIO_PERMILLE_MAX}");
            Err(bad_request("ratio_permille", reason))
        }
    }
}

/// Finds the entry of a full id. An id that stands twice names no place.
fn position(entries: &[Entry], numbers: &[u64], text: &str) -> Result<usize, Fault> {
    let found: Vec<usize> = (0..entries.len())
        .filter(|at| entries.get(*at).is_some_and(|entry| entry.id.as_str() == text))
        .collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(EngineError::NotFound { what: Wanted::Entry, text: text.to_owned() }.into()),
        several => {
            let candidates = several.iter().map(|at| Candidate {
                id: format!("@{}", numbers.get(*at).copied().unwrap_or_default()),
                summary: "an entry with this id".to_owned(),
            });
            Err(EngineError::Ambiguous { text: text.to_owned(), candidates: candidates.collect() }.into())
        }
    }
}
