//! From entries to a session that `opencode import` takes.
//!
//! What a request cost is not known and written as zero. Ids are made up: placing makes them anew, since a message's id
//! names one message of all sessions.

use std::collections::HashMap;

use stemmata_model::{Entry, ImageSource, Maker, Part, Timestamp};

use super::RUNTIME;
use super::ids::{self, Ids};
use crate::json::{Object, list, one_line};
use crate::messages::turns::{Answer, NO_PROMPT, Turn, turns};
use crate::placing::{CLOSED_TEXT, UNPLACED_SESSION};

/// The version that encoded sessions carry: the newest whose import we know.
pub(super) const ENCODED_VERSION: &str = "1.18.33";

/// Counts of tokens that are not known.
pub(super) const NO_TOKENS: &str = r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;

/// Encodes entries as a whole session.
pub(super) fn encode(entries: &[Entry]) -> String {
    let at = entries.iter().find_map(|entry| entry.timestamp).unwrap_or(Timestamp::EPOCH);
    let cwd = entries.iter().find_map(|entry| entry.meta.cwd.clone()).unwrap_or_else(|| "/".to_owned());
    let session = ids::session(UNPLACED_SESSION, at);
    let mut writer = Writer {
        ids: Ids::new(blake3::derive_key("stemmata.opencode.v1", session.as_bytes()), at),
        at,
        cwd,
        session,
        prompt: None,
        model: entries
            .iter()
            .find_map(|entry| entry.meta.model.clone())
            .unwrap_or_else(|| "unknown".to_owned()),
        messages: Vec::new(),
    };
    let all = turns(entries);
    for (index, turn) in all.iter().enumerate() {
        let behind = all.get(index + 1).map(|turn| turn.results.as_slice()).unwrap_or_default();
        writer.turn(turn, behind);
    }
    writer.finish()
}

struct Writer {
    ids: Ids,
    at: Timestamp,
    cwd: String,
    session: String,
    /// The last message of the user.
    prompt: Option<String>,
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
        let mut said: Vec<Part> = Vec::new();
        for part in &turn.parts {
            if let Part::Summary { text, .. } = part {
                self.prompt(&std::mem::take(&mut said));
                self.summary(text);
            } else {
                said.push(part.clone());
            }
        }
        self.prompt(&said);
    }

    fn prompt(&mut self, parts: &[Part]) {
        let message = self.ids.next("msg");
        let written: Vec<String> =
            parts.iter().filter_map(|part| self.part(&message, part, &HashMap::new())).collect();
        if written.is_empty() {
            return;
        }
        self.user(message, &written);
    }

    fn user(&mut self, message: String, parts: &[String]) {
        let model =
            Object::new().text("providerID", provider(&self.model)).text("modelID", &self.model).finish();
        let info = Object::new()
            .text("id", &message)
            .text("sessionID", &self.session)
            .text("role", "user")
            .raw("time", &Object::new().number("created", millis(self.at)).finish())
            .text("agent", "build")
            .raw("model", &model);
        self.push(&info.finish(), parts);
        self.prompt = Some(message);
    }

    fn answer(&mut self, turn: &Turn, results: &[Answer]) {
        if self.prompt.is_none() {
            self.prompt(&[Part::Text(NO_PROMPT.to_owned())]);
        }
        let message = self.ids.next("msg");
        let answers: HashMap<&str, &Answer> =
            results.iter().map(|answer| (answer.0.as_str(), answer)).collect();
        let mut parts = vec![self.step(&message, "step-start")];
        let spoken: Vec<String> =
            turn.parts.iter().filter_map(|part| self.part(&message, part, &answers)).collect();
        if spoken.is_empty() {
            return;
        }
        parts.extend(spoken);
        let has_calls = turn.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
        let finish = if has_calls { "tool-calls" } else { "stop" };
        let end = Object::new()
            .text("type", "step-finish")
            .text("reason", finish)
            .raw("tokens", NO_TOKENS)
            .number("cost", 0);
        parts.push(self.named(&message, end));
        let info = self.answer_info(&message, finish);
        self.push(&info.finish(), &parts);
    }

    fn answer_info(&self, message: &str, finish: &str) -> Object {
        let path = Object::new().text("cwd", &self.cwd).text("root", "/").finish();
        let at = millis(self.at);
        let time = Object::new().number("created", at).number("completed", at).finish();
        Object::new()
            .text("id", message)
            .text("sessionID", &self.session)
            .text("role", "assistant")
            .text("parentID", self.prompt.as_deref().unwrap_or_default())
            .text("modelID", &self.model)
            .text("providerID", provider(&self.model))
            .text("mode", "build")
            .text("agent", "build")
            .raw("path", &path)
            .number("cost", 0)
            .raw("tokens", NO_TOKENS)
            .raw("time", &time)
            .text("finish", finish)
    }

    /// Writes a summary as the client's own compaction does: a mark, and an answer that stands for all before.
    fn summary(&mut self, text: &str) {
        let message = self.ids.next("msg");
        let mark = self.named(&message, Object::new().text("type", "compaction").flag("auto", false));
        self.user(message, &[mark]);
        let message = self.ids.next("msg");
        let part = self.named(&message, Object::new().text("type", "text").text("text", text));
        let info = self.answer_info(&message, "stop").flag("summary", true);
        self.push(&info.finish(), &[part]);
    }

    fn push(&mut self, info: &str, parts: &[String]) {
        let message = Object::new().raw("info", info).raw("parts", &list(parts));
        self.messages.push(message.finish());
    }

    fn step(&mut self, message: &str, kind: &str) -> String {
        self.named(message, Object::new().text("type", kind))
    }

    fn named(&mut self, message: &str, object: Object) -> String {
        let id = self.ids.next("prt");
        object.text("id", &id).text("sessionID", &self.session).text("messageID", message).finish()
    }

    fn part(&mut self, message: &str, part: &Part, answers: &HashMap<&str, &Answer>) -> Option<String> {
        let at = millis(self.at);
        let time = Object::new().number("start", at).number("end", at).finish();
        let typed = |name: &str| Object::new().text("type", name);
        let object = match part {
            Part::Text(text) | Part::Summary { text, .. } => typed("text").text("text", text),
            Part::Thinking { text, signature, encrypted } => {
                let proof = proof(&self.model, signature.as_deref(), encrypted.as_deref()).map(
                    |(whose, key, proof)| {
                        Object::new().raw(whose, &Object::new().text(key, proof).finish()).finish()
                    },
                );
                let object = typed("reasoning").text("text", text).raw("time", &time);
                object.given_raw("metadata", proof.as_deref())
            }
            Part::ToolCall { call_id, name, arguments } => {
                let state = self.state(message, (arguments, answers.get(call_id.as_str()).copied()), &time);
                typed("tool").text("callID", call_id).text("tool", name).raw("state", &state)
            }
            Part::File { name, media_type, data } => {
                match text_file(name, media_type.as_deref(), data.as_deref()) {
                    Some(text) => typed("text").text("text", &text),
                    None => file(part)?,
                }
            }
            Part::Image { .. } => file(part)?,
            Part::Opaque { runtime, .. } if runtime == RUNTIME => return None,
            Part::Opaque { .. } | Part::ToolResult { .. } => return None,
        };
        Some(self.named(message, object))
    }

    /// Returns what the client keeps of a call: with its result, as an error, or as one that is not done.
    fn state(&mut self, message: &str, (arguments, answer): (&str, Option<&Answer>), time: &str) -> String {
        let input = input(arguments);
        let Some((_, is_error, parts)) = answer else {
            return Object::new().text("status", "pending").raw("input", &input).text("raw", &input).finish();
        };
        let text = output(parts);
        if *is_error {
            // A place for files is with results of success only; whoever translates says so.
            return closed(&input, &text, time);
        }
        let is_file = |part: &&Part| matches!(part, Part::Image { .. } | Part::File { .. });
        let files: Vec<Object> = parts.iter().filter(is_file).filter_map(file).collect();
        // Each is a part by itself: the import refuses one without ids.
        let files: Vec<String> = files.into_iter().map(|file| self.named(message, file)).collect();
        let files = (!files.is_empty()).then(|| list(files));
        Object::new()
            .text("status", "completed")
            .raw("input", &input)
            .text("output", &text)
            .text("title", "")
            .raw("metadata", "{}")
            .raw("time", time)
            .given_raw("attachments", files.as_deref())
            .finish()
    }

    fn finish(self) -> String {
        let at = millis(self.at);
        let info = Object::new()
            .text("id", &self.session)
            .text("slug", "from-stemmata")
            .text("projectID", "global")
            .text("directory", &self.cwd)
            .text("title", "Continued with Stemmata")
            .text("version", ENCODED_VERSION)
            .raw("time", &Object::new().number("created", at).number("updated", at).finish());
        let messages = list(self.messages);
        Object::new().raw("info", &info.finish()).raw("messages", &messages).finish()
    }
}

/// Returns a call's arguments as an object.
pub(super) fn input(arguments: &str) -> String {
    match one_line(arguments) {
        // As it was spelled: a document may have line breaks.
        Some(_) if arguments.trim_start().starts_with('{') => arguments.trim().to_owned(),
        Some(json) => Object::new().raw("value", &json).finish(),
        None => Object::new().text("text", arguments).finish(),
    }
}

/// Returns what is text of a result: attachments are files.
pub(super) fn output(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::File { name, media_type, data } => text_file(name, media_type.as_deref(), data.as_deref()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a call that failed.
pub(super) fn closed(input: &str, error: &str, time: &str) -> String {
    let object = Object::new().text("status", "error").raw("input", input);
    object.text("error", if error.is_empty() { CLOSED_TEXT } else { error }).raw("time", time).finish()
}

/// Returns a file that is text, as text.
pub(super) fn text_file(name: &str, media_type: Option<&str>, data: Option<&str>) -> Option<String> {
    let is_text = media_type.is_none_or(|kind| kind.starts_with("text/"));
    data.filter(|_| is_text).map(|data| format!("File {name}:\n{data}"))
}

/// Returns a part that is a file, none where it is text or has no bytes.
fn file(part: &Part) -> Option<Object> {
    let inline = |media_type: &str, data: &str| format!("data:{media_type};base64,{data}");
    let typed = |media_type: &str, url: &str| {
        Object::new().text("type", "file").text("mime", media_type).text("url", url)
    };
    match part {
        Part::Image { media_type, source } => match source {
            ImageSource::Base64(data) => Some(typed(media_type, &inline(media_type, data))),
            ImageSource::Url(address) => {
                Some(typed(if media_type.is_empty() { "image/png" } else { media_type }, address))
            }
            ImageSource::Artifact(_) => None,
        },
        Part::File { name, media_type, data: Some(data) } => {
            let media_type = media_type.as_deref().filter(|kind| !kind.starts_with("text/"))?;
            Some(typed(media_type, &inline(media_type, data)).text("filename", name))
        }
        _ => None,
    }
}

/// Returns what shows a provider that reasoning is its own: whose it is, how the client calls the proof, and the proof.
pub(super) fn proof<'p>(
    model: &str,
    signature: Option<&'p str>,
    encrypted: Option<&'p str>,
) -> Option<(&'static str, &'static str, &'p str)> {
    match (signature, encrypted) {
        (Some(signature), _) => Some(("anthropic", "signature", signature)),
        (None, Some(data)) if provider(model) == "anthropic" => Some(("anthropic", "redactedData", data)),
        (None, Some(encrypted)) => Some(("openai", "reasoningEncryptedContent", encrypted)),
        (None, None) => None,
    }
}

/// Returns who offers a model, as the client calls them.
pub(super) fn provider(model: &str) -> &'static str {
    // A provider ahead of the name is one of which the client may have another name.
    Maker::of_model(model.split('/').next().unwrap_or(model)).map_or("unknown", Maker::as_str)
}

/// Returns a moment as the client writes it.
pub(super) fn millis(at: Timestamp) -> u64 {
    u64::try_from(at.as_micros() / 1_000).unwrap_or(0)
}
