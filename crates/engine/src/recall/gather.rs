//! Candidates for a pack: what the memory knows, what search finds, and what was done for the same thread or ticket.
//!
//! Each source is bounded, so that a pack costs the same however much is stored.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_api::v1::SearchForm;
use stemmata_model::{
    Commit, CommitId, EntryKind, EventSeq, LedgerId, Role, SHORT_CHARS_MIN, SessionId, ThreadId, TicketId,
    Timestamp, topics,
};
use stemmata_prompt::reduce::memory::ProjectMemory;
use stemmata_prompt::reduce::memory::v1::Evidence;
use stemmata_prompt::retrieve::{
    Beside, Candidate, CandidateKind, Provenance, Shares, Standing, TaskWords, known, mark_superseded,
};
use stemmata_prompt::select::SUMMARY_SPEAKER;
use stemmata_store::{EventQuery, Ledger, PAGE_ROWS_MAX, Page, SessionKey, TipFilter};

use super::branch::Branch;
use super::{RecallNote, RetrieveOf};
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::{Elsewhere, Line, Remembering, TranscriptPlace, Transcripts};
use crate::search::{
    Belonging, BesideHit, Passage, SearchFilter, SearchHit, SearchQuery, SessionsOf, SettleBudget,
};
use crate::verbs::at::one_line;

/// Characters of a hash that tell an entry from the others of its session.
const SHORT_CHARS: usize = 8;

/// Sessions of a cluster that are searched, the newest.
const CLUSTER_SESSIONS_MAX: usize = 10_000;
/// Hits that are candidates.
const HITS_MAX: usize = 40;
/// Tips of a thread or a ticket that are candidates, the newest.
const LINKED_MAX: usize = 16;
/// Tips of a thread or a ticket among which those are looked for: other projects may have the same one.
const LINKED_READ_MAX: usize = 256;
/// Sightings of a tip that are read.
const SIGHTINGS_MAX: usize = 16;
/// Characters of a summary.
const SUMMARY_CHARS_MAX: usize = 400;
/// Characters of a candidate's compact form.
const COMPACT_CHARS_MAX: usize = 240;

/// What candidates are gathered for.
pub(super) struct Gathering<'a> {
    pub(super) text: &'a str,
    pub(super) ledger: Option<&'a Ledger>,
    pub(super) thread: Option<&'a ThreadId>,
    pub(super) ticket: Option<&'a TicketId>,
    pub(super) session: Option<&'a SessionId>,
    pub(super) foreign: bool,
    pub(super) budget: SettleBudget,
    pub(super) span: Span,
    /// What the turn's session goes on from.
    pub(super) line: Option<Line<'a>>,
    /// The event that began the turn, and its session.
    pub(super) trigger: Option<&'a (EventSeq, SessionId)>,
}

/// Between which events candidates lie. Times stand in for transcripts, which are in no ledger.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    after: Option<(EventSeq, Option<Timestamp>)>,
    through: Option<(EventSeq, Option<Timestamp>)>,
    /// Whether `through` is a place in the past.
    is_past: bool,
}

impl Span {
    fn has(&self, from: &Provenance) -> bool {
        let is_after = self.after.is_none_or(|(seq, time)| match (from.event, from.at, time) {
            (Some(event), ..) => event > seq,
            (None, Some(at), Some(time)) => at > time,
            (None, ..) => false,
        });
        let is_through = self.through.is_none_or(|(seq, time)| match (from.event, from.at, time) {
            (Some(event), ..) => event <= seq,
            (None, Some(at), Some(time)) => at <= time,
            (None, ..) => true,
        });
        is_after && is_through
    }
}

/// What was gathered.
pub(super) struct Gathered {
    pub(super) candidates: Vec<Candidate>,
    pub(super) words: TaskWords,
    /// Hits that came in bundles and were left out.
    pub(super) foreign: u64,
    pub(super) notes: Vec<RecallNote>,
}

/// Sessions that worked for the task's thread or ticket.
#[derive(Default)]
struct Linked {
    candidates: Vec<Candidate>,
    sessions: BTreeMap<String, Shares>,
}

impl Engine {
    /// Gathers candidates.
    pub(super) fn gather(&self, asked: &Gathering<'_>) -> Result<Gathered> {
        let query = SearchQuery {
            text: asked.text.to_owned(),
            form: SearchForm::Words,
            filter: SearchFilter::default(),
            is_unfinished: false,
            is_spread: false,
            hits_max: HITS_MAX,
            budget: asked.budget,
        };
        let belonging = asked.ledger.map(|ledger| self.belonging(ledger)).transpose()?;
        let found = self.search_passages(&query, belonging.as_ref())?;
        let branch = asked.line.map(|line| self.branch(line)).transpose()?;
        let mut notes: Vec<RecallNote> = found.notes.into_iter().map(RecallNote::Search).collect();
        let linked = self.linked(asked, belonging.as_ref())?;
        let mut candidates = Vec::new();
        let (mut foreign, mut superseding) = (0, None);
        for hit in found.hits {
            // A pack is for an agent.
            if hit.passage.as_ref().is_some_and(|passage| passage.is_for_people) {
                continue;
            }
            let is_foreign = hit.passage.as_ref().is_some_and(|passage| passage.seen_as.is_foreign);
            if is_foreign && !asked.foreign {
                foreign += 1;
            } else if self.is_of_cluster(asked.ledger, &hit)? {
                let candidate = candidate_of(hit, is_foreign, asked);
                candidates.extend(candidate.map(|one| is_told(one, branch.as_ref())).transpose()?.flatten());
            }
        }
        if let Some(ledger) = asked.ledger {
            for one in self.uncommitted(ledger, asked.session, &found.words)? {
                candidates.extend(is_told(one, branch.as_ref())?);
            }
            let (mut memory, transcripts) = self.memory_within(ledger, asked, &mut notes)?;
            if let Some((seq, session)) = asked.trigger {
                memory.leave_out_event(session, *seq);
            }
            let of_session = asked.session.map(SessionId::as_str);
            let known = known(&memory, &|proof, is_event| provenance(proof, is_event, &transcripts));
            candidates.extend(known.into_iter().filter(|one| {
                one.kind != CandidateKind::Turn || of_session != Some(one.from.session.as_str())
            }));
            superseding = Some(memory);
        }
        for candidate in &mut candidates {
            if let Some(shares) = linked.sessions.get(&candidate.from.session) {
                candidate.shares.thread |= shares.thread;
                candidate.shares.ticket |= shares.ticket;
            }
        }
        for one in linked.candidates {
            candidates.extend(is_told(one, branch.as_ref())?);
        }
        // Behind the last source: a summary of a thread's commit may say what was replaced as well as a hit.
        if let Some(memory) = superseding {
            mark_superseded(&mut candidates, &memory);
        }
        // The words that began the turn are in the prompt already: they are no find, and no thread that nobody has answered.
        if let Some((seq, session)) = asked.trigger {
            let began = |from: &Provenance| from.event == Some(*seq) && from.session == session.as_str();
            candidates.retain(|one| !began(&one.from));
        }
        candidates.retain(|candidate| asked.span.has(&candidate.from));
        self.shorten(&mut candidates)?;
        Ok(Gathered { candidates, words: found.words, foreign, notes })
    }

    /// Gives commits the ids that `search` prints: whole ones took a third of a pack.
    fn shorten(&self, candidates: &mut [Candidate]) -> Result<()> {
        let mut known: BTreeMap<CommitId, String> = BTreeMap::new();
        for from in candidates.iter_mut().map(|candidate| &mut candidate.from) {
            let Some(ctx) = from.ctx else { continue };
            let short = match known.get(&ctx) {
                Some(short) => short.clone(),
                None => ctx.short(self.unique_chars(ctx, SHORT_CHARS_MIN)?),
            };
            known.insert(ctx, short.clone());
            from.short_ctx = Some(short);
        }
        Ok(())
    }

    /// Returns between which events candidates of a prompt lie.
    pub(super) fn span(
        &self,
        of: &RetrieveOf<'_>,
        after: Option<EventSeq>,
        through: Option<EventSeq>,
    ) -> Result<Span> {
        let dated = |seq: Option<EventSeq>| -> Result<Option<(EventSeq, Option<Timestamp>)>> {
            let Some(seq) = seq else { return Ok(None) };
            let before = seq.get().checked_sub(1).and_then(EventSeq::new);
            let query = EventQuery { through: Some(seq), ..EventQuery::after(before, 1) };
            let page = self.log.page(&of.ledger.id, &query)?;
            Ok(Some((seq, page.events.first().map(|event| event.at))))
        };
        // What was captured counts up to now, unless the place is in the past.
        let dated_through = if of.is_past { dated(through)? } else { through.map(|seq| (seq, None)) };
        Ok(Span { after: dated(after)?, through: dated_through, is_past: of.is_past })
    }

    /// Returns what belongs to a ledger: its events, and the sessions of its project or its cluster. Search leaves anything
    /// else out before it takes the best.
    fn belonging(&self, ledger: &Ledger) -> Result<Belonging> {
        if ledger.root.is_none() {
            let sessions = SessionsOf::Cluster(self.sessions_of_cluster(&ledger.id)?);
            return Ok(Belonging { ledgers: vec![ledger.id.clone()], sessions });
        }
        let project = self.project_sessions(ledger)?;
        Ok(Belonging { ledgers: project.ledgers.clone(), sessions: SessionsOf::Project(project) })
    }

    /// Returns the sessions that were opened in a cluster, the newest.
    fn sessions_of_cluster(&self, cluster: &LedgerId) -> Result<BTreeSet<SessionId>> {
        let started = topics::topic(topics::SESSION_STARTED);
        let mut sessions = BTreeSet::new();
        let mut query = Some(EventQuery::latest(started, PAGE_ROWS_MAX));
        while let Some(asked) = query {
            let page = self.log.page(cluster, &asked)?;
            sessions.extend(page.events.iter().map(|event| event.session.clone()));
            query = asked.following(&page).filter(|_| sessions.len() < CLUSTER_SESSIONS_MAX);
        }
        Ok(sessions)
    }

    /// Returns whether what was found in a commit was said in the cluster: a session may have said more elsewhere.
    fn is_of_cluster(&self, ledger: Option<&Ledger>, hit: &SearchHit) -> Result<bool> {
        let (Some(cluster), Some(ctx)) = (ledger.filter(|ledger| ledger.root.is_none()), hit.ctx) else {
            return Ok(true);
        };
        Ok(self.store.coverage(ctx)?.is_some_and(|coverage| coverage.ledger == cluster.id))
    }

    /// Returns the memory of a ledger as of the last event that is asked for.
    fn memory_within(
        &self,
        ledger: &Ledger,
        asked: &Gathering<'_>,
        notes: &mut Vec<RecallNote>,
    ) -> Result<(ProjectMemory, Transcripts)> {
        let through = asked.span.through.map(|(seq, _)| seq);
        if let (Some(line), Some(through)) = (asked.line, through) {
            let known = self.line_state(line, through)?;
            notes.extend(known.notes.into_iter().map(RecallNote::Memory));
            let place =
                TranscriptPlace { tip: line.opening.head, client: String::new(), foreign_machine: None };
            return Ok((known.memory, Transcripts::from([(line.session.to_string(), place)])));
        }
        let at = through.map(EventSeq::get).filter(|_| asked.span.is_past);
        let asked = Remembering { at, wants_foreign: asked.foreign };
        let (remembered, transcripts) = self.remember_of(&ledger.id, asked)?;
        notes.extend(remembered.notes.into_iter().map(RecallNote::Memory));
        Ok((remembered.memory, transcripts))
    }

    /// Returns the newest work for the task's thread and ticket, with a ledger only what may be of its project or cluster.
    fn linked(&self, asked: &Gathering<'_>, belonging: Option<&Belonging>) -> Result<Linked> {
        let mut linked = Linked::default();
        let page = Page { skip: 0, rows_max: LINKED_READ_MAX };
        let mut tips: BTreeMap<_, (Commit, Shares)> = BTreeMap::new();
        let filters = [
            asked.thread.map(|thread| TipFilter { thread: Some(thread.to_string()), ..TipFilter::default() }),
            asked.ticket.map(|ticket| TipFilter { ticket: Some(ticket.to_string()), ..TipFilter::default() }),
        ];
        for filter in filters.into_iter().flatten() {
            let mut taken = 0;
            for commit in self.store.tips(&filter, page)? {
                if taken == LINKED_MAX {
                    break;
                }
                if belonging.map_or(Ok(true), |belonging| self.may_be_of(belonging, commit.id))? {
                    let (_, shares) = tips.entry(commit.id).or_insert((commit, Shares::default()));
                    shares.thread |= filter.thread.is_some();
                    shares.ticket |= filter.ticket.is_some();
                    taken += 1;
                }
            }
        }
        for (ctx, (commit, shares)) in tips {
            let is_foreign = !self.is_own(ctx)?;
            if is_foreign && !asked.foreign {
                continue;
            }
            let sightings = self.store.sightings(ctx, SIGHTINGS_MAX)?;
            let sessions: BTreeSet<String> = sightings.iter().map(|one| one.session.to_string()).collect();
            let machine = sightings.first().map(|one| one.machine.to_string());
            // What a bundle says of a commit is a stranger's word, whoever recorded the commit.
            let said = if asked.foreign { self.store.annotations(ctx)? } else { self.said_here(ctx)? };
            let text = one_line(&self.summary_from(&commit, said.summary, None)?.text, SUMMARY_CHARS_MAX);
            linked.candidates.push(Candidate {
                kind: CandidateKind::Linked,
                id: ctx.to_string(),
                speaker: None,
                compact: one_line(&text, COMPACT_CHARS_MAX),
                full: text,
                from: Provenance {
                    ctx: Some(ctx),
                    session: sessions.first().cloned().unwrap_or_default(),
                    // A root without any time of its own carries the start of 1970.
                    at: Some(commit.core.created_at).filter(|at| *at > Timestamp::EPOCH),
                    foreign_machine: machine.filter(|_| is_foreign),
                    ..Provenance::default()
                },
                rank: None,
                nearness: None,
                shares,
                standing: Standing::Open,
                is_tool_output: false,
                place: None,
                window: Vec::new(),
            });
            for session in sessions {
                let known = linked.sessions.entry(session).or_default();
                known.thread |= shares.thread;
                known.ticket |= shares.ticket;
            }
        }
        Ok(linked)
    }

    /// Returns whether a commit may be of a ledger: whether it covers the ledger, or was seen in a session that belongs to it.
    /// One of which nobody knows where it was made may be of any.
    fn may_be_of(&self, belonging: &Belonging, ctx: CommitId) -> Result<bool> {
        if let Some(coverage) = self.store.coverage(ctx)? {
            return Ok(belonging.ledgers.contains(&coverage.ledger));
        }
        let mut is_elsewhere = false;
        for sighting in self.store.sightings(ctx, SIGHTINGS_MAX)? {
            let path =
                sighting.source.map_or_else(|| format!("api:{}", sighting.session), |source| source.path);
            let key = SessionKey { machine: sighting.machine, path };
            let cwd = self.store.session(&key)?.and_then(|session| session.cwd);
            let is_own = match &belonging.sessions {
                SessionsOf::Project(project) => {
                    let has = |cwd: &str| project.has(key.machine.as_str(), cwd, Elsewhere::SamePath);
                    cwd.as_deref().is_some_and(has)
                }
                SessionsOf::Cluster(sessions) => sessions.contains(&sighting.session),
            };
            if is_own {
                return Ok(true);
            }
            is_elsewhere |= cwd.is_some();
        }
        Ok(!is_elsewhere)
    }
}

/// Returns a candidate, unless it is of another branch than the session's that asks. What stands beside it is left out where
/// the session was forked between the two.
fn is_told(mut candidate: Candidate, branch: Option<&Branch<'_>>) -> Result<Option<Candidate>> {
    let Some(branch) = branch else { return Ok(Some(candidate)) };
    let from = &candidate.from;
    let is_other = match (from.ctx, from.event) {
        (Some(ctx), _) => branch.is_other(ctx, from.entry.as_deref())?,
        (None, Some(event)) => branch.is_others_event(&from.session, event)?,
        (None, None) => false,
    };
    if let (Some(ctx), Some(_)) = (from.ctx, &from.entry) {
        let mut window = std::mem::take(&mut candidate.window);
        window.retain(|beside| {
            candidate.entry_beside(beside).is_some_and(|entry| !branch.is_cut_off(ctx, entry))
        });
        candidate.window = window;
    }
    Ok((!is_other).then_some(candidate))
}

/// Returns where a proof of a memory is: an event, or an entry of a transcript.
fn provenance(proof: &Evidence, is_event: bool, transcripts: &Transcripts) -> Provenance {
    // An event is named by its number.
    let is_event = is_event || proof.source == proof.ordinal.to_string();
    let transcript = transcripts.get(&proof.session).filter(|_| !is_event);
    Provenance {
        ctx: transcript.and_then(|transcript| transcript.tip),
        entry: transcript.map(|_| proof.source.clone()),
        short_ctx: None,
        short_entry: transcript.and_then(|_| short_id(&proof.source)),
        event: match transcript {
            Some(_) => None,
            None => EventSeq::new(proof.ordinal),
        },
        ledger: None,
        session: proof.session.clone(),
        client: transcript.map_or_else(String::new, |transcript| transcript.client.clone()),
        at: proof.at.map(|at| at.0),
        foreign_machine: transcript.and_then(|transcript| transcript.foreign_machine.clone()),
    }
}

/// Returns the beginning of an entry's id that tells it from the others of a session: of a UUID, and of an id that is a hash behind a
/// word, as `line-848a3c7c…`. Other ids of clients begin alike.
fn short_id(id: &str) -> Option<String> {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (head, rest) = id.split_once('-')?;
    if rest.len() == 27 && head.len() == SHORT_CHARS && is_hex(head) {
        return Some(head.to_owned());
    }
    let hash = rest.get(..SHORT_CHARS).filter(|_| rest.len() >= 2 * SHORT_CHARS && is_hex(rest))?;
    Some(format!("{head}-{hash}"))
}

/// Returns a hit as a candidate.
fn candidate_of(hit: SearchHit, is_foreign: bool, asked: &Gathering<'_>) -> Option<Candidate> {
    let Passage { text, before, after, seen_as, .. } = *hit.passage?;
    let session = hit.place.session;
    // Every ledger numbers its events from 1 on, and a session's name may be in several.
    let ledger = hit.ledger.filter(|ledger| asked.ledger.is_none_or(|own| own.id != *ledger));
    let scope = ledger.as_ref().map_or_else(|| session.clone(), |ledger| format!("{ledger}/{session}"));
    let event = hit.ctx.is_none().then(|| hit.entry.rsplit_once(':')?.1.parse::<u64>().ok()).flatten();
    let source = event.map_or_else(|| hit.entry.clone(), |seq| seq.to_string());
    let named = |name: Option<&str>, all: &BTreeSet<String>| name.is_some_and(|name| all.contains(name));
    let beside = |which: &str, one: BesideHit| Beside {
        place: Candidate::place_of(&scope, &one.entry),
        text: format!("({which}, {}: {})", one.role, one.text),
    };
    let window = [before.map(|one| beside("before it", one)), after.map(|one| beside("after it", one))];
    // Clients store a compaction summary as a user's message, but a model wrote it.
    let is_summary = hit.kind == EntryKind::CompactionSummary.as_str();
    let role = if is_summary { SUMMARY_SPEAKER } else { hit.role.as_str() };
    let speaker = hit.author.filter(|_| !is_summary).unwrap_or_else(|| role.to_owned());
    Some(Candidate {
        kind: CandidateKind::Hit,
        id: format!("{scope}/{source}"),
        speaker: Some(one_line(&speaker, 64)),
        full: text,
        compact: hit.snippet.chars().take(COMPACT_CHARS_MAX).collect(),
        rank: Some(hit.score),
        nearness: None,
        shares: Shares {
            thread: named(asked.thread.map(ThreadId::as_str), &seen_as.threads),
            ticket: named(asked.ticket.map(TicketId::as_str), &seen_as.tickets),
        },
        standing: Standing::Open,
        is_tool_output: hit.role == Role::Tool,
        place: Some(Candidate::place_of(&scope, &source)),
        window: window.into_iter().flatten().collect(),
        from: Provenance {
            ctx: hit.ctx,
            entry: hit.ctx.map(|_| hit.entry),
            short_ctx: None,
            short_entry: hit.ctx.map(|_| hit.short_entry),
            event: event.and_then(EventSeq::new),
            ledger,
            client: hit.place.client,
            at: hit.timestamp,
            foreign_machine: hit.place.foreign_machine.filter(|_| is_foreign),
            session,
        },
    })
}
