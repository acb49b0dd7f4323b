//! Hits as a person reads them: when, where, in which session, and the line that matches with one before and one after.

use std::cmp::Reverse;

use stemmata_api::v1::{EntriesRequest, FindRequest, Found, SearchHit, SearchHits};

use crate::commands::launch::quoted;
use crate::commands::show::around::who;
use crate::errors::CliError;
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::session;
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::output::table::fit_end;
use crate::output::time;
use crate::wiring::App;
use stemmata_model::CommitId;

/// Columns of another machine's name.
pub(super) const FOREIGN_COLUMNS: usize = 16;
/// Events that the command for an event that was found shows: it, and those before it.
const EVENTS_SHOWN: u64 = 5;
/// Columns of a session's title.
const TITLE_COLUMNS: usize = 60;
/// Columns before the first match of a line that is cut.
const BEFORE_MATCH_COLUMNS: usize = 30;
/// The longest rest of a word that is left out where a line is cut.
const CUT_WORD_CHARS_MAX: usize = 12;
/// How a hit is marked that has none of the words itself.
const NEARBY: &str = "nearby";
/// What stands left of a snippet.
const MARGIN: &str = "    ";

/// Returns the hits as text.
pub(crate) fn shown(app: &App, found: &SearchHits) -> Result<String, CliError> {
    let ids = app.short_ids(found.hits.iter().filter_map(|hit| hit.ctx))?;
    let mut text = String::new();
    for hit in &found.hits {
        if !text.is_empty() {
            text.push('\n');
        }
        put!(text, "{}\n", head(app, hit, ids));
        for line in lines(hit, app.console.out.color) {
            put!(text, "{MARGIN}{line}\n");
        }
    }
    Ok(text)
}

/// Says how many entries were searched, and what to type next about the best hit of a session, or about an event where all hits are.
pub(crate) fn say_how_to_go_on(app: &App, found: &SearchHits, limit: u64) -> Result<(), CliError> {
    let of_session = found.hits.iter().find_map(|hit| Some((hit, hit.ctx?)));
    let next = if let Some((hit, ctx)) = of_session {
        let ids = app.short_ids([ctx])?;
        let (short, entry) = (ids.cut(ctx), quoted(&tame(&hit.short_entry)));
        let go_on = if is_beside(app, ctx, &hit.entry)? {
            format!("stemma fork {} --at {entry}", holder(app, hit)?.unwrap_or_else(|| short.clone()))
        } else {
            App::resume_command(&short, &hit.client)
        };
        format!("`stemma show {short} --entry {entry}`, `{go_on}`")
    } else {
        let event = |hit: &SearchHit| {
            let seq = hit.entry.strip_prefix("event:")?;
            let ledger = quoted(&tame(hit.ledger.as_ref()?.as_str()));
            Some(format!("`stemma events query --ledger {ledger} --through {seq} --latest {EVENTS_SHOWN}`"))
        };
        let Some(event) = found.hits.first().and_then(event) else { return Ok(()) };
        event
    };
    let count = found.hits.len() as u64;
    let more = if count >= limit { ", `-n` shows more" } else { "" };
    let (hits, entries) = (many(count, "hit"), many(found.entries, "entry"));
    app.console.say(&format!("{hits} of {entries} searched{more}; continue: {next}"));
    Ok(())
}

/// Returns whether an entry is on a branch beside the way to the commit that holds it, so that resuming that would be without it.
pub(super) fn is_beside(app: &App, ctx: CommitId, entry: &str) -> Result<bool, CliError> {
    Ok(app.service()?.entries(&only(ctx, entry)).is_ok_and(|page| page.is_beside))
}

/// Returns the short id of a hit's session, where that means one whose newest state has the hit.
fn holder(app: &App, hit: &SearchHit) -> Result<Option<String>, CliError> {
    let service = app.service()?;
    let short = app.short_sessions([&hit.session_id])?.concat();
    let found = service.find(&FindRequest::of(short.clone()));
    let has_it = |found: Found| service.entries(&only(found.ctx, &hit.short_entry)).is_ok();
    Ok(found.is_ok_and(has_it).then(|| quoted(&short)))
}

/// Asks for an entry alone.
fn only(ctx: CommitId, entry: &str) -> EntriesRequest {
    EntriesRequest { ctx: ctx.to_string(), entry: Some(entry.to_owned()), around: 0, max_tokens: Some(1) }
}

/// Returns the line above a snippet.
fn head(app: &App, hit: &SearchHit, ids: ShortIds) -> String {
    let when = hit.timestamp.map(|at| time::ago(at, app.now()));
    let mut parts = vec![Style::Faint.paint(&when.unwrap_or_else(|| "at some time".to_owned()))];
    parts.push(tame(&hit.client));
    // Some clients do not say where they worked.
    parts.extend(hit.cwd.as_ref().map(|_| Style::Branch.paint(&session::project_of_hit(hit))));
    let foreign = hit.foreign_machine.as_deref().map(|label| app.console.fit(&tame(label), FOREIGN_COLUMNS));
    parts.extend(foreign.map(|label| format!("⇄ {label}")));
    let title = hit.title.as_deref().map(session::title_of);
    parts.extend(
        title.map(|title| Style::Strong.paint(&format!("\"{}\"", app.console.fit(&title, TITLE_COLUMNS)))),
    );
    parts.push(who(hit.author.as_deref(), &hit.kind, hit.role.as_str()));
    let ctx = hit.ctx.map(|ctx| Style::Id.paint(&ids.cut(ctx)));
    let name = [ctx.unwrap_or_default(), tame(&hit.short_entry)].join(" ");
    parts.push(name.trim_start().to_owned());
    if !hit.also_in.is_empty() {
        let also = format!("also in {}", many(hit.also_in.len() as u64, "session"));
        parts.push(Style::Faint.paint(&also));
    }
    if let Some(alike) = hit.alike {
        parts.push(Style::Faint.paint(&format!("{alike} more like it")));
    }
    if hit.matched == NEARBY {
        parts.push(Style::Faint.paint("the words are nearby"));
    }
    parts.join(" · ")
}

/// Returns the lines of a snippet, what matches in another style; without colour between marks.
fn lines(hit: &SearchHit, color: bool) -> Vec<String> {
    let painted = |(style, text): (Style, &str)| match (style, color) {
        (Style::Hit, false) => format!("«{}»", tamed(text)),
        (style, _) => style.paint(&tamed(text)),
    };
    let text: String = pieces(hit).into_iter().map(painted).collect();
    text.lines().map(str::to_owned).collect()
}

/// Returns the pieces of a snippet, in another style what matches.
fn pieces(hit: &SearchHit) -> Vec<(Style, &str)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for span in &hit.matches {
        let (Ok(start), Ok(end)) = (usize::try_from(span.start), usize::try_from(span.end)) else { continue };
        let (Some(before), Some(found)) = (hit.snippet.get(at..start), hit.snippet.get(start..end)) else {
            continue;
        };
        pieces.extend([(Style::Plain, before), (Style::Hit, found)]);
        at = end;
    }
    pieces.push((Style::Plain, hit.snippet.get(at..).unwrap_or_default()));
    pieces
}

/// Returns the line of a snippet that matches best. What is long before its first match is cut, so that the match is in view.
pub(crate) fn matched_line(hit: &SearchHit) -> Vec<(Style, String)> {
    let mut lines: Vec<Vec<(Style, &str)>> = vec![Vec::new()];
    for (style, text) in pieces(hit) {
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push((style, part));
            }
        }
    }
    // One with a line on either side is the one that they are beside.
    let found = |line: &[(Style, &str)]| {
        let found = line.iter().filter(|(style, _)| *style == Style::Hit).map(|(_, text)| text.len());
        (found.clone().max(), found.count())
    };
    let worth =
        |(at, line): &(usize, &Vec<(Style, &str)>)| (lines.len() == 3 && *at == 1, found(line), Reverse(*at));
    let best = lines.iter().enumerate().max_by_key(worth).map(|(_, line)| line.as_slice());
    let mut line: Vec<(Style, String)> =
        best.unwrap_or_default().iter().map(|(style, text)| (*style, tame(text))).collect();
    if let [(_, before), _, ..] = line.as_mut_slice() {
        *before = from_word(&fit_end(before, BEFORE_MATCH_COLUMNS));
    }
    line
}

/// Returns a text whose beginning was cut without the rest of the word that was cut in two, where that is short.
fn from_word(text: &str) -> String {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let end = text
        .strip_prefix('…')
        .and_then(|rest| rest.find(|char| !is_word(char)).map(|end| rest.split_at(end)));
    match end {
        Some((word, rest)) if word.chars().count() <= CUT_WORD_CHARS_MAX => format!("…{}", rest.trim_start()),
        _ => text.to_owned(),
    }
}

/// Returns text without what a terminal would obey; its lines stay.
fn tamed(text: &str) -> String {
    text.split('\n').map(tame).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_between_words() {
        for (text, shown) in [
            ("whole words ", "whole words "),
            ("…urns the agent ", "…the agent "),
            ("…re/devenv/cli/", "…/devenv/cli/"),
            ("…onelongwordwithoutend", "…onelongwordwithoutend"),
            ("…muchtoolongtobeleftout of", "…muchtoolongtobeleftout of"),
            ("…", "…"),
        ] {
            assert_eq!(from_word(text), shown, "{text}");
        }
    }
}
