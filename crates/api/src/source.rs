//! Bytes to read from: a bundle on a disk, in memory, or on its way over the network.

/// Bytes that can be read at any place, more than once.
///
/// Concurrent: several threads may read at once. What is read twice is the same both times.
pub trait ByteSource: Send + Sync {
    /// Reads bytes from `at` on into `into` and returns how many; 0 only at the end, or where `into` is empty. Fewer
    /// than asked for says nothing about the end.
    ///
    /// # Errors
    /// The source's own.
    fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<usize>;
}
