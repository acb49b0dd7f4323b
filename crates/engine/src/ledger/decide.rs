//! What a person, or an agent, wants a project to remember: decisions, facts, tasks, threads, and their end.
//!
//! What becomes of it is the reducers'.

use serde_json::{Value, json};
use stemmata_api::v1::DecideRequest;
use stemmata_model::{Json, LedgerId, NewEvent, NewPayload, Party, SessionId, topics};
use stemmata_prompt::reduce::memory::v1::{Task, Thread};

use super::Published;
use crate::engine::Engine;
use crate::error::{Candidate, EngineError, Result, Wanted};

/// The session of what a person says.
pub(super) const SESSION: &str = "stemma";

impl Engine {
    /// Publishes a decision, a fact, a task or an open thread in the user's name.
    ///
    /// # Errors
    /// `NotFound` where it is to replace no decision that holds, `Several` where it may replace several; as
    /// [`Engine::publish`].
    pub fn decide(&self, decision: &DecideRequest) -> Result<Published> {
        let ledger = &decision.ledger;
        let mut data = json!({ "kind": decision.kind.as_str(), "decision": decision.text });
        if let Some(reason) = &decision.reason {
            data["reason"] = json!(reason);
        }
        if let Some(superseded) = &decision.supersedes {
            data["supersedes"] = json!(self.superseded(ledger, superseded)?);
        }
        self.say(ledger, &decision.text, &data)
    }

    /// Ends an open task, which ends by its words whatever tool it is from. Its name is surest, then all of its words, then
    /// some of them. Returns what was to be done.
    ///
    /// # Errors
    /// `NotFound` where no open task is meant, `Several` where several may be; as [`Engine::publish`].
    pub fn finish_task(&self, ledger: &LedgerId, named: &str) -> Result<(String, Published)> {
        let task = self.open_task(ledger, named)?;
        let mut data = json!({ "kind": "task_done", "decision": task.text });
        if let Some(hash) = &task.hash {
            data["hash"] = json!(hash);
        }
        let published = self.say(ledger, &task.text, &data)?;
        Ok((task.text, published))
    }

    /// Closes an open thread, named by its event's number, all of its words, or some of them. Returns what it was about.
    ///
    /// # Errors
    /// `NotFound` where no open thread is meant, `Several` where several may be; as [`Engine::publish`].
    pub fn close_thread(&self, ledger: &LedgerId, named: &str) -> Result<(String, Published)> {
        let memory = self.remember(ledger)?.memory;
        let open: Vec<&Thread> = memory.items.threads.iter().filter(|thread| thread.is_open()).collect();
        let words = named.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let is_number = named.bytes().all(|byte| byte.is_ascii_digit());
        let by_source = |thread: &Thread| thread.proof.source == named;
        let by_all_words = |thread: &Thread| thread.says(&words);
        let by_words = |thread: &Thread| !is_number && thread.text.to_lowercase().contains(&words);
        let ways: [&dyn Fn(&Thread) -> bool; 3] = [&by_source, &by_all_words, &by_words];
        let way = ways.into_iter().find(|is_meant| open.iter().any(|thread| is_meant(thread)));
        let meant: Vec<&Thread> =
            open.into_iter().filter(|thread| way.is_some_and(|way| way(thread))).collect();
        let candidate =
            |thread: &&Thread| Candidate { id: thread.proof.source.clone(), summary: thread.text.clone() };
        one_of(Wanted::OpenThread, named, meant.iter().map(candidate).collect())?;
        let Some(thread) = meant.first() else {
            return Err(EngineError::NotFound { what: Wanted::OpenThread, text: named.to_owned() });
        };
        let mut data = json!({ "kind": "thread_closed", "decision": thread.text });
        if let Some(hash) = &thread.hash {
            data["hash"] = json!(hash);
        }
        let published = self.say(ledger, &thread.text, &data)?;
        Ok((thread.text.clone(), published))
    }

    /// Returns what an event says that is to replace a decision. Refuses what names none that still holds, which would replace
    /// nothing, or several, which would replace them all.
    fn superseded(&self, ledger: &LedgerId, named: &str) -> Result<String> {
        let memory = self.remember(ledger)?.memory;
        let standing = memory.items.decisions.iter().filter(|one| one.superseded.is_none());
        let standing: Vec<_> = standing.collect();
        // Reducers know a decision without a number by its words; the letters of its name are for people.
        let by_name = standing.iter().find(|one| one.is_found() && one.name().eq_ignore_ascii_case(named));
        let said = by_name.map_or_else(|| named.to_owned(), |one| one.key());
        let meant = standing.iter().filter(|one| one.is_named(&said));
        let meant = meant.map(|one| Candidate { id: one.name(), summary: one.text.clone() });
        one_of(Wanted::Decision, named, meant.collect())?;
        Ok(said)
    }

    fn open_task(&self, ledger: &LedgerId, named: &str) -> Result<Task> {
        let (open, _) = self.open_tasks(ledger)?;
        let words = named.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let is_number = named.bytes().all(|byte| byte.is_ascii_digit());
        let by_name = |task: &Task| task.name().eq_ignore_ascii_case(named);
        let by_id = |task: &Task| task.id.as_deref() == Some(named) || task.proof.source == named;
        let by_all_words = |task: &Task| task.says(&words);
        let by_words = |task: &Task| !is_number && task.text.to_lowercase().contains(&words);
        let ways: [&dyn Fn(&Task) -> bool; 4] = [&by_name, &by_id, &by_all_words, &by_words];
        let way = ways.into_iter().find(|is_meant| open.iter().any(is_meant));
        let mut meant: Vec<Task> = open.into_iter().filter(|task| way.is_some_and(|way| way(task))).collect();
        let candidate = |task: &Task| Candidate { id: task.name(), summary: task.text.clone() };
        one_of(Wanted::OpenTask, named, meant.iter().map(candidate).collect())?;
        Ok(meant.remove(0))
    }

    fn say(&self, ledger: &LedgerId, text: &str, data: &Value) -> Result<Published> {
        let payload = NewPayload::Plain { text: Some(text.to_owned()), data: Some(Json::of(data)) };
        let session = SessionId::new(SESSION).expect("a constant name is a name");
        let sender = Party::new(self.identity.user.clone())?;
        let event = NewEvent::new(session, topics::topic(topics::DECISION_EVENT), sender, payload);
        self.publish(ledger, vec![event])
    }
}

/// Refuses a name that means nothing, or several things.
fn one_of(what: Wanted, named: &str, candidates: Vec<Candidate>) -> Result<()> {
    let text = named.to_owned();
    match candidates.len() {
        1 => Ok(()),
        0 => Err(EngineError::NotFound { what, text }),
        _ => Err(EngineError::Several { what, text, candidates }),
    }
}
