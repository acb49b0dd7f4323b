//! `hook`: a client's nudge. Never fails the client, never makes it wait, and prints only what it was asked to recall.
//!
//! The transcript is the truth: what the input says is only where to look. What is read and what is left is the
//! engine's to decide.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::json;
use stemmata_engine::{CaptureOptions, Engine, EngineError, Nudged, RUNTIMES, is_session_there};
use stemmata_model::{Template, Trigger};

use crate::ancestry;
use crate::args::live::Hook;
use crate::commands::import;
use crate::commands::start::TEMPLATE_VARIABLE;
use crate::config::Key;
use crate::environment::Environment;
use crate::errors::{CliError, Exit, with_causes};
use crate::pending;
use crate::wiring::App;

/// Bytes of input that are read at most: a tool's output may be in it, which is not needed.
const INPUT_BYTES_MAX: u64 = 16 << 20;

/// Milliseconds that a hook waits for another process's write.
const WAIT_MS: u64 = 20;

/// The variable by which opencode is told of another database.
const DATABASE_VARIABLE: &str = "OPENCODE_DB";

/// Tools by which something is decided, by their clients' names.
const DECIDING_TOOLS: &[&str] =
    &["AskUserQuestion", "ExitPlanMode", "ask_user", "exit_plan_mode", "request_user_input", "update_plan"];

/// What is read of the input; the rest is the client's.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Input {
    hook_event_name: Option<String>,
    /// The session's own id.
    pub(crate) session_id: Option<String>,
    /// Its transcript.
    pub(crate) transcript_path: Option<PathBuf>,
    agent_transcript_path: Option<PathBuf>,
    /// The client's process, where it is not simply who called.
    client_pid: Option<u32>,
    source: Option<String>,
    tool_name: Option<String>,
    tool_response: Option<serde_json::Value>,
}

/// Runs the command. Whatever happens, the client goes on.
pub(crate) fn run(app: &App, args: &Hook) -> Exit {
    if let Err(error) = nudge(app, args) {
        let reason = with_causes(&error);
        tracing::warn!(command = "hook", reason, "nothing was captured");
        note(app, &reason);
    }
    Exit::Done
}

/// Does nothing, but for what a client expects even of that: its words are read, else it may stumble over a closed pipe.
pub(crate) fn pass_over(environment: &Environment) -> Exit {
    if !environment.stdin_is_terminal {
        let _gone = std::io::copy(&mut std::io::stdin().lock().take(INPUT_BYTES_MAX), &mut std::io::sink());
    }
    Exit::Done
}

fn note(app: &App, reason: &str) {
    if let Ok(home) = app.home()
        && let Err(error) = pending::trouble(home, reason, app.now().as_micros())
    {
        tracing::warn!(error = %with_causes(&error), "the trouble itself could not be kept");
    }
}

fn nudge(app: &App, args: &Hook) -> Result<(), CliError> {
    let input = match &args.input {
        Some(text) => parse(text.as_bytes())?,
        None => read_input(app)?,
    };
    let event = args.event.clone().or_else(|| input.hook_event_name.clone()).unwrap_or_default();
    let Some(trigger) = trigger_of(&event) else { return Ok(()) };
    let options = options(app, trigger, is_significant(&event, &input))?;
    let client_pid = input.client_pid;
    let kept = in_database(app, &args.runtime, &input);
    let paths = [input.transcript_path, input.agent_transcript_path, kept];
    // A session that just began may have no file yet.
    let paths: Vec<PathBuf> = paths.into_iter().flatten().filter(|path| is_session_there(path)).collect();
    if paths.is_empty() {
        return Ok(());
    }
    if let Some(session) = paths.first() {
        remember_client(app, args, (client_pid, session), &event)?;
    }
    let opened = app.hook_engine(WAIT_MS);
    for path in paths.iter().map(PathBuf::clone) {
        let nudged = match &opened {
            Ok(engine) => engine.nudge(&path, &options).map_err(CliError::from),
            Err(error) => {
                leave(app, &path, &with_causes(error))?;
                continue;
            }
        };
        match nudged {
            Ok(Nudged::Captured(captured)) => {
                tracing::info!(command = "hook", event, commits = captured.new_commits, "captured");
            }
            Ok(Nudged::Later(later)) => {
                tracing::info!(command = "hook", event, why = ?later, "left to an import");
                import_in_background(app, &path)?;
            }
            Err(CliError::Engine(EngineError::HeldBack { .. } | EngineError::NotATranscript { .. })) => {}
            Err(error) => leave(app, &path, &with_causes(&error))?,
        }
    }
    if let (Ok(engine), Some(path), "SessionStart") = (&opened, paths.first(), event.as_str()) {
        if is_injecting(app, args) {
            inject(app, engine, path, input.source.as_deref().unwrap_or_default())?;
        }
        engine.close_dead(path, &options)?;
    }
    Ok(())
}

/// Returns how a hook captures: as is configured, and with what the client's environment says of the agent.
fn options(app: &App, trigger: Trigger, is_significant: bool) -> Result<CaptureOptions, CliError> {
    let template = app.environment.text(TEMPLATE_VARIABLE);
    Ok(CaptureOptions {
        granularity: import::granularity(app)?,
        leaf: import::provisional(app)?.keeps(trigger, is_significant),
        // A name that is none is somebody else's variable.
        template_alias: template.and_then(|name| Template::new(name).ok()),
        ..CaptureOptions::live(trigger)
    })
}

/// Off unless somebody said so, for this client or for all.
fn is_injecting(app: &App, args: &Hook) -> bool {
    args.inject || app.config.get(Key::Inject).is_some_and(|text| matches!(text.as_str(), "1" | "true"))
}

/// Prints what of a session was lost, in the form in which clients take it. A session that begins has lost nothing; one that
/// is known already goes on, whatever its client calls that.
fn inject(app: &App, engine: &Engine, path: &Path, source: &str) -> Result<(), CliError> {
    if source == "clear" {
        return Ok(());
    }
    let Some(tip) = engine.find_session(&path.to_string_lossy())?.and_then(|session| session.tip) else {
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
    let failed = || {
        input
            .tool_response
            .as_ref()
            .is_some_and(|said| said.get("error").is_some_and(|error| !error.is_null()))
    };
    event == "PostToolUseFailure" || DECIDING_TOOLS.contains(&tool) || failed()
}

/// Reads what the client says. Without any input, or with some that is no JSON, there is nothing to do but to say so.
pub(crate) fn read_input(app: &App) -> Result<Input, CliError> {
    if app.environment.stdin_is_terminal {
        return Err(CliError::Usage(
            "this is for a client's hook: it reads the hook's JSON on standard input".to_owned(),
        ));
    }
    let mut text = Vec::new();
    let stdin = std::io::stdin().lock();
    let read = stdin.take(INPUT_BYTES_MAX).read_to_end(&mut text);
    read.map_err(|source| CliError::io("read", Path::new("standard input"), source))?;
    parse(&text)
}

fn parse(text: &[u8]) -> Result<Input, CliError> {
    serde_json::from_slice(text).map_err(|error| {
        CliError::Usage(format!("a hook was called with input that is no JSON object ({error})"))
    })
}

/// Keeps in mind which process works in a session, for what its agent starts.
fn remember_client(
    app: &App,
    args: &Hook,
    (client_pid, session): (Option<u32>, &Path),
    event: &str,
) -> Result<(), CliError> {
    let processes = Path::new(ancestry::PROCESSES);
    let client = match client_pid {
        Some(pid) => ancestry::process(processes, pid),
        None => ancestry::client_of_hook(processes, std::process::id(), &args.runtime),
    };
    let Some(client) = client else { return Ok(()) };
    ancestry::remember(app.home()?, &client, session, event == "SessionEnd")
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

fn leave(app: &App, path: &Path, reason: &str) -> Result<(), CliError> {
    pending::leave(app.home()?, path, reason, app.now().as_micros())
}

/// Starts an import that outlives the hook and the client's signals. Until it is through, a marker names the
/// transcript.
fn import_in_background(app: &App, path: &Path) -> Result<(), CliError> {
    leave(app, path, "an import in the background reads it")?;
    let Some(program) = &app.environment.program else { return Ok(()) };
    let mut import = Command::new(program);
    // Any command takes what hooks left first; this one does nothing else.
    import.args(["import", "--quiet"]).arg(path);
    import.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut import, 0);
    import.spawn().map(drop).map_err(|source| CliError::io("start", program, source))
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
    fn of_the_input_only_the_paths_are_read() {
        let text = r#"{"session_id":"s","transcript_path":"/t.jsonl","hook_event_name":"Stop","tool_input":{"a":[1]}}"#;
        let input: Input = serde_json::from_str(text).unwrap();
        assert_eq!(input.transcript_path.as_deref(), Some(Path::new("/t.jsonl")));
        assert_eq!(serde_json::from_str::<Input>(r#"{"transcript_path":null}"#).unwrap(), Input::default());
        assert!(serde_json::from_str::<Input>("garbage").is_err());
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
