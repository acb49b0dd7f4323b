//! `around`: entries of a chain as text, around one of them, in bounded pages.
//!
//! The chain is a commit with all that came before it, and with what continues it. Where an entry stands follows from the
//! counts of the commits before it, so that only contents of the page are read.

use std::collections::{HashMap, HashSet, VecDeque};

use stemmata_model::{Closure, Commit, CommitId, Entry, EntryId, Estimate, TokenCounter as _, Tokens};
use stemmata_store::StoreError;

use crate::chain::path::entries_at;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{Candidate, EngineError, Result, Wanted};
use crate::search::text_of;
use crate::verbs::at::one_line;
use crate::verbs::find::CANDIDATES_MAX;

/// Characters of the beginning of an entry's id that are enough to name it.
pub(crate) const ENTRY_CHARS_MIN: usize = 4;
/// Ids of so many characters are counted ones, so that one is the beginning of others: `D1:1` and `D1:17`.
const COUNTED_CHARS_MAX: usize = 8;
/// Commits below the one that is asked for, of all its continuations: what is further from it is found from there.
const BELOW_MAX: usize = 2_048;
/// Entries without text that a page has between two with text. More in a row end the page: its neighbour goes on behind them.
const WORDLESS_MAX: usize = 256;
/// Characters that the estimate takes for a token.
const CHARS_A_TOKEN: usize = 4;

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AroundQuery {
    /// A commit of the chain.
    pub ctx: CommitId,
    /// The entry in the middle: its id, the beginning of it, or `@N` for the N-th of the chain. The last one of the commit
    /// where absent.
    pub entry: Option<String>,
    /// Entries with text before and after it. Those without, such as records of metadata that lie between, come on top.
    pub around: u64,
    /// Estimated tokens of all texts together.
    pub tokens_max: u64,
}

/// Entries of a chain, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// The commit that the chain ends with.
    pub ctx: CommitId,
    /// The entries, in the chain's order. Forgotten ones are left out, their ordinals are not given to others.
    pub entries: Vec<AroundEntry>,
    /// How many entries the chain has, with the forgotten ones.
    pub total: u64,
    /// How many of those that lie on the page were forgotten.
    pub forgotten: u64,
    /// The nearest ordinal before the page that can be read.
    pub before: Option<u64>,
    /// The nearest ordinal behind the page that can be read.
    pub next: Option<u64>,
    /// Whether the chain goes on behind what was looked at: entries behind `total` are read from its newer commits.
    pub is_cut: bool,
    /// Whether the entry that was asked for is on a branch beside the way to the commit that was asked for.
    pub is_beside: bool,
}

/// An entry as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AroundEntry {
    /// Its place in the chain, from 1.
    pub ordinal: u64,
    /// Its position among the commit's entries, from 0.
    pub position: usize,
    /// The commit that holds it.
    pub ctx: CommitId,
    /// The entry.
    pub entry: Entry,
    /// What it says.
    pub text: String,
    /// The estimated tokens of the whole entry.
    pub tokens: u64,
    /// Whether the text is only its beginning.
    pub is_cut: bool,
    /// Whether it is the one that was asked for.
    pub is_match: bool,
}

/// A commit of a chain, and which entries it adds.
struct Link {
    commit: Commit,
    /// How many entries the chain has before it.
    before: u64,
    /// How many of its entries stand above it, in their own places.
    restated: u64,
    /// How many it adds.
    own: u64,
}

impl Link {
    const fn is_readable(&self) -> bool {
        !matches!(self.commit.closure, Closure::Forgotten)
    }
}

/// A chain from its root.
struct Chain {
    links: Vec<Link>,
    /// The position of the commit that was asked for.
    asked: usize,
    total: u64,
    is_cut: bool,
}

impl Engine {
    /// Returns entries of a chain as text, around one of them. The one in the middle is always there, cut to the tokens
    /// where it has more; its neighbours are there whole or not at all.
    ///
    /// # Errors
    /// `NotFound` and `Ambiguous` for the entry, `Format` for a format that cannot be read, `Forgotten` where the entry was,
    /// store errors.
    pub fn around(&self, query: &AroundQuery) -> Result<Around> {
        let chain = self.chain_through(query.ctx)?;
        let ctx = chain.links.last().map_or(query.ctx, |link| link.commit.id);
        let Some(middle) = self.middle(&chain, query)? else {
            let (total, is_cut) = (chain.total, chain.is_cut);
            return Ok(Around {
                ctx,
                entries: Vec::new(),
                total,
                forgotten: 0,
                before: None,
                next: None,
                is_cut,
                is_beside: false,
            });
        };
        let named = query.entry.as_deref();
        let mut page =
            Page { engine: self, chain: &chain, named, decoded: None, tokens_left: query.tokens_max };
        let Some(mut found) = page.entry(middle)? else {
            let at = chain.link_of(middle).map_or(query.ctx, |(_, link)| link.commit.id);
            return Err(StoreError::Forgotten(at).into());
        };
        cut(&mut found, query.tokens_max);
        found.is_match = query.entry.is_some();
        // Whoever turns pages names places, and has asked before.
        let is_named = query.entry.as_deref().is_some_and(|entry| !entry.starts_with('@'));
        let is_asked = is_named && chain.link_of(middle).is_some_and(|(at, _)| at <= chain.asked);
        // A chain with a hole on the way has no context to be beside.
        let is_beside = is_asked && self.is_beside(query.ctx, (found.ctx, &found.entry)).unwrap_or(false);
        page.tokens_left = query.tokens_max.saturating_sub(found.tokens);
        let mut entries = VecDeque::from([found]);
        // In the order of the bytes on each side, so that no content is decoded twice.
        let mut forgotten = 0;
        let half = page.tokens_left / 2;
        let spare = page.tokens_left - half;
        page.tokens_left = half;
        let before = (1..middle).rev();
        page.take(before, query.around, &mut forgotten, &mut |entry| entries.push_front(entry))?;
        page.tokens_left += spare;
        let after = middle.saturating_add(1)..=chain.total;
        page.take(after, query.around, &mut forgotten, &mut |entry| entries.push_back(entry))?;
        let ordinal = |entry: Option<&AroundEntry>| entry.map_or(middle, |entry| entry.ordinal);
        let (first, last) = (ordinal(entries.front()), ordinal(entries.back()));
        Ok(Around {
            ctx,
            before: chain.readable_before(first),
            next: chain.readable_after(last),
            entries: entries.into(),
            total: chain.total,
            forgotten,
            is_cut: chain.is_cut,
            is_beside,
        })
    }

    /// Returns the chain that leads to a commit and goes on from it: of several continuations the first that still counts.
    fn chain_through(&self, ctx: CommitId) -> Result<Chain> {
        let mut commits = Vec::new();
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        while let Some(commit) = walk.next()? {
            commits.push(commit);
        }
        commits.reverse();
        let asked = commits.len().saturating_sub(1);
        let mut tip = ctx;
        let below = self.store.below(&[ctx], BELOW_MAX)?;
        let is_cut = below.len() >= BELOW_MAX;
        for commit in below.into_iter().skip(1) {
            if commit.core.parent == Some(tip) && commit.closure != Closure::Covered {
                tip = commit.id;
                commits.push(commit);
            }
        }
        let mut total = 0;
        let mut links = Vec::with_capacity(commits.len());
        for commit in commits {
            let restated = self.restated(&commit)?;
            let own = commit.counts.entries.saturating_sub(restated);
            links.push(Link { commit, before: total, restated, own });
            total += own;
        }
        Ok(Chain { links, asked, total, is_cut })
    }

    /// Calls `visit` with the entries of the chain that leads to a commit, each with its ordinal. Forgotten ones are left out.
    pub(crate) fn each_entry(&self, ctx: CommitId, visit: &mut dyn FnMut(u64, Entry)) -> Result<()> {
        let chain = self.chain_through(ctx)?;
        let links = chain.links.iter().take(chain.asked + 1);
        for link in links.filter(|link| link.is_readable()) {
            for (ordinal, entry) in self.entries_added(link)? {
                visit(ordinal, entry);
            }
        }
        Ok(())
    }

    /// Returns the numbers of these entries in the chain that leads to a commit, the last one where an id stands twice. Reads no
    /// content of commits before the oldest of them, so that a window costs what it holds and not what came before it.
    pub(crate) fn numbers_of(&self, ctx: CommitId, entries: &[Entry]) -> Result<HashMap<EntryId, u64>> {
        let mut wanted: HashSet<&EntryId> = entries.iter().map(|entry| &entry.id).collect();
        let mut numbers = HashMap::new();
        let chain = self.chain_through(ctx)?;
        let links = chain.links.iter().take(chain.asked + 1).rev();
        for link in links.filter(|link| link.is_readable()) {
            if wanted.is_empty() {
                break;
            }
            for (ordinal, entry) in self.entries_added(link)? {
                // The later one of two in this commit wins over the earlier, and both over those of older commits.
                if wanted.contains(&entry.id) {
                    numbers.insert(entry.id, ordinal);
                }
            }
            wanted.retain(|id| !numbers.contains_key(*id));
        }
        Ok(numbers)
    }

    /// Calls `visit` with the entries of the newest commits that lead to a commit, as far as these have so many bytes together, each
    /// with its commit and its ordinal. Returns whether these were all: forgotten ones, and those that cannot be read, are left out.
    pub(crate) fn each_newest_entry(
        &self,
        ctx: CommitId,
        bytes_max: u64,
        visit: &mut dyn FnMut(&Commit, u64, Entry),
    ) -> Result<bool> {
        let chain = self.chain_through(ctx)?;
        let links = chain.links.get(..=chain.asked).unwrap_or_default();
        let mut bytes = 0_u64;
        let fits = |link: &&Link| {
            bytes = bytes.saturating_add(link.commit.native_bytes);
            bytes <= bytes_max
        };
        let count = links.iter().rev().take_while(fits).count();
        let mut is_whole = count == links.len();
        for link in links.iter().skip(links.len() - count) {
            let entries = if link.is_readable() { self.entries_added(link).ok() } else { None };
            is_whole &= entries.is_some();
            for (ordinal, entry) in entries.unwrap_or_default() {
                visit(&link.commit, ordinal, entry);
            }
        }
        Ok(is_whole)
    }

    /// Returns the ordinal of the entry in the middle; none in a chain without entries.
    fn middle(&self, chain: &Chain, query: &AroundQuery) -> Result<Option<u64>> {
        let Some(text) = &query.entry else {
            let link = chain.links.get(chain.asked);
            return Ok(link.map(|link| (link.before + link.own).max(1)).filter(|_| chain.total > 0));
        };
        let not_found = || EngineError::NotFound { what: Wanted::Entry, text: text.clone() };
        if let Some(ordinal) = text.strip_prefix('@').and_then(|number| number.parse::<u64>().ok()) {
            return if (1..=chain.total).contains(&ordinal) { Ok(Some(ordinal)) } else { Err(not_found()) };
        }
        // The commit itself first: a hit says in which one its entry is.
        let (towards_root, below) = chain.links.split_at((chain.asked + 1).min(chain.links.len()));
        let mut nearest = None;
        for link in towards_root.iter().rev().chain(below).filter(|link| link.is_readable()) {
            match self.named(link, text)? {
                Named::Exactly(ordinal) => return Ok(Some(ordinal)),
                Named::Like(ordinal) if text.chars().count() > COUNTED_CHARS_MAX => return Ok(Some(ordinal)),
                Named::Like(ordinal) => nearest = nearest.or(Some(ordinal)),
                Named::No => {}
            }
        }
        nearest.map(Some).ok_or_else(not_found)
    }

    /// Looks for a commit's entry by its id or the beginning of it. The nearest commit that has one wins: to read the whole
    /// chain only to know that nothing else is called so would take seconds.
    fn named(&self, link: &Link, text: &str) -> Result<Named> {
        let is_beginning = text.chars().count() >= ENTRY_CHARS_MIN;
        let mut like: Vec<(u64, Entry)> = Vec::new();
        for (ordinal, entry) in self.entries_added(link)? {
            if entry.id.as_str() == text {
                return Ok(Named::Exactly(ordinal));
            }
            if is_beginning && entry.id.as_str().starts_with(text) && like.len() < CANDIDATES_MAX {
                like.push((ordinal, entry));
            }
        }
        match like.as_slice() {
            [] => Ok(Named::No),
            [(ordinal, _)] => Ok(Named::Like(*ordinal)),
            several => {
                let candidates = several.iter().map(|(ordinal, entry)| Candidate {
                    id: format!("@{ordinal}"),
                    summary: one_line(&text_of(entry), 80),
                });
                Err(EngineError::Ambiguous { text: text.to_owned(), candidates: candidates.collect() })
            }
        }
    }

    /// Returns the entries that a commit adds, each with its ordinal: those that stand in one line share the line's.
    fn entries_added(&self, link: &Link) -> Result<Vec<(u64, Entry)>> {
        let bytes = read_whole(self, link.commit.core.native_artifact())?;
        let (entries, places) = entries_at(&link.commit, &bytes)?;
        let own = places.into_iter().zip(entries);
        let own = own.filter_map(|(place, entry)| Some((place.checked_sub(link.restated)?, entry)));
        let own = own.filter(|(place, _)| *place < link.own);
        Ok(own.map(|(place, entry)| (link.before + 1 + place, entry)).collect())
    }
}

/// Whether a commit has an entry of a name.
enum Named {
    Exactly(u64),
    Like(u64),
    No,
}

impl Chain {
    /// Returns the last ordinal before another one whose entry can be read.
    fn readable_before(&self, ordinal: u64) -> Option<u64> {
        let before = |link: &&Link| link.is_readable() && link.own > 0 && link.before + 1 < ordinal;
        let link = self.links.iter().rev().find(before)?;
        Some((link.before + link.own).min(ordinal - 1))
    }

    /// Returns the first ordinal behind another one whose entry can be read.
    fn readable_after(&self, ordinal: u64) -> Option<u64> {
        let behind = |link: &&Link| link.is_readable() && link.own > 0 && link.before + link.own > ordinal;
        let link = self.links.iter().find(behind)?;
        Some((link.before + 1).max(ordinal + 1))
    }

    /// Returns the commit that adds the entry of an ordinal.
    fn link_of(&self, ordinal: u64) -> Option<(usize, &Link)> {
        let at = self.links.partition_point(|link| link.before + link.own < ordinal);
        self.links.get(at).map(|link| (at, link))
    }
}

/// A page that is being filled.
struct Page<'a> {
    engine: &'a Engine,
    chain: &'a Chain,
    /// What the entry that was asked for is named by.
    named: Option<&'a str>,
    /// The commit that was decoded last, by its position in the chain.
    decoded: Option<(usize, Vec<(u64, Entry)>)>,
    tokens_left: u64,
}

impl Page<'_> {
    /// Adds entries for as long as their tokens fit and until `around` of them have text or were forgotten. Those without text are
    /// added where another entry follows them, or the chain ends.
    fn take(
        &mut self,
        ordinals: impl Iterator<Item = u64>,
        around: u64,
        forgotten: &mut u64,
        add: &mut dyn FnMut(AroundEntry),
    ) -> Result<()> {
        let mut left = around;
        let mut wordless: Vec<AroundEntry> = Vec::new();
        for ordinal in ordinals {
            if left == 0 || wordless.len() >= WORDLESS_MAX {
                return Ok(());
            }
            let Some(entry) = self.entry(ordinal)? else {
                *forgotten += 1;
                left -= 1;
                continue;
            };
            if entry.tokens > self.tokens_left {
                return Ok(());
            }
            if entry.text.trim().is_empty() {
                wordless.push(entry);
                continue;
            }
            self.tokens_left -= entry.tokens;
            left -= 1;
            wordless.drain(..).for_each(&mut *add);
            add(entry);
        }
        if left > 0 {
            wordless.into_iter().for_each(add);
        }
        Ok(())
    }

    /// Returns an entry, or `None` if it was forgotten.
    fn entry(&mut self, ordinal: u64) -> Result<Option<AroundEntry>> {
        let Some((at, link)) = self.chain.link_of(ordinal).filter(|(_, link)| link.is_readable()) else {
            return Ok(None);
        };
        if self.decoded.as_ref().is_none_or(|(decoded, _)| *decoded != at) {
            self.decoded = Some((at, self.engine.entries_added(link)?));
        }
        let position = usize::try_from(ordinal - link.before - 1).unwrap_or(usize::MAX);
        let entries = self.decoded.iter().flat_map(|(_, entries)| entries);
        let here: Vec<&Entry> = entries.filter(|(at, _)| *at == ordinal).map(|(_, entry)| entry).collect();
        // Of several in one line the one that was asked for, else all of them.
        let named =
            here.iter().find(|entry| self.named.is_some_and(|name| entry.id.as_str().starts_with(name)));
        let Some(entry) = named.or(here.first()) else { return Ok(None) };
        let text = match named {
            Some(named) => text_of(named),
            None => here.iter().map(|entry| text_of(entry)).collect::<Vec<_>>().join("\n"),
        };
        let Tokens(tokens) = Estimate.count(&text);
        let (ctx, entry) = (link.commit.id, (*entry).clone());
        let position = position.saturating_add(usize::try_from(link.restated).unwrap_or(usize::MAX));
        Ok(Some(AroundEntry { ordinal, position, ctx, entry, text, tokens, is_cut: false, is_match: false }))
    }
}

/// Cuts an entry's text to so many tokens.
fn cut(found: &mut AroundEntry, tokens_max: u64) {
    if found.tokens <= tokens_max {
        return;
    }
    let chars = usize::try_from(tokens_max).unwrap_or(usize::MAX).saturating_mul(CHARS_A_TOKEN);
    let end = found.text.char_indices().nth(chars).map_or(found.text.len(), |(at, _)| at);
    found.text.truncate(end);
    found.is_cut = true;
}
