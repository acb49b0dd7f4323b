//! `Local`: the service over a store of this machine.
//!
//! A method reads its request, asks the engine and gives a wire type. References, stops and pages are read here for all facets.

mod around;
mod artifact;
mod chains;
pub(crate) mod checkpoint_file;
mod counters;
mod give_back;
mod ledgers;
mod maintain;
mod messages;
mod prompts;
mod recall;
mod registry;
mod search;
mod summarize;
mod turns;

use std::path::Path;
use std::sync::Arc;

use stemmata_api::{Answer, Code, PAGE_ITEMS_MAX, PageRequest, Problem};
use stemmata_engine::{Engine, Home, NewIds, Recall, Scrubber, Stop, Summarizer};
use stemmata_model::{CommitId, CommitPrefix, IdKind, Principal, Timestamp};

use crate::fault::Fault;

/// The service over a store of this machine. Holds no cache: every answer is read anew.
pub struct Local {
    pub(crate) home: Arc<Home>,
    by: Principal,
    model: Option<MakeSummarizer>,
    /// Whether this is a long-lived service's, which gives the store up for others.
    is_lent: bool,
}

/// Makes a client of the configured model, which sends nothing that the scrubber finds; or says why there is none.
pub type MakeSummarizer = Box<dyn Fn(Scrubber) -> Answer<Box<dyn Summarizer>> + Send + Sync>;

impl Local {
    /// Returns the service of a data directory. Changes are made in the name of `by`: who asks is the connection's to know, and no
    /// field of a request.
    pub const fn new(home: Arc<Home>, by: Principal) -> Self {
        Self { home, by, model: None, is_lent: false }
    }

    /// Asks this model where a request wants one. It is made for each request: what is configured may change.
    #[must_use]
    pub fn with_model(self, make: MakeSummarizer) -> Self {
        Self { model: Some(make), ..self }
    }

    /// Says that this is a long-lived service's, which holds a lease of the store: it would wait for itself.
    pub(crate) fn lent(self) -> Self {
        Self { is_lent: true, ..self }
    }

    /// Has long-lived services close the store, until the value that is returned is dropped: where something is forgotten, nobody else
    /// keeps old pages of the WAL, or a removed file, open.
    pub(crate) fn alone(&self) -> Result<Option<Recall>, Fault> {
        if self.is_lent { Ok(None) } else { Ok(Some(self.home.recall()?)) }
    }

    /// Returns the data directory.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the model that writes summaries of a commit.
    pub(crate) fn model(&self, engine: &Engine, of: CommitId) -> Result<Box<dyn Summarizer>, Fault> {
        Ok(self.make_model(engine.scrubber_of(of)?)?)
    }

    /// Makes the client of the configured model.
    fn make_model(&self, scrubber: Scrubber) -> Answer<Box<dyn Summarizer>> {
        let none = || Box::new(Problem::new(Code::NoModel, "this program was given no model"));
        self.model.as_ref().ok_or_else(none)?(scrubber)
    }

    /// Runs a use case, with exclusions and rules for secrets as they are now: a service lives long. What fails in it becomes a
    /// problem.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&Engine) -> Result<T, Fault>) -> Answer<T> {
        let act = || act(&self.home.renewed()?);
        act().map_err(|fault| fault.0)
    }

    /// Returns the present.
    pub(crate) fn now(&self) -> Timestamp {
        self.home.options().clock.now()
    }

    /// Returns what makes ids of new sessions.
    pub(crate) fn new_ids(&self) -> &dyn NewIds {
        self.home.options().ids.as_ref()
    }

    /// Returns in whose name changes are made.
    pub(crate) const fn by(&self) -> &Principal {
        &self.by
    }
}

/// Finds the commit of a reference.
pub(crate) fn ctx(engine: &Engine, text: &str) -> Result<CommitId, Fault> {
    Ok(engine.find(text)?)
}

/// Reads where a context begins.
pub(crate) fn stop(engine: &Engine, text: &str) -> Result<Stop, Fault> {
    Ok(match text.parse() {
        Ok(stop @ (Stop::Compaction | Stop::Root)) => stop,
        // An ancestor may be named as any commit is, and be scrubbed since.
        Ok(Stop::Ancestor(_)) | Err(_) => Stop::Ancestor(ctx(engine, text)?),
    })
}

/// Returns the id by which a commit was named, where it was scrubbed since and is another one now.
pub(crate) fn redirected_from(
    engine: &Engine,
    text: &str,
    found: CommitId,
) -> Result<Option<CommitId>, Fault> {
    let ctx = found.to_string();
    let is_found = ctx.starts_with(text) || ctx.get(4..).is_some_and(|id| id.starts_with(text));
    // A tag or the name of a session is no id.
    let is_id = text.starts_with(IdKind::Commit.tag())
        || format!("{}{text}", IdKind::Commit.tag()).parse::<CommitPrefix>().is_ok();
    let redirected = if is_found || !is_id { Vec::new() } else { engine.redirected(text)? };
    Ok(redirected.iter().find(|(_, to)| *to == found).map(|(from, _)| *from))
}

/// Returns how many items a page has, where `limit` asks for so many.
pub(crate) fn items_max(limit: Option<u64>) -> usize {
    usize::try_from(limit.unwrap_or(PAGE_ITEMS_MAX).min(PAGE_ITEMS_MAX)).unwrap_or(usize::MAX)
}

/// Reads where a page of a listing begins, as [`next_of`] wrote it.
pub(crate) fn position(page: &PageRequest, listing: &str) -> Result<u64, Fault> {
    let Some(after) = &page.after else { return Ok(0) };
    let number = after.strip_prefix(listing).and_then(|rest| rest.strip_prefix('-'));
    number
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| bad_request("after", format!("`{after}` is not a `next` of this listing")))
}

/// Says where a listing goes on.
pub(crate) fn next_of(listing: &str, position: u64) -> String {
    format!("{listing}-{position}")
}

/// Reads a number that counts things in memory.
pub(crate) fn size(value: u64, field: &'static str) -> Result<usize, Fault> {
    usize::try_from(value).map_err(|_| bad_request(field, "it is larger than anything that can be counted"))
}

/// Refuses a value of a request.
pub(crate) fn bad_request(field: &'static str, reason: impl std::fmt::Display) -> Fault {
    Problem::new(Code::BadRequest, format!("`{field}`: {reason}")).with("field", field).into()
}

/// Says whether a text may be the path of a transcript.
pub(crate) fn is_path(text: &str) -> bool {
    let path = Path::new(text);
    path.components().count() > 1 || stemmata_engine::is_transcript_name(path)
}

impl std::fmt::Debug for Local {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Local").field("by", &self.by).finish_non_exhaustive()
    }
}
