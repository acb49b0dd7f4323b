//! What fails on a simulated disk, and when.

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The operation fails with `EIO` and nothing of it is done.
    Io,
    /// The operation fails with `ENOSPC`, and all that need room do until the fault is lifted.
    Full,
    /// The first half of a write is done, then it fails with `EIO`; other operations are done whole and fail.
    Torn,
    /// The read with this number fails with `EIO`.
    Read,
}

impl Failure {
    /// Every failure.
    pub const ALL: [Self; 4] = [Self::Io, Self::Full, Self::Torn, Self::Read];
}

/// When what fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub failure: Failure,
    /// At which operation from now on, counted from 0: reads for [`Failure::Read`], changes and syncs else.
    pub at: u64,
}
