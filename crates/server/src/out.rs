//! Content that flows out: written by an operation that blocks, read by a client at its own pace.
//!
//! Nothing is sent before the first byte: until then a problem is still an answer of its own.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::StatusCode;
use stemmata_api::frames::{self, FRAME_BYTES_MAX};
use stemmata_api::{Answer, CancelToken, Problem};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::pool::{self, CancelOnDrop};
use crate::reply;

/// Pieces that wait for a client at most.
const PIECES_MAX: usize = 4;

/// What an operation hands on.
pub(crate) enum Piece {
    Content(Bytes),
    /// The answer in JSON, after the last content.
    End(Result<Vec<u8>, Box<Problem>>),
}

/// How content is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is; a problem in the middle cuts it. For people and programs.
    Plain,
    /// In frames, with the answer. For our own client.
    Frames,
}

/// Where an operation writes to.
struct Writer {
    pieces: Sender<Piece>,
    waiting: Vec<u8>,
    runtime: Handle,
    /// Ends the waiting for a client that reads slowly.
    cancel: CancelToken,
}

impl Writer {
    fn send(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let piece = Piece::Content(std::mem::take(&mut self.waiting).into());
        match pool::wait_for(&self.runtime, &self.cancel, self.pieces.send(piece)) {
            Some(sent) => sent.map_err(|_| io::ErrorKind::BrokenPipe.into()),
            // Of the kinds of errors, some would be tried again.
            None => Err(io::Error::other("cancelled")),
        }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = FRAME_BYTES_MAX - self.waiting.len();
        let length = bytes.len().min(free);
        self.waiting.extend_from_slice(&bytes[..length]);
        if self.waiting.len() == FRAME_BYTES_MAX {
            self.send()?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs an operation that writes content and then answers, and sends both.
pub(crate) async fn send(
    place: OwnedSemaphorePermit,
    form: Form,
    media_type: &'static str,
    operation: impl FnOnce(&mut dyn Write, &CancelToken) -> Answer<Vec<u8>> + Send + 'static,
) -> Response {
    let (pieces, mut received) = channel(PIECES_MAX);
    let cancel = CancelToken::default();
    let guard = CancelOnDrop(cancel.clone());
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut writer = Writer { pieces, waiting: Vec::new(), runtime, cancel: cancel.clone() };
        let mut answer = operation(&mut writer, &cancel);
        if let (Ok(_), Err(error)) = (&answer, writer.send()) {
            tracing::debug!(%error, "nobody reads the content any more");
            answer = Ok(Vec::new());
        }
        let _nobody_reads = writer.pieces.blocking_send(Piece::End(answer));
    });
    let first = received.recv().await;
    match first {
        Some(Piece::End(Err(problem))) => reply::problem(&problem),
        None => reply::problem(&pool::ended_early()),
        first => {
            let media_type = if form == Form::Frames { frames::MEDIA_TYPE } else { media_type };
            let body = Pieces { first, received, form, is_done: false, _guard: guard };
            reply::with(StatusCode::OK, media_type, Body::new(body))
        }
    }
}

/// The pieces as a body.
struct Pieces {
    first: Option<Piece>,
    received: Receiver<Piece>,
    form: Form,
    is_done: bool,
    _guard: CancelOnDrop,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        waker: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        let piece = match self.first.take() {
            Some(piece) => Some(piece),
            None => match self.received.poll_recv(waker) {
                Poll::Ready(piece) => piece,
                Poll::Pending => return Poll::Pending,
            },
        };
        self.is_done = !matches!(piece, Some(Piece::Content(_)));
        let bytes = match (piece, self.form) {
            (Some(Piece::Content(content)), Form::Plain) => content,
            (Some(Piece::Content(content)), Form::Frames) => {
                let mut frame = frames::frame_head(content.len()).to_vec();
                frame.extend_from_slice(&content);
                frame.into()
            }
            (Some(Piece::End(answer)), Form::Frames) => frames::frame_end(&answer).into(),
            (Some(Piece::End(Ok(_))), Form::Plain) => return Poll::Ready(None),
            // Without its end a body is known to be cut.
            (Some(Piece::End(Err(problem))), Form::Plain) => {
                return Poll::Ready(Some(Err(io::Error::other(problem.detail))));
            }
            (None, _) => return Poll::Ready(Some(Err(io::Error::other("the operation ended early")))),
        };
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_done
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
