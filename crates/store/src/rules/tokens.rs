//! When a token or a grant holds, and what using a token changes.

use stemmata_model::Timestamp;

use crate::error::StoreError;
use crate::rules::bounds::at_most;
use crate::state::{Grant, NewToken, TOKEN_LABEL_BYTES_MAX, TOKEN_LIMITS_MAX, Token};

/// How long a token's last use is not noted again: a write for each request would cost more than the request.
const NOTED_US: i64 = 60 * 1_000_000;

/// Bytes of a project's folder at most, as everywhere in the store.
const PATH_BYTES_MAX: usize = 4096;

/// Holds a token to its bounds.
///
/// # Errors
/// `Bound`; `Empty` for a token that allows nothing.
pub fn check_token(token: &NewToken) -> Result<(), StoreError> {
    let scopes = token.scopes;
    if !(scopes.read || scopes.publish || scopes.manage) {
        return Err(StoreError::Empty { what: "what a token allows" });
    }
    at_most("bytes of a token's label", token.label.len(), TOKEN_LABEL_BYTES_MAX)?;
    let limits = &token.limits;
    at_most(
        "projects and sessions of a token",
        limits.projects.len() + limits.sessions.len(),
        TOKEN_LIMITS_MAX,
    )?;
    limits
        .projects
        .iter()
        .try_for_each(|path| at_most("bytes of a project's folder", path.len(), PATH_BYTES_MAX))
}

/// Says whether a token allows nothing any more: it was revoked, it expired, or it was for one use and had that.
pub fn is_void(token: &Token, now: Timestamp) -> bool {
    token.revoked_at.is_some()
        || token.made.expires_at.is_some_and(|at| at <= now)
        || (token.made.once && token.used_at.is_some())
}

/// Returns a token that is used now, and whether that has to be stored; none where it is void.
pub fn used(mut token: Token, now: Timestamp) -> Option<(Token, bool)> {
    if is_void(&token, now) {
        return None;
    }
    let is_noted = |at: Timestamp| now.as_micros().saturating_sub(at.as_micros()) < NOTED_US;
    if token.used_at.is_some_and(is_noted) {
        return Some((token, false));
    }
    token.used_at = Some(now);
    Some((token, true))
}

/// Says whether a grant holds.
pub fn is_in_force(grant: &Grant, now: Timestamp) -> bool {
    grant.until.is_none_or(|until| now < until)
}
