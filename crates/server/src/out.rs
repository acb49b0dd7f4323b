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
use stemmata_api::{Answer, CancelToken, Code, Problem};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::coding::{self, Coding, Encoder};
use crate::pool::{self, CancelOnDrop};
use crate::reply;

/// Pieces that wait for a client at most.
const PIECES_MAX: usize = 4;

/// What an operation hands on.
pub(crate) enum Piece {
    /// Content, and how it is packed.
    Content(Bytes, Option<Coding>),
    /// The answer in JSON, after the last content.
    End(Result<Vec<u8>, Box<Problem>>),
}

/// How content is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is, or packed; a problem in the middle cuts it. For people and programs.
    Plain(Option<Coding>),
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
    /// How content is to be packed.
    wanted: Option<Coding>,
    /// What packs it, from the first piece on.
    encoder: Option<Encoder>,
}

impl Writer {
    /// Sends what waits. Each piece is packed so that it can be read when it comes.
    fn send(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut piece = std::mem::take(&mut self.waiting);
        if let (Some(coding), None) = (self.wanted, &self.encoder) {
            self.encoder = Some(Encoder::new(coding)?);
        }
        if let Some(encoder) = &mut self.encoder {
            piece = encoder.push(&piece)?;
        }
        self.hand_on(piece)
    }

    /// Sends the end of what was written.
    fn end(&mut self) -> io::Result<()> {
        // The operation is done and holds nothing of the store: nobody has to cancel what the client still reads.
        self.cancel = CancelToken::default();
        if self.encoder.is_none() && self.waiting.len() < coding::BYTES_MIN {
            self.wanted = None;
        }
        self.send()?;
        match self.encoder.take() {
            Some(encoder) => {
                let end = encoder.end()?;
                self.hand_on(end)
            }
            None => Ok(()),
        }
    }

    fn hand_on(&self, piece: Vec<u8>) -> io::Result<()> {
        let piece = Piece::Content(piece.into(), self.wanted);
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
    held: impl Send + 'static,
    form: Form,
    media_type: &'static str,
    operation: impl FnOnce(&mut dyn Write, &CancelToken) -> Answer<Vec<u8>> + Send + 'static,
) -> Response {
    let (pieces, mut received) = channel(PIECES_MAX);
    let cancel = CancelToken::default();
    let guard = CancelOnDrop(cancel.clone());
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let _held = held;
        let wanted = if let Form::Plain(wanted) = form { wanted } else { None };
        let mut writer =
            Writer { pieces, waiting: Vec::new(), runtime, cancel: cancel.clone(), wanted, encoder: None };
        // Content without its end is told as cut, whether somebody reads it or not.
        let answer = operation(&mut writer, &cancel).and_then(|answer| {
            writer.end().map_err(|error| {
                let detail = format!("the end of the content could not be sent: {error}");
                Box::new(Problem::new(Code::IoFailed, detail))
            })?;
            Ok(answer)
        });
        let _nobody_reads = writer.pieces.blocking_send(Piece::End(answer));
    });
    let first = received.recv().await;
    match first {
        Some(Piece::End(Err(problem))) => reply::problem(&problem),
        None => reply::problem(&pool::ended_early()),
        first => {
            let media_type = if form == Form::Frames { frames::MEDIA_TYPE } else { media_type };
            let coding = if let Some(Piece::Content(_, coding)) = &first { *coding } else { None };
            let body = Pieces { first, received, form, is_done: false, _guard: guard };
            let mut response = reply::with(StatusCode::OK, media_type, Body::new(body));
            if form != Form::Frames {
                reply::packed(&mut response, coding);
            }
            response
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
        self.is_done = !matches!(piece, Some(Piece::Content(..)));
        let bytes = match (piece, self.form) {
            (Some(Piece::Content(content, _)), Form::Plain(_)) => content,
            (Some(Piece::Content(content, _)), Form::Frames) => {
                let mut frame = frames::frame_head(content.len()).to_vec();
                frame.extend_from_slice(&content);
                frame.into()
            }
            (Some(Piece::End(answer)), Form::Frames) => frames::frame_end(&answer).into(),
            (Some(Piece::End(Ok(_))), Form::Plain(_)) => return Poll::Ready(None),
            // Without its end a body is known to be cut.
            (Some(Piece::End(Err(problem))), Form::Plain(_)) => {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use http_body_util::BodyExt as _;
    use stemmata_api::Code;

    use super::*;

    const FORMS: [Form; 4] =
        [Form::Frames, Form::Plain(None), Form::Plain(Some(Coding::Gzip)), Form::Plain(Some(Coding::Zstd))];

    async fn next(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
        let frame = body.frame().await?;
        Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }

    #[tokio::test]
    async fn each_piece_is_sent_before_the_next_one_is_written() {
        for form in FORMS {
            let (go_on, wait) = mpsc::channel::<()>();
            let operation = move |out: &mut dyn Write, _: &CancelToken| {
                for _ in 0..3 {
                    out.write_all(&vec![b'x'; FRAME_BYTES_MAX]).expect("written");
                    wait.recv().expect("the piece was read");
                }
                Ok(b"{}".to_vec())
            };
            let mut body = send((), form, "text/plain", operation).await.into_body();
            for _ in 0..3 {
                assert!(next(&mut body).await.expect("a piece").is_ok_and(|piece| !piece.is_empty()));
                go_on.send(()).expect("it waits");
            }
            while let Some(end) = next(&mut body).await {
                end.expect("the end");
            }
        }
    }

    #[tokio::test]
    async fn a_problem_in_the_middle_cuts_what_is_sent_as_it_is() {
        for form in FORMS {
            let operation = |out: &mut dyn Write, _: &CancelToken| {
                out.write_all(&vec![b'x'; 2 * FRAME_BYTES_MAX]).expect("written");
                Err(Box::new(Problem::new(Code::ContentCorrupt, "damaged")))
            };
            let mut body = send((), form, "text/plain", operation).await.into_body();
            let (mut is_cut, mut last) = (false, Bytes::new());
            while let Some(piece) = next(&mut body).await {
                match piece {
                    Ok(piece) => last = piece,
                    Err(_) => is_cut = true,
                }
            }
            // In frames the problem itself is the end.
            assert_eq!(is_cut, form != Form::Frames);
            assert_eq!(String::from_utf8_lossy(&last).contains("content_corrupt"), form == Form::Frames);
        }
    }
}
