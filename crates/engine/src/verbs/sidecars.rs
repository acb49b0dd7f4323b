//! `sidecars`: the files that were captured beside the transcripts of a context, and where each goes when it is given back.
//!
//! Capturing them is `capture::sidecars`; their bytes are those of their commits, as `native` writes them.

use std::collections::HashSet;
use std::path::Path;

use stemmata_model::{Closure, CommitId};
use stemmata_runtimes::clients::{SidecarFolder, of_format};
use stemmata_runtimes::sidecar::TEMPLATE_ALTERED;
use stemmata_store::{Session, SessionOrigin};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Sessions whose files one context has at most: each continues the one behind it.
const SESSIONS_MAX: usize = 64;

/// Sessions of one id that are looked at.
const NAMESAKES_MAX: usize = 64;

/// Commits that are asked for the session they were read from, until one knows.
const ORIGIN_COMMITS_MAX: usize = 64;

/// A file that a client kept beside a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Sidecar {
    /// Its own chain: `tip` is the newest state of the file, and `key` where it was.
    pub session: Session,
    /// The newest state; `native` of it gives the file's bytes.
    pub ctx: CommitId,
    /// What it is for.
    pub folder: &'static SidecarFolder,
    /// Its path in that folder.
    pub name: Vec<String>,
    /// Its bytes.
    pub bytes: u64,
    /// Whether secrets were replaced in it, so that it is not what the client wrote.
    pub is_altered: bool,
}

impl Engine {
    /// Returns the sidecars of the session that a commit belongs to, and of the sessions that it was placed from, by their
    /// folders and names. Of two with one name the nearer session's counts.
    ///
    /// # Errors
    /// Store errors.
    pub fn sidecars(&self, ctx: CommitId) -> Result<Vec<Sidecar>> {
        let mut found: Vec<Sidecar> = Vec::new();
        let mut known = HashSet::new();
        let mut at = Some(ctx);
        for _ in 0..SESSIONS_MAX {
            let Some(session) = at.map(|at| self.nearest_session(at)).transpose()?.flatten() else { break };
            // What a subagent's transcript names is beside that of its session.
            let parent = match &session.parent_session {
                Some(parent) => self.store.sessions_of(parent, NAMESAKES_MAX)?,
                None => Vec::new(),
            };
            let mut parents = parent.into_iter().filter(|parent| parent.key.machine == session.key.machine);
            for sidecar in self.sidecars_of(parents.next().as_ref().unwrap_or(&session))? {
                if known.insert((sidecar.folder.name, sidecar.name.clone())) {
                    found.push(sidecar);
                }
            }
            at = match session.origin {
                SessionOrigin::Placed(from) => Some(from),
                SessionOrigin::Imported | SessionOrigin::Api => None,
            };
        }
        found.sort_by(|one, other| (one.folder.name, &one.name).cmp(&(other.folder.name, &other.name)));
        Ok(found)
    }

    /// Returns the sidecars of one session.
    ///
    /// # Errors
    /// Store errors.
    pub fn sidecars_of(&self, session: &Session) -> Result<Vec<Sidecar>> {
        let Some(kept) = of_format(&session.format).and_then(|client| client.sidecars) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for own in self.belonging_to(session)?.into_iter().filter(Session::is_sidecar) {
            let commit = own.tip.map(|tip| self.store.commit(tip)).transpose()?.flatten();
            let Some(commit) = commit.filter(|commit| commit.closure != Closure::Forgotten) else { continue };
            // A folder beside a transcript has the name of the file, which most clients take from the session's id.
            let stem = Path::new(&session.key.path).file_stem().and_then(|stem| stem.to_str());
            let within = |name: &str| kept.within(&own.key.path, name);
            let within = within(session.session.as_str()).or_else(|| stem.and_then(within));
            let Some((folder, name)) = within else { continue };
            let name = name.into_iter().map(str::to_owned).collect();
            found.push(Sidecar {
                ctx: commit.id,
                folder,
                name,
                bytes: commit.native_bytes,
                is_altered: commit.core.template.as_str() == TEMPLATE_ALTERED,
                session: own,
            });
        }
        Ok(found)
    }

    /// Returns the session that the nearest commit of a chain was read from: what we make ourselves was read from none.
    fn nearest_session(&self, ctx: CommitId) -> Result<Option<Session>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        for _ in 0..ORIGIN_COMMITS_MAX {
            let Some(commit) = walk.next()? else { break };
            if let Some(session) = self.session_of(commit.id)? {
                return Ok(Some(session));
            }
        }
        // Where the session that the commits were read from was forgotten, a copy of it that ends there has files of its own.
        Ok(self.all_sessions()?.into_iter().find(|session| session.tip == Some(ctx) && !session.is_sidecar()))
    }
}
