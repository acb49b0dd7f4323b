//! What a model is sent, as the API of its provider takes it: the prompt's parts and the conversation, put into one request.
//!
//! How an API writes a message is `stemmata_runtimes`'; which entries a model sees is the engine's.

use std::collections::BTreeMap;

use stemmata_api::RawJson;
use stemmata_api::v1::{PromptTrace, ProviderApi, ProviderMessages};
use stemmata_engine::messages::{Api, Conversation, request_body};
use stemmata_engine::prompt::assemble::{EarlierTurns, PromptParts, parts};
use stemmata_engine::{Engine, PromptMade, TurnConversation, TurnOf};
use stemmata_model::{EventSeq, LossAction, Losses, Note, NoteCode, Part};

use crate::fault::Fault;

/// Parts of entries that go missing in every request, or that the model reads in another form: no news.
const EXPECTED: [&str; 4] = ["thinking", "tool_error", "text", "tool_name"];

/// Returns the request of a turn that has begun.
pub(super) fn of_turn(
    engine: &Engine,
    turn: &TurnOf,
    (said, prompt): (EventSeq, Option<&PromptMade>),
    api: ProviderApi,
) -> Result<(ProviderMessages, Vec<Note>), Fault> {
    let TurnConversation { mut before, said, mut notes } = engine.turn_conversation(turn, said)?;
    let parts = prompt.map_or_else(PromptParts::default, |prompt| {
        parts(&prompt.text, &prompt.trace, EarlierTurns::InMessages)
    });
    if prompt.is_some_and(|prompt| prompt.trace.after.is_some()) {
        // The provider's session has what was said before.
        before.clear();
        notes.clear();
    }
    let pending = text(parts.told).into_iter().chain(said.parts).collect();
    let (messages, lost) = written(api, &Conversation { system: parts.standing, entries: before, pending });
    notes.extend(lost);
    Ok((messages, notes))
}

/// Returns the request of a prompt that is in no session's conversation.
pub(super) fn of_prompt(
    prompt: &str,
    trace: &PromptTrace,
    api: ProviderApi,
) -> (ProviderMessages, Option<Note>) {
    let PromptParts { standing, told, trigger } = parts(prompt, trace, EarlierTurns::InPrompt);
    let pending: Vec<Part> = [told, trigger].into_iter().filter_map(text).collect();
    let is_empty = pending.is_empty();
    let of = Conversation { system: standing, entries: Vec::new(), pending };
    let (messages, lost) = written(api, &of);
    let nothing = is_empty.then(|| {
        let message = "the prompt has no message beside the system prompt, and no API takes that: name what began the turn";
        Note::new(NoteCode::Degraded, message)
    });
    (messages, nothing.or(lost))
}

fn text(text: String) -> Option<Part> {
    (!text.is_empty()).then_some(Part::Text(text))
}

fn written(api: ProviderApi, of: &Conversation) -> (ProviderMessages, Option<Note>) {
    let body = request_body(
        match api {
            ProviderApi::Anthropic => Api::Anthropic,
            ProviderApi::ChatCompletions => Api::ChatCompletions,
            ProviderApi::Responses => Api::Responses,
        },
        of,
    );
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let messages = ProviderMessages {
        api,
        body: RawJson::parse(&body.json).expect("a request is written as JSON"),
        stable: count(body.stable),
        breakpoints: count(body.breakpoints),
    };
    (messages, lost(&body.losses))
}

/// Says what of a conversation the API has no place for.
fn lost(losses: &Losses) -> Option<Note> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let news = losses.entries.iter().filter(|loss| loss.action != LossAction::Kept);
    for loss in news.filter(|loss| !EXPECTED.contains(&loss.part.as_str())) {
        *counts.entry(&loss.part).or_default() += 1;
    }
    let named: Vec<String> = counts.iter().map(|(part, count)| format!("{part} ({count})")).collect();
    (!named.is_empty()).then(|| {
        let message = format!(
            "the request leaves out, or says in words, what the API has no place for: {}",
            named.join(", ")
        );
        Note::new(NoteCode::Degraded, message)
    })
}
