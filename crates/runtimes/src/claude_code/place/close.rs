//! Gives tool calls without a result a marked one, so that every call is answered.
//!
//! A transcript may end while tools run, and a client may die then; a provider refuses such a conversation,
//! and clients drop the call silently.

use std::collections::HashSet;

use super::super::record::Record;
use super::super::whole::Whole;
use super::calls_of;
use crate::adapter::PlaceRequest;
use crate::json::{is_true, owned, quote, text};
use crate::placing::CLOSED_TEXT;

/// The time of a result when no record before it has one.
pub(in crate::claude_code) const NO_TIME: &str = "1970-01-01T00:00:00.000Z";

/// A call that waits for its result.
#[derive(Debug, Clone)]
pub(in crate::claude_code) struct Call {
    pub(in crate::claude_code) id: String,
    message: Option<String>,
    uuid: String,
    sidechain: bool,
    fields: Vec<(&'static str, String)>,
}

impl Call {
    /// Remembers a call of a record, with what its result has to repeat.
    pub(in crate::claude_code) fn of(id: &str, message: Option<String>, record: &Record<'_>) -> Self {
        let repeated = [
            ("agentId", record.agent_id),
            ("version", record.version),
            ("gitBranch", record.git_branch),
            ("timestamp", record.timestamp),
        ];
        let fields = repeated.into_iter().filter_map(|(name, field)| Some((name, field?.raw().to_owned())));
        Self {
            id: id.to_owned(),
            message,
            uuid: owned(record.uuid).unwrap_or_default(),
            sidechain: is_true(record.is_sidechain),
            fields: fields.collect(),
        }
    }
}

impl Call {
    /// Returns a line that answers it, as `uuid` below `parent`; session and directory are JSON texts.
    pub(in crate::claude_code) fn answer(
        &self,
        (parent, uuid): (&str, &str),
        (session, cwd): (&str, &str),
        told: &str,
    ) -> String {
        let field = |name: &str| {
            let mut fields = self.fields.iter().filter(|(field, _)| *field == name);
            fields.next().map(|(_, value)| value.clone())
        };
        let optional =
            |name: &str| field(name).map_or_else(String::new, |value| format!("\"{name}\":{value},"));
        let time = field("timestamp").unwrap_or_else(|| quote(NO_TIME));
        let text = quote(told);
        format!(
            "{{\"parentUuid\":{},\"isSidechain\":{},\"userType\":\"external\",\"cwd\":{cwd},\"sessionId\":{session},{}{}{}\
             \"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\
             \"content\":{text},\"is_error\":true,\"tool_use_id\":{}}}]}},\"uuid\":{},\"timestamp\":{time},\
             \"toolUseResult\":{},\"sourceToolAssistantUUID\":{}}}\n",
            quote(parent),
            self.sidechain,
            optional("version"),
            optional("gitBranch"),
            optional("agentId"),
            quote(&self.id),
            quote(uuid),
            quote(&format!("Error: {told}")),
            quote(&self.uuid),
        )
    }
}

/// What matters of a record here.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a record")]
#[derive(Debug)]
pub(super) struct Facts {
    /// Whether it stands in the tree.
    pub(super) is_node: bool,
    /// Whether it is progress, which clients read over.
    pub(super) is_progress: bool,
    /// Whether it is a user's or an assistant's.
    pub(super) is_message: bool,
    sidechain: bool,
    uuid: String,
    parent: Option<String>,
    /// Of an assistant's record: the API message.
    message: Option<String>,
    calls: Vec<Call>,
    answers: Vec<String>,
    /// Whether what comes before it is over: nothing can answer an earlier call any more.
    ends_calls: bool,
}

impl Facts {
    /// Looks at a record.
    pub(super) fn of(whole: &Whole<'_>) -> Self {
        let Whole { record, inside } = whole;
        let kind = record.type_text();
        let is_node = matches!(&*kind, "user" | "assistant" | "system" | "attachment" | "progress");
        let (is_user, is_assistant) = (kind == "user", kind == "assistant");
        let results = inside.content.blocks().filter(|block| is_user && block.is_type("tool_result"));
        let answers: Vec<String> = results.filter_map(|block| owned(block.tool_use_id)).collect();
        let is_prompt = is_user && answers.is_empty() && !is_true(record.is_meta);
        Self {
            is_node: is_node && text(record.uuid).is_some(),
            is_progress: kind == "progress",
            is_message: inside.message.is_some() && (is_user || is_assistant),
            sidechain: is_true(record.is_sidechain),
            uuid: owned(record.uuid).unwrap_or_default(),
            parent: owned(record.parent_uuid),
            message: inside.message.filter(|_| is_assistant).and_then(|message| owned(message.id)),
            calls: if is_assistant { calls_of(whole) } else { Vec::new() },
            answers,
            ends_calls: is_assistant || is_prompt || record.is_compact_boundary(),
        }
    }
}

/// Keeps the calls that wait, and closes them when nothing can answer them any more.
#[derive(Debug)]
pub(super) struct Closer {
    session: String,
    cwd: String,
    seed: [u8; 32],
    open: Vec<Call>,
    /// Calls that were closed here, to see a result that comes later.
    given_up: HashSet<String>,
    /// The records since the last answer or prompt, for each side: (id, parent).
    recent: [Vec<(String, Option<String>)>; 2],
    /// How many results were made up.
    pub(super) closed: u64,
    /// How many real results came later.
    pub(super) late: u64,
}

impl Closer {
    /// Starts with no calls.
    pub(super) fn new(request: &PlaceRequest) -> Self {
        Self {
            session: quote(request.session.as_str()),
            cwd: quote(&request.cwd),
            seed: request.seed,
            open: Vec::new(),
            given_up: HashSet::new(),
            recent: [Vec::new(), Vec::new()],
            closed: 0,
            late: 0,
        }
    }

    /// Closes what a record that is about to be written leaves behind.
    ///
    /// The results hang on their calls, as those of parallel calls do: the record that follows keeps its parent.
    pub(super) fn before(&mut self, facts: &Facts, out: &mut Vec<u8>) {
        if !facts.ends_calls || !facts.is_node {
            return;
        }
        let over = |call: &Call| {
            call.sidechain == facts.sidechain && (facts.message.is_none() || call.message != facts.message)
        };
        let (over, open) = self.open.drain(..).partition(over);
        self.open = open;
        let over: Vec<Call> = over;
        for call in over {
            let parent = call.uuid.clone();
            self.close(&call, &parent, out);
        }
    }

    /// Takes in a record that was written.
    pub(super) fn after(&mut self, facts: Facts) {
        if !facts.answers.is_empty() {
            self.open.retain(|call| !facts.answers.contains(&call.id));
            self.late += facts.answers.iter().filter(|answer| self.given_up.remove(*answer)).count() as u64;
        }
        let starts_anew = facts.ends_calls && !self.continues(&facts);
        let [own, side] = &mut self.recent;
        let recent = if facts.sidechain { side } else { own };
        if starts_anew {
            recent.clear();
        }
        recent.push((facts.uuid, facts.parent));
        self.open.extend(facts.calls);
    }

    fn continues(&self, facts: &Facts) -> bool {
        let mut open = self.open.iter().filter(|call| call.sidechain == facts.sidechain);
        facts.message.is_some() && open.any(|call| call.message == facts.message)
    }

    /// Closes all calls that are left.
    ///
    /// The results hang on the last record where the call is above it, so that also clients which know nothing
    /// of parallel calls find all of it.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        for call in std::mem::take(&mut self.open) {
            let [own, side] = &self.recent;
            let recent = if call.sidechain { side } else { own };
            let last = recent.last().map(|(uuid, _)| uuid.clone());
            let parent = last.filter(|last| is_above(recent, &call.uuid, last));
            let parent = parent.unwrap_or_else(|| call.uuid.clone());
            let uuid = self.close(&call, &parent, out);
            let [own, side] = &mut self.recent;
            let recent = if call.sidechain { side } else { own };
            recent.push((uuid, Some(parent)));
        }
    }

    /// Writes a result and returns its id.
    fn close(&mut self, call: &Call, parent: &str, out: &mut Vec<u8>) -> String {
        let uuid = self.made_up_uuid(call);
        let line = call.answer((parent, &uuid), (&self.session, &self.cwd), CLOSED_TEXT);
        out.extend_from_slice(line.as_bytes());
        self.closed += 1;
        self.given_up.insert(call.id.clone());
        uuid
    }

    /// Returns an id that is the same whenever this call is closed with this seed.
    fn made_up_uuid(&self, call: &Call) -> String {
        let hasher = blake3::Hasher::new_keyed(&self.seed);
        crate::repair::uuid_from(hasher, &[call.id.as_bytes(), call.uuid.as_bytes()])
    }
}

/// Returns whether a record is above another, by the links of the records in hand.
fn is_above(recent: &[(String, Option<String>)], above: &str, below: &str) -> bool {
    let mut next = Some(below);
    // No chain is longer than the records in hand.
    for _ in 0..=recent.len() {
        let Some(uuid) = next else {
            return false;
        };
        if uuid == above {
            return true;
        }
        let links = recent.iter().rev();
        next = links.filter(|(known, _)| known == uuid).find_map(|(_, parent)| parent.as_deref());
    }
    false
}
