//! `current`: what a session knows right now, as a commit.
//!
//! Which session is meant: the one that is named, the hook's, or the one that this process belongs to (`caller`).

use stemmata_store::Session;

use crate::args::capture::Current;
use crate::caller::{Caller, Reach, missing};
use crate::commands::{hook, snapshot};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Current) -> Result<Exit, CliError> {
    let caller = Caller { app, engine: app.engine()?, reach: Reach::All };
    let session = if args.hook {
        of_hook(&caller)?
    } else {
        match &args.session {
            Some(text) => caller.named(text)?.ok_or_else(|| missing(text))?.session,
            None => caller.session()?.session,
        }
    };
    let ctx = caller.engine.current(&session)?;
    app.console.notes(&caller.engine.note_of_origin(ctx)?);
    snapshot::print_id(app, ctx)
}

fn of_hook(caller: &Caller<'_>) -> Result<Session, CliError> {
    let input = hook::read_input(caller.app)?;
    if let Some(path) = input.transcript_path.filter(|path| path.is_file()) {
        return caller.captured(&path);
    }
    let id = input.session_id.ok_or_else(|| {
        CliError::Usage(
            "the hook's input names no session: neither `transcript_path` nor `session_id`".to_owned(),
        )
    })?;
    caller.named(&id)?.map(|found| found.session).ok_or_else(|| missing(&id))
}
