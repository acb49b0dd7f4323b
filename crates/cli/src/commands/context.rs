//! `context debug`: how a prompt came to be, as a table and a bar.
//!
//! What was decided is the trace's; nothing is decided here.

mod bar;

use stemmata_api::v1::{
    self, ContextOf, ContextReport, ContextRequest, KeptPromptOf, PromptCandidate, PromptDecision,
    PromptReason, PromptTrace,
};
use stemmata_service::MakeLedger;

use crate::args::prompts::{Context, ContextCommand, ContextDebug};
use crate::commands::assemble;
use crate::commands::events::ledger;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{grouped, many};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Items of a candidate that are named; the rest is counted.
const ITEMS_MAX: usize = 6;

/// Characters of each part of an item's name.
const NAME_CHARS_MAX: usize = 12;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Context) -> Result<Exit, CliError> {
    let ContextCommand::Debug(args) = &args.command;
    debug(app, args)
}

fn debug(app: &App, args: &ContextDebug) -> Result<Exit, CliError> {
    let prompt = &args.prompt;
    let of = if prompt.strategy.is_some() || prompt.template.is_some() {
        if args.diff == Some(None) {
            let reason = "name the earlier event to compare a new prompt with: `--diff SEQ`";
            return Err(CliError::Usage(reason.to_owned()));
        }
        ContextOf::Made(Box::new(assemble::request(app, prompt)?))
    } else {
        kept_takes_no_flags(args)?;
        ContextOf::Kept(KeptPromptOf {
            ledger: ledger(app, &prompt.which, MakeLedger::Never)?,
            session: prompt.session.clone(),
            model: prompt.model.clone(),
        })
    };
    let before = args.diff.flatten();
    let request = ContextRequest { of, compares: args.diff.is_some(), before };
    let report =
        app.service()?.context(&request).map_err(|problem| assemble::in_its_file(prompt, problem))?;
    app.answer(&report, || {
        // Hints below the table say the same of these, and what to do.
        let is_hint = |note: &&v1::Note| matches!(note.code.as_str(), "over_budget" | "truncated");
        let notes: Vec<&v1::Note> = report.notes.iter().filter(|note| !is_hint(note)).collect();
        app.console.notes(&notes);
        Ok(told(&report, app.console.width, app.environment.columns))
    })
}

/// Refuses flags that say how a prompt is made where a kept one is shown: it was made already.
fn kept_takes_no_flags(args: &ContextDebug) -> Result<(), CliError> {
    let prompt = &args.prompt;
    let given = [
        ("--profile", prompt.profile.is_some()),
        ("--agent", prompt.agent.is_some()),
        ("--trigger", prompt.trigger.is_some()),
        ("--say", prompt.say.is_some()),
        ("--max-tokens", prompt.max_tokens.is_some()),
        ("--counter", prompt.counter.is_some()),
        ("--after", prompt.after.is_some()),
        ("--through", prompt.through.is_some()),
        ("--iteration", prompt.iteration.is_some()),
        ("--diff SEQ", args.diff.flatten().is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(CliError::Usage(format!(
            "`{flag}` says how a prompt is made, and a kept one is shown: name a `--strategy` or a `--template`, or leave it out"
        ))),
        None => Ok(()),
    }
}

fn told(report: &ContextReport, width: usize, columns: usize) -> String {
    let trace = &report.trace;
    let mut text = heading(report);
    let table = match &report.before {
        None => candidates(trace),
        Some(before) => {
            let through = |trace: &PromptTrace| trace.through.clone().unwrap_or_else(|| "0".to_owned());
            put!(text, "through event {}, then {}\n\n", tame(through(before)), tame(through(trace)));
            changes(report)
        }
    };
    text.push_str(&table.render(width));
    if report.before.is_none() {
        text.push_str(&hits(trace, width));
        text.push_str(&left_out(trace));
    }
    text.push('\n');
    text.push_str(&bar::render(trace, columns));
    text.push_str(&window(report));
    for hint in hints(trace) {
        put!(text, "{}: {hint}\n", Style::Hint.paint("hint"));
    }
    text
}

fn heading(report: &ContextReport) -> String {
    let (turn, budget) = (&report.trace.turn, &report.trace.budget);
    let of = budget.max_tokens.map(|max| format!(" of {}", grouped(max))).unwrap_or_default();
    let through = report.trace.through.as_deref().unwrap_or("0");
    let counter = report.counter.as_ref().map(|counter| format!(" ({})", tame(counter))).unwrap_or_default();
    let session = report
        .session
        .as_ref()
        .map(|session| format!(", session {}", tame(session.as_str())))
        .unwrap_or_default();
    format!(
        "{} as {}, {}: {}{of} tokens{counter}, through event {}{session}\n\n",
        Style::Strong.paint(&tame(&turn.agent)),
        tame(&turn.role),
        report.trace.mode,
        grouped(budget.final_tokens),
        tame(through),
    )
}

/// Says how much of a model's window the prompt takes, where clients compact in it, and what images would count.
fn window(report: &ContextReport) -> String {
    let mut text = String::new();
    if let Some(window) = &report.window {
        let model = tame(&window.model);
        if let Some(tokens) = window.tokens {
            let used = report.trace.budget.final_tokens.saturating_mul(100) / tokens.max(1);
            let assumed = if window.assumed { " (assumed, as of its family)" } else { "" };
            put!(text, "window {} tokens of {model}{assumed}; the prompt takes {used} %\n", grouped(tokens));
        } else {
            put!(text, "window not known of {model}\n");
        }
        for client in &window.clients {
            let at = match (client.compacts_at, client.tokens) {
                (Some(at), Some(tokens)) => format!("{}, compacts at {}", grouped(tokens), grouped(at)),
                (Some(at), None) => format!("compacts at {}", grouped(at)),
                (None, Some(_)) => "compacts by itself only where that is set".to_owned(),
                (None, None) => "compacts by the window, which is not known".to_owned(),
            };
            put!(text, "       {}: {at}\n", client.client);
        }
    }
    if let Some(images) = &report.images {
        put!(
            text,
            "images {}, which the prompt only names: sent along they count {} tokens\n",
            many(images.count, "image"),
            grouped(images.tokens)
        );
    }
    text
}

fn candidates(trace: &PromptTrace) -> Table {
    let mut table = Table::new(&[
        ("", Column::Left),
        ("ITEM", Column::Left),
        ("PRIORITY", Column::Left),
        ("DECISION", Column::Left),
        ("TOKENS", Column::Right),
        ("OF", Column::Right),
        ("WHY", Column::Left),
        ("MADE OF", Column::Flexible),
    ]);
    for (one, letter) in trace.candidates.iter().zip(bar::letters(trace)) {
        table.row(vec![
            cell(bar::style(one.position), letter.map(String::from).unwrap_or_default()),
            cell(Style::Plain, item_name(&one.id)),
            cell(Style::Faint, one.priority.clone()),
            cell(decision_style(one.decision), one.decision.as_str()),
            cell(Style::Plain, grouped(one.tokens)),
            cell(Style::Faint, grouped(one.full_tokens)),
            cell(Style::Plain, one.reason.as_str()),
            cell(Style::Faint, made_of(one)),
        ]);
    }
    table
}

fn decision_style(decision: PromptDecision) -> Style {
    match decision {
        PromptDecision::Full => Style::Good,
        PromptDecision::Compact | PromptDecision::Truncated => Style::Warning,
        PromptDecision::Skipped | PromptDecision::Dropped => Style::Faint,
    }
}

/// Names the events and hits of a candidate: those that are in the prompt; the others in brackets.
fn made_of(one: &PromptCandidate) -> String {
    let name = |item: &v1::PromptItem| {
        if item.included { short_name(&item.id) } else { format!("({})", short_name(&item.id)) }
    };
    // Of many items the first are named: those that the prompt has.
    let (included, others): (Vec<_>, Vec<_>) = one.items.iter().partition(|item| item.included);
    let mut names: Vec<String> = included.into_iter().chain(others).take(ITEMS_MAX).map(name).collect();
    let more = one.items.len().saturating_sub(ITEMS_MAX);
    names.extend((more > 0).then(|| format!("+{more}")));
    names.extend(one.is_cut.then(|| "cut".to_owned()));
    names.join(" ")
}

/// Returns the name of a candidate. Sources are told apart by topic and number, so that the word before them says nothing.
fn item_name(id: &str) -> String {
    tame(id.strip_prefix("source:").unwrap_or(id))
}

/// Returns what names an item, each part of it cut where it is long; `--json` has all of it.
fn short_name(id: &str) -> String {
    let short = |part: &str| {
        let part = part.strip_prefix("entry:").unwrap_or(part);
        if part.chars().count() <= NAME_CHARS_MAX {
            return tame(part);
        }
        let cut: String = part.chars().take(NAME_CHARS_MAX - 1).collect();
        format!("{}…", tame(&cut))
    };
    id.split_whitespace().map(short).collect::<Vec<_>>().join(" ")
}

/// Shows what the sources of hits found: how well each fits, and why.
fn hits(trace: &PromptTrace, width: usize) -> String {
    let mut text = String::new();
    for one in &trace.candidates {
        let mut table = Table::new(&[
            ("SCORE", Column::Right),
            ("HIT", Column::Left),
            ("IN", Column::Left),
            ("WHY", Column::Flexible),
        ]);
        let mut found = 0;
        for (item, score) in one.items.iter().filter_map(|item| Some((item, item.score_permille?))) {
            found += 1;
            table.row(vec![
                cell(Style::Plain, format!("{}.{:03}", score / 1_000, score % 1_000)),
                cell(Style::Plain, short_name(&item.id)),
                cell(Style::Faint, if item.included { "yes" } else { "no" }),
                cell(Style::Faint, tame(item.reasons.join(", "))),
            ]);
        }
        if found > 0 {
            put!(text, "\n{} of {}\n\n{}", many(found, "hit"), item_name(&one.id), table.render(width));
        }
    }
    text
}

/// Says what was left out of messages: calls without results.
fn left_out(trace: &PromptTrace) -> String {
    let mut text = String::new();
    for item in trace.candidates.iter().flat_map(|one| &one.items) {
        if item.score_permille.is_none() && !item.reasons.is_empty() {
            put!(text, "\n{}: {}\n", short_name(&item.id), tame(item.reasons.join(", ")));
        }
    }
    text
}

fn changes(report: &ContextReport) -> Table {
    let mut table = Table::new(&[
        ("", Column::Left),
        ("ITEM", Column::Flexible),
        ("BEFORE", Column::Left),
        ("TOKENS", Column::Right),
        ("AFTER", Column::Left),
        ("TOKENS", Column::Right),
        ("TEXT", Column::Left),
    ]);
    let trace = &report.trace;
    let drawn: Vec<_> = trace.candidates.iter().zip(bar::letters(trace)).collect();
    for one in &report.changes {
        // The bar below draws the prompt of now: what is only in the earlier one has no letter.
        let now = drawn.iter().find(|(now, _)| now.id == one.id);
        let letter = now.map_or_else(
            || cell(Style::Plain, String::new()),
            |(now, letter)| cell(bar::style(now.position), letter.map(String::from).unwrap_or_default()),
        );
        let decision = |decision: Option<PromptDecision>| decision.map_or("–", PromptDecision::as_str);
        let (style, word) =
            if one.is_same_text { (Style::Faint, "same") } else { (Style::Warning, "changed") };
        table.row(vec![
            letter,
            cell(Style::Plain, item_name(&one.id)),
            cell(Style::Plain, decision(one.before)),
            cell(Style::Plain, grouped(one.tokens_before)),
            cell(Style::Plain, decision(one.after)),
            cell(Style::Plain, grouped(one.tokens_after)),
            cell(style, word),
        ]);
    }
    table
}

/// Says what to do where the prompt is not what its strategy wants: seed 000's troubleshooting.
fn hints(trace: &PromptTrace) -> Vec<String> {
    let over = trace.budget.over_budget_tokens;
    let mut hints = Vec::new();
    if over > 0 {
        hints.push(format!(
            "required parts need {} more than the budget: raise `maxTokens`, lower an `amount`, or make one of them optional",
            many(over, "token")
        ));
    }
    let skipped = |one: &&PromptCandidate| {
        (one.decision, one.reason) == (PromptDecision::Skipped, PromptReason::Budget)
    };
    let skipped = trace.candidates.iter().filter(skipped).count() as u64;
    if skipped > 0 {
        hints.push(format!(
            "{} did not fit: raise `maxTokens` or `cap`, or lower its amounts",
            many(skipped, "source")
        ));
    }
    if trace.truncation.applied {
        hints.push("the prompt had too many characters and was cut: lower the amounts".to_owned());
    }
    hints
}
