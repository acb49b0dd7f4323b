//! The fixed sections: who the agent is, how it answers, what it need not check, what began the turn.
//!
//! Wording only. Each depends on its own input alone, and nothing that changes from turn to turn is in the first ones, so
//! that a provider can reuse what it read of them.

use stemmata_model::quote::{contained, label, one_line};
use stemmata_model::{Json, Topic, topics};

use crate::profile::Profile;
use crate::select::{Message, message_text};

/// Returns the first lines: who the agent is, and how it works where nobody is there.
pub(super) fn header(profile: &Profile) -> String {
    let (id, role) = who(profile);
    let mut text = format!("You are agent `{id}`. Your role: {role}.\n");
    if profile.non_interactive {
        text.push_str(
            "\n## Working alone\n\nNo person reads along, so nobody can answer a question or approve a step. Decide with what \
             you know, say what you assumed, and finish the task.\n",
        );
    }
    text
}

/// Returns the first lines of a turn that continues the provider's session.
pub(super) fn continuation(profile: &Profile) -> String {
    let (id, role) = who(profile);
    format!(
        "## Continuation\n\nThis turn continues your session, agent `{id}` ({role}). What follows is new since your last turn. All \
         that you were told before still holds.\n"
    )
}

/// Returns an agent's name and role as a line may have them: anybody may have chosen them.
fn who(profile: &Profile) -> (String, String) {
    (label(profile.id.as_str()).replace('`', "'"), label(&profile.role))
}

/// Returns what the agent is told to do; empty where it is told nothing.
pub(super) fn instructions(profile: &Profile) -> String {
    let text = profile.instructions.trim();
    if text.is_empty() { String::new() } else { format!("\n## Instructions\n\n{text}\n") }
}

/// Returns how the agent answers; empty without a schema.
pub(super) fn output_schema(schema: Option<&Json>) -> String {
    schema.map_or_else(String::new, |schema| {
        let schema = crate::select::pretty(schema);
        format!(
            "\n## Output schema\n\nAnswer with one JSON value that matches this JSON Schema, and with nothing else.\n\n\
             ```json\n{schema}\n```\n"
        )
    })
}

/// Returns what people told the agent since its last turn; empty where they told it nothing.
pub(super) fn guidance(messages: &[Message]) -> String {
    if messages.is_empty() {
        return String::new();
    }
    let said: String = messages.iter().map(message_text).collect();
    format!(
        "\n## Guidance\n\nA person says this to you. It takes precedence over everything above.\n\n{said}"
    )
}

/// Returns what a validator need not check again; empty without hints.
pub(super) fn skip_hints(hints: &[&str]) -> String {
    if hints.is_empty() {
        return String::new();
    }
    let lines: String = hints.iter().map(|hint| format!("- {}\n", one_line(hint))).collect();
    format!(
        "\n## Not to be checked again\n\nThese points are settled or cannot be checked here. Do not reject the work for \
         them.\n\n{lines}"
    )
}

/// Returns what began the turn.
pub(super) fn trigger(topic: &Topic, message: &Message, iteration: Option<u64>) -> String {
    let mut text = if topic.as_str() == topics::USER_TURN {
        "\n## User turn\n\n".to_owned()
    } else {
        let counted = iteration.map_or_else(String::new, |turn| format!("Iteration: {turn}\n"));
        let (topic, sender) = (label(topic.as_str()), label(message.sender.as_str()));
        format!("\n## Triggering message\n\nTopic: {topic}\nSender: {sender}\n{counted}\n")
    };
    if let Some(said) = message.text.as_deref().filter(|said| !said.is_empty()) {
        text.push_str(contained(said.trim_end()).trim_end());
        text.push('\n');
    }
    if let Some(data) = &message.data {
        text.push_str("Data: ");
        text.push_str(&crate::select::pretty(data));
        text.push('\n');
    }
    text
}
