//! Clusters: agents that work on one thing and tell each other of it in a ledger of their own.
//!
//! When an agent began and ended, what people told it, and what it all cost. Who may do what when is not known here.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use stemmata_model::{
    Event, EventSeq, LedgerId, NewEvent, Note, NoteCode, Party, Payload, SessionId, Timestamp, topics,
};
use stemmata_store::{
    Append, ClusterFile, Durability, EventQuery, ExportedCluster, LedgerChange, SystemFiles,
};

use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result, Wanted};

/// Words of people that one read of the mailbox returns at most.
pub const GUIDANCE_MAX: usize = 256;

/// Events of one step through a ledger.
const STEP_EVENTS: usize = 512;

/// Roles that usage is told apart by at most; what others used is counted as `unknown`.
const ROLES_MAX: usize = 1_024;

/// The role of who names none.
const NO_ROLE: &str = "unknown";

/// A cluster of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Its ledger.
    pub ledger: LedgerId,
    /// When it was made: what `cluster_start` means.
    pub created_at: Timestamp,
    /// The number of its last event; 0 without any.
    pub last: u64,
    /// The time of that event.
    pub last_at: Option<Timestamp>,
}

/// What people told an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guidance {
    /// Their words, in order, at most [`GUIDANCE_MAX`], and fewer where they are large: none only where there are none.
    pub events: Vec<Event>,
    /// Where to read on; none where nothing was read yet and there is nothing.
    pub cursor: Option<EventSeq>,
}

/// Tokens and money that were used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TokenTotals {
    /// Tokens of prompts, without those from and into caches.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Tokens of prompts that were read from a cache.
    pub cache_read_tokens: u64,
    /// Tokens of prompts that were put into a cache.
    pub cache_creation_tokens: u64,
    /// US dollars, as the providers said.
    pub cost_usd: f64,
    /// Reports that this is the sum of.
    pub count: u64,
}

/// What a cluster used, in one consistent look.
#[derive(Debug, Clone, PartialEq)]
pub struct TokensByRole {
    /// By role.
    pub roles: BTreeMap<String, TokenTotals>,
    /// Of all together.
    pub total: TokenTotals,
    /// The last event that was looked at.
    pub through: Option<EventSeq>,
}

impl Engine {
    /// Makes a cluster; one that is there stays as it is.
    ///
    /// # Errors
    /// `Refused` where the ledger is a project's, and where the storage fails.
    pub fn create_cluster(&self, ledger: &LedgerId) -> Result<Cluster> {
        if let Some(known) = self.log.ledger(ledger)? {
            if known.root.is_some() {
                let reasons = vec![format!("ledger `{ledger}` is a project's; give the cluster another id")];
                return Err(EngineError::Refused { what: Refusal::MakeCluster, reasons });
            }
        } else {
            self.log.change_ledger(LedgerChange::new(ledger.clone(), self.clock.now()))?;
        }
        self.cluster(ledger)
    }

    /// Describes a cluster.
    ///
    /// # Errors
    /// `NotFound`, and where the storage fails.
    pub fn cluster(&self, ledger: &LedgerId) -> Result<Cluster> {
        let known = self.log.ledger(ledger)?;
        let known =
            known.ok_or_else(|| EngineError::NotFound { what: Wanted::Ledger, text: ledger.to_string() })?;
        let (created_at, last, last_at) = (known.created_at, known.last, known.last_at);
        Ok(Cluster { ledger: known.id, created_at, last, last_at })
    }

    /// Returns from when on something is new for an agent that ended a task: the time of its last `TASK_ENDED`, what
    /// was said at that moment included; the cluster's beginning where it ended none. Looks up to and with `through`.
    ///
    /// # Errors
    /// As [`Engine::cluster`].
    pub fn last_task_end(
        &self,
        ledger: &LedgerId,
        agent: &Party,
        through: Option<EventSeq>,
    ) -> Result<Timestamp> {
        match self.last_of(ledger, topics::TASK_ENDED, agent, through)? {
            Some(at) => Ok(at),
            None => Ok(self.cluster(ledger)?.created_at),
        }
    }

    /// Returns from when on something is new for an agent since it began last: right after its last `AGENT_STARTED`;
    /// the cluster's beginning where it never began. Looks up to and with `through`.
    ///
    /// # Errors
    /// As [`Engine::cluster`].
    pub fn last_agent_start(
        &self,
        ledger: &LedgerId,
        agent: &Party,
        through: Option<EventSeq>,
    ) -> Result<Timestamp> {
        match self.last_of(ledger, topics::AGENT_STARTED, agent, through)? {
            // Times rise by a microsecond at least: none lies between.
            Some(at) => Ok(Timestamp::from_micros(at.as_micros().saturating_add(1))),
            None => Ok(self.cluster(ledger)?.created_at),
        }
    }

    fn last_of(
        &self,
        ledger: &LedgerId,
        topic: &'static str,
        agent: &Party,
        through: Option<EventSeq>,
    ) -> Result<Option<Timestamp>> {
        let latest = EventQuery::latest(topics::topic(topic), 1);
        let query = EventQuery { sender: Some(agent.clone()), through, ..latest };
        Ok(self.log.events(ledger, &query)?.first().map(|event| event.at))
    }

    /// Returns what people told an agent after a place: what is for the whole cluster, and what is for it. Without an
    /// agent only the former.
    ///
    /// # Errors
    /// Where the storage fails.
    pub fn guidance(
        &self,
        ledger: &LedgerId,
        agent: Option<&Party>,
        after: Option<EventSeq>,
        through: Option<EventSeq>,
    ) -> Result<Guidance> {
        let last = EventSeq::new(self.log.ledger(ledger)?.map_or(0, |ledger| ledger.last));
        // What comes while this reads is for the next look.
        let through = through.into_iter().chain(last).min();
        let Some(through) = through.filter(|_| last.is_some()) else {
            return Ok(Guidance { events: Vec::new(), cursor: after });
        };
        let of = |topic, receiver: Option<&Party>| {
            let (topics, receiver) = (vec![topics::topic(topic)], receiver.cloned());
            let query = EventQuery::after(after, GUIDANCE_MAX);
            self.log.page(ledger, &EventQuery { topics, receiver, through: Some(through), ..query })
        };
        let mut pages = vec![of(topics::USER_GUIDANCE_CLUSTER, None)?];
        if let Some(agent) = agent {
            pages.push(of(topics::USER_GUIDANCE_AGENT, Some(agent))?);
        }
        // Behind the page that ends first there may be more of its topic than of the other's.
        let mut read = pages.iter().filter_map(|page| page.next).min().unwrap_or(through);
        let mut events: Vec<Event> = pages.into_iter().flat_map(|page| page.events).collect();
        events.retain(|event| event.seq <= read);
        events.sort_by_key(|event| event.seq);
        if events.len() > GUIDANCE_MAX {
            events.truncate(GUIDANCE_MAX);
            read = events.last().map_or(read, |event| event.seq);
        }
        Ok(Guidance { events, cursor: Some(read).max(after) })
    }

    /// Sums up what `TOKEN_USAGE` reports, by the role that each names. Counts and costs are of the same events.
    ///
    /// # Errors
    /// Where the storage fails.
    pub fn tokens_by_role(&self, ledger: &LedgerId) -> Result<TokensByRole> {
        let through = EventSeq::new(self.log.ledger(ledger)?.map_or(0, |ledger| ledger.last));
        let mut sums = TokensByRole { roles: BTreeMap::new(), total: TokenTotals::default(), through };
        let topics = vec![topics::topic(topics::TOKEN_USAGE)];
        let mut query =
            through.map(|_| EventQuery { topics, through, ..EventQuery::after(None, STEP_EVENTS) });
        while let Some(asked) = query {
            let page = self.log.page(ledger, &asked)?;
            for event in &page.events {
                sums.add(event);
            }
            query = asked.following(&page);
        }
        Ok(sums)
    }

    /// Writes a ledger as one SQLite file that tools of seed 000's kind read. See `docs/format/cluster-export.md`.
    ///
    /// # Errors
    /// `NotFound`; `Store` with `Refused` where a file is there and is not to be replaced, and where the storage fails.
    pub fn export_cluster(&self, ledger: &LedgerId, path: &Path, replace: bool) -> Result<ExportedCluster> {
        self.cluster(ledger)?;
        // A database has a name while it is written.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.leftovers.files.register(folder).map_err(EngineError::io("remember", folder))?;
        Ok(stemmata_store::export_cluster(self.log.as_ref(), ledger, &SystemFiles, path, replace)?)
    }

    /// Reads such a file into a new ledger, or one without events: the same events in the same order, at their times.
    /// Secrets are replaced on the way. A failure leaves what was read until then.
    ///
    /// # Errors
    /// `Store` with `NotAStore` where it is no such file, `Corrupt` kinds where a row is none; `Refused` where the ledger
    /// has events or is a project's.
    pub fn import_cluster(&self, path: &Path, into: Option<&LedgerId>) -> Result<(Cluster, Vec<Note>)> {
        let mut file = ClusterFile::open(path)?;
        let ledger = into.unwrap_or(file.cluster()).clone();
        let refusal = self.log.ledger(&ledger)?.and_then(|known| match known.root {
            Some(root) => Some(format!("ledger `{ledger}` is the project's at {root}; name another one")),
            None => {
                (known.last > 0).then(|| format!("ledger `{ledger}` has events already; name another one"))
            }
        });
        if let Some(reason) = refusal {
            return Err(EngineError::Refused { what: Refusal::ImportCluster, reasons: vec![reason] });
        }
        // What was is appended as of then: an append's times are never before its present.
        if let Some(created_at) = file.created_at() {
            self.log.change_ledger(LedgerChange::new(ledger.clone(), created_at))?;
        }
        let (mut notes, mut last) = (Vec::new(), 0);
        while let Some(events) = file.page()? {
            let now = events.first().and_then(|event| event.at).unwrap_or_else(|| self.clock.now());
            let events = own_session(events, file.cluster(), &ledger);
            let (events, redacted) = self.scrubbed_events(None, events)?;
            let durability = Durability::default();
            let append =
                Append { expected: Some(last), durability, ..Append::new(ledger.clone(), events, now) };
            last = self.log.append(append)?.last.get();
            notes.extend(redacted);
        }
        self.bus.wake(&ledger);
        let gone = "events no longer have content; `gone` in their metadata says why";
        let broken = "events had data or metadata that is not JSON; they are shown without it";
        for (count, what) in [(file.gone(), gone), (file.broken(), broken)] {
            if count > 0 {
                notes.push(Note::new(NoteCode::Degraded, format!("{count} {what}")));
            }
        }
        Ok((self.create_cluster(&ledger)?, notes))
    }
}

/// Events that belong to no session but the cluster belong to the new one.
fn own_session(mut events: Vec<NewEvent>, cluster: &LedgerId, ledger: &LedgerId) -> Vec<NewEvent> {
    let own = SessionId::new(ledger.as_str()).expect("what names a ledger names a session");
    for event in events.iter_mut().filter(|event| event.session.as_str() == cluster.as_str()) {
        event.session = own.clone();
    }
    events
}

impl TokensByRole {
    fn add(&mut self, event: &Event) {
        // What was let go of is not counted: neither its tokens nor that it was there.
        let Payload::Plain { data: Some(data), .. } = &event.payload else { return };
        let data = data.to_value();
        let used = TokenTotals::of(&data);
        let role =
            data.get("role").and_then(Value::as_str).filter(|role| !role.is_empty()).unwrap_or(NO_ROLE);
        let is_full = self.roles.len() >= ROLES_MAX && !self.roles.contains_key(role);
        let role = if is_full { NO_ROLE } else { role };
        self.roles.entry(role.to_owned()).or_default().add(&used);
        self.total.add(&used);
    }
}

impl TokenTotals {
    fn of(data: &Value) -> Self {
        let number = |key| data.get(key).and_then(Value::as_u64).unwrap_or(0);
        let cost = data.get("totalCostUsd").and_then(Value::as_f64).filter(|cost| cost.is_finite());
        Self {
            input_tokens: number("inputTokens"),
            output_tokens: number("outputTokens"),
            cache_read_tokens: number("cacheReadInputTokens"),
            cache_creation_tokens: number("cacheCreationInputTokens"),
            cost_usd: cost.unwrap_or(0.0),
            count: 1,
        }
    }

    fn add(&mut self, used: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(used.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(used.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(used.cache_read_tokens);
        self.cache_creation_tokens = self.cache_creation_tokens.saturating_add(used.cache_creation_tokens);
        self.cost_usd += used.cost_usd;
        self.count += used.count;
    }
}
