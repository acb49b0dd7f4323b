//! Words: what the index has is ranked together with what it does not have yet, and the best are read.

use std::collections::{BTreeMap, HashSet, VecDeque};

use stemmata_model::Commit;
use stemmata_prompt::retrieve::{TaskTerm, TaskWords};
use stemmata_prompt::search::{
    Matcher, NAMES_READ_MAX, Postings as _, Query, QueryInput, Scope, Scored, Search, Segment as _,
    Statistics, TERMS_VERSION, Wanted, Weights, near_names, parse_query, participants, search,
};
use stemmata_store::{IndexError, IndexReader};

use super::bridge::{AnyGroups, AnySegment};
use super::events::are_events_followed;
use super::filter::Scoped;
use super::hit_page::HitPage;
use super::hits::{HitReader, Ranked, SearchReason};
use super::overlay::{DecodedCommit, Overlay, Standing};
use super::prepared::prepare;
use super::reach::Reach;
use super::scan::{Decoded, ScanBounds, ScanEnd};
use super::settle::{IndexTrouble, SettleError, Settled};
use super::{SearchAnswer, SearchError, SearchFilter, SearchNote, SearchQuery, SearchStep};
use crate::chain::beside::key_of_sighting;
use crate::engine::Engine;
use crate::error::Result;

/// Hits that are ranked more than are wanted: some may be gone from the store.
const SPARE_HITS: usize = 16;
/// Candidates that are read first where a text decides: phrases and files.
const CHECKED_FIRST: usize = 500;
/// How many times more are read where too few of these are hits.
const CHECKED_MORE: usize = 4;
/// Candidates that are read at most.
const CHECKED_MAX: usize = 8_000;
/// Commits of one entry that are looked at.
const STANDING_MAX: usize = 64;
/// Commits that are read where the index does not have them yet, the newest.
const UNSETTLED_COMMITS: usize = 64;
/// Entries of these.
const UNSETTLED_ENTRIES: usize = 4_096;
/// Bytes of these.
const UNSETTLED_BYTES: u64 = 8 * 1024 * 1024;
/// Characters of a word under way from which on words that begin with it are looked for.
const COMPLETED_CHARS_MIN: usize = 2;
/// Terms that a word under way stands for.
const COMPLETIONS_MAX: usize = 8;
/// Terms that are read to choose these.
const COMPLETIONS_READ_MAX: usize = 4_096;
/// Commits that are counted to say how far behind an index is.
pub(super) const BEHIND_COUNTED: usize = 10_000;

/// What is ranked: the index as far as there is one, and what it does not have.
struct Corpus<'a, 'i> {
    reader: Option<&'a IndexReader<'i>>,
    overlay: Overlay,
    notes: Vec<SearchNote>,
    entries: u64,
}

impl Engine {
    /// Finds entries by words: with the index, or in the newest entries where it cannot be used.
    pub(super) fn search_words(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        step: &mut SearchStep<'_>,
    ) -> Result<SearchAnswer> {
        let settled = self.settle_index(query.budget, step)?;
        let named = self.index.named().unwrap_or_default();
        match self.search_index(query, scoped, &settled) {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(SettleError::Engine(error)) => return Err(error),
            // A part that settling does not read is damaged: the next settling sets it aside.
            Err(SettleError::Index(error)) => {
                let trouble = IndexTrouble::of(&error);
                if matches!(trouble, IndexTrouble::Damaged { .. }) && self.set_aside(named).is_ok() {
                    let settled = self.settle_index(query.budget, step)?;
                    let settled = Settled { trouble: Some(trouble), ..settled };
                    if let Ok(Some(answer)) = self.search_index(query, scoped, &settled) {
                        return Ok(answer);
                    }
                }
                return self.search_newest(query, scoped, (Some(IndexTrouble::of(&error)), step));
            }
        }
        self.search_newest(query, scoped, (settled.trouble, step))
    }

    /// Ranks what the index has and what it has not settled yet. Returns `None` if no index can be read.
    fn search_index(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        settled: &Settled,
    ) -> Result<Option<SearchAnswer>, SettleError> {
        let index = match self.index.index(self.store.identity()?.store_id) {
            Ok(Some(index)) => index,
            Err(error @ IndexError::Damaged { .. }) => return Err(error.into()),
            // Settling found the same, and its trouble becomes a note.
            Ok(None) | Err(_) => return Ok(None),
        };
        let reader = index.reader()?;
        if reader.meta()?.terms != TERMS_VERSION {
            // Its words are others: the newest entries are read instead.
            return Ok(None);
        }
        let mut notes: Vec<SearchNote> = settled.trouble.iter().cloned().map(SearchNote::Index).collect();
        let base = reader.segments().iter().map(|segment| segment.base() + segment.span()).max().unwrap_or(0);
        let mut overlay = Overlay::beside(base, reader.authors()?);
        if !settled.is_whole {
            let left_out = self.unsettled(&reader, &mut overlay)?;
            notes.extend(left_out.map(|commits| SearchNote::Behind { commits }));
            let has_all_events = are_events_followed(&index, &self.all_ledgers()?)?;
            notes.extend((!has_all_events).then_some(SearchNote::EventsBehind));
        }
        let entries = reader.meta()?.entries + overlay.len() as u64;
        let corpus = Corpus { reader: Some(&reader), overlay, notes, entries };
        self.answer(query, scoped, corpus).map(Some)
    }

    /// Searches the newest entries without an index.
    fn search_newest(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        (trouble, step): (Option<IndexTrouble>, &mut SearchStep<'_>),
    ) -> Result<SearchAnswer> {
        let (overlay, scanned) = self.overlay_of_newest(scoped, step)?;
        let mut notes = vec![trouble.map_or(SearchNote::NotIndexed, SearchNote::Index)];
        notes.extend(SearchNote::damaged(scanned.damaged));
        if scanned.end == ScanEnd::Cut {
            notes.push(SearchNote::ScanCut { bytes_max: ScanBounds::WORDS.bytes_max });
        }
        let entries = overlay.len() as u64;
        let corpus = Corpus { reader: None, overlay, notes, entries };
        match self.answer(query, scoped, corpus) {
            Ok(answer) => Ok(answer),
            Err(SettleError::Engine(error)) => Err(error),
            // Nothing of an index was read.
            Err(SettleError::Index(_)) => Ok(SearchAnswer::default()),
        }
    }

    /// Adds the newest commits that the index does not have, and returns how many are left out; `None` if it has all.
    fn unsettled(&self, reader: &IndexReader<'_>, overlay: &mut Overlay) -> Result<Option<u64>, SettleError> {
        let mut after = reader.meta()?.watermark.through.map(|(at, _)| at);
        let mut newest: VecDeque<Commit> = VecDeque::new();
        let mut count = 0_u64;
        loop {
            let page = self.store.stored_after(after, BEHIND_COUNTED)?;
            let Some(last) = page.last().map(|(at, _)| *at) else { break };
            after = Some(last);
            let live = page.into_iter().map(|(_, commit)| commit).filter(super::scan::is_searched);
            for commit in live {
                count += 1;
                newest.push_back(commit);
                if newest.len() > UNSETTLED_COMMITS {
                    newest.pop_front();
                }
            }
        }
        // The newest first, as far as bounds allow; then in their order.
        let (mut bytes, mut entries) = (0_u64, 0);
        let mut read: Vec<DecodedCommit> = Vec::new();
        for commit in newest.into_iter().rev() {
            bytes = bytes.saturating_add(commit.native_bytes);
            if bytes > UNSETTLED_BYTES || entries > UNSETTLED_ENTRIES {
                break;
            }
            if let Decoded::Entries(mut decoded) = self.decoded(commit)? {
                entries += decoded.entries.len();
                let seen = self.store.sightings(decoded.commit.id, 1)?;
                decoded.session = seen.first().map(key_of_sighting);
                read.push(*decoded);
            }
        }
        for decoded in read.iter().rev() {
            let keys: Vec<u64> = decoded.entries.iter().filter_map(prepare).map(|found| found.key).collect();
            let known = reader.known(&keys)?;
            let known: HashSet<u64> =
                keys.into_iter().zip(known).filter_map(|(key, number)| number.map(|_| key)).collect();
            overlay.add(decoded, &|key| known.contains(&key));
        }
        Ok((count > 0).then(|| count.saturating_sub(read.len() as u64)))
    }

    /// Ranks a corpus and reads the best.
    fn answer(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        corpus: Corpus<'_, '_>,
    ) -> Result<SearchAnswer, SettleError> {
        let authors = corpus.overlay.authors();
        let memory = corpus.overlay.segment();
        let mut segments: Vec<AnySegment<'_>> = Vec::new();
        if let Some(reader) = corpus.reader {
            segments.extend(reader.segments().into_iter().map(AnySegment::Index));
        }
        segments.push(AnySegment::Memory(memory.clone()));
        let reach = Reach::of(scoped, corpus.reader, &corpus.overlay, self)?;
        let scope = Scope {
            allowed: reach.numbers.as_ref(),
            classes: scoped.masks(),
            since_minute: scoped.since_minute,
            authors: &authors,
        };
        let participants = participants(&segments, &scope)?;
        let mut parsed = parse_query(&QueryInput { text: &query.text, participants: &participants })
            .map_err(|error| SettleError::Engine(SearchError::from(error).into()))?;
        let mut notes = corpus.notes;
        notes.extend(parsed.is_cut.then_some(SearchNote::QueryCut));
        notes.extend(mend(&mut parsed, &segments)?);
        if query.is_unfinished {
            complete(&mut parsed, &query.text, &segments)?;
        }
        let matcher = Matcher::words(&parsed);
        let mut required: Vec<Matcher> = parsed.phrases.iter().map(Matcher::phrase).collect();
        if let Some(file) = scoped.file() {
            required.push(Matcher::phrase(&file));
            parsed.phrases.push(file);
        }
        let least = query.hits_max + SPARE_HITS;
        let mut checked = if required.is_empty() { least } else { CHECKED_FIRST.max(least) };
        let groups = AnyGroups { index: corpus.reader, memory: &memory };
        let statistics = size_of(&segments);
        let asked = Search { segments: &segments, statistics, scope, weights: &Weights::MEASURED };
        let mut reader = HitReader::new(self, scoped, &matcher, required);
        let mut page;
        loop {
            page = HitPage::of(query);
            let wanted = Wanted { hits: checked.max(page.ranked_min()), ..Wanted::hits(checked) };
            let found = search(&asked, &groups, &parsed, wanted)?;
            let is_all = found.len() < wanted.hits;
            for scored in found {
                if page.is_full() {
                    break;
                }
                let number = scored.number;
                let standing = standing(&scored, (corpus.reader, &corpus.overlay), &reach)?;
                let event = match corpus.reader {
                    Some(index) if standing.is_empty() => index.event(number)?,
                    _ => None,
                };
                let ranked = ranked_of(scored, standing, &query.filter);
                page.extend(match event {
                    Some((ledger, seq)) => reader.event((&ledger, seq), ranked, &matcher)?,
                    None => reader.hit(ranked)?,
                });
            }
            if is_all || page.is_full() {
                break;
            }
            if checked >= CHECKED_MAX {
                notes.push(SearchNote::CheckedCut { checked: checked as u64 });
                break;
            }
            checked = (checked * CHECKED_MORE).min(CHECKED_MAX);
        }
        notes.extend(SearchNote::damaged(reader.damaged.len()));
        let words = words_of(scoped, &parsed, &segments)?;
        Ok(SearchAnswer { hits: page.finish(), entries: corpus.entries, notes, words })
    }
}

/// Returns the words of a query with how many entries have each, where passages are wanted.
fn words_of(
    scoped: &Scoped<'_>,
    query: &Query,
    segments: &[AnySegment<'_>],
) -> Result<TaskWords, IndexError> {
    if !scoped.has_passages {
        return Ok(TaskWords::default());
    }
    let mut terms = Vec::new();
    for term in &query.terms {
        let mut entries = 0_u32;
        for segment in segments {
            entries = entries.saturating_add(segment.postings(&term.term)?.map_or(0, |all| all.entries()));
        }
        terms.push(TaskTerm {
            term: term.term.clone(),
            also: term.also.clone(),
            typed: term.typed.clone(),
            weight: term.weight,
            entries,
        });
    }
    Ok(TaskWords { terms, entries: size_of(segments).entries })
}

fn size_of(segments: &[AnySegment<'_>]) -> Statistics {
    segments.iter().map(AnySegment::statistics).fold(Statistics::default(), |all, one| Statistics {
        entries: all.entries + one.entries,
        length: all.length + one.length,
    })
}

/// Returns where an entry stands.
fn standing(
    scored: &Scored,
    (reader, overlay): (Option<&IndexReader<'_>>, &Overlay),
    reach: &Reach,
) -> Result<Vec<Standing>, IndexError> {
    if let Some(standing) = overlay.standing(scored.number) {
        return Ok(standing.to_vec());
    }
    let Some(reader) = reader else { return Ok(Vec::new()) };
    let found = reader.occurrences(scored.number, STANDING_MAX, reach.commits.as_ref())?;
    let covered = reach.covered(scored.number).iter().cloned();
    Ok(covered.chain(found.iter().flat_map(|one| reach.standing(one))).collect())
}

/// Returns what was scored, with where it stands.
fn ranked_of(scored: Scored, standing: Vec<Standing>, filter: &SearchFilter) -> Ranked {
    let reasons = scored.reasons.into_iter().map(|reason| {
        let is_file = filter.file.as_ref() == Some(&reason.text);
        let name = if is_file { "file" } else { reason.name.as_str() };
        SearchReason { name, value: reason.value, text: reason.text }
    });
    Ranked { key: scored.key, score: scored.score, reasons: reasons.collect(), standing }
}

/// Adds names like those file names of a query that nothing has, and says which.
fn mend(query: &mut Query, segments: &[AnySegment<'_>]) -> Result<Vec<SearchNote>, IndexError> {
    let mut notes = Vec::new();
    for file in query.files.clone() {
        let mut is_there = false;
        for segment in segments {
            is_there = is_there || segment.postings(&file)?.is_some();
        }
        let near = if is_there {
            Vec::new()
        } else {
            near_names(
                &file,
                names_like(&file, segments)?.iter().map(|(name, entries)| (name.as_str(), *entries)),
            )
        };
        if !near.is_empty() {
            let shown = |name: &str| name.trim_start_matches('=').to_owned();
            notes.push(SearchNote::Mended {
                asked: shown(&file),
                meant: near.iter().map(|name| shown(name)).collect(),
            });
            query.mend(&file, near);
        }
    }
    Ok(notes)
}

/// Adds terms that begin with the last word of a text, the most frequent ones: somebody is typing it.
fn complete(query: &mut Query, text: &str, segments: &[AnySegment<'_>]) -> Result<(), IndexError> {
    let Some(word) = text.split(|char: char| !char.is_alphanumeric()).next_back() else { return Ok(()) };
    let word = word.to_lowercase();
    if word.chars().count() < COMPLETED_CHARS_MIN {
        return Ok(());
    }
    let mut found = beginning_with(&word, COMPLETIONS_READ_MAX, segments)?;
    // Codes and hashes are names, and have no parts to be found by.
    if word.contains(|char: char| char.is_ascii_digit()) {
        found.extend(beginning_with(&format!("={word}"), COMPLETIONS_READ_MAX, segments)?);
    }
    let mut terms: Vec<(u32, String)> = found.into_iter().map(|(term, entries)| (entries, term)).collect();
    terms.sort_unstable_by(|one, two| two.cmp(one));
    terms.truncate(COMPLETIONS_MAX);
    query.mend(&word, terms.into_iter().map(|(_, term)| term).collect());
    Ok(())
}

/// Returns the names in the index that begin with the same letter, with how many entries have each.
fn names_like(file: &str, segments: &[AnySegment<'_>]) -> Result<Vec<(String, u32)>, IndexError> {
    let Some(first) = file.chars().nth(1) else { return Ok(Vec::new()) };
    Ok(beginning_with(&format!("={first}"), NAMES_READ_MAX, segments)?.into_iter().collect())
}

/// Returns terms of the index that begin so, so many at most, with how many entries have each.
fn beginning_with(
    from: &str,
    terms_max: usize,
    segments: &[AnySegment<'_>],
) -> Result<BTreeMap<String, u32>, IndexError> {
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    for segment in segments {
        let AnySegment::Index(segment) = segment else { continue };
        segment.each_term(from.as_bytes(), &mut |term, postings| {
            let Ok(name) = std::str::from_utf8(term) else { return Ok(true) };
            if !name.starts_with(from) || names.len() >= terms_max {
                return Ok(false);
            }
            *names.entry(name.to_owned()).or_default() += postings.entries();
            Ok(true)
        })?;
    }
    Ok(names)
}
