//! What becomes of each part: kept, said otherwise, or dropped with a reason.

use stemmata_model::{EntryId, ImageSource, LossAction, Losses, Maker, Part};

use super::intake::{Files, Intake, Reasoning};
use super::tools::{self, Without};
use crate::lines::OPAQUE_REPLACEMENT;
use crate::messages::RESPONSES;

/// Characters of another runtime's own record that are told as text.
const TOLD_CHARS_MAX: usize = 2_000;

/// What a part's translation depends on.
pub(super) struct Change<'a> {
    pub(super) entry: &'a EntryId,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    /// What that one takes.
    pub(super) intake: &'static Intake,
    /// Who made the model that said it, where that is known.
    pub(super) provider: Option<Maker>,
    /// Whether signatures and encrypted reasoning mean something to the target.
    pub(super) is_same_provider: bool,
}

/// Translates the parts of one entry.
pub(super) fn translate(parts: Vec<Part>, change: &Change<'_>, report: &mut Losses) -> Vec<Part> {
    parts.into_iter().filter_map(|part| one(part, change, report)).collect()
}

fn one(part: Part, change: &Change<'_>, report: &mut Losses) -> Option<Part> {
    match part {
        Part::Text(text) if change.intake.refuses_blanks && text.trim().is_empty() => {
            let reason = "a text of white space, which the provider refuses";
            report.add(change.entry, LossAction::Dropped, "text", reason);
            None
        }
        // What it names has other ids there.
        Part::Summary { text, .. } if change.from != change.to => {
            Some(Part::Summary { text, covers: Vec::new() })
        }
        Part::Text(_) | Part::Summary { .. } => Some(part),
        Part::Thinking { text, signature, encrypted } => {
            thinking((text, signature, encrypted), change, report)
        }
        Part::ToolCall { call_id, name, arguments } => {
            let called = tools::translate(&name, &arguments, change.from, change.to);
            match called.without {
                Some(Without::Renamed(reason)) => {
                    report.add(change.entry, LossAction::Changed, "tool_name", &reason);
                }
                Some(Without::Kept) => report.keep_tool(change.entry, &name, change.to),
                None => {}
            }
            Some(Part::ToolCall {
                call_id: usable_id(call_id),
                name: called.name,
                arguments: called.arguments,
            })
        }
        Part::ToolResult { call_id, is_error, parts } => {
            let parts = translate(parts, change, report);
            if is_error && !change.intake.marks_failures {
                let reason =
                    format!("a failure of a tool, which {} cannot mark; its output is there", change.to);
                report.add(change.entry, LossAction::Changed, "tool_error", &reason);
            }
            let parts = if is_error { in_failure(parts, change, report) } else { parts };
            Some(Part::ToolResult { call_id: usable_id(call_id), is_error, parts })
        }
        Part::Image { media_type, source } => image(media_type, source, change, report),
        Part::File { name, media_type, data } => {
            let Some(reason) = homeless(&name, media_type.as_deref(), data.as_deref(), change) else {
                return Some(Part::File { name, media_type, data });
            };
            report.add(change.entry, LossAction::Changed, "file", &reason);
            Some(Part::Text(format!("[file {name}]")))
        }
        Part::Opaque { runtime, kind, json } => opaque(runtime, kind, json, change, report),
    }
}

/// Says why a target has no place for a file; none where it has one.
fn homeless(name: &str, media_type: Option<&str>, data: Option<&str>, change: &Change<'_>) -> Option<String> {
    let is_text = media_type.is_none_or(|kind| kind.starts_with("text/"));
    // An address that a provider could fetch; a path means something on one machine only.
    let is_remote = name.contains("://") && !name.starts_with("file:");
    let has_place = match change.intake.files {
        _ if data.is_none() => change.intake.takes_addresses && is_remote,
        Files::All => true,
        Files::Type(kind) => is_text || media_type == Some(kind),
        Files::Text => is_text,
    };
    let kind = media_type.unwrap_or("that is not known");
    match data {
        _ if has_place => None,
        None => Some("a file whose bytes are not at hand".to_owned()),
        Some(_) => Some(format!("a file of type {kind}, for which {} has no place", change.to)),
    }
}

/// Names the files of a failed call's result where only those of a good one have a place.
fn in_failure(parts: Vec<Part>, change: &Change<'_>, report: &mut Losses) -> Vec<Part> {
    if change.intake.has_files_in_failures {
        return parts;
    }
    let named = parts.into_iter().map(|part| {
        let (kind, text) = match &part {
            Part::Image { .. } => ("image", "[image]".to_owned()),
            Part::File { name, media_type, .. }
                if media_type.as_deref().is_some_and(|kind| !kind.starts_with("text/")) =>
            {
                ("file", format!("[file {name}]"))
            }
            _ => return part,
        };
        let reason =
            format!("a file in the result of a failed call, where {} has no place for files", change.to);
        report.add(change.entry, LossAction::Changed, kind, &reason);
        Part::Text(text)
    });
    named.collect()
}

/// Keeps reasoning where the target's provider made it, or where the target takes it without proof.
fn thinking(
    (text, signature, encrypted): (String, Option<String>, Option<String>),
    change: &Change<'_>,
    report: &mut Losses,
) -> Option<Part> {
    let has_no_place = change.intake.reasoning == Reasoning::None;
    let needs_proof = change.intake.reasoning != Reasoning::Any;
    let has_proof = !has_no_place && change.is_same_provider && (signature.is_some() || encrypted.is_some());
    if has_proof {
        return Some(Part::Thinking { text, signature, encrypted });
    }
    let is_sealed = signature.is_some() || encrypted.is_some();
    let reason = match change.provider {
        _ if has_no_place => format!("a thought, for which {} has no place", change.to),
        Some(maker) if is_sealed => format!("a thought that only {} can read", maker.title()),
        None if is_sealed => "a thought that only its provider can read".to_owned(),
        _ => "a thought without a signature, which the provider would refuse".to_owned(),
    };
    if needs_proof || text.is_empty() {
        report.add(change.entry, LossAction::Dropped, "thinking", &reason);
        return None;
    }
    if is_sealed {
        report.add(
            change.entry,
            LossAction::Changed,
            "thinking",
            "a thought whose signature means nothing to another provider, and is left out",
        );
    }
    Some(Part::Thinking { text, signature: None, encrypted: None })
}

fn image(media_type: String, source: ImageSource, change: &Change<'_>, report: &mut Losses) -> Option<Part> {
    if !change.intake.takes_images {
        let reason = format!("an image, for which {} has no place", change.to);
        report.add(change.entry, LossAction::Changed, "image", &reason);
        let told = match source {
            ImageSource::Url(url) => url,
            ImageSource::Base64(_) | ImageSource::Artifact(_) => media_type,
        };
        return Some(Part::Text(format!("[image {told}]")));
    }
    match source {
        ImageSource::Base64(_) | ImageSource::Url(_) => Some(Part::Image { media_type, source }),
        ImageSource::Artifact(_) => {
            report.add(change.entry, LossAction::Dropped, "image", "an image whose bytes are not at hand");
            None
        }
    }
}

/// Tells what only the other runtime understands as text.
fn opaque(
    runtime: String,
    kind: String,
    json: String,
    change: &Change<'_>,
    report: &mut Losses,
) -> Option<Part> {
    if runtime == change.to {
        return Some(Part::Opaque { runtime, kind, json });
    }
    if runtime == RESPONSES && crate::messages::is_sealed_kind(&kind) {
        let reason = "a summary that only the provider which made it can read";
        report.add(change.entry, LossAction::Dropped, "opaque", reason);
        return None;
    }
    if kind == OPAQUE_REPLACEMENT {
        // The summary beside it says what can be read of it.
        report.add(
            change.entry,
            LossAction::Dropped,
            "opaque",
            "a list of messages that a compaction kept: its summary says what can be read of them",
        );
        return None;
    }
    let told: String = json.chars().take(TOLD_CHARS_MAX).collect();
    let cut = if told.len() < json.len() {
        format!(", and only its first {TOLD_CHARS_MAX} characters")
    } else {
        String::new()
    };
    let reason = format!("a record of {runtime} (`{kind}`), as text{cut}");
    report.add(change.entry, LossAction::Changed, "opaque", &reason);
    Some(Part::Text(format!("[{runtime} {kind}] {told}")))
}

/// Returns a call's id as every provider takes it.
fn usable_id(id: String) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !id.is_empty() && id.len() <= 64 && id.bytes().all(is_plain) {
        return id;
    }
    format!("call_{}", super::short(&id))
}
