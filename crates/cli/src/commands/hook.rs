//! `hook`: a client's nudge. Never fails the client, never makes it wait, and prints only what it was asked to recall.
//!
//! The transcript is the truth: what the input says is only where to look. What is read and what is left is the
//! engine's to decide.

mod input;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use stemmata_engine::{
    CaptureOptions, Engine, EngineError, HOOK_PLACES, Marker, Nudged, RUNTIMES, is_deciding_tool, is_on,
    is_session_there,
};
use stemmata_model::{Template, Trigger};
use stemmata_store::Patience;

use crate::args::live::Hook;
use crate::commands::start::TEMPLATE_VARIABLE;
use crate::config::INJECT;
use crate::environment::Environment;
use crate::errors::{CliError, Exit, with_causes};
use crate::wiring::{App, PROCESSES};

pub(crate) use input::Input;

/// How long a hook waits for other processes, all their locks together.
const WAIT: Duration = Duration::from_millis(20);

/// The variable by which opencode is told of another database.
const DATABASE_VARIABLE: &str = "OPENCODE_DB";

/// Returns how long a hook waits, from when it is called.
pub(crate) fn patience() -> Patience {
    Patience::together(WAIT)
}

/// Runs the command. Whatever happens, the client goes on.
pub(crate) fn run(app: &App, args: &Hook) -> Exit {
    let mut session = None;
    let done = listen(app, args, &mut session);
    let kept = app.home().and_then(|home| match &done {
        Ok(()) => {
            home.calls().went_well(&args.runtime, session.as_deref());
            Ok(())
        }
        Err(error) => {
            let reason = with_causes(error);
            tracing::warn!(command = "hook", reason, "nothing was captured");
            let trouble = Marker { path: session, reason, at: app.now().as_micros() };
            Ok(home.calls().keep_trouble(&args.runtime, &trouble)?)
        }
    });
    if let Err(error) = kept {
        tracing::warn!(error = %with_causes(&error), "the trouble itself could not be kept");
    }
    Exit::Done
}

/// Does nothing, but for what a client expects even of that: its words are read, else it may stumble over a closed pipe.
pub(crate) fn pass_over(environment: &Environment) -> Exit {
    if !environment.stdin_is_terminal {
        input::drain(std::io::stdin().lock());
    }
    Exit::Done
}

/// Hears what a client says and captures what is new. `session` becomes the transcript that it is about.
fn listen(app: &App, args: &Hook, session: &mut Option<PathBuf>) -> Result<(), CliError> {
    let input = match &args.input {
        Some(text) => input::read(text.as_bytes())?,
        None => read_input(app)?,
    };
    let is_client = HOOK_PLACES.iter().any(|place| place.runtime == args.runtime);
    let heard = if is_client { app.home()?.calls().record(&args.runtime, app.now()) } else { Ok(()) };
    let heard = heard.map_err(CliError::from);
    let event = args.event.clone().or_else(|| input.hook_event_name.clone()).unwrap_or_default();
    let Some(trigger) = trigger_of(&event) else { return heard };
    let options = options(app, trigger, is_significant(&event, &input));
    let kept = in_database(app, &args.runtime, &input);
    let Input { client_pid, source, transcript_path, agent_transcript_path, .. } = input;
    let paths = [transcript_path, agent_transcript_path, kept];
    // A session that just began may have no file yet.
    let paths: Vec<PathBuf> = paths.into_iter().flatten().filter(|path| is_session_there(path)).collect();
    let Some(first) = paths.first() else { return heard };
    *session = Some(first.clone());
    let call = Call { app, args, event: &event };
    let remembered = call.remember_client(client_pid, first);
    let opened = app.engine();
    for path in &paths {
        match &opened {
            Ok(engine) => call.nudge(engine, path, &options)?,
            Err(error) => leave(app, path, &with_causes(error))?,
        }
    }
    if let (Ok(engine), "SessionStart") = (&opened, event.as_str()) {
        if is_injecting(app, args) {
            inject(app, engine, first, source.as_deref().unwrap_or_default())?;
        }
        engine.close_dead(first, &options)?;
    }
    // Not before: a session is captured also where nobody will know which process worked in it.
    remembered.and(heard)
}

/// A call of a hook.
struct Call<'a> {
    app: &'a App,
    args: &'a Hook,
    event: &'a str,
}

impl Call<'_> {
    fn nudge(&self, engine: &Engine, path: &Path, options: &CaptureOptions) -> Result<(), CliError> {
        let (app, event) = (self.app, self.event);
        match engine.nudge(path, options) {
            Ok(Nudged::Captured(captured)) => {
                tracing::info!(command = "hook", event, commits = captured.new_commits, "captured");
                Ok(())
            }
            Ok(Nudged::Later(later)) => {
                tracing::info!(command = "hook", event, why = ?later, "left to an import");
                Ok(app.host()?.import_in_background(path)?)
            }
            Err(EngineError::HeldBack { .. } | EngineError::NotATranscript { .. }) => Ok(()),
            Err(error) => leave(app, path, &with_causes(&error.into())),
        }
    }

    /// Keeps in mind which process works in a session, for what its agent starts.
    fn remember_client(&self, client_pid: Option<u32>, session: &Path) -> Result<(), CliError> {
        let clients = self.app.home()?.clients(Path::new(PROCESSES));
        let client = match client_pid {
            Some(pid) => clients.process(pid),
            None => clients.client_of_hook(std::process::id(), &self.args.runtime),
        };
        let Some(client) = client else { return Ok(()) };
        Ok(clients.remember(&client, session, self.event == "SessionEnd")?)
    }
}

/// Returns how a hook captures: as is configured, and with what the client's environment says of the agent.
fn options(app: &App, trigger: Trigger, is_significant: bool) -> CaptureOptions {
    let template = app.environment.text(TEMPLATE_VARIABLE);
    CaptureOptions {
        granularity: app.settings.granularity,
        leaf: app.settings.provisional.keeps(trigger, is_significant),
        // A name that is none is somebody else's variable.
        template_alias: template.and_then(|name| Template::new(name).ok()),
        ..CaptureOptions::live(trigger)
    }
}

/// Off unless somebody said so, for this client or for all.
fn is_injecting(app: &App, args: &Hook) -> bool {
    args.inject || app.config.get(&INJECT).is_some_and(|text| is_on(&text))
}

/// Prints what of a session was lost, in the form in which clients take it. A session that begins has lost nothing; one that
/// is known already goes on, whatever its client calls that.
fn inject(app: &App, engine: &Engine, path: &Path, source: &str) -> Result<(), CliError> {
    if source == "clear" {
        return Ok(());
    }
    let Some(tip) = engine.find_recorded_session(&path.to_string_lossy())?.and_then(|session| session.tip)
    else {
        return Ok(());
    };
    let Some(recalled) = engine.recall(tip)? else { return Ok(()) };
    tracing::info!(command = "hook", source, chars = recalled.len(), "recalled");
    app.console.json_line(&json!({
        "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": recalled }
    }))
}

/// Says whether a tool failed, or something was decided with it.
fn is_significant(event: &str, input: &Input) -> bool {
    let tool = input.tool_name.as_deref().unwrap_or_default();
    event == "PostToolUseFailure" || is_deciding_tool(tool) || input.tool_response.has_error
}

/// Reads what the client says. Without any input, or with some that is no JSON, there is nothing to do but to say so.
pub(crate) fn read_input(app: &App) -> Result<Input, CliError> {
    if app.environment.stdin_is_terminal {
        return Err(CliError::Usage(
            "this is for a client's hook: it reads the hook's JSON on standard input".to_owned(),
        ));
    }
    input::read(std::io::stdin().lock())
}

/// Returns the path of a session whose client names it alone, and keeps it in its database.
fn in_database(app: &App, runtime: &str, input: &Input) -> Option<PathBuf> {
    let session = input.session_id.as_ref().filter(|_| input.transcript_path.is_none())?;
    let place = RUNTIMES.iter().find(|place| place.runtime == runtime && runtime == "opencode")?;
    let home = app.homes().config_dir(place)?;
    // The client's own variable: a path, or a name in its folder.
    let database = app.environment.path(DATABASE_VARIABLE).unwrap_or_else(|| "opencode.db".into());
    Some(home.join(database).join(session))
}

/// Returns what a checkpoint at an event is for; none where an event needs none.
fn trigger_of(event: &str) -> Option<Trigger> {
    match event {
        "PreCompact" | "PostCompact" | "PreCompress" => Some(Trigger::Compaction),
        "SessionEnd" => Some(Trigger::SessionEnd),
        "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" | "BeforeTool"
        | "AfterTool" => Some(Trigger::ToolCall),
        "Notification" | "PermissionRequest" | "PermissionDenied" => None,
        _ => Some(Trigger::TurnBoundary),
    }
}

/// Leaves a transcript to the next command.
fn leave(app: &App, path: &Path, reason: &str) -> Result<(), CliError> {
    Ok(app.host()?.leave(path, reason)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_say_what_a_checkpoint_is_for() {
        for (event, wanted) in [
            ("Stop", Some(Trigger::TurnBoundary)),
            ("", Some(Trigger::TurnBoundary)),
            ("SomethingNew", Some(Trigger::TurnBoundary)),
            ("PreCompact", Some(Trigger::Compaction)),
            ("SessionEnd", Some(Trigger::SessionEnd)),
            ("PostToolUse", Some(Trigger::ToolCall)),
            ("AfterTool", Some(Trigger::ToolCall)),
            ("PreCompress", Some(Trigger::Compaction)),
            ("AfterAgent", Some(Trigger::TurnBoundary)),
            ("Notification", None),
        ] {
            assert_eq!(trigger_of(event), wanted, "{event}");
        }
    }

    #[test]
    fn failures_and_decisions_are_significant() {
        for (event, text, wanted) in [
            ("PostToolUse", r#"{"tool_name":"Bash","tool_response":{"stdout":"x"}}"#, false),
            ("PostToolUse", r#"{"tool_name":"ExitPlanMode","tool_response":"yes"}"#, true),
            ("PostToolUseFailure", r#"{"tool_name":"Bash"}"#, true),
            ("AfterTool", r#"{"tool_name":"x","tool_response":{"error":{"message":"no"}}}"#, true),
            ("AfterTool", r#"{"tool_name":"x","tool_response":{"error":null}}"#, false),
        ] {
            assert_eq!(is_significant(event, &serde_json::from_str(text).unwrap()), wanted, "{text}");
        }
    }
}
