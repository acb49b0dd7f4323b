//! Sessions by words of their titles, and what is near to a name that nothing goes by.

use std::ops::ControlFlow;

use stemmata_prompt::strategy::nearest;
use stemmata_prompt::title::title;
use stemmata_store::{IdPart, Session, SessionFilter};

use super::{CANDIDATES_MAX, described};
use crate::engine::Engine;
use crate::error::{Candidate, EngineError, Result};
use crate::reference::{is_titled, words_near};

/// Things that are offered in place of a name that nothing goes by.
const NEAR_MAX: usize = 3;

/// Tags that a name is compared with.
const TAGS_MAX: usize = 1_000;

impl Engine {
    /// Finds the session whose title has all words of a text.
    pub(super) fn session_titled(&self, text: &str) -> Result<Session> {
        let mut found: Vec<Session> = Vec::new();
        let mut near: Vec<(usize, Session)> = Vec::new();
        let filter = SessionFilter { main_only: true, ..SessionFilter::default() };
        self.each_session(&filter, &mut |session, is_recorded| {
            let shown = title(session.title.as_deref());
            let is_known = found.iter().any(|known| known.session == session.session);
            if !is_recorded || session.tip.is_none() || is_known || session.is_unused() {
                return ControlFlow::Continue(());
            }
            if is_titled(text, &shown) {
                found.push(session);
            } else if found.is_empty() {
                let count = words_near(text, &shown);
                if count > 0 {
                    near.push((count, session));
                    // Stable: of equals the newest stay first.
                    near.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
                    near.truncate(NEAR_MAX);
                }
            }
            if found.len() > CANDIDATES_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match found.len() {
            0 => Err(self.nothing(text, near.into_iter().map(|(_, session)| session).collect())?),
            1 => found
                .pop()
                .ok_or_else(|| EngineError::NoReference { text: text.to_owned(), near: Vec::new() }),
            _ => {
                found.truncate(CANDIDATES_MAX);
                let candidates =
                    found.iter().map(|session| self.candidate(session)).collect::<Result<_>>()?;
                Err(EngineError::Ambiguous { text: text.to_owned(), candidates })
            }
        }
    }

    /// Returns the error of a name that nothing goes by, with what is near to it: tags that are spelled alike, sessions whose ids
    /// begin alike, and sessions with some of its words in their titles.
    fn nothing(&self, text: &str, titled: Vec<Session>) -> Result<EngineError> {
        let mut near: Vec<Candidate> = Vec::new();
        let tags = self.store.tags("", TAGS_MAX)?;
        if let Some(name) = nearest(text, tags.iter().map(|(tag, _)| tag.as_str())) {
            let commit = tags.iter().find(|(tag, _)| tag == name).map(|(_, commit)| *commit);
            let summary = commit.map(|commit| self.summary_of(commit)).transpose()?;
            near.push(Candidate {
                id: name.to_owned(),
                summary: summary.map(|summary| summary.text).unwrap_or_default(),
            });
        }
        let begun: String = text.chars().take(3).collect();
        if text.chars().count() > 3 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
            for (id, _) in self.store.session_ids(IdPart::Beginning(&begun), NEAR_MAX)? {
                for session in self.store.sessions_of(&id, 1)? {
                    near.push(self.candidate(&session)?);
                }
            }
        }
        for session in titled {
            near.push(self.candidate(&session)?);
        }
        near.truncate(NEAR_MAX);
        Ok(EngineError::NoReference { text: text.to_owned(), near })
    }

    fn candidate(&self, session: &Session) -> Result<Candidate> {
        Ok(Candidate { id: self.short_id(&session.session)?.text, summary: described(session) })
    }
}
