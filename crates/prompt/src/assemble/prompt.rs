//! The prompt of a turn: profile, sources, hints and trigger as packs, chosen and put together.
//!
//! The order is fixed, from what seldom changes to what always does: header, instructions, output schema, sources as they
//! are declared, task, guidance, skip hints, and last the message that began the turn.

use stemmata_api::v1::{PromptCandidate, PromptDecision, PromptTrace, PromptTurn, PromptVariant};
use stemmata_model::{Chars, EventSeq, LedgerId, TokenCounter, Topic};

use super::facts::TaskFacts;
use super::pack::{LengthUnit, Pack, PackLimits, SectionBudget};
use super::prefix::cached_prefix;
use super::sections;
use super::select_packs::{Selected, select_packs};
use crate::profile::Profile;
use crate::select::{ContextReader, Found, Message, Scope, gather};
use crate::strategy::{Anchors, SectionKind, Source, SourceTopic, Strategy};

/// Characters of a prompt at most, whatever a token is: seed 000's guard.
pub const CHARS_MAX: Chars = Chars(500_000);

/// The message that began a turn.
#[derive(Debug, Clone, Copy)]
pub struct Trigger<'a> {
    /// Its topic; `user_turn` where a person spoke.
    pub topic: &'a Topic,
    /// What it says. No source repeats the message of its id.
    pub message: &'a Message,
}

/// Whether the model has been told anything before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It has not: the whole prompt.
    Full,
    /// The provider's session goes on: only what is new.
    Continuation {
        /// The last event that the model was given: `through` of the trace of the last prompt that reached it.
        after: EventSeq,
        /// Whether the profile is another one than it was: instructions and schema are then sent again.
        is_profile_changed: bool,
    },
}

/// What a prompt is made from.
#[derive(Clone, Copy)]
pub struct PromptRequest<'a> {
    /// Who the agent is.
    pub profile: &'a Profile,
    /// Which sources it gets, and the budget.
    pub strategy: &'a Strategy,
    /// What `since` of the sources refers to.
    pub anchors: Anchors,
    /// Counts tokens. Fixed for the turn: the same turn has to give the same prompt.
    pub counter: &'a dyn TokenCounter,
    /// The ledger, for the trace.
    pub ledger: Option<&'a LedgerId>,
    /// Whole prompt or continuation.
    pub mode: Mode,
    /// The last event that the prompt may have. Captured before the first read; what comes later is the next turn's.
    pub through: Option<EventSeq>,
    /// What began the turn.
    pub trigger: Option<Trigger<'a>>,
    /// Which turn of its task it is.
    pub iteration: Option<u64>,
    /// What is being worked on.
    pub facts: &'a TaskFacts,
    /// What people told the agent since its last turn, in order.
    pub guidance: &'a [Message],
    /// What a validator need not check again in this turn, beside its profile's hints.
    pub skip_hints: &'a [String],
    /// What the retriever looks for; what began the turn and the current task where none is given.
    pub task: Option<&'a str>,
    /// The previous prompt of the same session, for what the provider can reuse.
    pub previous: Option<&'a str>,
}

impl<'a> PromptRequest<'a> {
    /// Asks for a whole prompt with nothing but profile and sources.
    pub const fn new(
        profile: &'a Profile,
        strategy: &'a Strategy,
        anchors: Anchors,
        counter: &'a dyn TokenCounter,
    ) -> Self {
        Self {
            profile,
            strategy,
            anchors,
            counter,
            ledger: None,
            mode: Mode::Full,
            through: None,
            trigger: None,
            iteration: None,
            facts: const { &TaskFacts::NONE },
            guidance: &[],
            skip_hints: &[],
            task: None,
            previous: None,
        }
    }

    const fn after(&self) -> Option<EventSeq> {
        match self.mode {
            Mode::Full => None,
            Mode::Continuation { after, .. } => Some(after),
        }
    }

    const fn sends_profile(&self) -> bool {
        match self.mode {
            Mode::Full => true,
            Mode::Continuation { is_profile_changed, .. } => is_profile_changed,
        }
    }
}

/// A prompt and how it came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The prompt.
    pub text: String,
    /// Every decision that led to it.
    pub trace: PromptTrace,
}

/// Makes the prompt of a turn.
///
/// Reads at most two pages of messages for each source, and asks up to three times for the state and for what fits the task: what
/// turns say is in neither of them, and what the state says is not retrieved, where the prompt has room for the turns and the
/// state. The same request and the same answers give the same bytes.
///
/// # Errors
/// What the reader fails with. A prompt is never made from a part of what was asked for.
pub fn build<R: ContextReader>(request: &PromptRequest<'_>, reader: &R) -> Result<Assembled, R::Error> {
    let task = task_of(request);
    let scope = Scope {
        anchors: request.anchors,
        max_tokens: request.strategy.max_tokens,
        after: request.after(),
        through: request.through,
        trigger: request.trigger.map(|trigger| trigger.message.id.as_str()),
        task: &task,
        told: &[],
        state: "",
    };
    let sources = &request.strategy.sources;
    let turns = sources
        .iter()
        .map(|source| is_turns(source).then(|| gather(source, &scope, reader)).transpose())
        .collect::<Result<Vec<Option<Found>>, _>>()?;
    let mut forms: Forms = vec![Some(PromptVariant::Full); sources.len()];
    loop {
        let assembled = assembled(request, found_beside(sources, &turns, &forms, &scope, reader)?);
        let held = forms_of(sources, &assembled.trace);
        let stands = |(assumed, held): (&Option<PromptVariant>, &Option<PromptVariant>)| {
            assumed.is_none() || assumed == held
        };
        if forms.iter().zip(&held).all(stands) {
            return Ok(assembled);
        }
        // What was left out for something that the prompt has no room for is in it nowhere. Once more with what it has room for; and
        // where that makes it change again, nothing is left out.
        let is_first = forms.iter().all(|form| *form == Some(PromptVariant::Full));
        forms = if is_first { held } else { vec![None; sources.len()] };
    }
}

/// Which form of each source others may rely on; none where the prompt has no whole form of it.
type Forms = Vec<Option<PromptVariant>>;

fn is_turns(source: &Source) -> bool {
    source.topic == SourceTopic::Turns
}

/// Returns what the retriever looks for: what began the turn, and the task that it is about, because people say «go on».
fn task_of(request: &PromptRequest<'_>) -> String {
    if let Some(task) = request.task {
        return task.to_owned();
    }
    let message = request.trigger.map(|trigger| trigger.message);
    let began = message.and_then(|message| match (&message.text, &message.data) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(data)) => Some(data.to_string()),
        (None, None) => None,
    });
    let current = request.facts.current.as_ref().map(|task| task.text.clone());
    began.into_iter().chain(current).collect::<Vec<_>>().join("\n")
}

/// Asks all sources but those of turns, which were asked: first the state, which leaves out what the turns say, then the others,
/// of which the retriever leaves out what both say.
fn found_beside<R: ContextReader>(
    sources: &[Source],
    turns: &[Option<Found>],
    forms: &Forms,
    scope: &Scope<'_>,
    reader: &R,
) -> Result<Vec<Found>, R::Error> {
    let told = turns.iter().zip(forms).filter_map(|(found, form)| {
        let found = found.as_ref()?;
        Some(match (*form)? {
            PromptVariant::Full => &found.turns,
            PromptVariant::Compact => &found.compact_turns,
        })
    });
    let told: Vec<_> = told.flatten().cloned().collect();
    let scope = Scope { told: &told, ..*scope };
    let mut found = turns.to_vec();
    let mut state = String::new();
    for ((source, place), form) in sources.iter().zip(&mut found).zip(forms) {
        if source.topic != SourceTopic::State {
            continue;
        }
        let known = gather(source, &scope, reader)?;
        state.push_str(match form {
            Some(PromptVariant::Full) => &known.full,
            Some(PromptVariant::Compact) => &known.compact,
            None => "",
        });
        *place = Some(known);
    }
    let scope = Scope { state: &state, ..scope };
    let all = sources.iter().zip(found).map(|(source, found)| match found {
        Some(found) => Ok(found),
        None => gather(source, &scope, reader),
    });
    all.collect()
}

/// Returns which whole form the prompt has of each source of turns and of the state; of others it does not matter.
fn forms_of(sources: &[Source], trace: &PromptTrace) -> Forms {
    let form = |(index, source): (usize, &Source)| {
        if !is_turns(source) && source.topic != SourceTopic::State {
            return Some(PromptVariant::Full);
        }
        let id = source_id(index, source);
        let candidate = trace.candidates.iter().find(|one| one.section == id)?;
        match candidate.decision {
            PromptDecision::Full => Some(PromptVariant::Full),
            PromptDecision::Compact => Some(PromptVariant::Compact),
            // There is nothing that others could have left out.
            _ if candidate.full_tokens == 0 => Some(PromptVariant::Full),
            _ => None,
        }
    };
    sources.iter().enumerate().map(form).collect()
}

fn assembled(request: &PromptRequest<'_>, found: Vec<Found>) -> Assembled {
    let (packs, budgets) = packs(request, found);
    let limits = PackLimits {
        max_tokens: Some(request.strategy.max_tokens),
        chars_max: Some(CHARS_MAX),
        unit: LengthUnit::Scalars,
        counter: request.counter,
        sections: &budgets,
    };
    let selected = select_packs(&packs, &limits);
    let trace = trace(request, &selected);
    Assembled { text: selected.text, trace }
}

/// Returns all packs in the order of the prompt, and what their sections may take.
fn packs(request: &PromptRequest<'_>, found: Vec<Found>) -> (Vec<Pack>, Vec<SectionBudget>) {
    let profile = request.profile;
    let sends_profile = request.sends_profile();
    let mut packs = Vec::new();
    packs.push(match request.mode {
        Mode::Full => Pack::fixed("header", sections::header(profile)),
        Mode::Continuation { .. } => Pack::fixed("continuation", sections::continuation(profile)),
    });
    if sends_profile {
        packs.push(Pack::fixed("instructions", sections::instructions(profile)));
        packs.push(Pack::fixed("output_schema", sections::output_schema(profile.output_schema.as_ref())));
    }
    let sources = request.strategy.sources.iter().zip(found).enumerate();
    packs.extend(sources.map(|(index, (source, found))| source_pack(index, source, found)));
    packs.push(Pack::fixed("task", request.facts.section()));
    packs.push(Pack::fixed("guidance", sections::guidance(request.guidance)));
    if profile.is_validator() {
        let own = profile.skip_hints.iter().filter(|_| sends_profile);
        let hints: Vec<&str> = own.chain(request.skip_hints).map(String::as_str).collect();
        packs.push(Pack::fixed("skip_hints", sections::skip_hints(&hints)));
    }
    if let Some(Trigger { topic, message }) = request.trigger {
        let text = sections::trigger(topic, message, request.iteration);
        packs.push(Pack { preserve: true, ..Pack::fixed("trigger", text) });
    }
    for (order, pack) in packs.iter_mut().enumerate() {
        pack.order = order;
    }
    let budgets = packs.iter().map(|pack| section_budget(request.strategy, pack)).collect();
    (packs, budgets)
}

fn source_id(index: usize, source: &Source) -> String {
    format!("source:{}:{index}", source.topic.as_str())
}

fn source_pack(index: usize, source: &Source, found: Found) -> Pack {
    Pack {
        priority: source.priority(),
        compact: found.compact,
        items: found.items,
        is_cut: found.is_cut,
        has_trigger: found.has_trigger,
        ..Pack::fixed(&source_id(index, source), found.full)
    }
}

fn section_budget(strategy: &Strategy, pack: &Pack) -> SectionBudget {
    let max = strategy.max_tokens;
    let mut sources = strategy.sources.iter().enumerate();
    let source = sources.find(|(index, source)| source_id(*index, source) == pack.section);
    let (kind, cap, floor) = match source {
        Some((_, source)) => (source.topic.kind(), source.cap(max), source.floor(max)),
        None if pack.preserve => (SectionKind::Trigger, max, stemmata_model::Tokens(0)),
        None => (SectionKind::Fixed, max, stemmata_model::Tokens(0)),
    };
    SectionBudget { id: pack.section.clone(), kind, cap, floor }
}

fn trace(request: &PromptRequest<'_>, selected: &Selected) -> PromptTrace {
    let mut candidates = selected.candidates.clone();
    let cached_prefix =
        request.previous.map(|previous| cached_prefix(previous, &selected.text, request.counter));
    if let Some(prefix) = cached_prefix {
        for one in candidates.iter_mut().filter(|one| one.chars > 0) {
            one.cached = one.offset_chars + one.chars <= prefix.chars;
        }
    }
    let seq = |seq: EventSeq| seq.to_string();
    PromptTrace {
        version: PromptTrace::VERSION,
        mode: mode_name(request.mode).to_owned(),
        turn: turn_traced(request),
        after: request.after().map(seq),
        through: request.through.map(seq),
        counter: Some(request.counter.name()),
        sources: u64::try_from(request.strategy.sources.len()).unwrap_or(u64::MAX),
        budget: selected.budget.clone(),
        sections: selected.sections.clone(),
        chars: candidates.iter().fold(0_u64, |sum, one: &PromptCandidate| sum.saturating_add(one.chars)),
        candidates,
        truncation: selected.truncation.clone(),
        cached_prefix,
    }
}

pub(super) const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Full => "full",
        Mode::Continuation { .. } => "continuation",
    }
}

fn turn_traced(request: &PromptRequest<'_>) -> PromptTurn {
    let trigger = request.trigger;
    PromptTurn {
        ledger: request.ledger.map(ToString::to_string),
        agent: request.profile.id.to_string(),
        role: request.profile.role.to_string(),
        iteration: request.iteration,
        triggered_by: trigger.map(|trigger| trigger.topic.to_string()),
        trigger_from: trigger.map(|trigger| trigger.message.sender.to_string()),
        trigger_id: trigger.map(|trigger| trigger.message.id.clone()),
    }
}
