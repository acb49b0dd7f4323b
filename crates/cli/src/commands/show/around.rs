//! `show --entry`: entries around one of them, as a person reads a conversation.

use stemmata_api::v1::{EntriesRequest, EntryPage, EntryText};
use stemmata_model::Timestamp;

use crate::args::browse::{AROUND_DEFAULT, Show};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::time;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Show) -> Result<Exit, CliError> {
    let request = EntriesRequest {
        ctx: app.ctx(&args.reference)?,
        entry: args.entry.clone(),
        around: args.around,
        max_tokens: args.max_tokens,
    };
    let page = app.service()?.entries(&request)?;
    if !app.console.json {
        app.console.notes(&page.notes);
    }
    let exit = app.answer(&page, || Ok(shown(app, &page)))?;
    if !app.console.json {
        say_how_to_go_on(app, args, &page)?;
    }
    Ok(exit)
}

fn shown(app: &App, page: &EntryPage) -> String {
    let mut text = String::new();
    for entry in with_text(page) {
        if !text.is_empty() {
            text.push('\n');
        }
        put!(text, "{}\n", head(app, entry));
        let said = entry.text.trim_end();
        if said.is_empty() {
            put!(text, "{}\n", Style::Faint.paint("(no text)"));
        } else {
            put!(text, "{said}\n");
        }
        if entry.is_cut {
            let rest = format!("… cut; all of it has about {} tokens", size::count(entry.tokens));
            put!(text, "{}\n", Style::Faint.paint(&rest));
        }
    }
    text
}

/// Returns the entries that a person reads: not the records between them that say nothing.
pub(crate) fn with_text(page: &EntryPage) -> impl Iterator<Item = &EntryText> {
    page.entries.iter().filter(|entry| entry.is_match || !entry.text.trim().is_empty())
}

/// Returns the line above an entry.
fn head(app: &App, entry: &EntryText) -> String {
    let painted = heading(entry, app.now()).into_iter();
    painted.map(|(style, text)| style.paint(&text)).collect()
}

/// Returns what is said above an entry; an arrow points to the one that was asked for.
pub(crate) fn heading(entry: &EntryText, now: Timestamp) -> Vec<(Style, String)> {
    let arrow = if entry.is_match { "→ " } else { "" };
    let when = entry.timestamp.map(|at| time::ago(at, now));
    let mut parts = vec![
        (Style::Plain, arrow.to_owned()),
        (Style::Id, format!("@{}", entry.ordinal)),
        (Style::Plain, " ".to_owned()),
        (Style::Strong, who(entry.author.as_deref(), &entry.kind, &entry.role)),
    ];
    for text in when.into_iter().chain([tame(&entry.id)]) {
        parts.extend([(Style::Plain, " · ".to_owned()), (Style::Faint, text)]);
    }
    parts
}

/// Returns who said something: a name where there is one, else the role, and what it is where it is no message.
pub(crate) fn who(author: Option<&str>, kind: &str, role: &str) -> String {
    match author {
        Some(author) => tame(author),
        None if kind == "message" => tame(role),
        None => tame(kind).replace('_', " "),
    }
}

/// Says where the page lies, and what to type for the next one.
fn say_how_to_go_on(app: &App, args: &Show, page: &EntryPage) -> Result<(), CliError> {
    let ids = app.short_ids([page.ctx])?;
    let ctx = ids.cut(page.ctx);
    let around =
        if args.around == AROUND_DEFAULT { String::new() } else { format!(" --around {}", args.around) };
    let tokens = args.max_tokens.map_or_else(String::new, |max| format!(" --max-tokens {max}"));
    let command = |at: &String| format!("`stemma show {ctx} --entry {at}{around}{tokens}`");
    let before = page.before.as_ref().map(|at| format!("before: {}", command(at)));
    let after = page.next.as_ref().map(|at| format!("after: {}", command(at)));
    let steps: Vec<String> = before.into_iter().chain(after).collect();
    let place = format!("{} of {}", with_text(page).count(), many(page.total, "entry"));
    app.console.say(&[vec![place], steps].concat().join("; "));
    Ok(())
}
