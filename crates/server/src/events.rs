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
use stemmata_api::v1::{Event, FollowFrom, FollowRequest, Followed, LedgerRequest};
use stemmata_api::{Answer, CancelToken, Code, Control, Lender, Problem, Use};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior};

use crate::pool::{self, CancelOnDrop};
use crate::reply;

/// Events that wait for a client at most. One that never reads makes its own subscription wait, and nothing else.
const EVENTS_MAX: usize = 64;

/// Follows a ledger until the client goes away, the count is reached or the server ends.
pub(crate) async fn follow(
    lender: Arc<dyn Lender>,
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
        let followed = Follower { lender, events: &events, cancel, sent: 0 }.run(request);
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

/// Follows a ledger for a client. The store is borrowed only while it is read: it is given back when another process needs it, and
/// while the client reads nothing. Then following goes on after the last event that was sent.
struct Follower<'a> {
    lender: Arc<dyn Lender>,
    events: &'a Sender<Message>,
    cancel: CancelToken,
    sent: u64,
}

impl Follower<'_> {
    fn run(&mut self, mut request: FollowRequest) -> Answer<Followed> {
        let count = request.count;
        loop {
            match self.round(&mut request) {
                Ok(true) => {}
                // It may be away for long; a subscriber is not sent away for that.
                Err(problem) if problem.is(Code::StoreAway) => {}
                Ok(false) => break,
                Err(problem) => return Err(problem),
            }
            let is_done = count.is_some_and(|count| self.sent >= count);
            if is_done || self.cancel.is_cancelled() || !self.has_room() {
                break;
            }
            request.count = count.map(|count| count.saturating_sub(self.sent));
        }
        Ok(Followed { events: self.sent })
    }

    /// Follows until there is a reason to pause, and says whether to go on afterwards. `request` is what to go on with.
    fn round(&mut self, request: &mut FollowRequest) -> Answer<bool> {
        let round = CancelToken::default();
        let ended = round.clone();
        let _ended = self.cancel.on_cancel(move || ended.cancel());
        let service = self.lender.lend(Use::Subscription, &round)?;
        if matches!(request.from, FollowFrom::Now) {
            // Now is now, also for who goes on later.
            let last = service.ledger(&LedgerRequest { ledger: request.ledger.clone() })?.last;
            // Of a ledger without events it is 0, which is no event's number.
            request.from = last.parse().map_or(FollowFrom::Beginning, FollowFrom::After);
        }
        let (mut from, mut is_full) = (None, false);
        let mut each = |event: &Event| match self.events.try_send(Ok(message(event))) {
            Ok(()) => {
                self.sent += 1;
                from = Some(event.event_seq);
                ControlFlow::Continue(())
            }
            Err(error) => {
                is_full = matches!(error, TrySendError::Full(_));
                ControlFlow::Break(())
            }
        };
        let control = Control { cancel: Some(&round), ..Control::none() };
        let followed = service.follow(request, &mut each, &control);
        let is_recalled = service.is_recalled();
        if let Some(last) = from {
            request.from = FollowFrom::After(last);
        }
        if is_recalled { Ok(true) } else { followed.map(|_| is_full) }
    }

    /// Waits until the client takes events again; says whether it does.
    fn has_room(&self) -> bool {
        let room = pool::wait_for(&Handle::current(), &self.cancel, self.events.reserve());
        room.is_some_and(|permit| permit.is_ok())
    }
}

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
