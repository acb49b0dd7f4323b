//! `handoff`: a session as one text within a budget, for another agent to go on from.
//!
//! What is told is decided in the engine; here it is written, and its size said.

use std::io::Write;

use stemmata_api::v1;
use stemmata_engine::{EngineError, FormatUse, Materialized, Narrative};
use stemmata_model::CommitId;

use crate::args::give::Handoff;
use crate::commands::{place, stop};
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Handoff) -> Result<Exit, CliError> {
    if args.budget < stemmata_engine::HANDOFF_TOKENS_MIN {
        let least = stemmata_engine::HANDOFF_TOKENS_MIN;
        return Err(CliError::Usage(format!("`--budget` is at least {least} tokens: the frame takes some")));
    }
    let engine = app.engine()?;
    let ctx = match &args.reference {
        Some(reference) => place::newest(app, reference)?,
        None if args.last => engine.current(&engine.latest_session(None)?)?,
        None => engine.current(&app.session_here()?)?,
    };
    let stop = stop(app, &args.stop)?;
    let target = Target::of(&args.out);
    match engine.handoff(ctx, stop, args.budget) {
        Ok(narrative) => told(app, args, (ctx, &target), &narrative),
        // Where nothing can be told, what is stored can be given.
        Err(EngineError::Format { operation: FormatUse::Read, .. }) => raw(app, args, (ctx, &target)),
        Err(error) => Err(error.into()),
    }
}

fn told(
    app: &App,
    args: &Handoff,
    (ctx, target): (CommitId, &Target),
    narrative: &Narrative,
) -> Result<Exit, CliError> {
    let told = &narrative.told;
    let write = |out: &mut dyn Write| out.write_all(told.text.as_bytes()).map_err(CliError::Output);
    app.console.notes(&narrative.notes);
    let is_text_in_json = app.console.json && matches!(target, Target::Standard);
    if !is_text_in_json {
        target.write(write)?;
    }
    if app.console.json {
        let (whole, cut, left_out) = told.blocks;
        app.console.json(&v1::Handoff {
            ctx: ctx.to_string(),
            stop: args.stop.clone(),
            tier: "rendered".to_owned(),
            budget_tokens: args.budget,
            token_count: told.tokens.0,
            turns_told: told.turns.0,
            turns: told.turns.1,
            whole,
            cut,
            left_out,
            text: is_text_in_json.then(|| told.text.clone()),
            path: path_of(target),
            notes: wire::notes(&narrative.notes),
        })?;
    } else {
        let place = path_of(target).map(|path| format!(", in {path}")).unwrap_or_default();
        app.console.say(&format!(
            "about {} tokens: {} of {} turns{place}",
            size::count(told.tokens.0),
            told.turns.0,
            told.turns.1
        ));
    }
    Ok(Exit::Done)
}

fn raw(app: &App, args: &Handoff, (ctx, target): (CommitId, &Target)) -> Result<Exit, CliError> {
    let (engine, stop) = (app.engine()?, stop(app, &args.stop)?);
    let mut bytes = Vec::new();
    let made: Materialized = engine.materialize_best(Some(ctx), None, (stop, args.budget), &mut bytes)?;
    app.console.notes(&made.notes);
    let is_text_in_json = app.console.json && matches!(target, Target::Standard);
    if !is_text_in_json {
        target.write(|out| out.write_all(&bytes).map_err(CliError::Output))?;
    }
    if app.console.json {
        app.console.json(&v1::Handoff {
            ctx: ctx.to_string(),
            stop: args.stop.clone(),
            tier: made.tier.as_str().to_owned(),
            budget_tokens: args.budget,
            token_count: made.counts.tokens,
            turns_told: 0,
            turns: 0,
            whole: 0,
            cut: 0,
            left_out: 0,
            text: is_text_in_json.then(|| String::from_utf8_lossy(&bytes).into_owned()),
            path: path_of(target),
            notes: wire::notes(&made.notes),
        })?;
    }
    Ok(Exit::Done)
}

fn path_of(target: &Target) -> Option<String> {
    match target {
        Target::Standard => None,
        Target::File(path) => Some(path.to_string_lossy().into_owned()),
    }
}
