//! When a batch of a faulty store fails.

/// When a batch fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing of the batch is applied, as when the disk is full.
    Before,
    /// All of it is applied, but the caller does not hear so, as when the process dies.
    After,
    /// Nothing of the batch is applied: it goes beyond a bound, and will each time.
    Beyond,
}
