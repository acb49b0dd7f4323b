//! Grants: who may read whose contexts.

use stemmata_model::{Principal, Timestamp};

use super::error::StateError;

/// Grants at most.
pub const GRANTS_MAX: u64 = 100_000;

/// That one principal may read what another one's agents understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Whose contexts.
    pub whose: Principal,
    /// Who may read them.
    pub reader: Principal,
    /// Since when.
    pub granted_at: Timestamp,
    /// Until when; without it until it is taken back.
    pub until: Option<Timestamp>,
}

/// Grants between principals.
pub trait Grants: Send + Sync {
    /// Grants, or changes the grant that there is between the two.
    ///
    /// # Errors
    /// `TooMany`; `Storage`, as for all below.
    fn grant(&self, grant: &Grant) -> Result<(), StateError>;

    /// Takes a grant back, and says whether there was one.
    fn ungrant(&self, whose: &Principal, reader: &Principal) -> Result<bool, StateError>;

    /// Says whether a reader may read what is of `whose`, now: one look-up, for a check before each operation.
    fn may_read(&self, reader: &Principal, whose: &Principal, now: Timestamp) -> Result<bool, StateError>;

    /// Lists grants by reader and owner, those after a pair of them, and those that are over too.
    fn grants(
        &self,
        after: Option<(&Principal, &Principal)>,
        rows_max: usize,
    ) -> Result<Vec<Grant>, StateError>;
}
