//! From entries to a session that the import of versions 2.x takes.
//!
//! What a request cost is not known and written as zero. Ids are made up: placing makes them anew.

use std::collections::HashMap;

use stemmata_model::{Entry, ImageSource, Part, Timestamp};

use super::closed;
use crate::json::{Object, list};
use crate::messages::turns::{Answer, NO_PROMPT, Turn, turns};
use crate::opencode::encode::{NO_TOKENS, input, millis, output, proof, provider, text_file};
use crate::opencode::ids::{self, Ids};
use crate::placing::{CLOSED_TEXT, UNPLACED_SESSION};

/// Encodes entries as a whole session.
pub(in crate::opencode) fn encode(entries: &[Entry], title: Option<&str>) -> String {
    let at = entries.iter().find_map(|entry| entry.timestamp).unwrap_or(Timestamp::EPOCH);
    let session = ids::session(UNPLACED_SESSION, at);
    let model = entries.iter().find_map(|entry| entry.meta.model.clone());
    let mut writer = Writer {
        ids: Ids::new(blake3::derive_key("stemmata.opencode.v2", session.as_bytes()), at),
        at,
        model: model.unwrap_or_else(|| "unknown".to_owned()),
        messages: Vec::new(),
    };
    let all = turns(entries);
    for (index, turn) in all.iter().enumerate() {
        let behind = all.get(index + 1).map(|turn| turn.results.as_slice()).unwrap_or_default();
        writer.turn(turn, behind);
    }
    let cwd = entries.iter().find_map(|entry| entry.meta.cwd.as_deref()).unwrap_or("/");
    let at = millis(writer.at);
    let info = Object::new()
        .text("id", &session)
        .text("projectID", "global")
        .text("title", title.unwrap_or("Continued with Stemmata"))
        .raw("location", &Object::new().text("directory", cwd).finish())
        .number("cost", 0)
        .raw("tokens", NO_TOKENS)
        .raw("time", &Object::new().number("created", at).number("updated", at).finish());
    let messages = list(writer.messages);
    Object::new().raw("info", &info.finish()).raw("messages", &messages).finish()
}

struct Writer {
    ids: Ids,
    at: Timestamp,
    model: String,
    messages: Vec<String>,
}

impl Writer {
    fn turn(&mut self, turn: &Turn, results: &[Answer]) {
        self.at = turn.at.map_or(self.at, |at| at.max(self.at));
        if let Some(model) = &turn.model {
            self.model.clone_from(model);
        }
        if turn.is_assistant {
            return self.answer(turn, results);
        }
        let mut said: Vec<&Part> = Vec::new();
        for part in &turn.parts {
            if let Part::Summary { text, .. } = part {
                self.prompt(&std::mem::take(&mut said));
                let object = self.message("compaction").text("status", "completed").text("reason", "manual");
                self.messages.push(object.text("summary", text).text("recent", "").finish());
            } else {
                said.push(part);
            }
        }
        self.prompt(&said);
    }

    /// Begins a message.
    fn message(&mut self, kind: &str) -> Object {
        let time = Object::new().number("created", millis(self.at)).finish();
        Object::new().text("id", &self.ids.next("msg")).text("type", kind).raw("time", &time)
    }

    fn prompt(&mut self, parts: &[&Part]) {
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::File { name, media_type, data } => text_file(name, media_type.as_deref(), data.as_deref()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        let files: Vec<String> = parts.iter().filter_map(|part| file(part)).collect();
        if text.is_empty() && files.is_empty() {
            return;
        }
        let files = (!files.is_empty()).then(|| list(files));
        let object = self.message("user").text("text", &text).given_raw("files", files.as_deref());
        self.messages.push(object.finish());
    }

    fn answer(&mut self, turn: &Turn, results: &[Answer]) {
        if self.messages.is_empty() {
            self.prompt(&[&Part::Text(NO_PROMPT.to_owned())]);
        }
        let answers: HashMap<&str, &Answer> =
            results.iter().map(|answer| (answer.0.as_str(), answer)).collect();
        let content: Vec<String> = turn.parts.iter().filter_map(|part| self.item(part, &answers)).collect();
        if content.is_empty() {
            return;
        }
        let has_calls = turn.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
        let model = Object::new().text("providerID", provider(&self.model)).text("id", &self.model).finish();
        let at = millis(self.at);
        let time = Object::new().number("created", at).number("completed", at).finish();
        let object = Object::new()
            .text("id", &self.ids.next("msg"))
            .text("type", "assistant")
            .raw("time", &time)
            .text("agent", "build")
            .raw("model", &model)
            .raw("content", &list(content))
            .text("finish", if has_calls { "tool-calls" } else { "stop" })
            .number("cost", 0)
            .raw("tokens", NO_TOKENS);
        self.messages.push(object.finish());
    }

    fn item(&self, part: &Part, answers: &HashMap<&str, &Answer>) -> Option<String> {
        let typed = |name: &str| Object::new().text("type", name);
        Some(match part {
            Part::Text(text) | Part::Summary { text, .. } => typed("text").text("text", text).finish(),
            Part::Thinking { text, signature, encrypted } => {
                let proof = proof(&self.model, signature.as_deref(), encrypted.as_deref());
                let native = proof.map(|(_, key, proof)| Object::new().text(key, proof).finish());
                typed("reasoning").text("text", text).given_raw("native", native.as_deref()).finish()
            }
            Part::ToolCall { call_id, name, arguments } => {
                let at = millis(self.at);
                let time = Object::new().number("created", at).number("completed", at).finish();
                let state = state(arguments, answers.get(call_id.as_str()).copied());
                typed("tool")
                    .text("id", call_id)
                    .text("name", name)
                    .raw("state", &state)
                    .raw("time", &time)
                    .finish()
            }
            Part::File { name, media_type, data } => {
                let text = text_file(name, media_type.as_deref(), data.as_deref())?;
                typed("text").text("text", &text).finish()
            }
            Part::Image { .. } | Part::ToolResult { .. } | Part::Opaque { .. } => return None,
        })
    }
}

/// Returns what the client keeps of a call: with its result, or as one that was broken off.
fn state(arguments: &str, answer: Option<&Answer>) -> String {
    let input = input(arguments);
    let Some((_, is_error, parts)) = answer else { return closed(&input, CLOSED_TEXT) };
    let text = output(parts);
    if *is_error {
        return closed(&input, if text.is_empty() { CLOSED_TEXT } else { &text });
    }
    let said = Object::new().text("type", "text").text("text", &text).finish();
    let files = parts.iter().filter_map(|part| match part {
        Part::Image { media_type, source } => {
            let uri = match source {
                ImageSource::Base64(data) => format!("data:{media_type};base64,{data}"),
                ImageSource::Url(address) => address.clone(),
                ImageSource::Artifact(_) => return None,
            };
            Some(Object::new().text("type", "file").text("uri", &uri).text("mime", media_type).finish())
        }
        _ => None,
    });
    let content: Vec<String> = std::iter::once(said).chain(files).collect();
    let content = list(content);
    Object::new().text("status", "completed").raw("input", &input).raw("content", &content).finish()
}

/// Returns a file that a person handed over; none where it is text, or has no bytes.
fn file(part: &Part) -> Option<String> {
    let source = Object::new().text("type", "inline").finish();
    let (media_type, data, name) = match part {
        Part::Image { media_type, source: ImageSource::Base64(data) } => (media_type.as_str(), data, None),
        Part::File { name, media_type, data: Some(data) } => {
            let media_type = media_type.as_deref().filter(|kind| !kind.starts_with("text/"))?;
            (media_type, data, Some(name.as_str()))
        }
        _ => return None,
    };
    let object = Object::new().text("data", data).text("mime", media_type).raw("source", &source);
    Some(object.optional("name", name).finish())
}
