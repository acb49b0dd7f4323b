//! What a session's lines say about it: id, title, place, times.
//!
//! Shown to people and kept with sightings; decides no boundary.

use std::borrow::Cow;

use super::kind::{Class, Said};
use super::message::Content;
use super::record::Record;
use crate::json::text;
use crate::lines::facts::{Facts, Hints, Templates, TitleRank};

/// The template of a main conversation, as its bytes alone tell.
pub const TEMPLATE_MAIN: &str = "claude-code/main";

/// The template of a subagent's transcript, as its bytes alone tell.
pub const TEMPLATE_SUBAGENT: &str = "claude-code/subagent";

pub(super) const TEMPLATES: Templates = Templates { main: TEMPLATE_MAIN, subagent: TEMPLATE_SUBAGENT };

/// How a prompt begins that a person did not type as such: commands, their output, warnings about them.
const NO_TITLE_STARTS: [&str; 7] = [
    "<command-",
    "<local-command-",
    "<bash-",
    "<system-reminder>",
    "<task-notification>",
    "Caveat:",
    "[Request interrupted",
];

/// Returns whether the transcript is a subagent's, as far as known.
pub(super) fn is_subagent(facts: &Facts) -> bool {
    facts.session().template.as_ref().is_some_and(|template| template.as_str() == TEMPLATE_SUBAGENT)
}

/// Returns whether the transcript is a subagent's, when this record is the next: the first one that has an
/// id decides.
pub(super) fn is_subagent_with(facts: &Facts, record: &Record<'_>) -> bool {
    match &facts.session().template {
        Some(_) => is_subagent(facts),
        None => has_id(record) && record.is_sidechain_record(),
    }
}

fn has_id(record: &Record<'_>) -> bool {
    record.uuid.is_some_and(|field| field.text().is_some())
}

/// Returns what a record says of its session; the first `prompt` that a person typed is the title until a better comes.
pub(super) fn hints<'a>(
    facts: &Facts,
    record: &Record<'a>,
    prompt: Option<&Class<'a>>,
) -> Hints<Cow<'a, str>> {
    let title = if record.is_type("custom-title") {
        text(record.custom_title).map(|title| (TitleRank::User, title))
    } else if record.is_type("ai-title") {
        text(record.ai_title).map(|title| (TitleRank::Runtime, title))
    } else {
        let prompt = prompt.filter(|_| facts.session().title_rank == TitleRank::None);
        prompt.and_then(typed_text).map(|title| (TitleRank::Prompt, title))
    };
    Hints {
        // It is read once in a session, and not for every record of it.
        session: text(record.session_id.filter(|_| facts.session().session.is_none())),
        parent: None,
        agent: text(record.agent_id.filter(|_| is_subagent_with(facts, record))),
        is_subagent: has_id(record).then(|| record.is_sidechain_record()),
        cwd: text(record.cwd),
        git_branch: text(record.git_branch),
        remote: None,
        version: text(record.version),
        title,
    }
}

/// Returns the text of a prompt that a person typed.
fn typed_text<'a>(prompt: &Class<'a>) -> Option<Cow<'a, str>> {
    prompt_text(prompt).filter(|prompt| {
        let start = prompt.trim_start();
        !NO_TITLE_STARTS.iter().any(|skipped| start.starts_with(skipped))
    })
}

/// Returns the first text of a message's content.
fn prompt_text<'a>(prompt: &Class<'a>) -> Option<Cow<'a, str>> {
    match &prompt.said {
        Said::Content(Content::Text(field)) => field.text(),
        Said::Content(content) => {
            content.blocks().find(|block| block.is_type("text")).and_then(|block| text(block.text))
        }
        Said::Texts(_) | Said::Attachment { .. } | Said::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::SessionId;

    use super::*;
    use crate::claude_code::whole::Whole;
    use crate::lines::facts::TITLE_CHARS_MAX;
    use crate::lines::facts::one_line;

    fn learn(lines: &[&str]) -> Facts {
        let mut facts = Facts::default();
        for line in lines {
            let Whole { record, inside } = Whole::parse(line.as_bytes()).expect("a record");
            let is_result = inside.content.has_tool_result();
            let is_prompt = record.is_user_besides_results(is_subagent_with(&facts, &record)) && !is_result;
            let class = Class::of(&record, inside);
            let said = hints(&facts, &record, is_prompt.then_some(&class));
            facts.learn(TEMPLATES, said, record.time());
        }
        facts
    }

    #[test]
    fn the_users_title_beats_the_runtimes_and_both_beat_the_first_prompt() {
        let mut lines = vec![
            r#"{"type":"summary","summary":"of another session","leafUuid":"x"}"#,
            r#"{"type":"user","uuid":"0","message":{"content":"<command-name>/clear</command-name>"}}"#,
            r#"{"type":"user","uuid":"1","message":{"content":[{"type":"text","text":"  fix\n the\tlock "}]}}"#,
            r#"{"type":"user","uuid":"2","message":{"content":"and now the door"}}"#,
        ];
        assert_eq!(learn(&lines).session().title.as_deref(), Some("fix the lock"));
        lines.push(r#"{"type":"ai-title","aiTitle":"Lock repair"}"#);
        assert_eq!(learn(&lines).session().title.as_deref(), Some("Lock repair"));
        lines.push(r#"{"type":"custom-title","customTitle":"mine"}"#);
        lines.push(r#"{"type":"ai-title","aiTitle":"Door repair"}"#);
        lines.push(r#"{"type":"custom-title","customTitle":" "}"#);
        assert_eq!(learn(&lines).session().title.as_deref(), Some("mine"));
    }

    #[test]
    fn titles_are_one_short_line() {
        assert_eq!(one_line(" \u{1b}[31ma\r\n\u{7}b\u{2028}c "), "[31ma b c");
        assert_eq!(one_line(&"é".repeat(500)).chars().count(), TITLE_CHARS_MAX);
        assert_eq!(one_line(&"ab ".repeat(500)).chars().count(), TITLE_CHARS_MAX);
    }

    #[test]
    fn facts_come_back_from_their_json() {
        let facts = learn(&[
            r#"{"type":"user","uuid":"1","isSidechain":true,"agentId":"a7","sessionId":"s","cwd":"/w","version":"2.1.0","gitBranch":"main","timestamp":"2026-01-01T00:00:01Z","message":{"content":"go"}}"#,
            r#"{"type":"assistant","uuid":"2","sessionId":"t","cwd":"/w/x","timestamp":"2026-01-01T00:00:00Z"}"#,
        ]);
        assert_eq!(facts.session().session.as_ref().map(SessionId::as_str), Some("s"));
        assert_eq!(facts.session().agent.as_deref(), Some("a7"));
        assert_eq!(facts.session().cwd.as_deref(), Some("/w/x"));
        assert!(facts.session().first_timestamp < facts.session().last_timestamp);
        assert_eq!(Facts::from_json(&facts.to_json(), TEMPLATES), Some(facts.clone()));
        // What version 0.1 wrote.
        let mut old = facts.to_json();
        let fields = old.as_object_mut().expect("an object");
        fields.remove("template");
        fields.insert("subagent".to_owned(), true.into());
        assert_eq!(Facts::from_json(&old, TEMPLATES), Some(facts));
    }

    #[test]
    fn a_state_stays_small_whatever_the_facts() {
        let long = "\\\"".repeat(100_000);
        let line = serde_json::json!({
            "type": "user", "uuid": "1", "isSidechain": true, "sessionId": "\"".repeat(512), "cwd": long,
            "version": "v".repeat(508), "gitBranch": "\"".repeat(255), "agentId": "\\".repeat(255),
            "timestamp": "2026-01-01T00:00:01Z", "message": { "content": "𝄞\"".repeat(500) },
        });
        let facts = learn(&[&line.to_string()]);
        let bytes = facts.to_json().to_string().len();
        assert!(bytes < 4000, "{bytes}");
    }
}
