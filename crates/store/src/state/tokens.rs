//! Tokens: what a client shows that is not on this machine. Only their hashes are kept.
//!
//! How a token is made and read is the service's; who may do what is the check's.

use stemmata_model::{Principal, SessionId, Timestamp, TokenId};

use super::error::StateError;

/// Tokens at most, those that are revoked too.
pub const TOKENS_MAX: u64 = 100_000;

/// Bytes of a token's label at most.
pub const TOKEN_LABEL_BYTES_MAX: usize = 256;

/// Projects and sessions that one token may be limited to.
pub const TOKEN_LIMITS_MAX: usize = 256;

/// The BLAKE3 hash of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenHash(pub [u8; 32]);

impl std::fmt::Debug for TokenHash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A hash leads to nothing, and a log needs none.
        formatter.write_str("TokenHash(..)")
    }
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenScopes {
    /// To read.
    pub read: bool,
    /// To add.
    pub publish: bool,
    /// To delete, repair and configure.
    pub manage: bool,
}

/// What a token is limited to. An empty list limits nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenLimits {
    /// Projects, by their folders.
    pub projects: Vec<String>,
    /// Sessions.
    pub sessions: Vec<SessionId>,
}

/// A token that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Its name.
    pub id: TokenId,
    /// Its hash.
    pub hash: TokenHash,
    /// What people call it.
    pub label: String,
    /// In whose name it acts.
    pub principal: Principal,
    /// What it allows.
    pub scopes: TokenScopes,
    /// What it is limited to.
    pub limits: TokenLimits,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is void; without it when it is revoked.
    pub expires_at: Option<Timestamp>,
    /// Whether it can be used once only, to enrol a client.
    pub once: bool,
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it was made as.
    pub made: NewToken,
    /// When it was used last, to the minute.
    pub used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// Tokens.
pub trait Tokens: Send + Sync {
    /// Keeps a token.
    ///
    /// # Errors
    /// `TokenTaken` for an id or a hash that is there, `TooMany`; `Storage`, as for all below, with `Bound` for what is too long.
    fn add_token(&self, token: &NewToken) -> Result<(), StateError>;

    /// Returns the token of a hash, also one that is void: who asks decides by the rules.
    fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StateError>;

    /// Uses a token: notes when, and returns it, in one step. None where it is unknown or void by now, so that a token for one use
    /// is used once, however many ask at the same time.
    fn use_token(&self, hash: &TokenHash, now: Timestamp) -> Result<Option<Token>, StateError>;

    /// Lists tokens by their ids, those after one of them.
    fn tokens(&self, after: Option<&TokenId>, rows_max: usize) -> Result<Vec<Token>, StateError>;

    /// Revokes a token for good, and says whether there is one that was not revoked yet.
    fn revoke_token(&self, id: &TokenId, now: Timestamp) -> Result<bool, StateError>;

    /// Counts the tokens that are not void.
    fn valid_tokens(&self, now: Timestamp) -> Result<u64, StateError>;
}
