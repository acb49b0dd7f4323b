//! Events as they come: server-sent events, each with its number, so that a client that was cut off goes on after the last one it has.

use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use hyper::StatusCode;
use stemmata_api::v1::{Event, FollowRequest};
use stemmata_api::{CancelToken, Control, Problem, Service};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior};

use crate::pool::{self, CancelOnDrop};
use crate::reply;

/// Events that wait for a client at most. One that never reads makes its own subscription wait, and nothing else.
const EVENTS_MAX: usize = 64;

/// Follows a ledger until the client goes away, the count is reached or the server ends.
pub(crate) async fn follow(
    service: Arc<dyn Service>,
    request: FollowRequest,
    place: OwnedSemaphorePermit,
    beat: Duration,
    mut stopped: tokio::sync::watch::Receiver<bool>,
) -> Response {
    let (events, mut received) = channel::<Message>(EVENTS_MAX);
    let cancel = CancelToken::default();
    let ended = cancel.clone();
    let watching = tokio::spawn(async move {
        let _stopped = stopped.wait_for(|stop| *stop).await;
        ended.cancel();
    });
    let guard = Following { _cancel: CancelOnDrop(cancel.clone()), watching };
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut each = |event: &Event| match events.blocking_send(Ok(message(event))) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let control = Control { cancel: Some(&cancel), ..Control::none() };
        let followed = service.follow(&request, &mut each, &control);
        let last = followed.map(|followed| format!("event: end\ndata: {}\n\n", json(&followed)));
        let _nobody_reads = events.blocking_send(last);
    });
    // A request that is refused is refused at once; the first event may be hours away.
    let first = match tokio::time::timeout(FIRST_WAIT, received.recv()).await {
        Ok(None) => return reply::problem(&pool::ended_early()),
        Ok(Some(Err(problem))) => return reply::problem(&problem),
        Ok(Some(Ok(text))) => text,
        Err(_) => ": following\n\n".to_owned(),
    };
    let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + beat, beat);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let body = Messages { first: Some(first), received, beat, _guard: guard };
    reply::with(StatusCode::OK, "text/event-stream", Body::new(body))
}

/// How long the head of an answer waits for a refusal.
const FIRST_WAIT: Duration = Duration::from_millis(50);

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("an answer has only text keys")
}

fn message(event: &Event) -> String {
    // JSON has no line breaks, so one line of data holds it.
    format!("id: {}\ndata: {}\n\n", event.event_seq, json(event))
}

/// The text of a message, or the problem that ends the stream.
type Message = Result<String, Box<Problem>>;

/// Messages as a body.
struct Messages {
    /// What is sent at once: the head goes out with it.
    first: Option<String>,
    received: Receiver<Message>,
    beat: Interval,
    _guard: Following,
}

/// Ends what was begun for a subscriber when it goes away.
struct Following {
    _cancel: CancelOnDrop,
    watching: JoinHandle<()>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl http_body::Body for Messages {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let of = |text: String| Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))));
        if let Some(first) = self.first.take() {
            return of(first);
        }
        match self.received.poll_recv(context) {
            Poll::Ready(Some(message)) => {
                self.beat.reset();
                of(message.unwrap_or_else(|problem| format!("event: problem\ndata: {}\n\n", json(&problem))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => match self.beat.poll_tick(context) {
                Poll::Ready(_) => of(":\n\n".to_owned()),
                Poll::Pending => Poll::Pending,
            },
        }
    }
}
