//! Tokens as the provider counts them, in rollouts and in what `codex exec` prints.

use stemmata_model::Usage;

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
