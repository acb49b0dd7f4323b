//! A source's messages: which questions it asks, and what its answers become.
//!
//! Each question has a limit, so that a source of a ledger with millions of events costs what its amount says.

use std::collections::BTreeMap;

use stemmata_api::v1::PromptImage;
use stemmata_model::{EventSeq, Timestamp, Tokens};

use super::groups::keep_groups_whole;
use super::message::Message;
use super::reader::{ContextReader, Hit, MessageQuery, MessagesOf, ReadOrder, RetrieveQuery, StateQuery};
use super::render::{hit_text, message_text, retrieved_text, state_text, topic_text, turns_text};
use crate::reduce::cut::cut;
use crate::strategy::{AMOUNT_MAX, Anchors, RETRIEVED_DEFAULT, Selection, Source, SourceTopic, Window};

/// Characters of the state's full form at most.
pub const STATE_CHARS_MAX: usize = 32_000;

/// Characters of the state's compact form at most.
pub const STATE_CHARS_COMPACT: usize = 4_000;

/// Characters of a hit at most: a passage, not a file.
pub const HIT_CHARS_MAX: usize = 4_000;

/// Bytes of one form's messages at most: what 500,000 characters, the guard of a prompt, can have.
pub const SOURCE_BYTES_MAX: usize = 2_000_000;

/// Characters that a token stands for, where a cap in tokens has to bound a text before it is written.
const CHARS_PER_TOKEN: u64 = 4;

/// What all sources of one prompt have in common.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// What `since` refers to.
    pub anchors: Anchors,
    /// The budget, which bounds the state's text.
    pub max_tokens: Tokens,
    /// Only what came after this event: a continuation.
    pub after: Option<EventSeq>,
    /// Only what came up to and with this event.
    pub through: Option<EventSeq>,
    /// The id of the message that began the turn: no source repeats it.
    pub trigger: Option<&'a str>,
    /// What is being worked on, for the retriever.
    pub task: &'a str,
    /// Messages that the prompt's sources of turns have, with their times: no other source repeats them.
    pub told: &'a [(String, Option<Timestamp>)],
    /// What the prompt's sources of state say: the retriever does not repeat it.
    pub state: &'a str,
}

/// The questions of a source that selects messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlan {
    /// For the full form.
    pub full: MessageQuery,
    /// For the compact form.
    pub compact: MessageQuery,
}

/// One message or hit of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What names it.
    pub id: String,
    /// Its part of the section's text.
    pub text: String,
    /// Whether the full form has it.
    pub in_full: bool,
    /// Whether the compact form has it.
    pub in_compact: bool,
    /// The images that it names.
    pub images: Vec<PromptImage>,
    /// How well it fits, of hits.
    pub score_permille: Option<u64>,
    /// Why it was found, of hits; what was left out of it, of messages.
    pub reasons: Vec<String>,
}

/// What a source found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The section's text; empty where nothing was found.
    pub full: String,
    /// Its compact form.
    pub compact: String,
    /// What the forms are made of: first what the full form has, in its order.
    pub items: Vec<Item>,
    /// Whether messages were left out because there are more than [`AMOUNT_MAX`] and the source names no amount, or because
    /// they have more than [`SOURCE_BYTES_MAX`].
    pub is_cut: bool,
    /// Whether the full form would have had the message that began the turn.
    pub has_trigger: bool,
    /// The turns of the full form with their times, of a source of turns.
    pub turns: Vec<(String, Option<Timestamp>)>,
    /// Those of the compact form.
    pub compact_turns: Vec<(String, Option<Timestamp>)>,
}

/// Returns a source's questions. Where no amount is set, one message more than may be taken tells whether there are too many.
pub fn plan_messages(source: &Source, of: &MessagesOf, scope: &Scope<'_>) -> SourcePlan {
    let query = |window: Window| {
        let order = match (window.selection, window.amount) {
            // Too many of `all` lose the oldest: what is new is more likely to matter.
            (Selection::Latest, _) | (Selection::All, None) => ReadOrder::NewestFirst,
            (Selection::Oldest, _) | (Selection::All, Some(_)) => ReadOrder::OldestFirst,
        };
        let uncounted = usize::from(window.amount.is_none());
        MessageQuery {
            of: of.clone(),
            sender: source.sender.clone(),
            since: source.since.map(|since| since.resolve(&scope.anchors)),
            after: scope.after,
            through: scope.through,
            order,
            limit: wanted(window) + uncounted,
            bytes_max: SOURCE_BYTES_MAX,
        }
    };
    SourcePlan { full: query(source.full()), compact: query(source.compact()) }
}

/// Asks what a source asks, and makes the text of its section.
///
/// # Errors
/// What the reader fails with.
pub fn gather<R: ContextReader>(source: &Source, scope: &Scope<'_>, reader: &R) -> Result<Found, R::Error> {
    // An amount of 0 is none, in either form.
    if source.amount == Some(0) {
        return Ok(Found::default());
    }
    match &source.topic {
        SourceTopic::State => of_state(source, scope, reader),
        SourceTopic::Retriever => of_retriever(source, scope, reader),
        SourceTopic::Turns => of_messages(source, &MessagesOf::Turns, scope, reader),
        SourceTopic::Ledger(topic) => of_messages(source, &MessagesOf::Topic(topic.clone()), scope, reader),
    }
}

fn wanted(window: Window) -> usize {
    usize::try_from(window.amount.unwrap_or(AMOUNT_MAX).min(AMOUNT_MAX)).unwrap_or(usize::MAX)
}

/// The messages of one form, oldest first, the one that began the turn still among them.
struct Selected {
    messages: Vec<Message>,
    is_cut: bool,
    /// Whether these are all that match.
    is_whole: bool,
}

fn read<R: ContextReader>(window: Window, query: &MessageQuery, reader: &R) -> Result<Selected, R::Error> {
    let page = reader.messages(query)?;
    let mut messages = page.messages;
    messages.truncate(query.limit);
    let is_whole = messages.len() < query.limit && !page.is_stopped;
    let is_more = messages.len() > wanted(window);
    messages.truncate(wanted(window));
    if query.order == ReadOrder::NewestFirst {
        messages.reverse();
    }
    Ok(Selected { messages, is_cut: page.is_stopped || is_more, is_whole })
}

/// Returns the compact form's messages out of the full form's, where that has them. It saves the second read for nearly
/// every source: the last of the last five are the last of all.
fn derived(window: Window, query: &MessageQuery, full: (&Selected, &MessageQuery)) -> Option<Vec<Message>> {
    let (full, asked) = full;
    let has_that_end = query.order == asked.order && full.messages.len() >= wanted(window);
    if !full.is_whole && !has_that_end {
        return None;
    }
    let skipped = full.messages.len().saturating_sub(wanted(window));
    let messages = full.messages.iter();
    Some(match query.order {
        ReadOrder::NewestFirst => messages.skip(skipped).cloned().collect(),
        ReadOrder::OldestFirst => messages.take(wanted(window)).cloned().collect(),
    })
}

/// Takes the message that began the turn out of those that were selected; says whether it was there. It keeps its place of
/// the amount: were the latest plan the trigger, the plan before it would come in its stead, as if it still held.
fn without_trigger(messages: &mut Vec<Message>, scope: &Scope<'_>) -> bool {
    let before = messages.len();
    messages.retain(|message| scope.trigger != Some(message.id.as_str()));
    messages.len() < before
}

fn of_messages<R: ContextReader>(
    source: &Source,
    of: &MessagesOf,
    scope: &Scope<'_>,
    reader: &R,
) -> Result<Found, R::Error> {
    let plan = plan_messages(source, of, scope);
    let mut full = read(source.full(), &plan.full, reader)?;
    let window = source.compact();
    let mut compact = match derived(window, &plan.compact, (&full, &plan.full)) {
        Some(messages) => messages,
        None => read(window, &plan.compact, reader)?.messages,
    };
    let has_trigger = without_trigger(&mut full.messages, scope);
    without_trigger(&mut compact, scope);
    let section = |messages: &[Message]| match &source.topic {
        SourceTopic::Turns => turns_text(messages),
        topic => topic_text(topic.as_str(), messages),
    };
    let mut torn = Vec::new();
    if source.topic == SourceTopic::Turns {
        let reaches_end = full.is_whole || plan.full.order == ReadOrder::NewestFirst;
        torn = keep_groups_whole(&mut full.messages, reaches_end);
        keep_groups_whole(&mut compact, plan.compact.order == ReadOrder::NewestFirst);
    }
    let mut items: Vec<Item> = full.messages.iter().map(|message| item(message, true)).collect();
    let places: BTreeMap<&str, usize> =
        full.messages.iter().enumerate().map(|(place, message)| (message.id.as_str(), place)).collect();
    for message in &compact {
        match places.get(message.id.as_str()).and_then(|place| items.get_mut(*place)) {
            Some(known) => known.in_compact = true,
            None => items.push(Item { in_compact: true, ..item(message, false) }),
        }
    }
    for torn in &torn {
        match items.iter_mut().find(|item| item.id == torn.message.id) {
            Some(known) => known.reasons.push(torn.reason.clone()),
            None => items.push(Item { reasons: vec![torn.reason.clone()], ..item(&torn.message, false) }),
        }
    }
    let turns = |messages: &[Message]| {
        let said = messages.iter().filter(|_| source.topic == SourceTopic::Turns);
        said.map(|message| (message.id.clone(), message.at)).collect()
    };
    Ok(Found {
        full: section(&full.messages),
        compact: section(&compact),
        turns: turns(&full.messages),
        compact_turns: turns(&compact),
        items,
        is_cut: full.is_cut,
        has_trigger,
    })
}

fn item(message: &Message, in_full: bool) -> Item {
    Item {
        id: message.id.clone(),
        text: message_text(message),
        in_full,
        in_compact: false,
        images: message.images.clone(),
        score_permille: None,
        reasons: Vec::new(),
    }
}

fn of_state<R: ContextReader>(source: &Source, scope: &Scope<'_>, reader: &R) -> Result<Found, R::Error> {
    let cap_chars = source.cap(scope.max_tokens).0.saturating_mul(CHARS_PER_TOKEN);
    let full_chars = STATE_CHARS_MAX.min(usize::try_from(cap_chars).unwrap_or(usize::MAX));
    let Scope { after, through, told, .. } = *scope;
    let asked = |chars_max| StateQuery { chars_max, after, through, told };
    let Some(full) = reader.state(&asked(full_chars))? else { return Ok(Found::default()) };
    let compact_chars = STATE_CHARS_COMPACT.min(full_chars);
    let is_short = full.len() <= compact_chars || full.chars().nth(compact_chars).is_none();
    let compact = if is_short { None } else { reader.state(&asked(compact_chars))? };
    let compact = compact.unwrap_or_else(|| full.clone());
    Ok(Found {
        full: state_text(&full),
        compact: state_text(&compact),
        items: Vec::new(),
        ..Found::default()
    })
}

fn of_retriever<R: ContextReader>(source: &Source, scope: &Scope<'_>, reader: &R) -> Result<Found, R::Error> {
    let count = |amount: u32| usize::try_from(amount.min(AMOUNT_MAX)).unwrap_or(usize::MAX);
    let full = count(source.amount.unwrap_or(RETRIEVED_DEFAULT));
    let compact = count(source.compact_amount.unwrap_or(1)).min(full);
    let query = RetrieveQuery {
        task: scope.task.to_owned(),
        limit: full,
        after: scope.after,
        through: scope.through,
        told: scope.told,
        state: scope.state,
    };
    let (mut hits, left_out): (Vec<Hit>, Vec<Hit>) =
        reader.retrieve(&query)?.into_iter().partition(|hit| hit.left_out.is_none());
    hits.truncate(full);
    for hit in &mut hits {
        hit.text = cut(&hit.text, HIT_CHARS_MAX);
    }
    let given = hits.iter().enumerate().map(|(rank, hit)| hit_item(hit, rank < compact));
    let items = given.chain(left_out.iter().map(|hit| hit_item(hit, false))).collect();
    let best = hits.get(..compact).unwrap_or(&hits);
    Ok(Found { full: retrieved_text(&hits), compact: retrieved_text(best), items, ..Found::default() })
}

fn hit_item(hit: &Hit, in_compact: bool) -> Item {
    Item {
        id: hit.id.clone(),
        text: hit_text(hit),
        in_full: hit.left_out.is_none(),
        in_compact,
        images: Vec::new(),
        score_permille: Some(hit.score_permille),
        reasons: hit
            .left_out
            .map(|why| why.as_str().to_owned())
            .into_iter()
            .chain(hit.reasons.clone())
            .collect(),
    }
}
