//! The facet `Prompts` over a store of this machine.

use std::str::FromStr;

use serde_json::json;
use stemmata_api::v1::{
    AssembleRequest, Assembled, CheckStrategyRequest, ContextReport, ContextRequest, PROMPT_FILE_BYTES_MAX,
    PromptTrigger, SAID_BYTES_MAX, Strategies, StrategyFormat, StrategyReport, StrategyRequest,
    StrategySource, StrategyText,
};
use stemmata_api::{Answer, Code, Problem, Prompts};
use stemmata_engine::{Engine, PromptOf, PromptWanted};
use stemmata_model::{
    Entry, EntryId, Estimate, EventSeq, Json, LedgerId, NewEvent, NewPayload, Part, Party, Role, SessionId,
    Tokens, Topic, topics,
};
use stemmata_prompt::assemble::{Assembled as Made, Mode, metrics};
use stemmata_prompt::profile::Profile;
use stemmata_prompt::strategy::{
    self, CheckOptions, DocumentFormat, MAX_TOKENS_MAX, SHIPPED, Shipped, SourceTopic, Strategy,
    StrategyError,
};
use stemmata_store::{EventQuery, StoreError};

use super::{Local, bad_request};
use crate::fault::Fault;
use crate::wire;

/// The one counter that needs no vocabulary: four characters a token.
const ESTIMATE: &str = "estimate";

/// Who the agent is where nobody says.
const AGENT: &str = "agent";

/// The session of metrics that belong to none.
const SESSION: &str = "stemma";

/// Whose metrics they are for: nobody's prompt.
const SYSTEM: &str = "system";

impl Prompts for Local {
    fn assemble(&self, request: &AssembleRequest) -> Answer<Assembled> {
        self.with(|engine| assembled(engine, request))
    }

    fn context(&self, request: &ContextRequest) -> Answer<ContextReport> {
        self.with(|engine| {
            let asked = AssembleRequest { records_metrics: false, ..request.prompt.clone() };
            let Assembled { prompt, counter, trace, notes, .. } = assembled(engine, &asked)?;
            let Some(place) = &request.before else {
                return Ok(ContextReport { counter, trace, before: None, changes: Vec::new(), notes });
            };
            seq(place, "before")?;
            let asked = AssembleRequest { through: Some(place.clone()), trigger: None, ..asked };
            let earlier = assembled(engine, &asked)?;
            let changes = wire::prompt::changes((&earlier.prompt, &earlier.trace), (&prompt, &trace));
            Ok(ContextReport { counter, trace, before: Some(earlier.trace), changes, notes })
        })
    }

    fn check_strategy(&self, request: &CheckStrategyRequest) -> Answer<StrategyReport> {
        let is_planner = request.role.as_deref() == Some("planner");
        let format = DocumentFormat::of(&request.text);
        let check = |ledger_topics: &[Topic]| {
            strategy::check(&request.text, format, CheckOptions { ledger_topics, is_planner })
        };
        let checked = check(&[]);
        let (Some(ledger), Some(strategy)) = (&request.ledger, &checked.strategy) else {
            return Ok(wire::prompt::report(&checked.findings, checked.is_usable()));
        };
        self.with(|engine| {
            let known = topics_of(engine, ledger, strategy)?;
            Ok(wire::prompt::report(&check(&known).findings, true))
        })
    }

    fn strategies(&self) -> Answer<Strategies> {
        Ok(Strategies { strategies: SHIPPED.iter().map(wire::prompt::shipped).collect() })
    }

    fn strategy(&self, request: &StrategyRequest) -> Answer<StrategyText> {
        let found = shipped(&request.name).map_err(|fault| fault.0)?;
        let text = match request.format {
            StrategyFormat::Toml => found.text.to_owned(),
            StrategyFormat::Json => found.to_json(),
        };
        Ok(StrategyText { name: request.name.clone(), text })
    }
}

fn shipped(name: &str) -> Result<&'static Shipped, Fault> {
    SHIPPED.iter().find(|shipped| shipped.name == name).ok_or_else(|| {
        let known: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        let detail = format!("there is no strategy `{name}`; there are {}", known.join(", "));
        Problem::new(Code::StrategyNotFound, detail).into()
    })
}

/// Returns the topics of a strategy that a ledger has. One event of each is asked for.
fn topics_of(engine: &Engine, ledger: &str, strategy: &Strategy) -> Result<Vec<Topic>, Fault> {
    let ledger = LedgerId::new(ledger)?;
    if engine.log().ledger(&ledger)?.is_none() {
        return Err(StoreError::LedgerMissing(ledger).into());
    }
    let mut known = Vec::new();
    for source in &strategy.sources {
        let SourceTopic::Ledger(topic) = &source.topic else { continue };
        let query = EventQuery { topics: vec![topic.clone()], ..EventQuery::latest(topic.clone(), 1) };
        if !engine.log().page(&ledger, &query)?.events.is_empty() {
            known.push(topic.clone());
        }
    }
    Ok(known)
}

fn assembled(engine: &Engine, request: &AssembleRequest) -> Result<Assembled, Fault> {
    let ledger = LedgerId::new(request.ledger.as_str())?;
    let session = request.session.as_deref().map(SessionId::new).transpose()?;
    let (strategy, role) = match &request.strategy {
        StrategySource::Name(name) => (shipped(name)?.strategy(), name.as_str()),
        StrategySource::Text(text) => (parsed(text)?, AGENT),
    };
    let profile = profile(request, role)?;
    let counter = counter(request.counter.as_deref())?;
    let said_or_event = request.trigger.as_ref().map(trigger).transpose()?;
    let wanted = PromptWanted {
        max_tokens: request.max_tokens.map(budget).transpose()?,
        trigger: said_or_event,
        task: request.task.as_deref(),
        mode: match &request.after {
            None => Mode::Full,
            Some(after) => Mode::Continuation { after: seq(after, "after")?, is_profile_changed: false },
        },
        through: request.through.as_deref().map(|through| seq(through, "through")).transpose()?,
        iteration: request.iteration,
        ..PromptWanted::new(&profile, &strategy, &counter)
    };
    let of = PromptOf { ledger, session };
    let made = engine.assemble(&of, &wanted)?;
    let cost = metrics(&made.trace);
    let mut notes = Vec::new();
    if request.records_metrics {
        notes = record(engine, &of, &profile.id, &cost)?;
    }
    Ok(answer(&made, &cost, notes))
}

fn answer(made: &Made, cost: &Json, notes: Vec<stemmata_api::v1::Note>) -> Assembled {
    Assembled {
        prompt: made.text.clone(),
        counter: ESTIMATE.to_owned(),
        trace: wire::prompt::trace(&made.trace),
        metrics: wire::raw(cost),
        notes,
    }
}

/// Appends what a prompt cost to its ledger. It never enters a prompt itself.
fn record(
    engine: &Engine,
    of: &PromptOf,
    agent: &Party,
    cost: &Json,
) -> Result<Vec<stemmata_api::v1::Note>, Fault> {
    let session = of.session.clone().map_or_else(|| SessionId::new(SESSION), Ok)?;
    let payload = NewPayload::Plain { text: None, data: Some(cost.clone()) };
    let event = NewEvent::new(session, topics::topic(topics::CONTEXT_METRICS), agent.clone(), payload)
        .with_metadata(Json::of(&json!({"replayPolicy": "raw_log_only"})));
    let event = NewEvent { receiver: Party::new(SYSTEM)?, ..event };
    Ok(wire::notes(&engine.publish(&of.ledger, vec![event])?.notes))
}

fn parsed(text: &str) -> Result<Strategy, Fault> {
    strategy::parse(text, DocumentFormat::of(text)).map_err(|error| bad(Code::StrategyBad, &error))
}

fn bad(code: Code, error: &StrategyError) -> Fault {
    let problem = Problem::new(code, error.to_string());
    problem.with("line", error.at.line).with("column", error.at.column).into()
}

fn profile(request: &AssembleRequest, role: &str) -> Result<Profile, Fault> {
    let agent = request.agent.as_deref().map(Party::new).transpose()?;
    let Some(text) = &request.profile else {
        let agent = agent.map_or_else(|| Party::new(AGENT), Ok)?;
        return Ok(Profile::new(agent, role));
    };
    if text.len() as u64 > PROMPT_FILE_BYTES_MAX {
        return Err(bad_request("profile", format!("it has more than {PROMPT_FILE_BYTES_MAX} bytes")));
    }
    let mut profile = Profile::parse(text, DocumentFormat::of(text))
        .map_err(|error| bad(Code::ProfileBad, &error))?;
    if let Some(agent) = agent {
        profile.id = agent;
    }
    Ok(profile)
}

fn counter(name: Option<&str>) -> Result<Estimate, Fault> {
    match name {
        None | Some(ESTIMATE) => Ok(Estimate),
        Some(other) => {
            Err(bad_request("counter", format!("`{other}` is no counter; this version has `{ESTIMATE}`")))
        }
    }
}

fn budget(tokens: u64) -> Result<Tokens, Fault> {
    if (1..=MAX_TOKENS_MAX).contains(&tokens) {
        return Ok(Tokens(tokens));
    }
    Err(bad_request("max_tokens", format!("it is {tokens}: at least 1 and at most {MAX_TOKENS_MAX}")))
}

fn seq(text: &str, field: &'static str) -> Result<EventSeq, Fault> {
    EventSeq::from_str(text).map_err(|error| bad_request(field, error))
}

fn trigger(trigger: &PromptTrigger) -> Result<stemmata_engine::PromptTrigger, Fault> {
    Ok(match trigger {
        PromptTrigger::Event(number) => stemmata_engine::PromptTrigger::Event(seq(number, "trigger")?),
        PromptTrigger::Said(text) if text.len() as u64 > SAID_BYTES_MAX => {
            return Err(bad_request("trigger", format!("it has more than {SAID_BYTES_MAX} bytes")));
        }
        PromptTrigger::Said(text) => {
            let id = EntryId::new("said").expect("a constant name is a name");
            let entry = Entry::said(id, Role::User, vec![Part::Text(text.clone())]);
            stemmata_engine::PromptTrigger::Said(Box::new(entry))
        }
    })
}
