//! Calls and results of a window of turns: they stay together, and one without the other means nothing.
//!
//! Which messages the window has is decided before.

use std::collections::BTreeSet;

use super::message::Message;

/// A message that lost calls, or was left out with them.
pub(super) struct Torn {
    /// The message as it was.
    pub(super) message: Message,
    /// What was left out, and why.
    pub(super) reason: String,
}

/// Drops results whose calls were cut off, and takes calls without results out of their messages. Calls at the end of the
/// line have no results yet, so they stay where the window reaches that end. Returns what was left out, in the order of the
/// messages.
pub(super) fn keep_groups_whole(messages: &mut Vec<Message>, reaches_end: bool) -> Vec<Torn> {
    let whole = messages.clone();
    loop {
        let before = ties(messages);
        let mut called: BTreeSet<String> = BTreeSet::new();
        messages.retain(|message| {
            let is_whole = message.answers.iter().all(|answer| called.contains(answer));
            if is_whole {
                called.extend(message.calls.iter().cloned());
            }
            is_whole
        });
        let answered: BTreeSet<String> =
            messages.iter().flat_map(|message| message.answers.iter().cloned()).collect();
        // Calls that are still open are the last ones, and nothing but results of their neighbours follows them.
        let last = messages.iter().rposition(|message| message.answers.is_empty()).map_or(0, |at| at + 1);
        let calls = messages.iter().take(last).rev().take_while(|message| !message.calls.is_empty());
        let open = last - calls.count();
        let mut place = 0;
        messages.retain_mut(|message| {
            place += 1;
            let is_open = reaches_end && place > open;
            is_open || without_unanswered(message, &answered)
        });
        if ties(messages) == before {
            return torn(whole, messages);
        }
    }
}

/// Returns the number of messages and of their calls: the rule is done when it changes neither.
fn ties(messages: &[Message]) -> (usize, usize) {
    (messages.len(), messages.iter().map(|message| message.calls.len()).sum())
}

/// Takes the calls without results out of a message; says whether it still says something. What was said beside a call that
/// failed or was never answered may be a decision, so it is not dropped with the call.
fn without_unanswered(message: &mut Message, answered: &BTreeSet<String>) -> bool {
    if message.calls.iter().all(|call| answered.contains(call)) {
        return true;
    }
    message.calls.retain(|call| answered.contains(call));
    message.pieces.retain(|piece| piece.call.as_ref().is_none_or(|call| answered.contains(call)));
    let texts: Vec<&str> = message.pieces.iter().map(|piece| piece.text.as_str()).collect();
    message.text = Some(texts.join("\n"));
    !message.pieces.is_empty()
}

fn torn(whole: Vec<Message>, kept: &[Message]) -> Vec<Torn> {
    let mut kept = kept.iter().peekable();
    let of = |message: Message| {
        let left = kept.next_if(|left| left.id == message.id);
        let remaining = left.map_or(&[][..], |left| &left.calls);
        let lost: Vec<&String> = message.calls.iter().filter(|call| !remaining.contains(call)).collect();
        let reason = match (lost.as_slice(), left) {
            ([], Some(_)) => return None,
            ([], None) => "left out: a result without its call".to_owned(),
            ([call], _) => format!("left out: the call `{call}`, which has no result"),
            ([call, more @ ..], _) => {
                format!("left out: the call `{call}` and {} more, which have no result", more.len())
            }
        };
        Some(Torn { message, reason })
    };
    whole.into_iter().filter_map(of).collect()
}
