//! A checkpoint that is asked for again with the same key: it is stored once, and other content under the key is refused.

use std::path::Path;

use stemmata_model::{ArtifactId, CommitId};
use stemmata_redact::Scrubber;
use stemmata_store::SessionKey;

use super::CheckpointRequest;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// What an earlier try of a caller left.
pub(super) struct EarlierTry {
    id: CommitId,
    /// What tells its content from others.
    content: Option<String>,
}

/// Returns what tells a content from others, and under which rules for secrets: under others it may be stored as another one.
pub(super) fn content_mark(artifact: ArtifactId, scrubber: &Scrubber) -> String {
    let last = |text: String| text.chars().rev().take(16).collect::<String>();
    format!(
        "{} {}",
        last(artifact.to_string()),
        last(blake3::hash(&scrubber.rules_hash()).to_hex().to_string())
    )
}

/// Names the try of a caller that may try again.
pub(super) fn retry_key(request: &CheckpointRequest, key: &SessionKey) -> Option<SessionKey> {
    let own = request.idempotency_key.as_ref()?;
    // No session's name holds a control character, so no two sessions share such a key.
    Some(SessionKey { machine: key.machine.clone(), path: format!("{}\n{own}", key.path) })
}

impl Engine {
    pub(super) fn earlier_try(&self, key: &SessionKey) -> Result<Option<EarlierTry>> {
        let stored = self.store.cursor(key)?.and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = stored else { return Ok(None) };
        // Before, only the id was kept.
        let (id, content) =
            text.split_once(' ').map_or((&*text, None), |(id, mark)| (id, Some(mark.to_owned())));
        let Ok(id) = id.parse() else { return Ok(None) };
        Ok(Some(EarlierTry { id: self.newest_of(id)?, content }))
    }

    /// Returns the commit of an earlier try, if it was one of the same content. What cannot be read any more is taken for the same: the
    /// caller is told of the commit that it made.
    ///
    /// # Errors
    /// `RequestTaken`.
    pub(super) fn same_try(
        &self,
        request: &CheckpointRequest,
        key: &SessionKey,
        first: &EarlierTry,
    ) -> Result<CommitId> {
        let cwd = self.cwd_of(request, key)?;
        let scrubber = self.scrubber_at(cwd.as_deref().map(Path::new))?;
        let now = self.content_of(request, &scrubber, &mut Vec::new());
        let rules = |mark: &str| mark.rsplit(' ').next().map(str::to_owned);
        match (&first.content, now.map(|(artifact, ..)| content_mark(artifact, &scrubber))) {
            (Some(mark), Ok(now)) if *mark != now && rules(mark) == rules(&now) => {
                let own = request.idempotency_key.as_deref().unwrap_or_default();
                let reason = format!(
                    "key `{own}` of the session has other content already, in {}; give what is new another key",
                    first.id
                );
                Err(EngineError::Refused { what: Refusal::RequestTaken, reasons: vec![reason] })
            }
            _ => Ok(first.id),
        }
    }
}
