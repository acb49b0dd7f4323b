//! What a picker shows of the row that is selected: the entries around it, or the last ones of a session.

use stemmata_api::v1::{EntriesRequest, EntryPage};
use stemmata_api::{Answer, Service};
use stemmata_model::Timestamp;

use crate::args::browse::AROUND_DEFAULT;
use crate::commands::show::around::{heading, with_text};
use crate::output::style::{Style, tame};
use crate::pick::{Preview, Row};

/// Tokens of a preview: more than fits on a screen.
const PREVIEW_TOKENS: u64 = 3_000;

/// Entries before the last one of a session that its preview reads.
const LAST_ENTRIES: u64 = 8;

/// Reads what is shown of a row.
pub(super) fn of(service: &dyn Service, row: &Row, now: Timestamp) -> Answer<Preview> {
    let Some(ctx) = row.target.reference.clone() else { return Ok(Preview::of_text(&row.text())) };
    let page = service.entries(&EntriesRequest {
        ctx,
        entry: row.target.entry.clone(),
        around: if row.target.entry.is_some() { AROUND_DEFAULT } else { LAST_ENTRIES },
        max_tokens: Some(PREVIEW_TOKENS),
    })?;
    Ok(read(&page, row.focus.as_deref(), now))
}

/// Returns entries as lines; the one with the text that matters is in view.
fn read(page: &EntryPage, focus: Option<&str>, now: Timestamp) -> Preview {
    let mut shown = Preview::default();
    for entry in with_text(page) {
        if !shown.lines.is_empty() {
            shown.lines.push(Vec::new());
        }
        if entry.is_match || focus.is_none() {
            shown.focus = shown.lines.len();
        }
        shown.lines.push(heading(entry, now));
        let mut is_found = !entry.is_match;
        for line in entry.text.trim_end().lines() {
            let is_focus =
                !is_found && focus.is_some_and(|focus| !focus.is_empty() && tame(line).contains(focus));
            if is_focus {
                is_found = true;
                shown.focus = shown.lines.len();
            }
            let style = if is_focus { Style::Strong } else { Style::Plain };
            shown.lines.push(vec![(style, line.to_owned())]);
        }
    }
    shown
}
