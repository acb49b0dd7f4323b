//! Hits as a person reads them: when, where, in which session, and the line that matches with one before and one after.

use stemmata_api::v1::{SearchHit, SearchHits};

use crate::errors::CliError;
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::session;
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::time;
use crate::wiring::App;

/// Columns of another machine's name.
const FOREIGN_COLUMNS: usize = 16;
/// Columns of a session's title.
const TITLE_COLUMNS: usize = 60;
/// Columns of an entry's id: clients' ids are random from their first characters on.
const ENTRY_COLUMNS: usize = 12;
/// What stands left of a snippet.
const MARGIN: &str = "    ";

/// Returns the hits as text.
pub(crate) fn shown(app: &App, found: &SearchHits) -> Result<String, CliError> {
    let ids = app.short_ids(found.hits.iter().filter_map(|hit| hit.ctx.as_deref()))?;
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

/// Says how many entries were searched, and what to type next.
pub(crate) fn say_how_to_go_on(app: &App, found: &SearchHits) -> Result<(), CliError> {
    let Some((ctx, entry)) =
        found.hits.iter().find_map(|hit| Some((hit.ctx.as_deref()?, hit.entry.as_str())))
    else {
        return Ok(());
    };
    let ids = app.short_ids([ctx])?;
    let (ctx, entry) = (ids.cut(ctx), short_entry(entry));
    app.console.say(&format!(
        "{} of {} searched; go on: `stemma show {ctx} --entry {entry}`, `stemma resume {ctx}`",
        many(found.hits.len() as u64, "hit"),
        many(found.entries, "entry"),
    ));
    Ok(())
}

/// Returns the line above a snippet.
fn head(app: &App, hit: &SearchHit, ids: ShortIds) -> String {
    let when = hit.timestamp.as_deref().map(|at| time::ago(time::of_text(at), app.now()));
    let mut parts = vec![Style::Faint.paint(&when.unwrap_or_else(|| "at some time".to_owned()))];
    parts.push(tame(&hit.client));
    parts.push(Style::Branch.paint(&session::project_of(hit.cwd.as_deref())));
    let foreign = hit.foreign_machine.as_deref().map(|label| fit(&tame(label), FOREIGN_COLUMNS));
    parts.extend(foreign.map(|label| format!("⇄ {label}")));
    let title = hit.title.as_deref().map(session::title_of);
    parts.extend(title.map(|title| Style::Strong.paint(&format!("\"{}\"", fit(&title, TITLE_COLUMNS)))));
    parts.push(who(hit));
    let ctx = hit.ctx.as_deref().map(|ctx| Style::Id.paint(&ids.cut(ctx)));
    let name = [ctx.unwrap_or_default(), short_entry(&hit.entry)].join(" ");
    parts.push(name.trim_start().to_owned());
    if !hit.also_in.is_empty() {
        let also = format!("also in {}", many(hit.also_in.len() as u64, "session"));
        parts.push(Style::Faint.paint(&also));
    }
    parts.join(" · ")
}

/// Returns who said it: a name where there is one, else the role.
fn who(hit: &SearchHit) -> String {
    match &hit.author {
        Some(author) => tame(author),
        None if hit.kind == "message" => tame(&hit.role),
        None => tame(&hit.kind).replace('_', " "),
    }
}

/// Returns the beginning of an entry's id that names it.
fn short_entry(entry: &str) -> String {
    let is_uuid = entry.len() == 36 && entry.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if is_uuid {
        return session::short_id(entry);
    }
    if entry.chars().count() > ENTRY_COLUMNS && !entry.contains(':') {
        return tame(&entry.chars().take(ENTRY_COLUMNS).collect::<String>());
    }
    tame(entry)
}

/// Returns the lines of a snippet, what matches in another style; without colour between marks.
fn lines(hit: &SearchHit, color: bool) -> Vec<String> {
    let mut text = String::new();
    let mut at = 0;
    for span in &hit.matches {
        let (Ok(start), Ok(end)) = (usize::try_from(span.start), usize::try_from(span.end)) else { continue };
        let (Some(before), Some(found)) = (hit.snippet.get(at..start), hit.snippet.get(start..end)) else {
            continue;
        };
        text.push_str(&tamed(before));
        let found = tamed(found);
        if color {
            text.push_str(&Style::Strong.paint(&found));
        } else {
            put!(text, "«{found}»");
        }
        at = end;
    }
    text.push_str(&tamed(hit.snippet.get(at..).unwrap_or_default()));
    text.lines().map(str::to_owned).collect()
}

/// Returns text without what a terminal would obey; its lines stay.
fn tamed(text: &str) -> String {
    text.split('\n').map(tame).collect::<Vec<_>>().join("\n")
}
