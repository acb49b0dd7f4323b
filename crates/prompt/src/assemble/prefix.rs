//! What a prompt begins with that the previous one began with: what a provider need not read again.
//!
//! Providers cache whole blocks and for a time; this is the most that they can reuse.

use stemmata_api::v1::CachedPrefix;
use stemmata_model::{Chars, TokenCounter};

/// Returns how much of a prompt's beginning is that of the previous one, in whole tokens by the counter in use: a token that
/// also covers what differs is not counted.
pub fn cached_prefix(previous: &str, prompt: &str, counter: &dyn TokenCounter) -> CachedPrefix {
    let shared = common_prefix(previous, prompt);
    let rest = prompt.get(shared.len()..).unwrap_or_default();
    let tokens = counter.count(shared);
    let is_at_border = match rest.chars().next() {
        None => true,
        // A further character begins a token of its own, or belongs to the last one.
        Some(letter) => {
            let end = shared.len() + letter.len_utf8();
            prompt.get(..end).is_some_and(|longer| counter.count(longer) > tokens)
        }
    };
    let tokens = if is_at_border { tokens.0 } else { tokens.0.saturating_sub(1) };
    CachedPrefix { tokens, chars: Chars::of(shared).0 }
}

fn common_prefix<'a>(one: &str, two: &'a str) -> &'a str {
    let same = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
    let mut end = same;
    while !two.is_char_boundary(end) {
        end -= 1;
    }
    two.get(..end).unwrap_or_default()
}
