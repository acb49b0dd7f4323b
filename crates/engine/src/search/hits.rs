//! From what was found to what is shown: the entry itself, the newest session that holds it, a snippet.
//!
//! Entries are read from the store, so that nothing is shown which the store no longer has.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use stemmata_model::{Closure, Commit, CommitId, Entry, LedgerId, Part, Role, Timestamp};
use stemmata_prompt::search::{ENTRY_CHARS_MAX, Matcher, ReasonName};
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Described, Session, SessionFilter, SessionKey, SessionOrigin};

use super::filter::Scoped;
use super::groups::author_of;
use super::key::key_of;
use super::overlay::{DecodedCommit, Standing};
use super::passage::{Passage, SeenAs, said_in};
use super::scan::{Decoded, on_chain};
use super::snippet::{Snippet, Sought, plain_snippet};
use super::text::text_of;
use crate::capture::namesakes::transcript_of;
use crate::chain::beside::key_of_sighting;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Commits that are kept decoded: hits that are near each other are often of one commit.
const KEPT_COMMITS_MAX: usize = 32;
/// Their native bytes, unless one alone has more.
const KEPT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Characters of an entry's id that are shown at least.
const ENTRY_CHARS_MIN: usize = 8;
/// Commits of one entry that are looked at: copies of a session, and what was said often.
const STANDING_MAX: usize = 64;
/// Forks whose chains are followed, where the sessions are forgotten that saw a commit.
const FORKS_MAX: usize = 256;
/// Further sessions that a hit names.
const ALSO_MAX: usize = 16;
/// Matches of one text that are marked.
pub(super) const SPANS_MAX: usize = 512;

/// A part of a score.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchReason {
    /// Its name.
    pub name: &'static str,
    /// The points, or the factor.
    pub value: f32,
    /// The words that it is about; may be empty.
    pub text: String,
}

/// The session that a hit stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitPlace {
    /// The runtime's id of the session.
    pub session: String,
    /// The transcript, or the ledger's directory.
    pub path: String,
    /// The client.
    pub client: String,
    /// The session's title.
    pub title: Option<String>,
    /// Where it worked.
    pub cwd: Option<String>,
    /// The name of its project.
    pub project: Option<String>,
    /// The branch that it worked on.
    pub branch: Option<String>,
    /// The machine that recorded it, where that is another one.
    pub foreign_machine: Option<String>,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The newest kept commit that holds it; `None` for an event.
    pub ctx: Option<CommitId>,
    /// The ledger of an event.
    pub ledger: Option<LedgerId>,
    /// The id of the entry.
    pub entry: String,
    /// The beginning of it that names no other entry of its commit.
    pub short_entry: String,
    /// Where it stands.
    pub place: HitPlace,
    /// Who said it, where the format knows.
    pub author: Option<String>,
    /// When.
    pub timestamp: Option<Timestamp>,
    /// Its role.
    pub role: Role,
    /// Its kind.
    pub kind: String,
    /// How good it is, comparable within one answer.
    pub score: f32,
    /// What made the score.
    pub reasons: Vec<SearchReason>,
    /// The line that matches best, with one before and one after.
    pub snippet: String,
    /// The bytes of the snippet that match.
    pub matches: Vec<Range<usize>>,
    /// Further sessions that hold the same entry, or one that shows the same text.
    pub also_in: Vec<String>,
    /// Hits that show the same text and are not listed.
    pub alike: u64,
    /// What retrieval needs besides, where that is wanted.
    pub(crate) passage: Option<Box<Passage>>,
}

impl SearchHit {
    /// Returns whether only entries around it have what was looked for.
    pub fn is_nearby(&self) -> bool {
        let has = |name: &str| self.reasons.iter().any(|reason| reason.name == name);
        has("near") && !has("words") && !has("phrase")
    }

    /// Adds a further session that shows the same.
    pub(super) fn add_also(&mut self, session: String) {
        let is_new = session != self.place.session && !self.also_in.contains(&session);
        if is_new && self.also_in.len() < ALSO_MAX {
            self.also_in.push(session);
        }
    }
}

/// What was found, before it is read.
pub(crate) struct Ranked {
    pub(crate) key: u64,
    pub(crate) score: f32,
    pub(crate) reasons: Vec<SearchReason>,
    pub(crate) standing: Vec<Standing>,
}

impl Ranked {
    /// Returns what says of a text which of the words it has that the entry was found by: a bit for each, the rarest the highest.
    pub(super) fn rarity(&self, matcher: &Matcher) -> impl Fn(&str) -> u64 {
        let own = self.reasons.iter().find(|reason| reason.name == ReasonName::Words.as_str());
        let words: Vec<&str> = own.map_or("", |own| own.text.as_str()).split(' ').collect();
        move |text| {
            let mut bits = 0;
            matcher.each_word(text, &mut |typed| {
                let at = words.iter().take(u64::BITS as usize).position(|word| *word == typed);
                bits |= at.map_or(0, |at| 1 << (u64::BITS as usize - 1 - at));
            });
            bits
        }
    }
}

/// By what the place of a hit is chosen, the greatest: whether it was recorded here, where passages are wanted; whether its commit was
/// captured first in this session, which copies and forks only go on from; the session's last activity, then its path, then how deep the
/// commit is.
type PlaceRank = (bool, bool, Option<Timestamp>, Reverse<String>, u64);

/// Reads what was found.
pub(crate) struct HitReader<'e> {
    pub(super) engine: &'e Engine,
    pub(super) scoped: &'e Scoped<'e>,
    /// What is marked.
    matcher: &'e Matcher,
    /// What each hit has to have in its text.
    required: Vec<Matcher>,
    commits: HashMap<CommitId, Arc<DecodedCommit>>,
    /// The native bytes of these.
    bytes: u64,
    /// Commits whose content is damaged.
    pub(super) damaged: BTreeSet<CommitId>,
    /// Commits of the hit that is being read.
    described: HashMap<CommitId, Commit>,
    /// Sessions by their keys, each with whether its transcript held another conversation before.
    sessions: HashMap<SessionKey, (Option<Arc<Session>>, bool)>,
    /// Forks, each with the commits of its chain, once they are asked for.
    forks: Option<Vec<(SessionKey, HashSet<CommitId>)>>,
    /// How the hit that is being read was seen.
    seen_as: SeenAs,
}

impl<'e> HitReader<'e> {
    pub(crate) fn new(
        engine: &'e Engine,
        scoped: &'e Scoped<'e>,
        matcher: &'e Matcher,
        required: Vec<Matcher>,
    ) -> Self {
        Self {
            engine,
            scoped,
            matcher,
            required,
            commits: HashMap::new(),
            bytes: 0,
            described: HashMap::new(),
            damaged: BTreeSet::new(),
            sessions: HashMap::new(),
            forks: None,
            seen_as: SeenAs::default(),
        }
    }

    /// Returns the hit of an entry, or `None` if the store no longer has the entry or its text does not match.
    pub(crate) fn hit(&mut self, ranked: Ranked) -> Result<Option<SearchHit>> {
        let Some((standing, session, others)) = self.newest(&ranked.standing)? else { return Ok(None) };
        let Some(decoded) = self.decoded(standing.commit)? else { return Ok(None) };
        let is_it = |entry: &&Entry| key_of(entry) == ranked.key;
        let is_at_its_place = decoded.entries.get(standing.position).is_some_and(|entry| is_it(&entry));
        let position = if is_at_its_place {
            Some(standing.position)
        } else {
            decoded.entries.iter().position(|entry| is_it(&entry))
        };
        let Some((position, entry)) = position.and_then(|at| Some((at, decoded.entries.get(at)?))) else {
            return Ok(None);
        };
        if !self.scoped.admits_entry(entry) {
            return Ok(None);
        }
        let text = text_of(entry);
        if !self.is_required_in(&text) {
            return Ok(None);
        }
        let also = others.into_iter().filter(|other| *other != session.session).take(ALSO_MAX).collect();
        let find =
            |text: &str| (self.matcher.spans(indexed(text), SPANS_MAX), self.matcher.first_phrase(text));
        let shown = plain_snippet(&text, &Sought { find: &find, rarity: &ranked.rarity(self.matcher) });
        let passage = self.passage(&decoded.entries, position, &text);
        let hit = found((entry, &decoded.entries), standing.commit, (session, also), (shown, ranked));
        Ok(Some(SearchHit { passage, ..hit }))
    }

    /// Returns the passage of an entry, where that is wanted.
    fn passage(&self, entries: &[Entry], position: usize, text: &str) -> Option<Box<Passage>> {
        if !self.scoped.has_passages {
            return None;
        }
        let reasons = |entry: &&Entry| entry.parts.iter().any(|part| matches!(part, Part::Thinking { .. }));
        let said = entries.get(position).filter(reasons).map(said_in);
        let text = said.as_deref().unwrap_or(text);
        let spans = self.matcher.spans(indexed(text), SPANS_MAX);
        Some(Box::new(Passage::of(entries, position, (text, &spans), self.seen_as.clone())))
    }

    /// Returns whether a text has what each hit has to have.
    pub(super) fn is_required_in(&self, text: &str) -> bool {
        self.required.iter().all(|required| required.is_match(text))
    }

    /// Returns the hit of an entry whose text was matched already.
    pub(crate) fn matched(
        &mut self,
        decoded: &DecodedCommit,
        position: usize,
        reasons: Vec<SearchReason>,
    ) -> Result<Option<SearchHit>> {
        let Some(entry) = decoded.entries.get(position) else { return Ok(None) };
        let session = decoded.sessions.first().cloned();
        let standing = Standing { commit: decoded.commit.id, position, session };
        let ranked = Ranked { key: key_of(entry), score: 1.0, reasons, standing: vec![standing] };
        let Some((standing, session, others)) = self.newest(&ranked.standing)? else { return Ok(None) };
        let text = text_of(entry);
        let also = others.into_iter().filter(|other| *other != session.session).take(ALSO_MAX).collect();
        let find = |text: &str| (self.matcher.spans(text, SPANS_MAX), None);
        let shown = plain_snippet(&text, &Sought { find: &find, rarity: &|_| 0 });
        let passage = self.passage(&decoded.entries, position, &text);
        let hit = found((entry, &decoded.entries), standing.commit, (session, also), (shown, ranked));
        Ok(Some(SearchHit { passage, ..hit }))
    }

    /// Chooses the place that is named: of the sessions that pass the newest in which a commit was captured first, else the newest, and
    /// its newest commit. Returns the other sessions, too.
    fn newest(&mut self, standing: &[Standing]) -> Result<Option<(Standing, HitPlace, BTreeSet<String>)>> {
        let mut ids: Vec<CommitId> = standing.iter().map(|one| one.commit).collect();
        ids.dedup();
        ids.truncate(STANDING_MAX);
        let described = self.engine.store.described(&ids)?;
        let mut sessions = BTreeSet::new();
        let wants_passages = self.scoped.has_passages;
        let mut seen_as = SeenAs { is_foreign: true, ..SeenAs::default() };
        let mut best: Option<(PlaceRank, Standing, Arc<Session>)> = None;
        for Described { commit, sightings, .. } in &described {
            if wants_passages {
                seen_as.add(sightings);
            }
            let here: Vec<&Standing> = standing.iter().filter(|one| one.commit == commit.id).collect();
            let is_on_chain = here.iter().any(|one| one.session.is_some());
            if commit.closure == Closure::Forgotten || commit.closure == Closure::Covered && !is_on_chain {
                continue;
            }
            let seen = sightings.iter().map(key_of_sighting);
            let first = sightings.first().map(key_of_sighting);
            let reached = here.iter().filter_map(|one| one.session.clone());
            let mut known = Vec::new();
            for key in reached.chain(seen).collect::<Vec<SessionKey>>() {
                known.extend(self.session(&key, commit.id)?);
            }
            // A copy that was opened and no more stands for nothing, where the session is among them that it is a copy of.
            let is_own = |session: &Arc<Session>| !session.is_unused() && self.scoped.admits_session(session);
            if known.iter().any(is_own) {
                known.retain(|session| !session.is_unused());
            }
            if known.is_empty() {
                known = self.forks_of(commit.id)?;
            }
            for session in known {
                sessions.insert(session.session.to_string());
                if !self.scoped.admits_session(&session) {
                    continue;
                }
                // An agent is shown what was recorded here before the same from elsewhere.
                let is_own = !wants_passages || self.engine.is_recorded_here(&session.key)?;
                seen_as.is_foreign &= !is_own;
                let is_first = first.as_ref() == Some(&session.key);
                let rank =
                    (is_own, is_first, session.last_at, Reverse(session.key.path.clone()), commit.depth);
                if let Some(one) = here.first()
                    && best.as_ref().is_none_or(|(best, ..)| rank > *best)
                {
                    best = Some((rank, (*one).clone(), session));
                }
            }
        }
        self.seen_as = seen_as;
        self.described = described.into_iter().map(|of| (of.commit.id, of.commit)).collect();
        let Some((_, standing, session)) = best else { return Ok(None) };
        let place =
            place(&session, self.engine.project_name(&session)?, self.engine.foreign_machine(&session)?);
        Ok(Some((standing, place, sessions)))
    }

    /// Returns the forks that hold a commit, also those that nobody went on with: they stay where the session that has it is
    /// forgotten.
    fn forks_of(&mut self, commit: CommitId) -> Result<Vec<Arc<Session>>> {
        if self.forks.is_none() {
            let mut placed = Vec::new();
            self.engine.each_session(&SessionFilter::default(), &mut |session, _| {
                placed.extend(Some(session).filter(|of| matches!(of.origin, SessionOrigin::Placed(_))));
                if placed.len() < FORKS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            let mut forks = Vec::new();
            for fork in placed {
                let mut chain = HashSet::new();
                let mut walk = Walk::new(self.engine.store.as_ref(), fork.tip);
                while let Some(commit) = walk.next()? {
                    chain.insert(commit.id);
                }
                forks.push((fork.key, chain));
            }
            self.forks = Some(forks);
        }
        let of_it = self.forks.iter().flatten().filter(|(_, chain)| chain.contains(&commit));
        let keys: Vec<SessionKey> = of_it.map(|(key, _)| key.clone()).collect();
        let mut forks = Vec::new();
        for key in keys {
            forks.extend(self.session(&key, commit)?);
        }
        Ok(forks)
    }

    /// Returns the session that a commit was seen in under a key: what its transcript held before, where the commit is of that.
    fn session(&mut self, key: &SessionKey, commit: CommitId) -> Result<Option<Arc<Session>>> {
        if !self.sessions.contains_key(key) {
            let session = self.engine.store.session(key)?;
            let before = session.as_ref().map(|session| self.engine.held_before(key, session)).transpose()?;
            let was_other = before.is_some_and(|before| !before.is_empty());
            self.sessions.insert(key.clone(), (session.map(Arc::new), was_other));
        }
        let Some((Some(session), was_other)) = self.sessions.get(key).cloned() else { return Ok(None) };
        if !was_other {
            return Ok(Some(session));
        }
        Ok(Some(Arc::new(self.engine.conversation_of((*session).clone(), commit)?)))
    }

    fn decoded(&mut self, id: CommitId) -> Result<Option<Arc<DecodedCommit>>> {
        if let Some(known) = self.commits.get(&id) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(commit) = self.described.remove(&id) else { return Ok(None) };
        let decoded = match self.engine.decoded(on_chain(commit))? {
            Decoded::Entries(decoded) => *decoded,
            Decoded::Unsearched => return Ok(None),
            Decoded::Damaged => {
                self.damaged.insert(id);
                return Ok(None);
            }
        };
        self.bytes += decoded.commit.native_bytes;
        if self.commits.len() >= KEPT_COMMITS_MAX || self.bytes > KEPT_BYTES_MAX {
            self.commits.clear();
            self.bytes = decoded.commit.native_bytes;
        }
        let decoded = Arc::new(decoded);
        self.commits.insert(id, Arc::clone(&decoded));
        Ok(Some(decoded))
    }
}

fn found(
    (entry, all): (&Entry, &[Entry]),
    commit: CommitId,
    (place, also_in): (HitPlace, Vec<String>),
    (shown, ranked): (Snippet, Ranked),
) -> SearchHit {
    SearchHit {
        ctx: Some(commit),
        ledger: None,
        entry: entry.id.to_string(),
        short_entry: short_entry(entry.id.as_str(), all.iter().map(|entry| entry.id.as_str())),
        place,
        author: author_of(entry).map(str::to_owned),
        timestamp: entry.timestamp,
        role: entry.role,
        kind: entry.kind.as_str().to_owned(),
        score: ranked.score,
        reasons: ranked.reasons,
        snippet: shown.text,
        matches: shown.matches,
        also_in,
        alike: 0,
        passage: None,
    }
}

/// Returns the beginning of an id that no other one begins with, as `show --entry` reads it: the commit that a hit names is where
/// it looks first.
fn short_entry<'a>(id: &str, all: impl Iterator<Item = &'a str>) -> String {
    let common = |other: &str| id.chars().zip(other.chars()).take_while(|(one, two)| one == two).count();
    let longest = all.filter(|other| *other != id).map(common).max().unwrap_or(0);
    id.chars().take(ENTRY_CHARS_MIN.max(longest + 1)).collect()
}

/// Returns the part of a text that words are taken from; a match behind it made no hit.
fn indexed(text: &str) -> &str {
    let end = text.char_indices().nth(ENTRY_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn place(session: &Session, project: Option<String>, foreign_machine: Option<String>) -> HitPlace {
    HitPlace {
        session: session.session.to_string(),
        path: transcript_of(session).to_string_lossy().into_owned(),
        client: runtime_of(&session.format).to_owned(),
        title: session.title.clone(),
        cwd: session.cwd.clone(),
        project,
        branch: session.git_branch.clone(),
        foreign_machine,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_short_id_is_that_of_one_entry(ids in proptest::collection::hash_set("(synthetic-|ä)[ab]{0,6}", 1..12)) {
            for id in &ids {
                let short = short_entry(id, ids.iter().map(String::as_str));
                prop_assert!(id.starts_with(&short));
                let like = ids.iter().filter(|other| other.starts_with(&short)).count();
                // What is whole names itself, whatever begins with it.
                prop_assert!(like == 1 || short == *id);
            }
        }
    }
}
