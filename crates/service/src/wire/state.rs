//! What is known of a project as wire types, and how it was made.

use stemmata_api::v1;
use stemmata_engine::prompt::reduce::memory::v1::{Items, Kind};
use stemmata_engine::{LedgerState, Task};
use stemmata_model::{Json, LedgerId};

use crate::wire::raw;

/// Returns what is known of a project; with so many characters of text, if any.
pub(crate) fn state(ledger: &LedgerId, state: &LedgerState, chars_max: Option<usize>) -> v1::State {
    let remembered = &state.remembered;
    let published = state.published.as_ref();
    v1::State {
        ledger: ledger.clone(),
        root: state.root.clone(),
        through: remembered.through.to_string(),
        transcripts: remembered.transcripts,
        memory: raw(&Json::of(&remembered.memory.to_json())),
        snapshot: published.map(|published| raw(&published.data)),
        text: chars_max.map(|chars_max| remembered.memory.text(chars_max)),
        snapshot_text: published.filter(|_| chars_max.is_some()).map(|published| published.text.clone()),
        notes: remembered.notes.clone(),
    }
}

/// Returns the decisions and facts that hold, then the threads that are open.
pub(crate) fn decisions(items: &Items) -> Vec<v1::KnownDecision> {
    let holds = items.decisions.iter().filter(|one| one.superseded.is_none());
    let decided = holds.map(|one| v1::KnownDecision {
        name: one.name(),
        kind: match one.kind {
            Kind::Decision => v1::DecisionKind::Decision,
            Kind::Fact => v1::DecisionKind::Fact,
        },
        text: one.text.clone(),
        reason: one.reason.clone(),
        session_id: one.proof.session.clone(),
    });
    let open = items.threads.iter().filter(|thread| thread.is_open()).map(|thread| v1::KnownDecision {
        name: thread.proof.source.clone(),
        kind: v1::DecisionKind::Thread,
        text: thread.text.clone(),
        reason: None,
        session_id: thread.proof.session.clone(),
    });
    decided.chain(open).collect()
}

/// Returns an open task.
pub(crate) fn task(task: &Task) -> v1::OpenTask {
    v1::OpenTask {
        name: task.name(),
        id: task.id.clone(),
        text: task.text.clone(),
        session_id: task.proof.session.clone(),
        source: task.proof.source.clone(),
    }
}
