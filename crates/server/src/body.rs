//! Bodies of requests: in memory up to a bound, or as a reader for an operation that blocks.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::{Buf, Bytes};
use http_body::Body as _;
use http_body_util::BodyExt;
use stemmata_api::{Answer, ByteSource, CancelToken, Code, Problem};
use tokio::runtime::Handle;

use crate::limits::Limits;
use crate::pool::{self, Held, Pool};

/// Reads a body that is JSON.
///
/// # Errors
/// `too_large`; `bad_request` where the client ends it early or is too slow; `overloaded` where all bodies together are too much.
pub(crate) async fn in_memory(mut body: Body, limits: &Limits, pool: &Pool) -> Answer<(Vec<u8>, Held)> {
    let (mut all, mut held, began) = (Vec::new(), Held::default(), Instant::now());
    let too_large = || {
        let detail = format!("the request is longer than {} bytes", limits.json_bytes_max);
        Err(Box::new(Problem::new(Code::TooLarge, detail)))
    };
    // What the head says already need not be sent.
    if body.size_hint().lower() > limits.json_bytes_max as u64 {
        return too_large();
    }
    while let Some(part) = next(&mut body, limits.body_wait).await.map_err(|error| cut(&error))? {
        if all.len() + part.len() > limits.json_bytes_max {
            return too_large();
        }
        if began.elapsed() > time_for(all.len() as u64, limits) {
            return Err(cut(&io::ErrorKind::TimedOut.into()));
        }
        held.more(pool, part.len())?;
        all.extend_from_slice(&part);
    }
    Ok((all, held))
}

fn cut(error: &io::Error) -> Box<Problem> {
    Box::new(Problem::new(Code::BadRequest, format!("the body cannot be read: {error}")))
}

/// Returns the next part of a body; nothing at its end.
async fn next(body: &mut Body, wait: Duration) -> io::Result<Option<Bytes>> {
    loop {
        let frame = tokio::time::timeout(wait, body.frame()).await;
        let Some(frame) = frame.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))? else {
            return Ok(None);
        };
        // Trailers say nothing that is asked for.
        if let Ok(part) = frame.map_err(io::Error::other)?.into_data()
            && !part.is_empty()
        {
            return Ok(Some(part));
        }
    }
}

/// How long a body may take, from its bytes: a client that sends one now and then holds nothing for long.
fn time_for(bytes: u64, limits: &Limits) -> Duration {
    limits.body_wait + Duration::from_secs(bytes / BODY_BYTES_A_SECOND_MIN)
}

/// Bytes that a client sends in a second at least.
const BODY_BYTES_A_SECOND_MIN: u64 = 16 * 1024;

/// A body, for a thread that may block.
pub(crate) struct Reader {
    body: Body,
    part: Bytes,
    read: u64,
    began: Instant,
    limits: Arc<Limits>,
    runtime: Handle,
    cancel: CancelToken,
    failure: Option<io::ErrorKind>,
}

impl Reader {
    /// Returns the reader of a body. Called on the runtime.
    pub(crate) fn new(body: Body, limits: &Arc<Limits>) -> Self {
        let (limits, runtime, cancel) = (Arc::clone(limits), Handle::current(), CancelToken::default());
        Self {
            body,
            part: Bytes::new(),
            read: 0,
            began: Instant::now(),
            limits,
            runtime,
            cancel,
            failure: None,
        }
    }

    /// Ends the reading when this is cancelled, also while it waits for the client.
    pub(crate) fn end_with(&mut self, cancel: &CancelToken) {
        self.cancel = cancel.clone();
    }

    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let next = next(&mut self.body, self.limits.body_wait);
        let part = pool::wait_for(&self.runtime, &self.cancel, next)
            .unwrap_or_else(|| Err(io::Error::other("cancelled")))?;
        self.read += part.as_ref().map_or(0, |part| part.len() as u64);
        match part {
            _ if self.read > self.limits.content_bytes_max => Err(io::ErrorKind::FileTooLarge.into()),
            Some(_) if self.began.elapsed() > time_for(self.read, &self.limits) => {
                Err(io::ErrorKind::TimedOut.into())
            }
            part => Ok(part),
        }
    }

    /// Returns what the client did wrong, if it did.
    pub(crate) fn failure(&self) -> Option<Box<Problem>> {
        let problem = match self.failure? {
            io::ErrorKind::FileTooLarge => {
                let detail = format!("the content is longer than {} bytes", self.limits.content_bytes_max);
                Problem::new(Code::TooLarge, detail)
            }
            io::ErrorKind::TimedOut => Problem::new(Code::BadRequest, "the content came too slowly"),
            _ => Problem::new(Code::BadRequest, "the content was cut"),
        };
        Some(Box::new(problem))
    }

    /// Writes the body to a file that is gone with the value, for what reads at any place.
    ///
    /// # Errors
    /// `io_failed`; what the client did wrong.
    pub(crate) fn spool(&mut self) -> Answer<Spooled> {
        let file = match &self.limits.spool {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        let spooled = file.and_then(|mut file| io::copy(self, &mut file).map(|_| file));
        spooled.map(Spooled).map_err(|error| {
            let detail = format!("the content cannot be stored for a moment: {error}");
            Box::new(Problem::new(Code::IoFailed, detail))
        })
    }
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() {
            match self.next() {
                Ok(Some(part)) => self.part = part,
                Ok(None) => return Ok(0),
                Err(error) => {
                    // Who did not wait for the content was not the client.
                    if !self.cancel.is_cancelled() {
                        self.failure = Some(error.kind());
                    }
                    return Err(error);
                }
            }
        }
        let length = self.part.len().min(into.len());
        self.part.copy_to_slice(&mut into[..length]);
        Ok(length)
    }
}

/// A body in a file without a name.
pub(crate) struct Spooled(std::fs::File);

impl ByteSource for Spooled {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.0, into, at)
    }
}
