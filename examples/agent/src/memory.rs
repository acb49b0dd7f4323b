//! What the agent remembers: its session in Stemmata, and what the model sees of it.
//!
//! Every call is guarded: the engine measures the window, prunes it where it becomes critical, and compacts it between turns, in
//! the transaction of the call. What the model is to be given comes back with each call.

use std::fs;
use std::path::PathBuf;
use std::slice;

use serde_json::{Value, json};
use stemmata_engine::model::{
    CommitId, Entry, EntryId, Estimate, LedgerId, Party, SessionId, Template, Tokens,
};
use stemmata_engine::prompt::window::{WindowConfig, entry_tokens};
use stemmata_engine::{
    AroundQuery, BeginTurn, Clock as _, CompactOf, CompactWanted, CompactWith, Engine, EntryMark,
    GuardWanted, Guarded, NewIds as _, RandomIds, SystemClock, TurnContext, TurnGuard, TurnMade, TurnOf,
    WindowReport,
};

use crate::Result;

/// A task of more than a sixteenth of the window is not pinned: it would be in every request for ever.
const TASK_SHARE: u64 = 16;

/// The session at work, and what it went on from. A fork is in the store from its first turn on; this file knows it before.
#[derive(Debug, Clone)]
struct At {
    session: SessionId,
    from: Option<CommitId>,
    entry: Option<String>,
}

pub struct Memory<'e> {
    engine: &'e Engine,
    /// The limits of the window.
    pub window: WindowConfig,
    /// What the system prompt and the tools take of it.
    overhead: Tokens,
    file: PathBuf,
    ledger: LedgerId,
    at: At,
    /// What the model is to be given: empty before the first turn of a session.
    context: Vec<Entry>,
}

impl<'e> Memory<'e> {
    /// Opens the session that was at work last, or begins one.
    pub fn open(
        engine: &'e Engine,
        file: PathBuf,
        (window, overhead): (WindowConfig, Tokens),
    ) -> Result<Self> {
        let ledger = LedgerId::new("agent")?;
        engine.create_cluster(&ledger)?;
        let at = match fs::read_to_string(&file) {
            Ok(text) => At::parse(&text)?,
            Err(_) => At { session: RandomIds.session(), from: None, entry: None },
        };
        at.write(&file)?;
        let mut memory = Self { engine, window, overhead, file, ledger, at, context: Vec::new() };
        memory.look()?;
        Ok(memory)
    }

    /// What the model is to be given.
    pub fn context(&self) -> &[Entry] {
        &self.context
    }

    /// Stores what the user said. What is said first is the task: no prune drops it, and summaries have it word for word.
    pub fn begin(&mut self, said: Entry) -> Result<()> {
        let is_task = self.context.is_empty() && self.at.from.is_none();
        let fits = entry_tokens(&said, &Estimate).0 <= self.window.window().limit().0 / TASK_SHARE;
        let context = match self.at.from {
            Some(ctx) => TurnContext::Fork { ctx, at: self.at.entry.clone() },
            None => TurnContext::None,
        };
        let (pins, guard) = (is_task && fits, Some(self.guard()));
        let begun = self.engine.begin_turn(&BeginTurn {
            context,
            pins,
            guard,
            ..BeginTurn::new(self.turn()?, said)
        })?;
        self.see(begun.window)
    }

    /// Stores what came of the turn so far. It is on the disk when this returns.
    pub fn step(&mut self, entry: Entry) -> Result<()> {
        let made = TurnMade { entries: vec![entry], ..TurnMade::default() };
        let step = self.engine.guarded_step(&self.turn()?, made, Some(&self.guard()))?;
        self.see(step.window)
    }

    /// Ends the turn, with the last answer.
    pub fn end(&mut self, answer: Entry) -> Result<()> {
        let made = TurnMade { entries: vec![answer], ..TurnMade::default() };
        let ended = self.engine.end_guarded_turn(&self.turn()?, made, Some(&self.guard()))?;
        self.see(ended.window)
    }

    /// Makes the context smaller if a provider's error says that it is too long. Returns whether it does.
    pub fn recover(&mut self, text: &str, code: &str) -> Result<bool> {
        let recovered = self.engine.recover(&self.turn()?, (text, Some(code)), &self.guard())?;
        let is_overflow = recovered.is_some();
        self.see(recovered.map(|recovered| recovered.window))?;
        Ok(is_overflow)
    }

    /// Puts a summary in the place of all but the recent entries.
    pub fn compact(&mut self) -> Result<String> {
        let (limits, tokens) = (self.window.compact(), self.window.window().limit());
        let wanted = CompactWanted {
            keep: limits.keep_recent(Some(tokens)),
            window: Some(tokens),
            tool_call_cutoff: limits.visible_results(),
            ..CompactWanted::new(CompactWith::Heuristic)
        };
        let made = self.engine.compact(&CompactOf::Session(self.turn()?), &wanted)?;
        self.look()?;
        let (before, after) = (made.tokens_before, made.tokens_after);
        Ok(format!("{}: {before} tokens before, {after} after; /uncompact is the way back", made.id))
    }

    /// Goes on from before the last compaction. What was said since stays in the session that it was said in.
    pub fn uncompact(&mut self) -> Result<CommitId> {
        let before = self.engine.newest_compaction(self.tip()?, None)?.before;
        self.fork(before, None)?;
        Ok(before)
    }

    /// Begins a session of its own that goes on from a commit, or from an entry of its chain. The old one stays as it is.
    pub fn fork(&mut self, ctx: CommitId, entry: Option<String>) -> Result<()> {
        self.at = At { session: RandomIds.session(), from: Some(ctx), entry };
        self.at.write(&self.file)?;
        self.look()
    }

    /// Pins an entry, or shows one again that was pruned: an id, or `@N`.
    pub fn mark(&mut self, entry: &str, mark: EntryMark) -> Result<EntryId> {
        let query = AroundQuery { ctx: self.tip()?, entry: Some(entry.to_owned()), around: 0, tokens_max: 1 };
        let found = self.engine.around(&query)?.entries.into_iter().find(|entry| entry.is_match);
        let id = found.ok_or_else(|| format!("there is no entry `{entry}`"))?.entry.id;
        let marked =
            self.engine.mark_entries(&self.turn()?, (slice::from_ref(&id), mark), Some(&self.guard()))?;
        self.see(marked.window)?;
        Ok(id)
    }

    /// Returns the commit that holds everything until now.
    pub fn tip(&self) -> Result<CommitId> {
        let open = self.engine.step(&self.turn()?, TurnMade::default())?.checkpoint.map(|made| made.id);
        let known = self.engine.find_recorded_session(self.at.session.as_str())?.and_then(|known| known.tip);
        open.or(known).or(self.at.from).ok_or_else(|| "nothing was said yet".into())
    }

    /// Finds a commit by what a user calls it.
    pub fn find(&self, name: &str) -> Result<CommitId> {
        Ok(self.engine.find(name)?)
    }

    /// Says what a prune would do to each entry that the model sees, and why.
    pub fn explain(&self) -> Result<(Vec<Entry>, Guarded)> {
        let wanted = GuardWanted {
            window: self.window.window(),
            counter: &Estimate,
            overhead: self.overhead,
            tasks_completed: 0,
            next_operation: None,
            now: SystemClock.now(),
        };
        let live = self.engine.live_window(self.tip()?)?;
        let guarded = live.guard(&wanted)?;
        Ok((live.entries, guarded))
    }

    fn turn(&self) -> Result<TurnOf> {
        let (agent, template) = (Party::new("agent")?, Template::new("agent")?);
        Ok(TurnOf::new(self.ledger.clone(), self.at.session.clone(), agent, template))
    }

    fn guard(&self) -> TurnGuard<'_> {
        TurnGuard {
            overhead: self.overhead,
            returns_entries: true,
            ..TurnGuard::new(&self.window, &Estimate)
        }
    }

    /// Reads what the model is to be given. Changes nothing.
    fn look(&mut self) -> Result<()> {
        let report = self.engine.turn_window(&self.turn()?, &self.guard())?;
        self.context = report.entries.unwrap_or_default();
        Ok(())
    }

    /// Takes over what the model is to be given, and tells the user what was done about the window.
    fn see(&mut self, report: Option<WindowReport>) -> Result<()> {
        let Some(report) = report else { return Ok(()) };
        if let Some(alert) = report.alert {
            eprintln!("[{}: {} of the window, {}]", alert.level, report.ratio, alert.recommendation);
        }
        if !report.pruned.is_empty() {
            eprintln!("[pruned {} entries: /rehydrate shows one again]", report.pruned.len());
        }
        if let Some(made) = report.compaction {
            eprintln!(
                "[compacted from {} to {} tokens: /uncompact is the way back]",
                made.tokens_before, made.tokens_after
            );
        }
        report.notes.iter().for_each(|note| eprintln!("note: {}", note.message));
        self.context = report.entries.unwrap_or_default();
        // Nothing fits: what has to stay is larger than the window.
        report.stop.map_or(Ok(()), |stop| Err(stop.into()))
    }
}

impl At {
    fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        Ok(Self {
            session: SessionId::new(text("session").unwrap_or_default())?,
            from: text("from").map(str::parse).transpose()?,
            entry: text("entry").map(str::to_owned),
        })
    }

    /// Replaces the file, so that a process that is killed leaves the old one or the new one.
    fn write(&self, file: &std::path::Path) -> Result<()> {
        let from = self.from.map(|ctx| ctx.to_string());
        let value = json!({"session": self.session.as_str(), "from": from, "entry": self.entry});
        let new = file.with_extension("new");
        fs::write(&new, value.to_string())?;
        Ok(fs::rename(new, file)?)
    }
}
