//! Choosing: the best candidates that fit a budget, each once.
//!
//! What is too long does not end the choice: what comes after it may fit.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{TokenCounter, Tokens};

use super::candidate::CandidateKind;
use super::render::{self, Group, HEADER};
use super::score::Scored;

/// Hundredths of the budget that one kind has before others had theirs.
const KIND_SHARE_MAX: u64 = 40;
/// Candidates that are looked at: the best. Each costs a count of its text.
const LOOKED_AT_MAX: usize = 1_024;
/// To how many tokens the budget is rounded that would have room.
const NEEDS_STEP: u64 = 10;
/// Items of a pack at most.
const ITEMS_MAX: usize = 256;

/// A candidate that was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// What was chosen, and why.
    pub scored: Scored,
    /// Its part of the pack's text.
    pub text: String,
    /// The tokens of this text.
    pub tokens: Tokens,
    /// How much of it there is.
    pub form: Form,
}

/// How many candidates are not in a pack, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PackSkipped {
    /// They did not fit the budget.
    pub budget: u64,
    /// The pack says the same already.
    pub duplicate: u64,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pack {
    /// The text; empty where nothing was chosen.
    pub text: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// The items, the best first.
    pub items: Vec<Chosen>,
    /// What is not in it.
    pub skipped: PackSkipped,
    /// The least budget that has room for an item, where nothing fits this one.
    pub needs: Option<Tokens>,
}

/// How much of a candidate a pack has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Form {
    /// All, with what was said next to it.
    Whole,
    /// All of it alone.
    Alone,
    /// What it says in short.
    Compact,
}

impl Form {
    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Chooses candidates for a task, the best first, and writes them. What only repeats the task is left out. The text has at
/// most so many tokens by the counter in use. No kind has more than 40 hundredths before all others were looked at; what is
/// then left is there for any.
pub fn choose(scored: Vec<Scored>, task: &str, max_tokens: Tokens, counter: &dyn TokenCounter) -> Pack {
    let mut choice = Choice::new(plain(task), max_tokens, counter);
    let mut late = Vec::new();
    for one in scored.into_iter().take(LOOKED_AT_MAX) {
        late.extend(choice.offer(one, Some(KIND_SHARE_MAX)));
    }
    for one in late {
        if choice.offer(one, None).is_some() {
            choice.skipped.budget += 1;
        }
    }
    choice.pack()
}

struct Choice<'c> {
    counter: &'c dyn TokenCounter,
    max_tokens: u64,
    used: u64,
    by_kind: BTreeMap<CandidateKind, u64>,
    groups: BTreeSet<Group>,
    /// The entries that the pack has.
    places: BTreeSet<String>,
    /// What the task says, in plain words.
    task: String,
    /// What the pack says, in plain words, and under which heading.
    said: Vec<(Group, String)>,
    chosen: Vec<Chosen>,
    skipped: PackSkipped,
    /// The least budget that would have had room for one of those that did not fit an empty pack.
    needs: Option<u64>,
}

impl<'c> Choice<'c> {
    fn new(task: String, max_tokens: Tokens, counter: &'c dyn TokenCounter) -> Self {
        Self {
            counter,
            max_tokens: max_tokens.0,
            used: counter.count(HEADER).0,
            by_kind: BTreeMap::new(),
            groups: BTreeSet::new(),
            places: BTreeSet::new(),
            task,
            said: Vec::new(),
            chosen: Vec::new(),
            skipped: PackSkipped::default(),
            needs: None,
        }
    }

    /// Takes a candidate where it fits; returns it where it may fit later.
    fn offer(&mut self, scored: Scored, kind_share: Option<u64>) -> Option<Scored> {
        let candidate = &scored.candidate;
        let words = plain(&candidate.full);
        if words.is_empty() || self.says(&scored, &words) {
            self.skipped.duplicate += 1;
            return None;
        }
        let group = Group::of(candidate.kind);
        let heading = if self.groups.contains(&group) { 0 } else { self.counter.count(group.heading()).0 };
        let of_kind = self.by_kind.get(&candidate.kind).copied().unwrap_or(0);
        let kind_max = kind_share.map_or(u64::MAX, |share| self.max_tokens.saturating_mul(share) / 100);
        for form in [Form::Whole, Form::Alone, Form::Compact] {
            if form == Form::Whole && candidate.window.is_empty() {
                continue;
            }
            let text = render::item(candidate, form);
            let tokens = self.counter.count(&text).0;
            let is_within = self.used + heading + tokens <= self.max_tokens && of_kind + tokens <= kind_max;
            if !is_within && !text.is_empty() && self.chosen.is_empty() {
                let needs = self.used + heading + tokens;
                self.needs = Some(self.needs.map_or(needs, |least| least.min(needs)));
            }
            if !is_within || text.is_empty() || self.chosen.len() >= ITEMS_MAX {
                continue;
            }
            self.used += heading + tokens;
            self.groups.insert(group);
            *self.by_kind.entry(candidate.kind).or_default() += tokens;
            self.places.extend(candidate.place.clone());
            if form == Form::Whole {
                self.places.extend(candidate.window.iter().map(|beside| beside.place.clone()));
            }
            let said = if form == Form::Compact { plain(&candidate.compact) } else { words };
            self.said.push((group, said));
            self.chosen.push(Chosen { scored, text, tokens: Tokens(tokens), form });
            return None;
        }
        Some(scored)
    }

    /// Says whether the pack says the same already: the same entry among what was said, or the same words. A question may quote
    /// the decision that it asks for, so what the task says stands for nothing but the task, said before.
    fn says(&self, scored: &Scored, words: &str) -> bool {
        let candidate = &scored.candidate;
        let group = Group::of(candidate.kind);
        let is_said = group == Group::Said;
        let is_there = candidate.place.as_ref().is_some_and(|place| self.places.contains(place));
        // That something was decided says more than that it was said.
        let counts = |other: Group| is_said || other == group;
        let has = |said: &str| format!(" {said} ").contains(&format!(" {words} "));
        is_said && (is_there || words == self.task)
            || self.said.iter().any(|(other, said)| counts(*other) && has(said))
    }

    /// Writes what was chosen. A counter may find more in a text than in its parts, so the least goes until all of it fits.
    fn pack(mut self) -> Pack {
        // What the share of its kind put off may be better than what was chosen meanwhile.
        self.chosen.sort_by_key(|chosen| std::cmp::Reverse(chosen.scored.score_permille));
        while !self.chosen.is_empty() {
            let text = render::pack(&self.chosen);
            let tokens = self.counter.count(&text);
            if tokens.0 <= self.max_tokens {
                return Pack { text, tokens, items: self.chosen, skipped: self.skipped, needs: None };
            }
            self.chosen.pop();
            self.skipped.budget += 1;
        }
        // Rounded up: a counter may find a little more in the whole text.
        let needs = self.needs.map(|needs| Tokens(needs.next_multiple_of(NEEDS_STEP)));
        Pack { skipped: self.skipped, needs, ..Pack::default() }
    }
}

/// Returns words alone, in lower case: what is laid out in another way says the same.
fn plain(text: &str) -> String {
    let words = text.split_whitespace().map(str::to_lowercase);
    words.collect::<Vec<_>>().join(" ")
}
