//! What a session's lines say about it: id, title, place, times.
//!
//! Shown to people and kept with sightings; decides no boundary.

use std::borrow::Cow;

use serde_json::{Value, json};
use stemmata_model::{SessionId, Template, Timestamp};

use super::kind::{Class, Said};
use super::message::Content;
use super::record::Record;
use crate::adapter::SessionFacts;
use crate::json::{Field, text};
use crate::lines::facts::TitleRank;

/// The template of a main conversation, as its bytes alone tell.
pub const TEMPLATE_MAIN: &str = "claude-code/main";

/// The template of a subagent's transcript, as its bytes alone tell.
pub const TEMPLATE_SUBAGENT: &str = "claude-code/subagent";

/// Bytes that a text fact may take in a splitter's state; longer ones are learned again from the next line.
/// Five texts of this size, the session id and the title fit the 4 KiB that a state may have.
const STATE_FACT_BYTES_MAX: usize = 512;

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

/// Facts that grow line by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FactKeeper {
    facts: SessionFacts,
}

impl FactKeeper {
    pub(super) const fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// Returns whether the transcript is a subagent's, as far as known.
    pub(super) fn is_subagent(&self) -> bool {
        self.facts.template.as_ref().is_some_and(|template| template.as_str() == TEMPLATE_SUBAGENT)
    }

    /// Returns whether the transcript is a subagent's, when this record is the next: the first one that has an
    /// id decides.
    pub(super) fn is_subagent_with(&self, record: &Record<'_>) -> bool {
        match &self.facts.template {
            Some(_) => self.is_subagent(),
            None => record.is_sidechain_record() && record.uuid.is_some_and(|field| field.text().is_some()),
        }
    }

    /// Takes what a record says whose line is not it alone: all but the template, which is hashed.
    pub(super) fn learn_beside(&mut self, record: &Record<'_>, time: Option<Timestamp>) {
        let template = self.facts.template.clone();
        self.learn(record, time);
        self.facts.template = template;
    }

    /// Takes what a record says.
    pub(super) fn learn(&mut self, record: &Record<'_>, time: Option<Timestamp>) {
        if self.facts.template.is_none() && record.uuid.is_some_and(|field| field.text().is_some()) {
            self.facts.template = Some(template(record.is_sidechain_record()));
        }
        if self.facts.session.is_none() {
            let session = text(record.session_id).and_then(|id| SessionId::new(id.as_ref()).ok());
            self.facts.session = session;
        }
        if self.facts.agent.is_none() && self.is_subagent() {
            self.facts.agent = text(record.agent_id).map(Cow::into_owned);
        }
        keep_last(&mut self.facts.cwd, record.cwd);
        keep_last(&mut self.facts.git_branch, record.git_branch);
        keep_last(&mut self.facts.version, record.version);
        if let Some(time) = time {
            self.facts.first_timestamp =
                Some(self.facts.first_timestamp.map_or(time, |first| first.min(time)));
            self.facts.last_timestamp = Some(self.facts.last_timestamp.map_or(time, |last| last.max(time)));
        }
        if record.is_type("custom-title") {
            self.entitle(TitleRank::User, text(record.custom_title));
        } else if record.is_type("ai-title") {
            self.entitle(TitleRank::Runtime, text(record.ai_title));
        }
    }

    /// Takes the text of a real prompt: the first one that a person typed is the title until a better comes.
    pub(super) fn learn_prompt(&mut self, prompt: &Class<'_>) {
        if self.facts.title_rank == TitleRank::None {
            self.entitle(TitleRank::Prompt, typed_text(prompt));
        }
    }

    fn entitle(&mut self, rank: TitleRank, title: Option<Cow<'_, str>>) {
        if let Some(title) = title {
            self.facts.entitle(rank, &title);
        }
    }

    /// Returns the facts as JSON of bounded size; what is too long is left out.
    pub(super) fn to_json(&self) -> Value {
        let bounded = |fact: &Option<String>| {
            fact.as_ref().filter(|fact| json!(fact).to_string().len() <= STATE_FACT_BYTES_MAX).cloned()
        };
        json!({
            "session": self.facts.session.as_ref().map(SessionId::as_str),
            "agent": bounded(&self.facts.agent),
            "subagent": self.facts.template.as_ref().map(|_| self.is_subagent()),
            "cwd": bounded(&self.facts.cwd),
            "branch": bounded(&self.facts.git_branch),
            "version": bounded(&self.facts.version),
            "title": self.facts.title,
            "rank": self.facts.title_rank as u8,
            "first": self.facts.first_timestamp.map(Timestamp::as_micros),
            "last": self.facts.last_timestamp.map(Timestamp::as_micros),
        })
    }

    /// Reads what [`FactKeeper::to_json`] wrote; none where it is something else.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let string = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let time = |key: &str| {
            let micros = value.get(key).and_then(Value::as_i64);
            micros.map(Timestamp::from_micros)
        };
        let title_rank = TitleRank::of_number(value.get("rank")?.as_u64()?)?;
        Some(Self {
            facts: SessionFacts {
                parent: None,
                session: string("session").and_then(|id| SessionId::new(id).ok()),
                agent: string("agent"),
                template: value.get("subagent").and_then(Value::as_bool).map(template),
                cwd: string("cwd"),
                git_branch: string("branch"),
                remote: None,
                version: string("version"),
                title: string("title"),
                title_rank,
                last_timestamp: time("last"),
                first_timestamp: time("first"),
            },
        })
    }
}

/// Returns the template of a main conversation or a subagent's.
pub(super) fn template(is_subagent: bool) -> Template {
    let name = if is_subagent { TEMPLATE_SUBAGENT } else { TEMPLATE_MAIN };
    Template::new(name).expect("both names are short and plain")
}

/// Keeps the last text that is there and not empty, without an allocation where it is the same.
fn keep_last(kept: &mut Option<String>, field: Option<Field<'_>>) {
    if let Some(value) = text(field)
        && !value.is_empty()
        && kept.as_deref() != Some(value.as_ref())
    {
        *kept = Some(value.into_owned());
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
    use super::*;
    use crate::claude_code::whole::Whole;
    use crate::lines::facts::TITLE_CHARS_MAX;
    use crate::lines::facts::one_line;

    fn learn(lines: &[&str]) -> FactKeeper {
        let mut keeper = FactKeeper::default();
        for line in lines {
            let Whole { record, inside } = Whole::parse(line.as_bytes()).expect("a record");
            keeper.learn(&record, record.time());
            let is_result = inside.content.has_tool_result();
            if record.is_user_besides_results(keeper.is_subagent()) && !is_result {
                keeper.learn_prompt(&Class::of(&record, inside));
            }
        }
        keeper
    }

    #[test]
    fn the_users_title_beats_the_runtimes_and_both_beat_the_first_prompt() {
        let mut lines = vec![
            r#"{"type":"summary","summary":"of another session","leafUuid":"x"}"#,
            r#"{"type":"user","uuid":"0","message":{"content":"<command-name>/clear</command-name>"}}"#,
            r#"{"type":"user","uuid":"1","message":{"content":[{"type":"text","text":"  fix\n the\tlock "}]}}"#,
            r#"{"type":"user","uuid":"2","message":{"content":"and now the door"}}"#,
        ];
        assert_eq!(learn(&lines).facts().title.as_deref(), Some("fix the lock"));
        lines.push(r#"{"type":"ai-title","aiTitle":"Lock repair"}"#);
        assert_eq!(learn(&lines).facts().title.as_deref(), Some("Lock repair"));
        lines.push(r#"{"type":"custom-title","customTitle":"mine"}"#);
        lines.push(r#"{"type":"ai-title","aiTitle":"Door repair"}"#);
        lines.push(r#"{"type":"custom-title","customTitle":" "}"#);
        assert_eq!(learn(&lines).facts().title.as_deref(), Some("mine"));
    }

    #[test]
    fn titles_are_one_short_line() {
        assert_eq!(one_line(" \u{1b}[31ma\r\n\u{7}b\u{2028}c "), "[31ma b c");
        assert_eq!(one_line(&"é".repeat(500)).chars().count(), TITLE_CHARS_MAX);
        assert_eq!(one_line(&"ab ".repeat(500)).chars().count(), TITLE_CHARS_MAX);
    }

    #[test]
    fn facts_come_back_from_their_json() {
        let keeper = learn(&[
            r#"{"type":"user","uuid":"1","isSidechain":true,"agentId":"a7","sessionId":"s","cwd":"/w","version":"2.1.0","gitBranch":"main","timestamp":"2026-01-01T00:00:01Z","message":{"content":"go"}}"#,
            r#"{"type":"assistant","uuid":"2","sessionId":"t","cwd":"/w/x","timestamp":"2026-01-01T00:00:00Z"}"#,
        ]);
        assert_eq!(keeper.facts().session.as_ref().map(SessionId::as_str), Some("s"));
        assert_eq!(keeper.facts().agent.as_deref(), Some("a7"));
        assert_eq!(keeper.facts().cwd.as_deref(), Some("/w/x"));
        assert!(keeper.facts().first_timestamp < keeper.facts().last_timestamp);
        assert_eq!(FactKeeper::from_json(&keeper.to_json()), Some(keeper));
    }

    #[test]
    fn a_state_stays_small_whatever_the_facts() {
        let long = "\\\"".repeat(100_000);
        let line = serde_json::json!({
            "type": "user", "uuid": "1", "isSidechain": true, "sessionId": "\"".repeat(512), "cwd": long,
            "version": "v".repeat(508), "gitBranch": "\"".repeat(255), "agentId": "\\".repeat(255),
            "timestamp": "2026-01-01T00:00:01Z", "message": { "content": "𝄞\"".repeat(500) },
        });
        let keeper = learn(&[&line.to_string()]);
        let bytes = keeper.to_json().to_string().len();
        assert!(bytes < 4000, "{bytes}");
    }
}
