//! `start`: an agent of a configured kind, with a context or none. Fresh, resumed and forked are one operation.

use std::path::PathBuf;

use stemmata_api::v1::{ChildrenRequest, Started};
use stemmata_api::{Answer, Code, Control, PageRequest, Problem, Service};
use stemmata_engine::{StartMode, Templates};

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
}

/// What an agent goes on from.
#[derive(Clone)]
pub struct StartFrom<'a> {
    /// Where the commit is.
    pub service: &'a dyn Service,
    /// The commit.
    pub ctx: String,
    /// End the context at this entry.
    pub at: Option<String>,
}

impl Host {
    /// Places what an agent goes on from, and returns the command that starts it.
    ///
    /// # Errors
    /// `config_bad` for the template, `not_a_directory`, and those of [`place`](Self::place).
    pub fn start(&self, request: &StartRequest<'_>, control: &Control<'_>) -> Answer<Started> {
        self.started(request, control).map_err(|fault| fault.0)
    }

    fn started(&self, request: &StartRequest<'_>, control: &Control<'_>) -> Result<Started, Fault> {
        let bad = |reason: String| Fault::from(Problem::new(Code::ConfigBad, reason));
        let (name, template) =
            request.templates.parse(&request.template).map_err(|error| bad(error.reason))?;
        let command = |resume: Option<&[String]>| {
            let words = template.command_line(resume, &request.extra);
            words.map_err(|error| bad(format!("template `{name}`: {error}")))
        };
        // Said before anything is placed.
        command(None)?;
        is_directory(&request.cwd)?;
        let (mode, placed) = match &request.from {
            None => (StartMode::Fresh, None),
            Some(from) => {
                let page = PageRequest { after: None, limit: Some(1) };
                let next = from.service.children(&ChildrenRequest { ctx: from.ctx.clone(), page })?;
                let mode = if next.commits.is_empty() { StartMode::Resume } else { StartMode::Fork };
                let wish = PlaceRequest {
                    ctx: from.ctx.clone(),
                    runtime: Some(template.runtime.clone()),
                    cwd: request.cwd.clone(),
                    stop: "compaction".to_owned(),
                    at: from.at.clone(),
                    client_version: None,
                    with_secrets: false,
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
        })
    }
}
