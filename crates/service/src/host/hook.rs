//! A client's nudge: what its hook says becomes a capture, or somebody else's task. Never makes the client wait.
//!
//! The transcript is the truth: what the input says is only where to look. What is read and what is left is the engine's to
//! decide.

mod input;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stemmata_api::{Answer, Code, Problem};
use stemmata_engine::{
    CaptureOptions, Engine, EngineError, HOOK_PLACES, Marker, Nudged, OpenFor, Patience, RUNTIMES,
    is_deciding_tool, is_session_there,
};
use stemmata_model::{Template, ThreadId, TicketId, Trigger};

use super::{Host, Whose};
use crate::fault::{Fault, problem_of, with_causes};
use input::Input;

pub use input::drain;

/// How long a hook waits for other processes, all their locks together.
const WAIT: Duration = Duration::from_millis(20);

/// What a client says by calling its hook, but for the input.
#[derive(Debug, Clone)]
pub struct HookRequest {
    /// The runtime that calls.
    pub runtime: String,
    /// The event; none: the one that the input names.
    pub event: Option<String>,
    /// The database of a client that keeps its sessions in one, where its environment names another than usual: a path, or a
    /// name in its folder.
    pub database: Option<PathBuf>,
    /// The kind of agent that its environment names.
    pub template: Option<String>,
    /// The ticket being worked on.
    pub ticket: Option<String>,
    /// The discussion thread.
    pub thread: Option<String>,
    /// Whether an agent is told what of its session was lost.
    pub briefs: bool,
    /// The process of the hook.
    pub pid: u32,
}

/// What a hook did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hooked {
    /// The event.
    pub event: String,
    /// New commits.
    pub commits: u64,
    /// Transcripts that an import in the background reads.
    pub background: Vec<PathBuf>,
    /// What of the session was lost, for its agent.
    pub brief: Option<String>,
}

/// What a hook does at an event. Depends on nothing but what the client says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Duty {
    /// What a checkpoint is for.
    trigger: Trigger,
    /// Whether a tool failed, or something was decided with it.
    is_significant: bool,
    /// Whether a session begins or goes on.
    begins: bool,
    /// Whether its agent may have lost something: one that was cleared has not.
    may_have_lost: bool,
}

impl Duty {
    /// Returns what there is to do; nothing where an event needs no checkpoint.
    fn of(event: &str, input: &Input) -> Option<Self> {
        let trigger = match event {
            "PreCompact" | "PostCompact" | "PreCompress" => Trigger::Compaction,
            "SessionEnd" => Trigger::SessionEnd,
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" | "BeforeTool"
            | "AfterTool" => Trigger::ToolCall,
            "Notification" | "PermissionRequest" | "PermissionDenied" => return None,
            _ => Trigger::TurnBoundary,
        };
        let tool = input.tool_name.as_deref().unwrap_or_default();
        let begins = event == "SessionStart";
        Some(Self {
            trigger,
            is_significant: event == "PostToolUseFailure"
                || is_deciding_tool(tool)
                || input.tool_response.has_error,
            begins,
            may_have_lost: begins && input.source.as_deref() != Some("clear"),
        })
    }
}

/// Returns what a hook opens a store for: from now on it waits so long, and no longer.
pub fn open_for_hook() -> OpenFor {
    OpenFor::Hook(Patience::together(WAIT))
}

impl Whose {
    /// Reads which session a client told its hook. All of the input is read; without one there is a reason.
    ///
    /// # Errors
    /// `bad_request` where it is no hook's; `io_failed`.
    pub fn of_hook(input: Option<&mut dyn Read>) -> Answer<Self> {
        let input = input::read(input).map_err(|fault| fault.0)?;
        Ok(Self::Hook { transcript: input.transcript_path, session_id: input.session_id })
    }
}

impl Host {
    /// Hears what a client says and captures what is new. What goes wrong is kept for `status` until the same goes well. None
    /// for the input says that nobody is there to write one.
    ///
    /// # Errors
    /// Any; none is the client's to fail of.
    pub fn hook(&self, request: &HookRequest, input: Option<&mut dyn Read>) -> Answer<Hooked> {
        let mut session = None;
        let done = self.listen(request, input, &mut session);
        match done {
            Ok(hooked) => {
                self.home.calls().went_well(&request.runtime, session.as_deref());
                Ok(hooked)
            }
            Err(Fault(mut problem)) => {
                let kept = self.keep_trouble(&request.runtime, session, with_causes(&problem));
                problem.causes.extend(kept.err().map(|unkept| format!("`status` does not say so: {unkept}")));
                Err(problem)
            }
        }
    }

    /// Keeps for `status` what went wrong, of a client's hooks or of `run`.
    ///
    /// # Errors
    /// `io_failed`.
    pub fn keep_trouble(&self, source: &str, session: Option<PathBuf>, reason: String) -> Answer<()> {
        let trouble = Marker { path: session, reason, at: self.now().as_micros() };
        self.with(|home| Ok(home.calls().keep_trouble(source, &trouble)?))
    }

    /// `session` becomes the transcript that it is about.
    fn listen(
        &self,
        request: &HookRequest,
        input: Option<&mut dyn Read>,
        session: &mut Option<PathBuf>,
    ) -> Result<Hooked, Fault> {
        let input = input::read(input)?;
        let is_client = HOOK_PLACES.iter().any(|place| place.runtime == request.runtime);
        let heard = if is_client { self.home.calls().record(&request.runtime, self.now()) } else { Ok(()) };
        let event = request.event.clone().or_else(|| input.hook_event_name.clone()).unwrap_or_default();
        let duty = Duty::of(&event, &input);
        let mut hooked = Hooked { event, ..Hooked::default() };
        let Some(duty) = duty else { return Ok(heard.map(|()| hooked)?) };
        let kept = self.in_database(request, &input);
        let paths = [input.transcript_path, input.agent_transcript_path, kept];
        // A session that just began may have no file yet.
        let paths: Vec<PathBuf> = paths.into_iter().flatten().filter(|path| is_session_there(path)).collect();
        let Some(first) = paths.first() else { return Ok(heard.map(|()| hooked)?) };
        *session = Some(first.clone());
        let remembered = self.remember_client(request, input.client_pid, (first, &hooked.event));
        let options = self.hook_options(request, duty);
        match self.home.engine() {
            Ok(engine) => {
                for path in &paths {
                    self.nudge(engine, path, &options, &mut hooked)?;
                }
                if duty.may_have_lost && request.briefs {
                    hooked.brief = brief(engine, first)?;
                }
                if duty.begins {
                    engine.close_dead(first, &options)?;
                }
            }
            Err(error) => {
                let reason = with_causes(&problem_of(&error));
                paths.iter().try_for_each(|path| self.leave(path, &reason))?;
            }
        }
        // Not before: a session is captured also where nobody will know which process worked in it.
        Ok(remembered.and(heard).map(|()| hooked)?)
    }

    fn nudge(
        &self,
        engine: &Engine,
        path: &Path,
        options: &CaptureOptions,
        hooked: &mut Hooked,
    ) -> Result<(), Fault> {
        match engine.nudge(path, options) {
            Ok(Nudged::Captured(captured)) => {
                hooked.commits = hooked.commits.saturating_add(captured.new_commits);
            }
            Ok(Nudged::Later(_)) => {
                self.import_in_background(path)?;
                hooked.background.push(path.to_owned());
            }
            Err(EngineError::HeldBack { .. } | EngineError::NotATranscript { .. }) => {}
            Err(error) => self.leave(path, &with_causes(&problem_of(&error)))?,
        }
        Ok(())
    }

    /// Keeps in mind which process works in a session, for what its agent starts.
    fn remember_client(
        &self,
        request: &HookRequest,
        client_pid: Option<u32>,
        (session, event): (&Path, &str),
    ) -> Result<(), EngineError> {
        let clients = self.home.clients(&self.machine.processes);
        let client = match client_pid {
            Some(pid) => clients.process(pid),
            None => clients.client_of_hook(request.pid, &request.runtime),
        };
        client.map_or(Ok(()), |client| clients.remember(&client, session, event == "SessionEnd"))
    }

    /// Returns how a hook captures: as is configured, and with what the client's environment says of the agent.
    fn hook_options(&self, request: &HookRequest, duty: Duty) -> CaptureOptions {
        let settings = &self.home.options().settings;
        CaptureOptions {
            granularity: settings.granularity,
            leaf: settings.provisional.keeps(duty.trigger, duty.is_significant),
            // A name that is none is somebody else's variable.
            ticket: request.ticket.as_deref().and_then(|name| TicketId::new(name).ok()),
            thread: request.thread.as_deref().and_then(|name| ThreadId::new(name).ok()),
            template_alias: request.template.as_deref().and_then(|name| Template::new(name).ok()),
            ..CaptureOptions::live(duty.trigger)
        }
    }

    /// Returns the path of a session whose client names it alone, and keeps it in its database.
    fn in_database(&self, request: &HookRequest, input: &Input) -> Option<PathBuf> {
        let session = input.session_id.as_ref().filter(|_| input.transcript_path.is_none())?;
        let is_asked_for = request.runtime == "opencode";
        let place = RUNTIMES.iter().find(|place| place.runtime == request.runtime && is_asked_for)?;
        let home = self.machine.clients.config_dir(place)?;
        let database = request.database.clone().unwrap_or_else(|| "opencode.db".into());
        Some(home.join(database).join(session))
    }
}

/// Returns what of a session was lost. One that begins has lost nothing; one that is known already goes on, whatever its client
/// calls that.
fn brief(engine: &Engine, path: &Path) -> Result<Option<String>, Fault> {
    let session = engine.find_recorded_session(&path.to_string_lossy())?;
    let tip = session.and_then(|session| session.tip);
    Ok(tip.map(|tip| engine.brief(tip)).transpose()?.flatten())
}

/// Returns the fault of a hook that no client calls.
fn nobody() -> Fault {
    let detail = "this is for a client's hook: it reads the hook's JSON on standard input";
    Problem::new(Code::BadRequest, detail).into()
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
            assert_eq!(Duty::of(event, &Input::default()).map(|duty| duty.trigger), wanted, "{event}");
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
            let duty = Duty::of(event, &serde_json::from_str(text).unwrap());
            assert_eq!(duty.map(|duty| duty.is_significant), Some(wanted), "{text}");
        }
    }

    #[test]
    fn only_a_session_that_goes_on_may_have_lost_something() {
        for (event, text, wanted) in [
            ("SessionStart", "{}", (true, true)),
            ("SessionStart", r#"{"source":"resume"}"#, (true, true)),
            ("SessionStart", r#"{"source":"clear"}"#, (true, false)),
            ("Stop", "{}", (false, false)),
        ] {
            let duty = Duty::of(event, &serde_json::from_str(text).unwrap()).unwrap();
            assert_eq!((duty.begins, duty.may_have_lost), wanted, "{event} {text}");
        }
    }
}
