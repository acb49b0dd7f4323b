//! The beginning of a turn: what the session goes on from, what the user said, and the prompt that comes of it.
//!
//! A try that is repeated begins once: what a caller does who heard of an error is to call again.

use serde_json::{Value, json};
use stemmata_model::{
    Closure, CommitId, Entry, EventSeq, Json, NewEvent, NewPayload, Note, NoteCode, SessionId, topics,
};
use stemmata_prompt::assemble::TaskFacts;
use stemmata_store::{Append, Durability, Ledger, SessionKey, StoreError};

use super::TurnOf;
use super::again::{BEGIN, Call, Found, SameCall};
use super::guard::{EntryHint, EntryMark, TurnGuard, WindowReport, hints_event};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::opening::{Opening, opening};
use crate::ledger::publish::{OVERTAKEN_MAX, scrub_text};
use crate::prompts::{PromptMade, PromptWanted};
use crate::verbs::at::Head;

/// Ids of tasks in one list that a turn names at most.
pub const TASK_IDS_MAX: usize = 64;

/// Bytes of each text that a turn says of its task at most.
pub const TASK_TEXT_BYTES_MAX: usize = 4_096;

/// What a session goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TurnContext {
    /// Nothing, or what it is: every turn of a session but the first may leave the context out.
    #[default]
    None,
    /// A commit: the session knows what its chain says.
    Resume(CommitId),
    /// A commit, or an entry of its chain: at an assistant's or a tool's entry the session goes on after it, at a user's
    /// before it.
    Fork {
        /// The commit.
        ctx: CommitId,
        /// The entry's id, at least 4 letters of its beginning, or `@N`. Without one the fork begins at the commit's end.
        at: Option<String>,
    },
}

impl TurnContext {
    /// Returns the commit that it goes on from, and the entry, as text.
    fn names(&self) -> [String; 2] {
        match self {
            Self::None => [String::new(), String::new()],
            Self::Resume(ctx) => [ctx.to_string(), String::new()],
            Self::Fork { ctx, at } => [format!("fork {ctx}"), at.clone().unwrap_or_default()],
        }
    }
}

/// A turn to begin.
#[derive(Clone)]
pub struct BeginTurn<'a> {
    /// Whose turn it is. A session that goes on from a context is a new one.
    pub turn: TurnOf,
    /// What the session goes on from.
    pub context: TurnContext,
    /// What the user says.
    pub said: Entry,
    /// What is being worked on. At most [`TASK_IDS_MAX`] ids a list, [`TASK_TEXT_BYTES_MAX`] bytes a text.
    pub task: TaskFacts,
    /// What the caller knows of what the user says, for the guard.
    pub hints: Vec<EntryHint>,
    /// Whether what the user says is pinned, in the same act: no prune drops it, and summaries hold it word for word.
    pub pins: bool,
    /// How a call that is repeated is known.
    pub identity: SameCall,
    /// Whether the caller named no session, and this one has its name from the call.
    pub names_session: bool,
    /// The prompt to make, or `None` if the caller makes its own. Its trigger, place and task facts are the turn's.
    pub prompt: Option<PromptWanted<'a>>,
    /// How the window is guarded before the model is called, or `None` if nobody guards it.
    pub guard: Option<TurnGuard<'a>>,
}

impl BeginTurn<'_> {
    /// Begins a turn of a session that goes on from nothing, without a prompt.
    pub const fn new(turn: TurnOf, said: Entry) -> Self {
        Self {
            turn,
            context: TurnContext::None,
            said,
            task: TaskFacts::NONE,
            hints: Vec::new(),
            pins: false,
            identity: SameCall::Entries,
            names_session: false,
            prompt: None,
            guard: None,
        }
    }
}

/// What a session goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The commit that was named; where it was scrubbed since, what it became.
    pub ctx: CommitId,
    /// The commit whose chain the session knows, and which its first commit follows.
    pub head: CommitId,
    /// The user's prompt that a fork cut off, for its author to edit.
    pub prompt: Option<String>,
}

/// A turn that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnBegun {
    /// The event of what the user said.
    pub said: EventSeq,
    /// What the session goes on from, where the context was named.
    pub opened: Option<Opened>,
    /// The prompt, where one was asked for.
    pub prompt: Option<PromptMade>,
    /// How full the window is and what was done about it, where a guard was given.
    pub window: Option<WindowReport>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Begins a turn: appends what the user said, with the session's opening before it where it has none, and makes the
    /// prompt. A context is where a *new* session begins: the session that it belongs to is never written to.
    ///
    /// A call that is repeated ([`SameCall`]) has no further effect: what was said is appended once, and the prompt is the same.
    /// Where several begin a session for one request at the same time, all but one hear `KeyTaken`:
    /// [`Engine::session_of_request`] names the session then.
    ///
    /// # Errors
    /// `NotFound` and `Store` for a context that is not there or was forgotten, or an entry that is not on its chain;
    /// `Refused` for a session that goes on from something else already, for tasks that depend on each
    /// other in a circle, and for an entry whose id the session gave to other content; `Bound` for task facts beyond their bounds; as
    /// [`Engine::publish`] and [`Engine::assemble`]. An error of the guard or the prompt leaves the turn begun: repeat the call.
    pub fn begin_turn(&self, begin: &BeginTurn<'_>) -> Result<TurnBegun> {
        check_facts(&begin.task)?;
        let turn = &begin.turn;
        let known = self.log.ledger(&turn.ledger)?;
        // Once for the event and the prompt, which say the same then.
        let (task, redacted) = self.scrubbed_facts(known.as_ref(), &begin.task)?;
        let opened = self.context_of(turn, &begin.context)?;
        let head = opened.as_ref().map(|opened| opened.head);
        self.check_task(turn, task.current.as_ref())?;
        let given = self.events_begun(begin, &begin.task)?;
        let (events, mut notes) = self.scrubbed_events(known.as_ref(), self.events_begun(begin, &task)?)?;
        notes.extend(redacted);
        let [from, at] = begin.context.names();
        let about = [BEGIN, &from, &at, if begin.pins { "pinned" } else { "" }];
        let mut call = Call::new(
            (turn, &begin.identity),
            &about,
            (Vec::new(), events),
            (&given, self.store.identity()?.secret),
        )?;
        call.is_unnamed = begin.names_session;
        let start = || opening(turn, &begin.context, head);
        let (said, told) = self.say_begun(&call, (&begin.context, &start))?;
        notes.extend(told);
        // Before the prompt: what is hidden is hidden from it, too.
        let window = begin.guard.as_ref().map(|guard| self.guard_begun(turn, guard, said)).transpose()?;
        let prompt = match &begin.prompt {
            Some(wanted) => {
                let wanted = PromptWanted { facts: &task, ..wanted.clone() };
                Some(self.prompt_of_turn(turn, &wanted, said)?)
            }
            None => None,
        };
        Ok(TurnBegun { said, opened, prompt, window, notes })
    }

    /// Returns the events of the beginning of a turn that works on a task.
    fn events_begun(&self, begin: &BeginTurn<'_>, task: &TaskFacts) -> Result<Vec<NewEvent>> {
        let (turn, ids) = (&begin.turn, [begin.said.id.clone()]);
        let mut events: Vec<NewEvent> = status(turn, task).into_iter().collect();
        // Before what is said, which is the last event then.
        events.extend(hints_event(turn, &begin.hints));
        events.extend(begin.pins.then(|| self.mark_event(turn, &ids, EntryMark::Pin)));
        events.extend(self.events_of(turn, std::slice::from_ref(&begin.said))?);
        let links = turn.links();
        Ok(events.into_iter().map(|event| event.with_links(&links)).collect())
    }

    /// Replaces the secrets of what a turn says of its task, and says so.
    fn scrubbed_facts(
        &self,
        ledger: Option<&Ledger>,
        facts: &TaskFacts,
    ) -> Result<(TaskFacts, Option<Note>)> {
        let scrubber = self.scrubber_in(ledger)?;
        let mut found = 0;
        let mut clean = facts.clone();
        let TaskFacts { phase, current, completed } = &mut clean;
        for task in current.iter_mut() {
            // All secrets of a kind become one placeholder: what a task depends on could be itself then.
            let mut kept = Vec::with_capacity(task.depends_on.len());
            for id in std::mem::take(&mut task.depends_on) {
                let clean = scrub_text(&scrubber, id.clone(), &mut found)?;
                kept.extend((clean == id).then_some(id));
            }
            task.depends_on = kept;
        }
        let of_current = current.iter_mut().flat_map(|task| [&mut task.id, &mut task.text]);
        for text in phase.iter_mut().chain(of_current).chain(completed) {
            *text = scrub_text(&scrubber, std::mem::take(text), &mut found)?;
        }
        let note = (found > 0).then(|| {
            let message = format!("secrets were replaced in what the turn says of its task: {found}");
            Note::new(NoteCode::Redacted, message)
        });
        Ok((clean, note))
    }

    /// Finds the head of a context, and refuses a session that is something else already.
    fn context_of(&self, turn: &TurnOf, context: &TurnContext) -> Result<Option<Opened>> {
        let (ctx, at) = match context {
            TurnContext::None => return Ok(None),
            TurnContext::Resume(ctx) => (*ctx, None),
            TurnContext::Fork { ctx, at } => (*ctx, at.as_deref()),
        };
        let ctx = self.newest_of(ctx)?;
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        if commit.closure == Closure::Forgotten {
            return Err(StoreError::Forgotten(ctx).into());
        }
        self.check_new(turn, ctx, at)?;
        let Head { ctx: head, prompt } = self.head(ctx, at)?;
        Ok(Some(Opened { ctx, head, prompt }))
    }

    /// Refuses a session that has said something without this context. One that began with it may begin with it again.
    fn check_new(&self, turn: &TurnOf, ctx: CommitId, at: Option<&str>) -> Result<()> {
        let reason = if let Some(opening) = self.opening_of(&turn.ledger, &turn.session, None)? {
            if self.is_same_context(&opening, ctx, at)? {
                return Ok(());
            }
            match opening.ctx {
                Some(other) => format!("session `{}` continues from {other}", turn.session),
                None => format!("session `{}` has begun without a context", turn.session),
            }
        } else {
            let machine = self.identity.machine.clone();
            let key = SessionKey { machine, path: format!("api:{}", turn.session) };
            match self.store.session(&key)?.and_then(|session| session.tip) {
                None => return Ok(()),
                Some(tip) => format!("session `{}` is at {tip} already", turn.session),
            }
        };
        let reasons = vec![format!("{reason}; begin another session, or leave the context out")];
        Err(EngineError::Refused { what: Refusal::BeginTurn, reasons })
    }

    fn is_same_context(&self, opening: &Opening, ctx: CommitId, at: Option<&str>) -> Result<bool> {
        // Scrubbing gives a context another name, and makes it no other one.
        let named = opening.ctx.map(|named| self.newest_of(named)).transpose()?;
        Ok(named == Some(ctx) && opening.at.as_deref() == at)
    }

    /// Appends what of a call that begins a turn is not stored yet, with what opens the session before it where nothing has, and
    /// returns where the user speaks. Of two who open a session at the same time the second looks again.
    fn say_begun(
        &self,
        call: &Call<'_>,
        (context, start): (&TurnContext, &dyn Fn() -> NewEvent),
    ) -> Result<(EventSeq, Vec<Note>)> {
        let turn = call.turn;
        let mut begun = None;
        for tried in 0..2 * OVERTAKEN_MAX {
            // Before all that is looked up, so that what is forgotten meanwhile is seen.
            let known = self.log.ledger(&turn.ledger)?;
            let (last, epoch) = known.map_or((0, None), |known| (known.last, Some(known.epoch)));
            let begun = begun.get_or_insert_with(|| EventSeq::new(last));
            let news = match self.find_call(call)? {
                Found::Stored(said) => return Ok((said.entry.unwrap_or(said.appended.last), said.notes)),
                Found::New(news) => news,
            };
            let is_open = self.opening_of(&turn.ledger, &turn.session, None)?.is_some();
            if is_open {
                // Another process may have begun it with another context since.
                self.context_of(turn, context)?;
            }
            let before = (!is_open).then(start);
            let batch: Vec<NewEvent> = before.into_iter().chain(news.events.iter().cloned()).collect();
            let keys = news.keys.placed(batch.len() - news.events.len(), batch.len());
            // Opened twice does no harm, and never getting anywhere would.
            let expected = (!is_open && tried < OVERTAKEN_MAX).then_some(last);
            let append =
                Append { expected, epoch, keys, ..Append::new(turn.ledger.clone(), batch, self.clock.now()) };
            match self.log.append(append) {
                Err(StoreError::SequenceMoved { .. }) => {}
                Err(moved @ StoreError::EpochMoved { .. }) => {
                    self.refuse_forgotten(turn, *begun)?;
                    self.refuse_old_rules(moved)?;
                    self.context_of(turn, context)?;
                }
                Err(error @ StoreError::KeyTaken { .. }) => self.refuse_other_opening(call, error)?,
                appended => {
                    let last = appended?.last;
                    let (_, note) = self.follow_up(&turn.ledger, &call.events, Durability::default());
                    let notes = news.notes.into_iter().chain(note).collect();
                    return Ok((news.said.unwrap_or(last), notes));
                }
            }
        }
        let reasons = vec!["the ledger changes without end; call again".to_owned()];
        Err(EngineError::Refused { what: Refusal::TurnBusy, reasons })
    }

    /// Passes an error on where another call has begun another session for the request.
    fn refuse_other_opening(&self, call: &Call<'_>, error: StoreError) -> Result<()> {
        let SameCall::Request { id, .. } = call.identity else { return Ok(()) };
        let session = self.session_of_request(&call.turn.ledger, &call.turn.agent, id)?;
        match session.filter(|session| call.is_unnamed && *session != call.turn.session) {
            Some(_) => Err(error.into()),
            None => Ok(()),
        }
    }
}

fn check_facts(facts: &TaskFacts) -> Result<()> {
    let bound = |what: &'static str, value: usize, bound: usize| {
        let [value, bound] = [value, bound].map(|number| u64::try_from(number).unwrap_or(u64::MAX));
        if value > bound { Err(EngineError::from(StoreError::Bound { what, value, bound })) } else { Ok(()) }
    };
    let current = facts.current.iter();
    let depends_on = current.clone().map(|task| task.depends_on.as_slice());
    for list in depends_on.chain([facts.completed.as_slice()]) {
        bound("ids in a turn's list of tasks", list.len(), TASK_IDS_MAX)?;
    }
    let texts = current.flat_map(|task| [&task.id, &task.text].into_iter().chain(&task.depends_on));
    for text in texts.chain(&facts.completed).chain(&facts.phase) {
        bound("bytes of what a turn says of its task", text.len(), TASK_TEXT_BYTES_MAX)?;
    }
    Ok(())
}

/// Returns the event with phase, current task and completed tasks, or `None` if the caller named none of them.
fn status(turn: &TurnOf, facts: &TaskFacts) -> Option<NewEvent> {
    if facts.is_none() {
        return None;
    }
    let mut data = json!({ "completed": facts.completed });
    if let Some(phase) = &facts.phase {
        data["phase"] = Value::from(phase.as_str());
    }
    if let Some(current) = &facts.current {
        data["current"] = json!({ "id": current.id, "text": current.text, "depends_on": current.depends_on });
    }
    let payload = NewPayload::Plain { text: None, data: Some(Json::of(&data)) };
    let topic = topics::topic(topics::STATUS_EVENT);
    Some(NewEvent::new(SessionId::clone(&turn.session), topic, turn.agent.clone(), payload))
}
