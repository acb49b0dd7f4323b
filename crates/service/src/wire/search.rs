//! Searches and what they find as wire types.

use stemmata_api::v1;
use stemmata_engine::{
    HitPlace, SearchAnswer, SearchFilter, SearchForm, SearchHit, SearchNote, SearchQuery, SearchReason,
};
use stemmata_model::Timestamp;

use crate::fault::Fault;

/// Returns what a request asks for.
pub(crate) fn query(request: &v1::SearchRequest, hits_max: u64) -> Result<SearchQuery, Fault> {
    let v1::SearchFilter { client, role, project, branch, file, kind, since, session, no_tool_output } =
        request.filter.clone();
    let since = since.as_deref().map(Timestamp::parse).transpose()?;
    Ok(SearchQuery {
        text: request.text.clone(),
        form: match request.form {
            v1::SearchForm::Words => SearchForm::Words,
            v1::SearchForm::Literal => SearchForm::Literal,
            v1::SearchForm::Regex => SearchForm::Regex,
        },
        filter: SearchFilter {
            client,
            role,
            projects: project,
            branch,
            file,
            kinds: kind,
            since,
            session,
            no_tool_output,
        },
        hits_max: usize::try_from(hits_max).unwrap_or(usize::MAX),
    })
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
    let HitPlace { session, path, client, title, cwd, branch, foreign_machine } = hit.place.clone();
    v1::SearchHit {
        ctx: hit.ctx.map(|ctx| ctx.to_string()),
        session_id: session,
        entry: hit.entry.clone(),
        author: hit.author.clone(),
        timestamp: hit.timestamp.map(|at| at.to_string()),
        role: hit.role.as_str().to_owned(),
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
        title,
        cwd,
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

fn note(note: &SearchNote) -> v1::Note {
    let (code, message) = match note {
        SearchNote::NotIndexed => {
            ("index_missing", "there is no index; the newest entries were searched one by one".to_owned())
        }
        SearchNote::ScanCut { bytes_max } => (
            "scan_cut",
            format!(
                "only the newest {} were looked through; a filter such as `--project` or `--session` looks further back",
                crate::size::bytes(*bytes_max)
            ),
        ),
        SearchNote::SearchedText => (
            "searched_text",
            "the query has no word to search for, so its text was looked for as it is".to_owned(),
        ),
        SearchNote::QueryCut => {
            ("query_cut", "the query has too many words; its last ones were left out".to_owned())
        }
    };
    v1::Note { code: code.to_owned(), message, line: None }
}
