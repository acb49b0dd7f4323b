//! The hits of an answer in the order in which they are shown: those that show the same text are one, and the first are of
//! several sessions.
//!
//! An agent repeats itself: one session that runs the same command for an hour would fill the page. In a conversation of people
//! every entry is its own, so that hits with an author stay where they are ranked, and so do events.

use std::collections::HashMap;

use super::SearchQuery;
use super::hits::SearchHit;

/// Hits of one session that come before those of others.
const SESSION_HITS_MAX: usize = 3;
/// How many of the best hits are spread. Fixed, so that fewer hits are the beginning of more.
const SPREAD_HITS: usize = 60;

/// Gathers hits, which come the best first.
pub(super) struct HitPage {
    hits_max: usize,
    /// Whether hits that show the same text are one.
    is_folded: bool,
    /// Hits of one session that come first.
    session_max: usize,
    hits: Vec<SearchHit>,
    /// The positions of the hits that come first, and of those that come after all that are spread.
    first: Vec<usize>,
    later: Vec<usize>,
    by_session: HashMap<String, usize>,
    /// By role and shown text.
    by_text: HashMap<(&'static str, String), usize>,
}

impl HitPage {
    /// Returns an empty page. A session that was asked for may fill it.
    pub(super) fn of(query: &SearchQuery) -> Self {
        let is_spread = query.is_spread && query.filter.session.is_none();
        Self {
            hits_max: query.hits_max,
            is_folded: query.is_spread,
            session_max: if is_spread { SESSION_HITS_MAX } else { usize::MAX },
            hits: Vec::new(),
            first: Vec::new(),
            later: Vec::new(),
            by_session: HashMap::new(),
            by_text: HashMap::new(),
        }
    }

    /// Returns how many ranked hits the page may need.
    pub(super) fn ranked_min(&self) -> usize {
        if self.session_max == usize::MAX { self.hits_max } else { self.hits_max.max(SPREAD_HITS) }
    }

    /// Returns whether no further hit can be among those that are wanted.
    pub(super) fn is_full(&self) -> bool {
        self.first.len() >= self.hits_max
    }

    /// Returns the hits in their order.
    pub(super) fn finish(mut self) -> Vec<SearchHit> {
        self.first.append(&mut self.later);
        self.first.truncate(self.hits_max);
        let mut hits: Vec<Option<SearchHit>> = self.hits.into_iter().map(Some).collect();
        self.first.iter().filter_map(|at| hits.get_mut(*at)?.take()).collect()
    }

    fn add(&mut self, hit: SearchHit) {
        let at = self.hits.len();
        if hit.author.is_some() {
            self.first.push(at);
        } else if let Some(same) = self.same(&hit) {
            same.alike += 1;
            for session in std::iter::once(hit.place.session).chain(hit.also_in) {
                same.add_also(session);
            }
            return;
        } else {
            let of_session = self.by_session.entry(hit.place.session.clone()).or_default();
            *of_session += 1;
            let is_later = *of_session > self.session_max && at < SPREAD_HITS;
            if is_later { &mut self.later } else { &mut self.first }.push(at);
        }
        self.hits.push(hit);
        if self.hits.len() == SPREAD_HITS {
            self.first.append(&mut self.later);
        }
    }

    /// Returns the hit that shows the same text, if there is one already.
    fn same(&mut self, hit: &SearchHit) -> Option<&mut SearchHit> {
        if !self.is_folded {
            return None;
        }
        let next = self.hits.len();
        let known = *self.by_text.entry((hit.role.as_str(), hit.snippet.clone())).or_insert(next);
        self.hits.get_mut(known)
    }
}

impl Extend<SearchHit> for HitPage {
    fn extend<I: IntoIterator<Item = SearchHit>>(&mut self, hits: I) {
        for hit in hits {
            self.add(hit);
        }
    }
}
