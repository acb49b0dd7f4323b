//! The session of commits that a caller makes, and the title of one that nobody gave a title: its first prompt, as capture
//! takes it of a transcript.
//!
//! How a title is shown is `stemmata-prompt`'s.

use stemmata_model::{FormatId, Granularity, Sighting};
use stemmata_store::{Session, SessionKey, SessionOrigin};

use super::{CheckpointRequest, TITLE_CHARS_MAX};
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::verbs::at::one_line;

impl Engine {
    /// Returns the session as it is, with what this request says of it.
    pub(super) fn api_session(
        &self,
        request: &CheckpointRequest,
        sighting: &Sighting,
        key: SessionKey,
        summary: Option<&str>,
    ) -> Result<Session> {
        let known = self.store.session(&key)?;
        let now = self.clock.now();
        let title = summary.map(|text| one_line(text, TITLE_CHARS_MAX));
        Ok(Session {
            key,
            session: request.session.clone(),
            parent_session: None,
            format: request.format.clone(),
            template: request.template.clone(),
            principal: sighting.principal.clone(),
            granularity: known.as_ref().map_or(Granularity::Turn, |known| known.granularity),
            origin: SessionOrigin::Api,
            title: title.or_else(|| known.as_ref().and_then(|known| known.title.clone())),
            cwd: None,
            git_branch: None,
            version: None,
            started_at: known.as_ref().map_or(Some(now), |known| known.started_at),
            last_at: Some(now),
            tip: known.as_ref().and_then(|known| known.tip),
            commits: known.as_ref().map_or(0, |known| known.commits),
            messages: known.as_ref().map_or(0, |known| known.messages),
            bytes: known.as_ref().map_or(0, |known| known.bytes),
        })
    }
}

/// Returns the title that the lines of a commit give a session, or `None` where they hold no prompt or nobody reads their format:
/// a caller may store a format of its own.
pub(super) fn first_prompt(format: &FormatId, bytes: &[u8]) -> Option<String> {
    let adapter = Engine::adapter(format, FormatUse::Read).ok()?;
    let mut splitter = adapter.splitter(Granularity::Turn, None);
    let mut events = Vec::new();
    for line in adapter.shape().units(bytes) {
        splitter.line(line, &mut events);
        events.clear();
        if let Some(title) = splitter.facts().title.clone() {
            return Some(title);
        }
    }
    None
}
