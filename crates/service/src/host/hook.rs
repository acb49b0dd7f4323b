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
    Calls, CaptureOptions, Engine, EngineError, Later, Marker, Nudged, OpenFor, Patience,
    clients::{self, Meaning, meaning_of},
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
    pub ticket: Option<TicketId>,
    /// The discussion thread.
    pub thread: Option<ThreadId>,
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
    /// Whether a compaction took something away and no brief of it was there: what is told then is little.
    pub brief_is_missing: bool,
}

/// What a hook does about the brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BriefDuty {
    None,
    /// A compaction comes: the brief is made.
    Prepare,
    /// The session ends: a brief that it has is made again.
    Renew,
    /// The session goes on: it is handed over. `was_compacted` is what the client says.
    HandOver {
        was_compacted: bool,
    },
    /// A user speaks: it is handed over where a compaction was the last that was heard of.
    HandOverIfDue,
}

impl BriefDuty {
    fn of(meaning: Meaning, source: Option<&str>) -> Self {
        match (meaning, source) {
            (Meaning::BeforeCompaction, _) => Self::Prepare,
            (Meaning::Ends, _) => Self::Renew,
            // Some clients have no event behind their compaction.
            (Meaning::Prompt, _) => Self::HandOverIfDue,
            // Nothing of one that was cleared is wanted any more.
            (Meaning::Begins, Some("clear"))
            | (
                Meaning::AfterCompaction
                | Meaning::Tool
                | Meaning::ToolFailed
                | Meaning::Asks
                | Meaning::Turn,
                _,
            ) => Self::None,
            (Meaning::Begins, source) => Self::HandOver { was_compacted: source == Some("compact") },
        }
    }
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
    brief: BriefDuty,
}

impl Duty {
    /// Returns what there is to do; nothing where an event needs no checkpoint.
    fn of(event: &str, input: &Input) -> Option<Self> {
        let meaning = meaning_of(event);
        let trigger = match meaning {
            Meaning::BeforeCompaction | Meaning::AfterCompaction => Trigger::Compaction,
            Meaning::Ends => Trigger::SessionEnd,
            Meaning::Tool | Meaning::ToolFailed => Trigger::ToolCall,
            Meaning::Asks => return None,
            Meaning::Begins | Meaning::Prompt | Meaning::Turn => Trigger::TurnBoundary,
        };
        let tool = input.tool_name.as_deref().unwrap_or_default();
        Some(Self {
            trigger,
            is_significant: meaning == Meaning::ToolFailed
                || is_deciding_tool(tool)
                || input.tool_response.has_error,
            begins: meaning == Meaning::Begins,
            brief: BriefDuty::of(meaning, input.source.as_deref()),
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
                self.tell_missing_brief(&request.runtime, session, &hooked)?;
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

    /// Keeps for `status` that an agent was told little, until one of the same client is told all.
    fn tell_missing_brief(&self, runtime: &str, session: Option<PathBuf>, hooked: &Hooked) -> Answer<()> {
        let source = Calls::of_brief(runtime);
        if hooked.brief_is_missing {
            let shown = session.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
            let reason = format!(
                "the brief of {shown} was missing when {runtime} continued after a compaction: its agent got only pins, notes \
                 and open tasks. The brief is made now, for the next time"
            );
            return self.keep_trouble(&source, session, reason);
        }
        if hooked.brief.is_some() {
            self.home.calls().went_well(&source, session.as_deref());
        }
        Ok(())
    }

    /// `session` becomes the transcript that it is about.
    fn listen(
        &self,
        request: &HookRequest,
        input: Option<&mut dyn Read>,
        session: &mut Option<PathBuf>,
    ) -> Result<Hooked, Fault> {
        let input = input::read(input)?;
        let is_client = clients::by_id(&request.runtime).is_some_and(|client| client.hooks.is_some());
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
                let brief = if request.briefs { duty.brief } else { BriefDuty::None };
                let (mut is_same, mut failed) = (false, None);
                for path in &paths {
                    let prepares = brief == BriefDuty::Prepare && path == first;
                    match self.nudge(engine, path, (&options, prepares), &mut hooked) {
                        Ok(goes_on) => is_same |= goes_on && path == first,
                        // It does not keep the other one from being read.
                        Err(error) => failed = failed.or(Some(error)),
                    }
                }
                if is_same {
                    self.brief(engine, first, brief, &mut hooked)?;
                }
                if duty.begins {
                    engine.close_dead(first, &options)?;
                }
                if let Some(error) = failed {
                    return Err(error);
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

    /// Captures what is new. Returns whether what is stored is of the same line as the transcript, as far as that is known.
    fn nudge(
        &self,
        engine: &Engine,
        path: &Path,
        (options, prepares): (&CaptureOptions, bool),
        hooked: &mut Hooked,
    ) -> Result<bool, Fault> {
        match engine.nudge(path, options) {
            Ok(Nudged::Captured(captured)) => {
                hooked.commits = hooked.commits.saturating_add(captured.new_commits);
            }
            Ok(Nudged::Later(later)) => {
                self.import_in_background(path, prepares)?;
                hooked.background.push(path.to_owned());
                return Ok(later != Later::Rewritten);
            }
            Err(EngineError::HeldBack { .. }) => return Ok(false),
            // A session that just began may have nothing in its file.
            Err(EngineError::NotATranscript { .. }) if is_empty(path) => return Ok(false),
            // No later command reads it either, so it is not left to one.
            Err(error @ (EngineError::NotATranscript { .. } | EngineError::UnknownSchema { .. })) => {
                return Err(error.into());
            }
            Err(error) => self.leave(path, &with_causes(&problem_of(&error)))?,
        }
        Ok(true)
    }

    /// Has the brief of a session made in the background, or hands over the one that was made.
    fn brief(&self, engine: &Engine, path: &Path, duty: BriefDuty, hooked: &mut Hooked) -> Result<(), Fault> {
        let was_compacted = match duty {
            BriefDuty::Prepare => {
                engine.leave_brief_due(path)?;
                // An import that was started for it makes the brief as well.
                return if hooked.background.is_empty() { self.start_brief(path) } else { Ok(()) };
            }
            BriefDuty::Renew => return if engine.has_brief(path) { self.start_brief(path) } else { Ok(()) },
            BriefDuty::HandOver { was_compacted } => was_compacted,
            BriefDuty::HandOverIfDue if engine.is_brief_due(path) => true,
            BriefDuty::None | BriefDuty::HandOverIfDue => return Ok(()),
        };
        let handed = engine.handed_brief(path, was_compacted)?;
        (hooked.brief, hooked.brief_is_missing) = (handed.text, handed.is_missing);
        if handed.is_missing && hooked.background.is_empty() {
            self.start_brief(path)?;
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
            ticket: request.ticket.clone(),
            thread: request.thread.clone(),
            template_alias: request.template.as_deref().and_then(|name| Template::new(name).ok()),
            ..CaptureOptions::live(duty.trigger)
        }
    }

    /// Returns the path of a session whose client names it alone, and keeps it in its database.
    fn in_database(&self, request: &HookRequest, input: &Input) -> Option<PathBuf> {
        let session = input.session_id.as_ref().filter(|_| input.transcript_path.is_none())?;
        let client = clients::by_id(&request.runtime)?;
        let usual = client.home?.database?.file;
        let home = self.machine.clients.config_dir(client)?;
        Some(home.join(request.database.as_deref().unwrap_or(Path::new(usual))).join(session))
    }
}

fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() == 0)
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
    fn a_brief_is_made_before_a_compaction_and_handed_over_behind_it() {
        let hand_over = |was_compacted| BriefDuty::HandOver { was_compacted };
        for (event, text, wanted) in [
            ("SessionStart", "{}", hand_over(false)),
            ("SessionStart", r#"{"source":"resume"}"#, hand_over(false)),
            ("SessionStart", r#"{"source":"compact"}"#, hand_over(true)),
            ("SessionStart", r#"{"source":"clear"}"#, BriefDuty::None),
            ("PreCompact", "{}", BriefDuty::Prepare),
            ("PreCompress", "{}", BriefDuty::Prepare),
            ("BeforeAgent", "{}", BriefDuty::HandOverIfDue),
            ("UserPromptSubmit", "{}", BriefDuty::HandOverIfDue),
            ("SessionEnd", "{}", BriefDuty::Renew),
            ("Stop", "{}", BriefDuty::None),
        ] {
            let duty = Duty::of(event, &serde_json::from_str(text).unwrap()).unwrap();
            assert_eq!((duty.begins, duty.brief), (event == "SessionStart", wanted), "{event} {text}");
        }
    }
}
