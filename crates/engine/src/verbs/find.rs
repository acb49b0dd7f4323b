//! Finds what a person means: by id, a part of one, tag, transcript, place, title, and from there along the chain.
//!
//! How a reference is written is `reference`'s. Every command finds by this, so that a name means one thing.

mod prompts;
pub(crate) mod titles;

use std::path::Path;

use stemmata_api::v1::FoundPrompt;
use stemmata_model::{CommitId, CommitPrefix, IdKind, PREFIX_CHARS_MIN, SessionId};
use stemmata_prompt::title::title;
use stemmata_store::{IdPart, Session};

use crate::capture::namesakes::overwritten;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{BadRange, Candidate, EngineError, Result, Wanted};
use crate::reference::{Base, PromptRange, Step, base, last_step, prompt_range};

/// Candidates that an ambiguous name lists at most.
pub const CANDIDATES_MAX: usize = 10;

/// Sessions of one id that are compared: copies of one transcript.
const COPIES_MAX: usize = 256;

/// What a reference means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meant {
    /// The commit.
    pub ctx: CommitId,
    /// Where a session was named: the session, whose newest commit `ctx` is.
    pub session: Option<Session>,
    /// Where a step from a session was named (`4a36:3`, `4a36~2`): the session.
    pub within: Option<Session>,
    /// Where a prompt was named: the entry of the chain of `before` that the commit ends ahead of.
    pub prompt: Option<FoundPrompt>,
}

/// Prompts that a reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeantRange {
    /// A commit whose chain holds them.
    pub ctx: CommitId,
    /// The session that was named.
    pub within: Option<Session>,
    /// The number of the first one.
    pub from: u64,
    /// The number of the last one.
    pub through: u64,
}

/// What a name means.
#[expect(clippy::large_enum_variant, reason = "one is made a call, and goes at once")]
enum Known {
    Commit(CommitId),
    Session(Session),
}

impl Engine {
    /// Finds a commit as [`Engine::meant`] does, where no directory is known.
    ///
    /// # Errors
    /// As for [`Engine::meant`].
    pub fn find(&self, text: &str) -> Result<CommitId> {
        Ok(self.meant(text, None)?.ctx)
    }

    /// Finds what a reference means:
    ///
    /// - a tag; a session's id, its first characters or its last ones (at least four); `ctx-` and the first characters of a commit's
    ///   id, or at least four of these without `ctx-`; a transcript's path
    /// - `@` for the newest session of the directory `here`, `@-` for the one before; `last`, `latest`, `newest` and `HEAD` are `@`
    /// - whole words of a title, one of them with at least four letters, where one session has them all
    /// - any of these with `~N` for N commits back along the chain, or `:N` for the state before its N-th prompt
    ///
    /// A session means its newest commit, and of several copies the best one. A part of an id that several things have is
    /// ambiguous, so that what it meant yesterday never becomes another thing; only a tag and a whole id come before parts.
    ///
    /// # Errors
    /// `NoReference` where nothing has the name, `Ambiguous` with up to ten candidates where several things have it, `PromptRange`
    /// for a range of prompts.
    pub fn meant(&self, text: &str, here: Option<&str>) -> Result<Meant> {
        if let Some(known) = self.known(text)? {
            return of_known(known, text);
        }
        if let Base::Here(back) = base(text) {
            let session = self.session_here(text, here, back)?;
            return of_known(Known::Session(session), text);
        }
        if let Some(PromptRange { of, from, .. }) = prompt_range(text) {
            let (text, of) = (text.to_owned(), of.to_owned());
            return Err(EngineError::PromptRange { text, of, from, why: BadRange::OnePoint });
        }
        if let Some((before, step)) = last_step(text) {
            let Meant { ctx: from, session, within, .. } = self.meant(before, here)?;
            let (ctx, prompt) = match step {
                Step::Back(commits) => (self.back(from, commits, text)?, None),
                Step::BeforePrompt(number) => {
                    let (ctx, prompt) = self.before_prompt(from, number, text)?;
                    (ctx, Some(prompt))
                }
            };
            return Ok(Meant { ctx, session: None, within: session.or(within), prompt });
        }
        let session = self.session_titled(text)?;
        of_known(Known::Session(session), text)
    }

    /// Finds the prompts that a reference names as a range, `REF:N..M`, with the commit whose chain holds them. `None` for a reference
    /// that is no range.
    ///
    /// # Errors
    /// `NoPrompt` where the chain has no such prompts, `PromptRange` for one that ends before it begins, and as for [`Engine::meant`].
    pub fn meant_range(&self, text: &str, here: Option<&str>) -> Result<Option<MeantRange>> {
        let Some(PromptRange { of, from, through }) = prompt_range(text) else { return Ok(None) };
        if self.known(text)?.is_some() {
            return Ok(None);
        }
        let Meant { ctx, session, within, .. } = self.meant(of, here)?;
        let prompts = self.numbered_prompts(ctx)?.len() as u64;
        let through = through.unwrap_or(prompts);
        if let Some(number) = [from, through].into_iter().find(|number| !(1..=prompts).contains(number)) {
            return Err(EngineError::NoPrompt { of: of.to_owned(), number, prompts });
        }
        if from > through {
            let (text, of) = (text.to_owned(), of.to_owned());
            return Err(EngineError::PromptRange { text, of, from, why: BadRange::Backwards });
        }
        Ok(Some(MeantRange { ctx, within: session.or(within), from, through }))
    }

    /// Finds a commit by a name of its own, and by no title: for what cannot be taken back.
    ///
    /// # Errors
    /// As for [`Engine::meant`].
    pub(crate) fn find_by_name(&self, text: &str) -> Result<CommitId> {
        match (self.known(text)?, last_step(text)) {
            (Some(known), _) => Ok(of_known(known, text)?.ctx),
            (None, Some((before, Step::Back(commits)))) => {
                self.back(self.find_by_name(before)?, commits, text)
            }
            (None, _) => Err(EngineError::NoReference { text: text.to_owned(), near: Vec::new() }),
        }
    }

    /// Finds the session that a reference means. Returns `None` where it means a commit that is no session's newest one.
    ///
    /// # Errors
    /// As for [`Engine::meant`]; where nothing goes by the name it is `None`, too.
    pub fn session_meant(&self, text: &str, here: Option<&str>) -> Result<Option<Session>> {
        match self.known(text)? {
            Some(Known::Session(session)) => return Ok(Some(session)),
            Some(Known::Commit(_)) => return Ok(None),
            None => {}
        }
        match (base(text), last_step(text)) {
            (Base::Here(back), _) => self.session_here(text, here, back).map(Some),
            (Base::Name(_), Some(_)) => Ok(None),
            (Base::Name(_), None) => match self.session_titled(text) {
                Ok(session) => Ok(Some(session)),
                Err(EngineError::NoReference { .. }) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    /// Finds a session by its id, by its first or its last characters (at least four) or by the path of its transcript; the best
    /// of several copies. A session that was recorded in this store wins over those of the same id that came in bundles.
    ///
    /// # Errors
    /// `Ambiguous` when several sessions go by the name.
    pub fn find_session(&self, text: &str) -> Result<Option<Session>> {
        self.best_of(text, self.in_their_places(self.copies_named(text)?)?)
    }

    /// Finds the session that a person means by an id, as [`Engine::find_session`] does. Two that were recorded here under one id and
    /// have nothing in common are told apart by their newest commits.
    pub(crate) fn session_of_id(&self, text: &str) -> Result<Option<Session>> {
        let all = self.in_their_places(self.copies_named(text)?)?;
        let Some(best) = self.best_of(text, all.clone())? else { return Ok(None) };
        let mut apart = vec![best.clone()];
        for other in all.into_iter().filter(|other| other.tip.is_some() && other.key != best.key) {
            if self.is_recorded_here(&other.key)? && !self.is_one_of(&other, &apart)? {
                apart.push(other);
            }
        }
        if apart.len() == 1 {
            return Ok(Some(best));
        }
        // Where they lie is often all that differs.
        let summary = |session: &Session| format!("{}  {}", described(session), session.key.path);
        let candidates = apart.iter().take(CANDIDATES_MAX).filter_map(|session| {
            Some(Candidate { id: session.tip?.to_string(), summary: summary(session) })
        });
        Err(EngineError::Ambiguous { text: text.to_owned(), candidates: candidates.collect() })
    }

    /// Leaves out what transcripts held before others took their places: an id means what is there. Of a transcript that was cut it
    /// means all that the store has.
    fn in_their_places(&self, mut sessions: Vec<Session>) -> Result<Vec<Session>> {
        let is_there = |session: &Session| overwritten(&session.key.path).is_none();
        if !sessions.iter().any(is_there) || sessions.iter().all(is_there) {
            return Ok(sessions);
        }
        let (there, before): (Vec<Session>, Vec<Session>) = sessions.drain(..).partition(is_there);
        for left in there {
            let mut whole: Option<Session> = None;
            for other in &before {
                let is_more = whole.as_ref().is_none_or(|whole| whole.messages < other.messages);
                if is_more && self.is_cut(&left, other)? {
                    whole = Some(other.clone());
                }
            }
            sessions.push(whole.unwrap_or(left));
        }
        Ok(sessions)
    }

    /// Finds a session as [`Engine::find_session`] does, of those that were recorded in this store: anybody may have written
    /// the name of somebody's session into a bundle.
    ///
    /// # Errors
    /// As for [`Engine::find_session`].
    pub fn find_recorded_session(&self, text: &str) -> Result<Option<Session>> {
        let mut recorded = Vec::new();
        for session in self.copies_named(text)? {
            if self.is_recorded_here(&session.key)? {
                recorded.push(session);
            }
        }
        self.best_of(text, recorded)
    }

    /// Returns the sessions that a name means: one by its path, else all copies of the one that has the id or the part of it.
    ///
    /// # Errors
    /// `Ambiguous` when sessions of several ids go by the name.
    pub(crate) fn copies_named(&self, text: &str) -> Result<Vec<Session>> {
        if let Some(session) = self.store.session(&self.session_key(Path::new(text)))? {
            return Ok(vec![session]);
        }
        let ids = self.ids_of_sessions(text)?;
        match ids.as_slice() {
            [] => Ok(Vec::new()),
            [only] => Ok(self.store.sessions_of(only, COPIES_MAX)?),
            _ => Err(self.several(text, &ids, &[])?),
        }
    }

    /// Finds what the store knows by a name. A tag and whole ids come first; a part of an id is ambiguous with any other.
    fn known(&self, text: &str) -> Result<Option<Known>> {
        let is_tagged = text.starts_with(IdKind::Commit.tag());
        if !is_tagged {
            let tagged = self.store.tagged(text, CANDIDATES_MAX + 1)?;
            if !tagged.is_empty() {
                return self.only(text, &tagged).map(|ctx| Some(Known::Commit(ctx)));
            }
        }
        let ids = if is_tagged { Vec::new() } else { self.ids_of_sessions(text)? };
        let by_path = self.store.session(&self.session_key(Path::new(text)))?;
        let is_whole = |ids: &[SessionId]| ids.first().is_some_and(|id| id.as_str() == text);
        if by_path.is_some() || is_whole(&ids) {
            return Ok(self.session_of_id(text)?.map(Known::Session));
        }
        let whole = if is_tagged { text.to_owned() } else { format!("{}{text}", IdKind::Commit.tag()) };
        // So few characters begin many commits' ids, and any word may be so short: they mean a session.
        let may_be_commit = is_tagged || text.chars().count() >= PREFIX_CHARS_MIN;
        let commits = match whole.parse::<CommitPrefix>() {
            Ok(prefix) if may_be_commit => self.store.commits_in(prefix, CANDIDATES_MAX + 1)?,
            Ok(_) | Err(_) => Vec::new(),
        };
        match (ids.as_slice(), commits.as_slice()) {
            ([], []) if whole.parse::<CommitPrefix>().is_ok() => {
                let scrubbed = self.redirected_to(text)?;
                if scrubbed.is_empty() && is_tagged {
                    return Err(EngineError::NotFound { what: Wanted::Commit, text: text.to_owned() });
                }
                let found = if scrubbed.is_empty() { None } else { Some(self.only(text, &scrubbed)?) };
                Ok(found.map(Known::Commit))
            }
            // With a step behind it, it is no id.
            ([], []) if is_tagged && last_step(text).is_none() && prompt_range(text).is_none() => {
                Err(EngineError::NotFound { what: Wanted::Commit, text: text.to_owned() })
            }
            ([], []) => Ok(None),
            ([_], []) => Ok(self.session_of_id(text)?.map(Known::Session)),
            ([], commits) => self.only(text, commits).map(|ctx| Some(Known::Commit(ctx))),
            (ids, commits) => Err(self.several(text, ids, commits)?),
        }
    }

    /// Refuses the few first characters of an id, for what cannot be taken back, and names what they begin.
    ///
    /// # Errors
    /// `NoReference`.
    pub(crate) fn check_long_enough(&self, text: &str) -> Result<()> {
        let mut named = text;
        while let Some((before, _)) = last_step(named) {
            named = before;
        }
        let id = named.strip_prefix(IdKind::Commit.tag()).unwrap_or(named);
        if id.chars().count() >= PREFIX_CHARS_MIN || !self.store.tagged(text, 1)?.is_empty() {
            return Ok(());
        }
        let ids = self.ids_of_sessions(text)?;
        if ids.first().is_some_and(|id| id.as_str() == text) {
            return Ok(());
        }
        match self.several(text, &ids, &[])? {
            EngineError::Ambiguous { text, candidates } => {
                Err(EngineError::NoReference { text, near: candidates })
            }
            error => Err(error),
        }
    }

    /// Refuses a tag with which an id begins: the beginning would mean another thing from then on.
    ///
    /// # Errors
    /// `Name`.
    pub(crate) fn check_means_nothing(&self, tag: &str) -> Result<()> {
        let commits = match format!("{}{tag}", IdKind::Commit.tag()).parse::<CommitPrefix>() {
            Ok(prefix) if tag.chars().count() >= PREFIX_CHARS_MIN => self.store.commits_in(prefix, 1)?,
            Ok(_) | Err(_) => Vec::new(),
        };
        let sessions = self.store.session_ids(IdPart::Beginning(tag), 1)?;
        if commits.is_empty() && sessions.is_empty() {
            return Ok(());
        }
        let reason = "an id begins with it already";
        Err(stemmata_model::NameError::Tag { text: tag.into(), reason }.into())
    }

    /// Returns the ids of the sessions that a text is the id of, else a part of, a few more than are listed.
    fn ids_of_sessions(&self, text: &str) -> Result<Vec<SessionId>> {
        let ids = self.ids_like(text)?;
        // Hex is the same in capitals.
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if ids.is_empty() && is_hex && text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return self.ids_like(&text.to_ascii_lowercase());
        }
        Ok(ids)
    }

    fn ids_like(&self, text: &str) -> Result<Vec<SessionId>> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let begun = self.store.session_ids(IdPart::Beginning(text), CANDIDATES_MAX + 1)?;
        let mut ids: Vec<SessionId> = begun.into_iter().map(|(id, _)| id).collect();
        // What begins with all of an id comes behind it.
        if ids.first().is_some_and(|id| id.as_str() == text) {
            ids.truncate(1);
            return Ok(ids);
        }
        if text.chars().count() < PREFIX_CHARS_MIN {
            return Ok(ids);
        }
        for (id, _) in self.store.session_ids(IdPart::End(text), CANDIDATES_MAX + 1)? {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Returns the best of the copies of one session: of those recorded here the one with most messages. Which of several that came
    /// in bundles is meant cannot be told, unless they hold the same.
    pub(crate) fn best_of(&self, text: &str, copies: Vec<Session>) -> Result<Option<Session>> {
        let mut best: Option<(bool, Session)> = None;
        let (mut tips, mut all) = (Vec::new(), Vec::new());
        for session in copies {
            let is_recorded = self.is_recorded_here(&session.key)?;
            let rank = |is_recorded: bool, of: &Session| {
                (of.tip.is_some(), is_recorded, of.messages, of.bytes, of.last_at)
            };
            if !is_recorded && !tips.contains(&session.tip) {
                tips.push(session.tip);
                all.push(session.clone());
            }
            let is_better =
                best.as_ref().is_none_or(|(known, of)| rank(is_recorded, &session) > rank(*known, of));
            if is_better {
                best = Some((is_recorded, session));
            }
        }
        if best.as_ref().is_some_and(|(is_recorded, _)| !is_recorded) && all.len() > 1 {
            let candidates = all.iter().take(CANDIDATES_MAX).map(|session| {
                let id = session.tip.map_or_else(|| session.session.to_string(), |tip| tip.to_string());
                Candidate { id, summary: described(session) }
            });
            return Err(EngineError::Ambiguous { text: text.to_owned(), candidates: candidates.collect() });
        }
        Ok(best.map(|(_, session)| session))
    }

    /// Returns a session of a directory, the newest one or the one so many before.
    fn session_here(&self, text: &str, here: Option<&str>, back: u64) -> Result<Session> {
        let Some(here) = here else {
            return Err(EngineError::NotFound { what: Wanted::Here, text: text.to_owned() });
        };
        self.session_before(here, back)
    }

    fn back(&self, from: CommitId, commits: u64, text: &str) -> Result<CommitId> {
        let missing = || EngineError::NotFound { what: Wanted::EarlierCommit, text: text.to_owned() };
        let start = self.store.commit(from)?.ok_or(stemmata_store::StoreError::CommitMissing(from))?;
        if commits > start.depth {
            return Err(missing());
        }
        let mut walk = Walk::new(self.store.as_ref(), Some(from));
        for _ in 0..commits {
            walk.next()?;
        }
        Ok(walk.next()?.ok_or_else(missing)?.id)
    }

    fn only(&self, text: &str, commits: &[CommitId]) -> Result<CommitId> {
        match commits {
            [] => Err(EngineError::NotFound { what: Wanted::Commit, text: text.to_owned() }),
            [only] => Ok(*only),
            several => Err(self.several(text, &[], several)?),
        }
    }

    /// Returns the error of a name that means several things: each with the id that names it alone.
    fn several(&self, text: &str, ids: &[SessionId], commits: &[CommitId]) -> Result<EngineError> {
        let mut candidates = Vec::new();
        for id in ids.iter().take(CANDIDATES_MAX) {
            let summary = self.store.sessions_of(id, 1)?.first().map(described).unwrap_or_default();
            candidates.push(Candidate { id: self.short_id(id)?.text, summary });
        }
        for id in commits.iter().take(CANDIDATES_MAX - candidates.len()) {
            candidates.push(Candidate { id: id.to_string(), summary: self.summary_of(*id)?.text });
        }
        Ok(EngineError::Ambiguous { text: text.to_owned(), candidates })
    }
}

fn of_known(known: Known, text: &str) -> Result<Meant> {
    match known {
        Known::Commit(ctx) => Ok(Meant { ctx, session: None, within: None, prompt: None }),
        Known::Session(session) => {
            let ctx = session.tip.ok_or_else(|| EngineError::NotFound {
                what: Wanted::CommitOfSession,
                text: text.to_owned(),
            })?;
            Ok(Meant { ctx, session: Some(session), within: None, prompt: None })
        }
    }
}

/// Tells a session in one line: its client, the day it was active last, its title.
pub(crate) fn described(session: &Session) -> String {
    let client = stemmata_runtimes::translate::runtime_of(&session.format);
    let day = session.last_at.map(|at| at.to_string()).unwrap_or_default();
    format!("{client}  {}  {}", day.get(..10).unwrap_or_default(), title(session.title.as_deref()))
}
