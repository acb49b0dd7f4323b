//! The facet `Prompts` over a store of this machine.

mod context;
mod given;
mod guard;
mod window;

use stemmata_api::v1::{
    AssembleRequest, Assembled, BeginTurnRequest, CheckStrategyRequest, ContextReport, ContextRequest,
    GuardReport, GuardRequest, MarkTurnEntriesRequest, Note, PromptTrigger, RecallRequest, Recalled,
    RecoverTurnRequest, SAID_BYTES_MAX, Strategies, StrategyFormat, StrategyReport, StrategyRequest,
    StrategySource, StrategyText, TurnBegun, TurnEntriesMarked, TurnMadeRequest, TurnRecovered, TurnStored,
    TurnWindowRequest, TurnWindowShown,
};
use stemmata_api::{Answer, Code, Problem, Prompts};
use stemmata_engine::{ChosenCounter, Engine, NewIds, PromptMade, PromptOf, PromptWanted};
use stemmata_model::{Entry, EntryId, EventSeq, LedgerId, Part, Party, Role, Tokens, Topic};
use stemmata_prompt::assemble::Mode;
use stemmata_prompt::profile::Profile;
use stemmata_prompt::strategy::{
    self, CheckOptions, DocumentFormat, MAX_TOKENS_MAX, SHIPPED, Shipped, SourceTopic, Strategy,
    StrategyError,
};
use stemmata_store::{EventQuery, StoreError};

use super::counters::counter;
use super::{Local, bad_request, messages, recall, turns};
use crate::fault::Fault;
use crate::wire;

pub(super) use guard::report as guard_report;
pub(super) use window::REPORTED;

/// Who the agent is where nobody says.
const AGENT: &str = "agent";

/// The strategy of an agent that works with a person.
const LIVE: &str = "live";

impl Prompts for Local {
    fn assemble(&self, request: &AssembleRequest) -> Answer<Assembled> {
        self.with(|engine| assembled(engine, request))
    }

    fn context(&self, request: &ContextRequest) -> Answer<ContextReport> {
        self.with(|engine| context::report(engine, request))
    }

    fn guard(&self, request: &GuardRequest) -> Answer<GuardReport> {
        let rules = self.home.options().settings.window;
        self.with(|engine| guard::report(engine, request, (&rules, self.now())))
    }

    fn recall(&self, request: &RecallRequest) -> Answer<Recalled> {
        self.with(|engine| recall::recalled(engine, request))
    }

    fn begin_turn(&self, request: &BeginTurnRequest) -> Answer<TurnBegun> {
        self.turn(|engine, with| turns::begin(engine, request, with))
    }

    fn step(&self, request: &TurnMadeRequest) -> Answer<TurnStored> {
        self.turn(|engine, with| turns::step(engine, request, with))
    }

    fn end_turn(&self, request: &TurnMadeRequest) -> Answer<TurnStored> {
        self.turn(|engine, with| turns::end(engine, request, with))
    }

    fn turn_window(&self, request: &TurnWindowRequest) -> Answer<TurnWindowShown> {
        self.turn(|engine, with| turns::show_window(engine, request, with))
    }

    fn recover_turn(&self, request: &RecoverTurnRequest) -> Answer<TurnRecovered> {
        self.turn(|engine, with| turns::recover(engine, request, with))
    }

    fn mark_turn_entries(&self, request: &MarkTurnEntriesRequest) -> Answer<TurnEntriesMarked> {
        self.turn(|engine, with| turns::mark(engine, request, with))
    }

    fn check_strategy(&self, request: &CheckStrategyRequest) -> Answer<StrategyReport> {
        let is_planner = request.role.as_deref().is_some_and(|role| role.eq_ignore_ascii_case("planner"));
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

impl Local {
    /// Runs a use case of turns; once more where something was forgotten meanwhile that new rules for secrets found, by these rules.
    fn turn<T>(
        &self,
        act: impl Fn(&Engine, (&dyn NewIds, &turns::Rules<'_>)) -> Result<T, Fault>,
    ) -> Answer<T> {
        let window = self.home.options().settings.window;
        let rules = turns::Rules { window: &window, model: &|scrubber| self.make_model(scrubber) };
        let once = || self.with(|engine| act(engine, (self.new_ids(), &rules)));
        match once() {
            Err(problem) if problem.is(Code::EpochMoved) => once(),
            done => done,
        }
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
fn topics_of(engine: &Engine, ledger: &LedgerId, strategy: &Strategy) -> Result<Vec<Topic>, Fault> {
    if engine.log().ledger(ledger)?.is_none() {
        return Err(StoreError::LedgerMissing(ledger.clone()).into());
    }
    let mut known = Vec::new();
    for source in &strategy.sources {
        let SourceTopic::Ledger(topic) = &source.topic else { continue };
        let query = EventQuery { topics: vec![topic.clone()], ..EventQuery::latest(topic.clone(), 1) };
        if !engine.log().page(ledger, &query)?.events.is_empty() {
            known.push(topic.clone());
        }
    }
    Ok(known)
}

fn assembled(engine: &Engine, request: &AssembleRequest) -> Result<Assembled, Fault> {
    let (made, counter) = made(engine, request)?;
    let messages = request.messages.map(|api| messages::of_prompt(&made.text, &made.trace, api));
    let mut assembled = wire::prompt::assembled(made, &counter, request.trace);
    if let Some((messages, note)) = messages {
        assembled.messages = Some(messages);
        assembled.notes.extend(note);
    }
    Ok(assembled)
}

/// Makes a prompt, and says what counted its tokens.
fn made(engine: &Engine, request: &AssembleRequest) -> Result<(PromptMade, ChosenCounter), Fault> {
    let of = PromptOf { ledger: request.ledger.clone(), session: request.session.clone(), tip: None };
    let read = Read::of(&request.strategy, request.profile.as_deref(), request.agent.clone())?;
    let counter = counter(engine, request.counter.as_deref(), request.model.as_deref())?;
    let (after, through) = (request.after, request.through);
    let trigger = request.trigger.as_ref().map(trigger).transpose()?;
    if let (Some(stemmata_engine::PromptTrigger::Event(trigger)), Some(through)) = (&trigger, through)
        && *trigger > through
    {
        let reason = format!("it is event {trigger}, and the prompt may have events through {through} only");
        return Err(bad_request("trigger", reason));
    }
    if let Some(stemmata_engine::PromptTrigger::Event(trigger)) = &trigger {
        has_event(engine, &of.ledger, *trigger)?;
    }
    let wanted = PromptWanted {
        max_tokens: request.max_tokens.map(budget).transpose()?,
        trigger,
        task: request.task.as_deref(),
        mode: mode(after),
        through,
        iteration: request.iteration,
        logs_metrics: request.records_metrics,
        ..PromptWanted::new(&read.profile, &read.strategy, &counter)
    };
    let mut made = engine.assemble(&of, &wanted)?;
    let last = made.trace.through.as_deref().and_then(|last| last.parse::<EventSeq>().ok());
    made.notes.extend(beyond("through", through, last));
    made.notes.extend(match (after, through) {
        (Some(after), Some(through)) if after > through => Some(after_through(after, through)),
        _ => beyond("after", after, last),
    });
    Ok((made, counter))
}

/// Says that a prompt of what came after one event and up to an earlier one has nothing of either.
fn after_through(after: EventSeq, through: EventSeq) -> Note {
    let message =
        format!("`after` is {after}, behind `through`, which is {through}: no event is between them");
    Note::new(AFTER_THROUGH, message)
}

/// The code of the note about it.
const AFTER_THROUGH: &str = "after_through";

/// Refuses an event that is not there yet, and says which is the last one. A ledger that is missing is another error.
fn has_event(engine: &Engine, ledger: &LedgerId, event: EventSeq) -> Result<(), Fault> {
    let Some(known) = engine.log().ledger(ledger)? else { return Ok(()) };
    if event.get() <= known.last {
        return Ok(());
    }
    let (last, hint) = match known.last {
        0 => ("it has no event".to_owned(), "append events first, or leave the event out".to_owned()),
        1 => ("its last event is 1".to_owned(), "name event 1, or leave the event out".to_owned()),
        last => (format!("its last event is {last}"), format!("name an event from 1 to {last}")),
    };
    let detail = format!("there is no event {event} in ledger `{ledger}`: {last}");
    Err(Problem { hint: Some(hint), ..Problem::new(Code::NoEventWithText, detail) }.into())
}

/// The code of the note about it.
const BEYOND_END: &str = "beyond_end";

/// Says that a request names an event that is not there yet.
fn beyond(field: &str, asked: Option<EventSeq>, last: Option<EventSeq>) -> Option<Note> {
    let asked = asked.filter(|asked| last.is_none_or(|last| *asked > last))?;
    let last = last.map_or_else(|| "it has no event".to_owned(), |last| format!("its last event is {last}"));
    let message = format!("`{field}` is {asked}, beyond what the ledger has: {last}");
    Some(Note::new(BEYOND_END, message))
}

/// What a request names in text, read once.
pub(super) struct Read {
    pub(super) profile: Profile,
    pub(super) strategy: Strategy,
}

impl Read {
    /// Reads a strategy and a profile. The agent's name is the profile's, unless the request has one.
    pub(super) fn of(
        strategy: &StrategySource,
        profile: Option<&str>,
        agent: Option<Party>,
    ) -> Result<Self, Fault> {
        let (strategy, role) = match strategy {
            // «live» is no role: whoever works with a person is an agent.
            StrategySource::Name(name) if name == LIVE => (shipped(name)?.strategy(), AGENT),
            StrategySource::Name(name) => (shipped(name)?.strategy(), name.as_str()),
            StrategySource::Text(text) => (parsed(text)?, AGENT),
        };
        let Some(text) = profile else {
            let agent = agent.map_or_else(|| Party::new(AGENT), Ok)?;
            return Ok(Self { profile: Profile::new(agent, role), strategy });
        };
        let mut profile =
            Profile::parse(text, DocumentFormat::of(text)).map_err(|error| bad(Code::ProfileBad, &error))?;
        if let Some(agent) = agent {
            profile.id = agent;
        }
        Ok(Self { profile, strategy })
    }
}

/// Says whether the model was given anything before.
pub(super) fn mode(after: Option<EventSeq>) -> Mode {
    after.map_or(Mode::Full, |after| Mode::Continuation { after, is_profile_changed: false })
}

fn parsed(text: &str) -> Result<Strategy, Fault> {
    strategy::parse(text, DocumentFormat::of(text)).map_err(|error| bad(Code::StrategyBad, &error))
}

fn bad(code: Code, error: &StrategyError) -> Fault {
    let problem = Problem::new(code, error.to_string());
    problem.with("line", error.at.line).with("column", error.at.column).into()
}

/// Reads a budget.
pub(super) fn budget(tokens: u64) -> Result<Tokens, Fault> {
    if (1..=MAX_TOKENS_MAX).contains(&tokens) {
        return Ok(Tokens(tokens));
    }
    Err(bad_request("max_tokens", format!("it is {tokens}: at least 1 and at most {MAX_TOKENS_MAX}")))
}

fn trigger(trigger: &PromptTrigger) -> Result<stemmata_engine::PromptTrigger, Fault> {
    Ok(match trigger {
        PromptTrigger::Event(number) => stemmata_engine::PromptTrigger::Event(*number),
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
