//! Tokens as the provider counts them, in rollouts and in what `codex exec` prints.

use stemmata_model::{Entry, Part, Usage};

use super::RUNTIME;
use crate::json::{Field, borrowed_object};

borrowed_object! {
    /// Tokens of an answer or a turn.
    struct Counted {
        input = "input_tokens", cached = "cached_input_tokens",
        written = "cache_write_input_tokens", output = "output_tokens",
    }
}

borrowed_object! {
    /// What a rollout says of tokens: those of the last answer, beside the totals.
    struct Info {
        last = "last_token_usage",
    }
}

borrowed_object! {
    /// An event of a rollout, with or without its envelope.
    struct Event {
        payload = "payload", info = "info", window = "model_context_window",
    }
}

/// Returns the tokens of the model's window as a rollout says them: beside the tokens of an answer, or where a turn begins.
pub(super) fn reported_window(entry: &Entry) -> Option<u64> {
    entry.parts.iter().rev().find_map(|part| match part {
        Part::Opaque { runtime, json, .. } if runtime == RUNTIME && json.contains("model_context_window") => {
            let mut event = Event::read(Field::whole(json)).ok()?;
            if let Some(payload) = event.payload {
                event = Event::read(payload).ok()?;
            }
            let window = event.window.or_else(|| Event::read(event.info?).ok()?.window);
            window?.number().filter(|tokens| *tokens > 0)
        }
        _ => None,
    })
}

/// Reads what an answer or a turn took.
pub(crate) fn usage(field: Field<'_>) -> Option<Usage> {
    let counted = Counted::read(field).ok()?;
    let number = |field: Option<Field<'_>>| field.and_then(|field| field.number()).unwrap_or(0);
    let (input, cached) = (number(counted.input), number(counted.cached));
    Some(Usage {
        // The cached ones are among those that went in.
        input_tokens: input.saturating_sub(cached),
        output_tokens: number(counted.output),
        cache_read_tokens: cached,
        cache_write_tokens: number(counted.written),
    })
}

/// Reads what the last answer took from what a rollout says of tokens. The totals beside it would count answers again.
pub(super) fn last_usage(info: Field<'_>) -> Option<Usage> {
    usage(Info::read(info).ok()?.last?)
}

#[cfg(test)]
mod tests {
    use stemmata_model::FormatId;

    use super::super::FORMAT;
    use super::reported_window;
    use crate::registry::by_format;

    #[test]
    fn the_window_stands_beside_usage_or_where_a_turn_begins() {
        let adapter = by_format(&FormatId::new(FORMAT).unwrap()).unwrap();
        for (payload, expected) in [
            (r#"{"type":"token_count","info":{"model_context_window":272000}}"#, Some(272_000)),
            (r#"{"type":"task_started","model_context_window":258400}"#, Some(258_400)),
            (r#"{"type":"token_count","info":null,"rate_limits":{}}"#, None),
            (r#"{"type":"token_count","info":{"model_context_window":0}}"#, None),
            (r#"{"type":"agent_message","message":"model_context_window"}"#, None),
        ] {
            let line = format!(
                "{{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"event_msg\",\"payload\":{payload}}}\n"
            );
            let entries = adapter.decode(line.as_bytes()).entries;
            assert_eq!(entries.iter().find_map(reported_window), expected, "{payload}");
        }
    }
}
