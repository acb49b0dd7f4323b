//! Search by words: ranks the entries of the index together with those that are not settled yet, and reads the best from the store.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use stemmata_model::Commit;
use stemmata_prompt::retrieve::{TaskTerm, TaskWords};
use stemmata_prompt::search::{
    Matcher, NAMES_READ_MAX, Postings as _, Query, QueryInput, Scope, Scored, Search, Segment as _,
    Statistics, TERMS_VERSION, Wanted, Weights, near_names, newest, parse_query, participants, search,
};
use stemmata_store::{IndexError, IndexReader};

use super::bridge::{AnyGroups, AnySegment};
use super::events::are_events_followed;
use super::filter::Scoped;
use super::hit_page::HitPage;
use super::hits::{HitReader, Ranked, SearchHit, SearchReason};
use super::overlay::{DecodedCommit, Overlay, Standing};
use super::prepared::{minute_of, prepare};
use super::reach::Reach;
use super::scan::{Decoded, ScanBounds, ScanEnd};
use super::settle::{IndexTrouble, SettleError, Settled};
use super::{SearchAnswer, SearchError, SearchFilter, SearchNote, SearchQuery, SearchStep, StepUnit};
use crate::chain::beside::key_of_sighting;
use crate::engine::Engine;
use crate::error::Result;

/// Hits that are ranked beyond those that are wanted, because some may be gone from the store.
const SPARE_HITS: usize = 16;
/// Candidates that are read first for a phrase or a file, which only the text can confirm.
const CHECKED_FIRST: usize = 500;
/// How many times as many are read next, while too few are hits.
const CHECKED_MORE: usize = 4;
/// The most candidates that are read.
const CHECKED_MAX: usize = 8_000;
/// Commits that are read for one entry.
const STANDING_MAX: usize = 64;
/// Commits that are not settled yet and are searched directly: the newest.
const UNSETTLED_COMMITS: usize = 64;
/// How much of them is read.
const UNSETTLED: ScanBounds = ScanBounds { entries_max: 4_096, bytes_max: 8 * 1024 * 1024 };
/// A last word that is still being typed is completed from this many characters on.
const COMPLETED_CHARS_MIN: usize = 2;
/// Terms that complete it, at most.
const COMPLETIONS_MAX: usize = 8;
/// Terms that are read to choose the most frequent.
const COMPLETIONS_READ_MAX: usize = 4_096;
/// Commits that are counted to say how far behind an index is.
pub(super) const BEHIND_COUNTED: usize = 10_000;

/// What is ranked: the index, if there is one, and the entries that it does not have.
struct Corpus<'a, 'i> {
    reader: Option<&'a IndexReader<'i>>,
    overlay: Overlay,
    notes: Vec<SearchNote>,
    entries: u64,
}

impl Engine {
    /// Finds entries by words in the index; where it cannot be used, in the newest entries of the store.
    pub(super) fn search_words(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        step: &mut SearchStep<'_>,
    ) -> Result<SearchAnswer> {
        let settled = self.settle_index(query.budget, step)?;
        let named = self.index.named().unwrap_or_default();
        match self.search_index(query, scoped, (&settled, step)) {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(SettleError::Engine(error)) => return Err(error),
            // Settling reads only parts of an index, and did not see this damage.
            Err(SettleError::Index(error)) => {
                let trouble = IndexTrouble::of(&error);
                if matches!(trouble, IndexTrouble::Damaged { .. }) && self.set_aside(named).is_ok() {
                    let settled = self.settle_index(query.budget, step)?;
                    let settled = Settled { trouble: Some(trouble), ..settled };
                    if let Ok(Some(answer)) = self.search_index(query, scoped, (&settled, step)) {
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
        (settled, step): (&Settled, &mut SearchStep<'_>),
    ) -> Result<Option<SearchAnswer>, SettleError> {
        let index = match self.index.index(self.store.identity()?.store_id) {
            Ok(Some(index)) => index,
            Err(error @ IndexError::Damaged { .. }) => return Err(error.into()),
            // Settling met the same error and reported it, which becomes a note.
            Ok(None) | Err(_) => return Ok(None),
        };
        let reader = index.reader()?;
        if reader.meta()?.terms != TERMS_VERSION {
            // Another version cut its terms by other rules: they would not match this query's.
            return Ok(None);
        }
        let mut notes: Vec<SearchNote> = settled.trouble.iter().cloned().map(SearchNote::Index).collect();
        let base = reader.segments().iter().map(|segment| segment.base() + segment.span()).max().unwrap_or(0);
        let mut overlay = Overlay::beside(base, reader.authors()?);
        if !settled.is_whole {
            let left_out = self.unsettled(&reader, scoped, &mut overlay)?;
            notes.extend(left_out.map(|commits| SearchNote::Behind { commits }));
            let has_all_events = are_events_followed(&index, &self.all_ledgers()?)?;
            notes.extend((!has_all_events).then_some(SearchNote::EventsBehind));
        }
        let entries = reader.meta()?.entries + overlay.len() as u64;
        let corpus = Corpus { reader: Some(&reader), overlay, notes, entries };
        self.answer(query, scoped, (corpus, step)).map(Some)
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
        match self.answer(query, scoped, (corpus, step)) {
            Ok(answer) => Ok(answer),
            Err(SettleError::Engine(error)) => Err(error),
            // This cannot happen: no index was read.
            Err(SettleError::Index(_)) => Ok(SearchAnswer::default()),
        }
    }

    /// Adds the newest commits that the index does not have, and returns how many are left out; `None` if it has all.
    fn unsettled(
        &self,
        reader: &IndexReader<'_>,
        scoped: &Scoped<'_>,
        overlay: &mut Overlay,
    ) -> Result<Option<u64>, SettleError> {
        let after = reader.meta()?.watermark.through.map(|(at, _)| at);
        let mut page = self.store.stored_after(after, BEHIND_COUNTED)?;
        let mut read: Vec<DecodedCommit> = Vec::new();
        let count = if page.len() >= BEHIND_COUNTED {
            // The index is being built: to reach the newest of the store's commits one by one would take longer than to walk there from
            // the newest sessions.
            self.scan_newest(scoped, UNSETTLED, &mut |_, _, _| ControlFlow::Continue(()), &mut |decoded| {
                read.push(decoded);
                let is_full = read.len() >= UNSETTLED_COMMITS;
                Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            BEHIND_COUNTED as u64
        } else {
            page.retain(|(_, commit)| super::scan::is_searched(commit));
            self.read_newest(page.iter().map(|(_, commit)| commit).rev().take(UNSETTLED_COMMITS), &mut read)?;
            page.len() as u64
        };
        for decoded in read.iter().rev() {
            let keys: Vec<u64> = decoded.entries.iter().filter_map(prepare).map(|found| found.key).collect();
            let known = reader.known(&keys)?;
            let known: HashSet<u64> =
                keys.into_iter().zip(known).filter_map(|(key, number)| number.map(|_| key)).collect();
            overlay.add(decoded, &|key| known.contains(&key));
        }
        Ok((count > 0).then(|| count.saturating_sub(read.len() as u64)))
    }

    /// Reads commits, the newest first, as far as bounds allow.
    fn read_newest<'c>(
        &self,
        newest: impl Iterator<Item = &'c Commit>,
        read: &mut Vec<DecodedCommit>,
    ) -> Result<()> {
        let (mut bytes, mut entries) = (0_u64, 0);
        for commit in newest {
            bytes = bytes.saturating_add(commit.native_bytes);
            if bytes > UNSETTLED.bytes_max || entries > UNSETTLED.entries_max {
                break;
            }
            if let Decoded::Entries(mut decoded) = self.decoded(commit.clone())? {
                entries += decoded.entries.len();
                let seen = self.store.sightings(decoded.commit.id, STANDING_MAX)?;
                decoded.sessions = seen.iter().map(key_of_sighting).collect();
                decoded.sessions.dedup();
                read.push(*decoded);
            }
        }
        Ok(())
    }

    /// Ranks the entries of a corpus and reads the best ones from the store.
    fn answer(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        (corpus, step): (Corpus<'_, '_>, &mut SearchStep<'_>),
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
            until_minute: scoped.until_minute,
            now_minute: minute_of(self.clock.now()),
            authors: &authors,
        };
        let mut parsed = parsed(query, &participants(&segments, &scope)?)?;
        let mut notes = corpus.notes;
        notes.extend(parsed.is_cut.then_some(SearchNote::QueryCut));
        // Who still types a phrase has yet to close it.
        notes.extend((parsed.is_quote_open && !query.is_unfinished).then_some(SearchNote::QuoteOpen));
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
        let checked = if required.is_empty() { least } else { CHECKED_FIRST.max(least) };
        let groups = AnyGroups { index: corpus.reader, memory: &memory };
        let statistics = size_of(&segments);
        let asked = Search { segments: &segments, statistics, scope, weights: &Weights::MEASURED };
        let mut reader = HitReader::new(self, scoped, &matcher, required);
        let is_over = Cell::new(false);
        let mut read = |scored: Scored| -> Result<Option<SearchHit>, SettleError> {
            is_over.set(is_over.get() || step(StepUnit::Commits, 0, None).is_break());
            if is_over.get() {
                return Ok(None);
            }
            let number = scored.number;
            let standing = standing(&scored, (corpus.reader, &corpus.overlay), &reach)?;
            let event = match corpus.reader {
                Some(index) if standing.is_empty() => index.event(number)?,
                _ => None,
            };
            let ranked = ranked_of(scored, standing, &query.filter);
            Ok(match event {
                Some((ledger, seq)) => reader.event((&ledger, seq), ranked, &matcher)?,
                None => reader.hit(ranked)?,
            })
        };
        let hits = if query.is_list() {
            listed(&asked, &parsed, query.hits_max, &mut read)?
        } else {
            let (hits, cut) = best(&asked, &groups, &parsed, (query, checked), (&mut read, &is_over))?;
            notes.extend(cut);
            hits
        };
        notes.extend(SearchNote::damaged(reader.damaged.len()));
        let words = words_of(scoped, &parsed, &segments)?;
        Ok(SearchAnswer { hits, entries: corpus.entries, notes, words })
    }
}

/// Reads the entry of a score; `None` where it is no hit.
type ReadHit<'r> = dyn FnMut(Scored) -> Result<Option<SearchHit>, SettleError> + 'r;

/// Reads the best entries, of so many candidates at first. Returns a note where not all were checked.
fn best(
    asked: &Search<'_, AnySegment<'_>>,
    groups: &AnyGroups<'_, '_>,
    parsed: &Query,
    (query, mut checked): (&SearchQuery, usize),
    (read, is_over): (&mut ReadHit<'_>, &Cell<bool>),
) -> Result<(Vec<SearchHit>, Option<SearchNote>), SettleError> {
    let (mut page, mut seen) = (HitPage::of(query), HashSet::new());
    loop {
        let wanted = Wanted { hits: checked.max(page.ranked_min()), ..Wanted::hits(checked) };
        let found = search(asked, groups, parsed, wanted)?;
        let is_all = found.len() < wanted.hits;
        for scored in found {
            if page.is_full() {
                break;
            }
            // Of more candidates the first ones are those of before.
            if seen.insert(scored.number) {
                page.extend(read(scored)?);
            }
        }
        if is_all || page.is_full() || is_over.get() {
            return Ok((page.finish(), None));
        }
        if checked >= CHECKED_MAX {
            return Ok((page.finish(), Some(SearchNote::CheckedCut { checked: checked as u64 })));
        }
        checked = (checked * CHECKED_MORE).min(CHECKED_MAX);
    }
}

/// Reads the newest entries that pass a filter. The index knows minutes only, so that all of the last minute are read, and then put
/// in order.
fn listed(
    asked: &Search<'_, AnySegment<'_>>,
    query: &Query,
    hits_max: usize,
    read: &mut ReadHit<'_>,
) -> Result<Vec<SearchHit>, SettleError> {
    let mut wanted = hits_max.saturating_add(SPARE_HITS);
    loop {
        let found = newest(asked, query, wanted)?;
        let (is_all, mut is_whole) = (found.len() < wanted, false);
        let (mut hits, mut minute) = (Vec::new(), 0);
        for scored in found {
            if hits.len() >= hits_max && scored.minute < minute {
                is_whole = true;
                break;
            }
            minute = scored.minute;
            hits.extend(read(scored)?);
        }
        if is_all || is_whole || wanted >= CHECKED_MAX {
            let ranked = |hit: &SearchHit| {
                (asked.scope.ranked_minute(hit.timestamp.map_or(0, minute_of)), hit.timestamp)
            };
            hits.sort_by_key(|hit| Reverse(ranked(hit)));
            hits.truncate(hits_max);
            return Ok(hits);
        }
        wanted = wanted.saturating_mul(CHECKED_MORE).min(CHECKED_MAX);
    }
}

/// Reads the text of a query; one of a list has no words.
fn parsed(query: &SearchQuery, participants: &[String]) -> Result<Query, SettleError> {
    if query.is_list() {
        return Ok(Query::default());
    }
    parse_query(&QueryInput { text: &query.text, participants })
        .map_err(|error| SettleError::Engine(SearchError::from(error).into()))
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

/// Returns the commits that hold an entry, and the positions in them.
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

/// Joins an entry's score with the commits that hold it.
fn ranked_of(scored: Scored, standing: Vec<Standing>, filter: &SearchFilter) -> Ranked {
    let reasons = scored.reasons.into_iter().map(|reason| {
        let is_file = filter.file.as_ref() == Some(&reason.text);
        let name = if is_file { "file" } else { reason.name.as_str() };
        SearchReason { name, value: reason.value, text: reason.text }
    });
    Ranked { key: scored.key, score: scored.score, reasons: reasons.collect(), standing }
}

/// For each file name of the query that no entry has, adds similar names that some entry has. Returns a note for each.
fn mend(query: &mut Query, segments: &[AnySegment<'_>]) -> Result<Vec<SearchNote>, IndexError> {
    let mut notes = Vec::new();
    for file in query.files.clone() {
        let near = near_files(&file, segments)?;
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

/// Returns the terms of the file names that are most like that of a term, none where some entry has the term itself.
pub(super) fn near_files(file: &str, segments: &[AnySegment<'_>]) -> Result<Vec<String>, IndexError> {
    for segment in segments {
        if segment.postings(file)?.is_some() {
            return Ok(Vec::new());
        }
    }
    let names = names_like(file, segments)?;
    Ok(near_names(file, names.iter().map(|(name, entries)| (name.as_str(), *entries))))
}

/// Adds the most frequent terms that begin with the last word of a text, which is still being typed.
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

/// Returns the file names of the index that begin with the same letter, each with the number of entries that have it.
fn names_like(file: &str, segments: &[AnySegment<'_>]) -> Result<Vec<(String, u32)>, IndexError> {
    let Some(first) = file.chars().nth(1) else { return Ok(Vec::new()) };
    Ok(beginning_with(&format!("={first}"), NAMES_READ_MAX, segments)?.into_iter().collect())
}

/// Returns at most `terms_max` terms of the index that begin with `from`, each with the number of entries that have it.
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
