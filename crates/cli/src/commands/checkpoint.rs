//! `checkpoint`: a commit made by a program, with every field of its own choosing.

use stemmata_api::Code;
use stemmata_api::v1::{self, CONTENT_BYTES_MAX, CheckpointRequest};
use stemmata_model::{LedgerId, Trigger};
use stemmata_service::{LedgerOfRequest, MakeLedger};

use crate::args::capture::{Checkpoint, TriggerArg, TypeArg};
use crate::commands::{checkpoint_file, read_input};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Checkpoint) -> Result<Exit, CliError> {
    match (&args.out, &args.load) {
        (Some(folder), _) => return checkpoint_file::save(app, args, folder),
        (None, Some(path)) => return checkpoint_file::load(app, args, path),
        (None, None) => {}
    }
    let parent = args.parent.as_deref().map(|reference| app.ctx(reference)).transpose()?;
    let content = match args.artifact {
        Some(_) => Vec::new(),
        None => read_input(&args.content, CONTENT_BYTES_MAX)?,
    };
    let request = CheckpointRequest {
        parent,
        ledger: ledger_here(app)?,
        ticket: app.ticket(args.ticket.as_ref()),
        thread: app.thread(args.thread.as_ref()),
        ..request(args)
    };
    let made = app.service()?.checkpoint(&request, &mut content.as_slice())?;
    if !app.console.json {
        app.console.notes(&made.notes);
    }
    // Whole, because programs read it.
    app.answer(&made, || Ok(format!("{}\n", made.id)))
}

fn request(args: &Checkpoint) -> CheckpointRequest {
    CheckpointRequest {
        parent: None,
        commit_type: match args.commit_type {
            TypeArg::Delta => v1::CommitType::Delta,
            TypeArg::Compaction => v1::CommitType::Compaction,
            TypeArg::Snapshot => v1::CommitType::Snapshot,
        },
        restated_entries: args.restated_entries,
        artifact: args.artifact,
        format: args.format.clone().expect("clap asks for it unless a file is meant"),
        template: args.template.clone(),
        principal: args.principal.clone(),
        machine: args.machine.clone(),
        session: args.session.clone().expect("clap asks for it unless a file is meant"),
        trigger: match args.trigger {
            TriggerArg::TurnBoundary => Trigger::TurnBoundary,
            TriggerArg::ToolCall => Trigger::ToolCall,
            TriggerArg::Compaction => Trigger::Compaction,
            TriggerArg::SessionEnd => Trigger::SessionEnd,
            TriggerArg::Explicit => Trigger::Explicit,
        },
        ticket: None,
        thread: None,
        summary: args.summary.clone(),
        messages: args.messages,
        tokens: args.tokens,
        created_at: args.created_at,
        idempotency_key: args.idempotency_key.clone(),
        ledger: None,
    }
}

/// Returns the ledger of the project that is here, where there is one: what is folded of it is saved with the commit.
fn ledger_here(app: &App) -> Result<Option<LedgerId>, CliError> {
    if app.is_remote() {
        return Ok(None);
    }
    let dir = app.environment.current_dir.clone();
    let request = LedgerOfRequest { dir, name: None, make: MakeLedger::Never, even_damaged: false };
    match app.opened_host()?.ledger_of(&request) {
        Ok(known) => Ok(Some(known.ledger)),
        Err(problem) if problem.is(Code::NoLedgerHere) => Ok(None),
        Err(problem) => {
            app.console.warn(&format!("the project's state will not be saved: {}", problem.detail));
            Ok(None)
        }
    }
}
