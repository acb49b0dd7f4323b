//! `compact`: a summary in the place of what stands before the recent entries, or one that is only printed.

use stemmata_api::v1::{
    CompactRange, CompactRequest, Compacted, SUMMARY_BYTES_MAX, SessionRequest, SummarizeRequest, SummaryWith,
};
use stemmata_api::{Code, Problem};

use crate::args::give::{Compact, Summarizer};
use crate::commands::{place, read_input, uncompact};
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::size;
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Compact) -> Result<Exit, CliError> {
    if args.print {
        return print(app, args);
    }
    let found = place::found_newest(app, &args.reference)?;
    let session = found.session_id.as_ref().map(ToString::to_string);
    let summary = match &args.summary_file {
        Some(file) => {
            let bytes = read_input(file, SUMMARY_BYTES_MAX)?;
            let not_text =
                |error: std::string::FromUtf8Error| CliError::Usage(format!("{}: {error}", file.display()));
            Some(String::from_utf8(bytes).map_err(not_text)?)
        }
        None => None,
    };
    let with = args.with.map(|with| match with {
        Summarizer::Off => SummaryWith::Off,
        Summarizer::Heuristic => SummaryWith::Heuristic,
        Summarizer::Llm => SummaryWith::Llm,
    });
    let range =
        args.range.as_ref().map(|range| CompactRange { from: range.from.clone(), to: range.to.clone() });
    let request = CompactRequest {
        summary,
        with,
        focus: args.focus.clone(),
        range,
        ratio_permille: args.ratio,
        keep_tokens: args.keep,
        again: args.again,
        dry_run: args.dry_run,
        session,
        ..CompactRequest::of(app.told(&found).to_string())
    };
    let made = app.service()?.compact(&request)?;
    let ids = app.short_ids(made.id.into_iter().chain([made.parent]))?;
    let exit = app.answer(&made, || Ok(told(&made, ids)))?;
    app.console.notes(&made.notes);
    if !app.console.json {
        say_next(app, &made, ids)?;
    }
    Ok(exit)
}

/// Tells what was replaced by what, and what is no longer said.
fn told(made: &Compacted, ids: ShortIds) -> String {
    let mut text = String::new();
    let id = made.id.map_or_else(|| "not stored".to_owned(), |id| ids.painted(id));
    put!(
        text,
        "{} {id}: about {} tokens instead of {} in the window (estimated, without system prompt and tools)\n",
        Style::Compaction.paint("◆"),
        size::count(made.tokens_after),
        size::count(made.tokens_before)
    );
    let by = match made.with.as_str() {
        "given" => "your summary",
        "off" => "no summary",
        "model" => "a summary that the model wrote, above one by rules",
        _ => "a summary by rules",
    };
    put!(
        text,
        "{} replaced by {by}, {} kept\n",
        size::many(made.lost.entries, "entry"),
        size::many(made.kept_entries, "entry")
    );
    let lost =
        [(made.lost.files, "file"), (made.lost.commands, "command"), (made.lost.decisions, "decision")];
    let named: Vec<String> =
        lost.into_iter().filter(|(count, _)| *count > 0).map(|(count, of)| size::many(count, of)).collect();
    if !named.is_empty() {
        put!(text, "no longer named: {}\n", named.join(", "));
    }
    if let Some(session) = &made.moved {
        put!(text, "session {} continues from it\n", crate::output::style::tame(session));
    }
    text
}

fn say_next(app: &App, made: &Compacted, ids: ShortIds) -> Result<(), CliError> {
    match made.id {
        Some(id) => {
            let (resume, id) = (uncompact::resume_command(app, id, &ids.cut(id))?, ids.cut(id));
            app.console.hint(&format!(
                "`{resume}` continues from the summary, `stemma diff {id}` names what it lost, \
                 `stemma uncompact {id}` leads back"
            ));
        }
        None => app.console.say("nothing was stored"),
    }
    Ok(())
}

/// Prints a summary that no model made; stores nothing.
fn print(app: &App, args: &Compact) -> Result<Exit, CliError> {
    if args.with.is_some_and(|with| with != Summarizer::Heuristic) {
        let reason = "`--print` writes a summary that needs no model: use `--with heuristic`";
        return Err(CliError::Usage(reason.to_owned()));
    }
    // Nothing is stored, so what a client wrote since the last commit is not read either.
    let found = app.service()?.find(&app.reference(&args.reference))?;
    let session = found.session_id.as_ref().map(|id| SessionRequest { reference: id.to_string() });
    let service = app.service()?;
    let session = session.map(|request| service.session(&request)).transpose()?;
    if let Some(session) = session
        && !app.console.json
        && !app.is_remote()
        && app.opened_host()?.has_unread(&session)
    {
        let note = Style::Note.paint("note");
        app.console.say(&format!(
            "{note}: the summary is of the session's newest commit; `stemma current {}` commits what came since",
            args.reference
        ));
    }
    let request = SummarizeRequest {
        ctx: app.told(&found).to_string(),
        stop: app.stop(&args.stop)?,
        at: args.at.clone(),
        recent_from: args.recent_from.clone(),
        ratio_permille: args.ratio,
        exclude_user: args.exclude_user,
    };
    let made = app.service()?.summarize(&request).map_err(as_option)?;
    let exit = app.answer(&made, || Ok(made.text.clone()))?;
    app.console.notes(&made.notes);
    if !app.console.json {
        app.console.say(&format!(
            "about {} tokens, at most {}, for {} with {} (estimated; {})",
            size::count(made.token_count),
            size::count(made.tokens_max),
            size::many(made.entries, "entry"),
            size::count(made.tokens_before),
            if request.stop == "root" { "the whole session" } else { "since the last compaction" }
        ));
    }
    Ok(exit)
}

/// Names the option by which the command line gives what the request calls `recent_from`.
fn as_option(problem: Box<Problem>) -> Box<Problem> {
    let detail = problem.detail.replace("recent_from", "--recent-from");
    if problem.is(Code::BadRequest) { Box::new(Problem { detail, ..*problem }) } else { problem }
}
