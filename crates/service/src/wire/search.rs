//! Searches and what they find as wire types.

use std::time::Duration;

use stemmata_api::{Code, Problem, v1};
use stemmata_engine::{
    HitPlace, IndexTrouble, SearchAnswer, SearchFilter, SearchHit, SearchNote, SearchQuery, SearchReason,
    SettleBudget,
};

use crate::wire;

/// Returns what a request asks for.
pub(crate) fn query(request: &v1::SearchRequest, hits_max: u64) -> SearchQuery {
    let v1::SearchFilter {
        client,
        role,
        project: _,
        branch,
        file,
        kind,
        since,
        until,
        session,
        no_tool_output,
    } = request.filter.clone();
    SearchQuery {
        text: request.text.clone(),
        form: request.form,
        filter: SearchFilter {
            client,
            role,
            projects: None,
            branch,
            file,
            kinds: kind,
            since,
            until,
            session,
            no_tool_output,
        },
        is_unfinished: request.is_unfinished,
        is_spread: true,
        hits_max: usize::try_from(hits_max).unwrap_or(usize::MAX),
        budget: request
            .settle_ms
            .map_or(SettleBudget::All, |ms| SettleBudget::Within(Duration::from_millis(ms))),
    }
}

/// Returns the wire form of what was found.
pub(crate) fn hits(found: &SearchAnswer) -> v1::SearchHits {
    v1::SearchHits {
        hits: found.hits.iter().map(hit).collect(),
        entries: found.entries,
        notes: found.notes.iter().map(note).collect(),
    }
}

fn hit(hit: &SearchHit) -> v1::SearchHit {
    let HitPlace { session, path, client, title, cwd, project, branch, foreign_machine } = hit.place.clone();
    v1::SearchHit {
        ctx: hit.ctx,
        ledger: hit.ledger.clone(),
        session_id: session,
        entry: hit.entry.clone(),
        short_entry: hit.short_entry.clone(),
        author: hit.author.clone(),
        timestamp: hit.timestamp,
        role: hit.role,
        kind: hit.kind.clone(),
        client,
        score: rounded(hit.score),
        reasons: hit.reasons.iter().map(reason).collect(),
        snippet: hit.snippet.clone(),
        matches: hit
            .matches
            .iter()
            .map(|span| v1::SearchSpan { start: span.start as u64, end: span.end as u64 })
            .collect(),
        path,
        also_in: hit.also_in.clone(),
        alike: (hit.alike > 0).then_some(hit.alike),
        matched: if hit.is_nearby() { "nearby" } else { "itself" }.to_owned(),
        title: wire::session::title(title.as_deref()),
        cwd,
        project,
        branch,
        foreign_machine,
    }
}

fn reason(reason: &SearchReason) -> v1::SearchReason {
    v1::SearchReason {
        name: reason.name.to_owned(),
        value: rounded(reason.value),
        text: (!reason.text.is_empty()).then(|| reason.text.clone()),
    }
}

/// Four digits are enough to compare by, and the same on every machine.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 10_000.0).round() / 10_000.0
}

/// Returns the note of trouble with the index.
pub(crate) fn trouble(trouble: &IndexTrouble) -> v1::Note {
    note(&SearchNote::Index(trouble.clone()))
}

/// Returns the problem of an index that could not be made.
pub(crate) fn not_built(trouble: &IndexTrouble) -> Problem {
    let code = match trouble {
        IndexTrouble::Busy => Code::StoreLocked,
        IndexTrouble::Full => Code::DiskFull,
        IndexTrouble::ReadOnly => Code::StoreReadOnly,
        IndexTrouble::Newer => Code::StoreTooNew,
        IndexTrouble::Damaged { .. } | IndexTrouble::Failed { .. } => Code::DatabaseFailed,
    };
    let problem = Problem::new(code, format!("the search index was not made: {}", of_trouble(trouble).1));
    match trouble {
        IndexTrouble::Damaged { .. } | IndexTrouble::Failed { .. } => {
            // It is the index that failed, not the store.
            let hint = "move the folder `index` of the data directory away; the next search makes it again";
            Problem { hint: Some(hint.to_owned()), ..problem }
        }
        _ => problem,
    }
}

fn of_trouble(trouble: &IndexTrouble) -> (&'static str, String) {
    match trouble {
        IndexTrouble::Busy => ("index_busy", "another process is bringing the index up to date".to_owned()),
        IndexTrouble::Damaged { reason } => {
            ("index_damaged", format!("{reason}; it was set aside, and is made again from the store"))
        }
        IndexTrouble::Newer => (
            "index_newer",
            "a newer version of this program made the index, which this one leaves alone; the newest entries were \
             searched one by one"
                .to_owned(),
        ),
        IndexTrouble::ReadOnly => ("index_read_only", "the index cannot be written".to_owned()),
        IndexTrouble::Full => (
            "index_full",
            "there is no space left for the index; free some, then search again: the newest entries were searched one by one"
                .to_owned(),
        ),
        IndexTrouble::Failed { reason } => ("index_failed", reason.clone()),
    }
}

/// Returns the note of an answer that has as many hits as any answer may have.
pub(crate) fn cut(hits_max: u64) -> v1::Note {
    v1::Note::new(
        "hits_cut",
        format!("only the first {hits_max} hits are listed, and there may be more; a filter lists fewer"),
    )
}

/// What the note of a quote without its counterpart says.
const QUOTE_OPEN: &str = "a quote has no counterpart, so the words after it were searched for one by one; close it to search for the \
    phrase";

/// Says that a turn has begun with what was looked for, and when search finds it.
fn open_turn(session: &str) -> String {
    format!(
        "session `{session}` says it in a turn that is still open: search finds it once `stemma turn step` or `end` has stored the turn"
    )
}

/// Says which filters exclude what the words would find.
fn excluded(by: &[String]) -> String {
    if by.is_empty() {
        return "without these filters there are hits, but not without one of them alone".to_owned();
    }
    format!("without `{}` there are hits", by.join("`, or without `"))
}

/// Returns the wire form of what a search lacks.
pub(crate) fn note(note: &SearchNote) -> v1::Note {
    let (code, message) = match note {
        SearchNote::NotIndexed => {
            ("index_missing", "there is no index; the newest entries were searched one by one".to_owned())
        }
        SearchNote::Index(trouble) => of_trouble(trouble),
        SearchNote::Behind { commits: 0 } => (
            "index_behind",
            "the index does not have the newest turns yet; these were searched one by one".to_owned(),
        ),
        SearchNote::Behind { commits } => (
            "index_behind",
            format!(
                "the index is behind: {} (counted up to 10,000) not searched; the next search continues it",
                stemmata_model::plural(*commits, "commit")
            ),
        ),
        SearchNote::EventsBehind => (
            "index_behind",
            "the index does not have the newest events of ledgers yet; these were not searched".to_owned(),
        ),
        SearchNote::Mended { asked, meant } => (
            "did_you_mean",
            format!("nothing names `{asked}`; names like it were looked for: {}", meant.join(", ")),
        ),
        SearchNote::ScanCut { bytes_max } => (
            "scan_cut",
            format!(
                "only the newest {} were looked through; a filter such as `--project` or `--session` looks further back",
                crate::size::bytes(*bytes_max)
            ),
        ),
        SearchNote::CheckedCut { checked } => (
            "checked_cut",
            format!(
                "only the best {checked} entries with these words were read, and others may match; with a filter such as \
                 `--project` or `--session` fewer have to be read"
            ),
        ),
        SearchNote::Damaged { commits } => (
            "content_damaged",
            format!(
                "{} not searched because the content is damaged: run `stemma verify`",
                stemmata_model::plural(*commits, "commit")
            ),
        ),
        SearchNote::NoSuchSession { session } => (
            "session_unknown",
            format!(
                "no session here has an id that begins with `{session}`: `stemma list` shows the sessions"
            ),
        ),
        SearchNote::OpenTurn { session } => ("open_turn", open_turn(session)),
        SearchNote::Excluded { by } => ("filters_exclude", excluded(by)),
        SearchNote::QuoteOpen => ("quote_open", QUOTE_OPEN.to_owned()),
        SearchNote::NothingImported => (
            v1::NOTHING_IMPORTED,
            "nothing was imported yet: `stemma import` reads the sessions of this machine".to_owned(),
        ),
        SearchNote::SearchedText => (
            "searched_text",
            "the query has only signs or words that nearly every entry has, so its exact text was searched, the newest \
             first; add a rarer word to search by words"
                .to_owned(),
        ),
        SearchNote::QueryCut => {
            ("query_cut", "the query has too many words; its last ones were left out".to_owned())
        }
    };
    v1::Note::new(code, message)
}
