//! What a long session cost: requests, what of them a provider's cache had, and how often the window was made smaller.

use std::fmt::Write as _;

use stemmata_model::{Entry, EntryId, Part, Tokens};

/// One entry of a request, as it is compared with the request before it.
type Sent = (EntryId, Vec<Part>, u64);

#[derive(Default)]
pub(super) struct Tally {
    pub(super) turns: usize,
    pub(super) requests: u64,
    pub(super) request_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) largest: u64,
    pub(super) prunes: u64,
    pub(super) pruned_entries: u64,
    pub(super) compactions: u64,
    pub(super) archived: u64,
    pub(super) checkpoints: u64,
    pub(super) resumptions: u64,
    /// What the resumed sessions were given.
    pub(super) resumed_tokens: u64,
    /// What they would have had to read to know the same.
    pub(super) anew_tokens: u64,
    /// All that was ever said and done.
    pub(super) said_tokens: u64,
    pub(super) entries: u64,
    pub(super) pins: u64,
    before: Vec<Sent>,
}

impl Tally {
    /// Counts a request: all tokens, and those of its beginning that the request before it had too.
    pub(super) fn request(
        &mut self,
        overhead: u64,
        entries: &[Entry],
        size: &dyn Fn(&Entry) -> Tokens,
    ) -> u64 {
        let sent: Vec<Sent> =
            entries.iter().map(|entry| (entry.id.clone(), entry.parts.clone(), size(entry).0)).collect();
        let tokens = overhead + sent.iter().map(|(.., tokens)| tokens).sum::<u64>();
        let same = sent.iter().zip(&self.before).take_while(|(now, before)| now == before);
        let cached = same.map(|((.., tokens), _)| tokens).sum::<u64>();
        self.requests += 1;
        self.request_tokens += tokens;
        // System prompt and tools are the same in every request after the first.
        self.cached_tokens += if self.requests > 1 { overhead + cached } else { 0 };
        self.largest = self.largest.max(tokens);
        self.before = sent;
        tokens
    }

    /// Returns a line for each figure.
    pub(super) fn table(&self, limit: u64) -> String {
        let share = |part: u64, of: u64| {
            let permille = part * 1_000 / of.max(1);
            format!("{}.{} %", permille / 10, permille % 10)
        };
        let mut text = String::new();
        let rows = [
            ("turns", self.turns.to_string()),
            ("entries", self.entries.to_string()),
            ("tokens said", self.said_tokens.to_string()),
            ("requests", self.requests.to_string()),
            (
                "largest request",
                format!("{} of {limit} tokens ({})", self.largest, share(self.largest, limit)),
            ),
            ("tokens requested", self.request_tokens.to_string()),
            ("cached prefix", share(self.cached_tokens, self.request_tokens)),
            (
                "compactions",
                format!("{} (every {} turns)", self.compactions, per(self.turns, self.compactions)),
            ),
            ("prunes", format!("{} ({} entries)", self.prunes, self.pruned_entries)),
            ("archived results", self.archived.to_string()),
            ("checkpoints by rule", self.checkpoints.to_string()),
            ("pins", format!("{}, each in every request", self.pins)),
            (
                "resumptions",
                format!(
                    "{}: {} tokens instead of {}, {} saved",
                    self.resumptions,
                    self.resumed_tokens,
                    self.anew_tokens,
                    share(self.anew_tokens.saturating_sub(self.resumed_tokens), self.anew_tokens)
                ),
            ),
        ];
        for (name, value) in rows {
            writeln!(text, "{name:<20} {value}").expect("a string takes it");
        }
        text
    }
}

fn per(turns: usize, count: u64) -> String {
    match usize::try_from(count) {
        Ok(count @ 1..) => (turns / count).to_string(),
        _ => "no".to_owned(),
    }
}
