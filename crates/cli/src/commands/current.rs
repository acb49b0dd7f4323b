//! `current`: what a session knows right now, as a commit.

use stemmata_engine::EngineError;

use crate::args::capture::Current;
use crate::commands::snapshot;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Current) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let session = match &args.session {
        None => app.session_here()?,
        Some(text) => {
            let path = app.environment.absolute(std::path::Path::new(text));
            let by_path = engine.find_session(&path.to_string_lossy())?;
            let found = match by_path {
                Some(session) => Some(session),
                None => engine.find_session(text)?,
            };
            found.ok_or_else(|| EngineError::NotFound { what: "session", text: text.clone() })?
        }
    };
    snapshot::print_id(app, engine.current(&session)?)
}
