//! The bounds of a server: how much, how many and how long. Each has a reason; none is reached by our own client.

use std::path::PathBuf;
use std::time::Duration;

/// Bounds of a server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at once. More wait in the system's queue.
    pub connections_max: usize,
    /// How long a request's head may take, so that a half-open connection holds nothing.
    pub header_wait: Duration,
    /// Bytes of a request's head.
    pub header_bytes_max: usize,
    /// How long a body may stand still.
    pub body_wait: Duration,
    /// Bytes of a request in JSON. A prompt's messages are the largest.
    pub json_bytes_max: usize,
    /// Bytes of all requests in JSON that are read or asked at once.
    pub bodies_bytes_max: usize,
    /// Where content is kept that is read at any place, until it was read; absent: the system's folder for temporary files.
    pub spool: Option<PathBuf>,
    /// Bytes of content that comes in: a commit's, or a bundle.
    pub content_bytes_max: u64,
    /// Operations that run at once.
    pub workers_max: usize,
    /// Operations that wait for a worker; one more is refused with 429.
    pub queue_max: usize,
    /// Answers that flow at once: events, and content.
    pub streams_max: usize,
    /// How often a stream of events says that it is alive.
    pub beat: Duration,
    /// How long a client may take to read what was sent.
    pub write_wait: Duration,
    /// How long what runs may go on when the server ends.
    pub end_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 512,
            header_wait: Duration::from_secs(10),
            header_bytes_max: 64 * 1024,
            body_wait: Duration::from_secs(30),
            json_bytes_max: 64 * 1024 * 1024,
            bodies_bytes_max: 256 * 1024 * 1024,
            spool: None,
            content_bytes_max: 4 * 1024 * 1024 * 1024,
            workers_max: 16,
            queue_max: 256,
            streams_max: 128,
            beat: Duration::from_secs(15),
            write_wait: Duration::from_secs(30),
            end_wait: Duration::from_secs(10),
        }
    }
}
