//! `start`: an agent of a configured kind, with a context or none. Fresh, resumed and forked are one operation.

use std::path::{Path, PathBuf};

use stemmata_api::v1::{ChildrenRequest, PROMPT_FILE_BYTES_MAX, Started, StrategySource};
use stemmata_api::{Answer, Code, Control, PageRequest, Problem, Service};
use stemmata_engine::prompt::strategy;
use stemmata_engine::tokens;
use stemmata_engine::{AgentConfig, AgentTemplate, StartMode, Templates};
use stemmata_model::CommitId;

use super::Host;
use super::place::{PlaceRequest, is_directory};
use crate::fault::Fault;

/// Which agent to start, and with what.
#[derive(Clone)]
pub struct StartRequest<'a> {
    /// The kinds of agents that are configured.
    pub templates: &'a Templates,
    /// The name of the one that is meant.
    pub template: String,
    /// What it goes on from; none: it starts afresh, and no store is asked.
    pub from: Option<StartFrom<'a>>,
    /// The directory that the agent will work in, absolute.
    pub cwd: PathBuf,
    /// Words that the client's command ends with.
    pub extra: Vec<String>,
    /// Whether the client is about to be started here, so that its program has to be there.
    pub starts: bool,
    /// Check everything, and write nothing.
    pub dry_run: bool,
}

/// What an agent goes on from.
#[derive(Clone)]
pub struct StartFrom<'a> {
    /// Where the commit is.
    pub service: &'a dyn Service,
    /// The commit.
    pub ctx: CommitId,
    /// End the context at this entry.
    pub at: Option<String>,
}

/// A kind of agent as a loop of one's own reads it: what its requests for prompts carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFound {
    /// What its prompts are made of.
    pub strategy: Option<StrategySource>,
    /// Who it is: the text of its profile.
    pub profile: Option<String>,
    /// The model, where its tokens and its window are known.
    pub model: Option<String>,
    /// The model's name as the template has it, where nothing is known of it: it may be an alias of the client's, and nothing is
    /// guessed.
    pub unknown_model: Option<String>,
}

impl Host {
    /// Reads a kind of agent with its profile and its strategy, as [`start`](Self::start) does.
    ///
    /// # Errors
    /// `config_bad`, which names the template, the field, and the line of a file that is wrong.
    pub fn agent(&self, templates: &Templates, name: &str) -> Answer<AgentFound> {
        self.with(|_| {
            let agent = resolved(templates, name)?;
            // One that comes with Stemmata goes by its name, which is the role where no profile says one.
            let shipped = agent.template.strategy.filter(|name| strategy::shipped(name).is_some());
            let (model, unknown_model) = match agent.template.model {
                Some(name) if tokens::model(&name).is_none() => (None, Some(name)),
                known => (known, None),
            };
            Ok(AgentFound {
                strategy: shipped
                    .map(StrategySource::Name)
                    .or_else(|| agent.strategy.map(|strategy| StrategySource::Text(strategy.text))),
                profile: agent.profile.map(|profile| profile.text),
                model,
                unknown_model,
            })
        })
    }

    /// Returns the text of a profile: a table of the configuration, or a file that it can be read from.
    ///
    /// # Errors
    /// `config_bad`, as [`agent`](Self::agent).
    pub fn profile(&self, templates: &Templates, name: &str) -> Answer<String> {
        let profile = templates.profile(name, &text_of);
        let profile = profile.map_err(|reason| Box::new(Problem::new(Code::ConfigBad, reason)));
        Ok(profile?.text)
    }

    /// Places what an agent goes on from, and returns the command that starts it.
    ///
    /// # Errors
    /// `config_bad` for the template, `not_a_directory`, and those of [`place`](Self::place).
    pub fn start(&self, request: &StartRequest<'_>, control: &Control<'_>) -> Answer<Started> {
        self.started(request, control).map_err(|fault| fault.0)
    }

    fn started(&self, request: &StartRequest<'_>, control: &Control<'_>) -> Result<Started, Fault> {
        let AgentConfig { name, template, profile, .. } = resolved(request.templates, &request.template)?;
        let instructions = profile.map(|profile| profile.value.instructions).filter(|text| !text.is_empty());
        let template = AgentTemplate { system_prompt: template.system_prompt.or(instructions), ..template };
        let command = |resume: Option<&[String]>| {
            let words = template.command_line(resume, &request.extra);
            words.map_err(|error| bad(format!("template `{name}`: {error}")))
        };
        // Said before anything is placed.
        let fresh = command(None)?;
        is_directory(&request.cwd)?;
        let program = fresh.first().map_or("", String::as_str);
        let absent = self.absent_program(program, (request.starts, request.dry_run)).map_err(elsewhere)?;
        let (mode, placed) = match &request.from {
            None => (StartMode::Fresh, None),
            Some(from) => {
                let page = PageRequest { after: None, limit: Some(1) };
                let next = from.service.children(&ChildrenRequest { ctx: from.ctx.to_string(), page })?;
                let mode = if next.commits.is_empty() { StartMode::Resume } else { StartMode::Fork };
                let wish = PlaceRequest {
                    ctx: from.ctx,
                    session: None,
                    runtime: Some(template.runtime.clone()),
                    cwd: Some(request.cwd.clone()),
                    stop: "compaction".to_owned(),
                    at: from.at.clone(),
                    client_version: None,
                    // Agents may run side by side from one session: each gets its own.
                    reuses: false,
                    // The template's own program was looked for.
                    starts: false,
                    dry_run: request.dry_run,
                };
                (mode, Some(self.placed(from.service, &wish, control)?))
            }
        };
        Ok(Started {
            template: name.to_string(),
            mode: mode.as_str().to_owned(),
            command: command(placed.as_ref().map(|placed| placed.resume_command.as_slice()))?,
            runtime: template.runtime,
            cwd: request.cwd.to_string_lossy().into_owned(),
            placed,
            notes: absent.into_iter().collect(),
        })
    }
}

fn resolved(templates: &Templates, name: &str) -> Result<AgentConfig, Fault> {
    let resolved = templates.resolve(name, &text_of).map_err(|error| bad(error.reason));
    resolved.map_err(|fault| {
        let known = templates.names();
        if known.iter().any(|known| known == name) {
            return fault;
        }
        // No file is wrong: the name is.
        let hint = if known.is_empty() {
            format!(
                "define it in the configuration as `[templates.{name}]`; `stemma config path` prints the file"
            )
        } else {
            "name one of these with `--template`, or define it in the configuration".to_owned()
        };
        Problem { hint: Some(hint), ..*fault.0 }.into()
    })
}

/// Says what helps where the program of a template is not installed: a template starts one client only.
fn elsewhere(fault: Fault) -> Fault {
    let hint =
        "install it, or name a template of another client; `--print` prints the command to run elsewhere";
    Problem { hint: Some(hint.to_owned()), ..*fault.0 }.into()
}

fn bad(reason: String) -> Fault {
    Problem::new(Code::ConfigBad, reason).into()
}

/// Reads a file that a template names.
fn text_of(path: &Path) -> Result<String, String> {
    let failed = |reason: String| format!("{} cannot be read: {reason}", path.display());
    let bytes = stemmata_store::read_bounded(path, PROMPT_FILE_BYTES_MAX + 1);
    let bytes = bytes.map_err(|error| failed(error.to_string()))?;
    let bytes = bytes.ok_or_else(|| format!("{} does not exist", path.display()))?;
    if bytes.len() as u64 > PROMPT_FILE_BYTES_MAX {
        return Err(failed(format!("it has more than {PROMPT_FILE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}
