//! The operations in which bytes or events flow, each with a handler of its own.

use std::io::Write;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, RANGE};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stemmata_api::operation::{Head, Method};
use stemmata_api::v1::{FollowFrom, FollowRequest};
use stemmata_api::{Answer, CancelToken, Code, Control, Lender, Parts, Problem, Service, Use, frames, rows};

use crate::body::Reader;
use crate::out::{self, Form};
use crate::pool::Held;
use crate::routes::Shared;
use crate::{coding, events, key, native, reply};

/// The media type of bundles.
const BYTES: &str = "application/octet-stream";

/// What an operation with content out does.
pub(crate) type Out<Q, A> = fn(&dyn Service, &Q, &mut dyn Write, &Control<'_>) -> Answer<A>;

/// What an operation with content in does.
type In<Q, A> = fn(&dyn Service, &Q, &mut Reader, &Control<'_>) -> Answer<A>;

/// Answers a request for the operation of this name.
///
/// # Errors
/// `not_supported` where it has no handler, and what reading the request and the operation fail with.
pub(crate) async fn answer(
    shared: &Shared,
    head: &'static Head,
    parts: Parts,
    request: Request<Body>,
) -> Answer<Response> {
    let call = Call { shared, head, parts, request };
    match head.name {
        n if n == rows::give_back::NATIVE.head.name => {
            if is_framed(call.request.headers()) {
                call.out(native::MEDIA_TYPE, |s, q: &_, out, c| s.native(q, out, c)).await
            } else {
                native::answer(call).await
            }
        }
        n if n == rows::give_back::MATERIALIZE.head.name => {
            call.out(native::MEDIA_TYPE, |s, q: &_, out, c| s.materialize(q, out, c)).await
        }
        n if n == rows::give_back::EXPORT.head.name => {
            call.out("text/plain; charset=utf-8", |s, q: &_, out, c| s.export(q, out, c)).await
        }
        n if n == rows::give_back::HANDOFF.head.name => {
            call.out("text/markdown; charset=utf-8", |s, q: &_, out, c| s.handoff(q, out, c)).await
        }
        n if n == rows::give_back::CHECKPOINT_FILE.head.name => {
            call.out("application/json", |s, q: &_, out, c| s.checkpoint_file(q, out, c)).await
        }
        n if n == rows::give_back::EXPORT_BUNDLE.head.name => {
            call.out(BYTES, |s, q: &_, out, c| s.export_bundle(q, out, c)).await
        }
        n if n == rows::chains::CHECKPOINT.head.name => {
            call.take_in(|s, q: &_, content, _| s.checkpoint(q, content)).await
        }
        n if n == rows::give_back::LOAD_CHECKPOINT_FILE.head.name => {
            call.take_in(|s, _: &stemmata_api::operation::EmptyRequest, content, _| {
                s.load_checkpoint_file(content)
            })
            .await
        }
        n if n == rows::give_back::IMPORT_BUNDLE.head.name => {
            call.take_in(|s, q: &_, content, c| s.import_bundle(q, &content.spool()?, c)).await
        }
        n if n == rows::give_back::SHOW_BUNDLE.head.name => {
            call.take_in(|s, q: &_, content, c| s.show_bundle(q, &content.spool()?, c)).await
        }
        n if n == rows::ledgers::FOLLOW.head.name => call.follow().await,
        name => {
            let detail = format!("`{name}` takes more than a request in JSON");
            Err(Box::new(Problem::new(Code::NotSupported, detail)))
        }
    }
}

/// A request for an operation, with what is needed to answer it.
pub(crate) struct Call<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) head: &'static Head,
    pub(crate) parts: Parts,
    pub(crate) request: Request<Body>,
}

impl Call<'_> {
    fn header(&self, name: hyper::header::HeaderName) -> &str {
        self.request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    async fn out<Q, A>(mut self, media_type: &'static str, run: Out<Q, A>) -> Answer<Response>
    where
        Q: DeserializeOwned + Send + 'static,
        A: Serialize + 'static,
    {
        let mut held = Held::default();
        let sending = Sending::new(self.shared, media_type, self.request.headers());
        if !self.head.method.has_query() {
            let body = std::mem::take(self.request.body_mut());
            let (json, memory) = crate::body::in_memory(body, &self.shared.limits, &self.shared.pool).await?;
            (self.parts.body, held) = (Some(json), memory);
        }
        let request: Q = self.parts.read(self.head.method)?;
        let place = self.shared.pool.stream()?;
        Ok(sending.answer((place, held), request, run).await)
    }

    /// Takes content in: the body, with the request in the query; from our own client, whose requests may be longer than a query,
    /// both in the body.
    async fn take_in<Q, A>(mut self, run: In<Q, A>) -> Answer<Response>
    where
        Q: DeserializeOwned + 'static,
        A: Serialize + 'static,
    {
        let has_request = self.header(CONTENT_TYPE) == frames::MEDIA_TYPE;
        let key = key::read(self.request.headers(), self.head)?;
        let limits = &self.shared.limits;
        let mut content = Reader::new(std::mem::take(self.request.body_mut()), limits);
        let (lender, mut parts, json_max) =
            (Arc::clone(&self.shared.lender), self.parts, limits.json_bytes_max);
        let answer = self.shared.pool.run_reading(move |cancel| {
            let method = if has_request {
                parts.body = Some(frames::read_head(&mut content, json_max)?);
                Method::Post
            } else {
                Method::Get
            };
            if let Some((field, key)) = &key {
                parts.fill(field, key)?;
            }
            let control = Control { cancel: Some(cancel), ..Control::none() };
            let request = parts.read(method)?;
            let service = lender.lend(Use::Operation, cancel)?;
            content.end_with(cancel);
            let answer = run(&*service, &request, &mut content, &control);
            // What was done is done, also where it was cancelled meanwhile.
            let answer = answer.or_else(|problem| control.check().and(Err(problem)));
            let answer = service.explained(answer);
            // Whatever the operation makes of it: what the client did wrong is the client's to hear.
            answer.map(|answer| json(&answer)).map_err(|problem| content.failure().unwrap_or(problem))
        });
        // What is left of the content is not read: the connection ends, and the client has to know.
        let mut response = answer.await.map_or_else(|problem| reply::problem(&problem), reply::json);
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        Ok(response)
    }

    async fn follow(mut self) -> Answer<Response> {
        let last = self.header(hyper::header::HeaderName::from_static("last-event-id"));
        if !last.is_empty() {
            let last = last.to_owned();
            self.parts.query.retain(|(name, _)| name != "from" && !name.starts_with("from."));
            self.parts.query.push(("from.after".to_owned(), last));
        }
        let request: FollowRequest = self.parts.read(self.head.method)?;
        if let FollowFrom::Cursor(_) = request.from {
            let detail = "over HTTP nobody knows whether an event was read: a named cursor cannot be used";
            return Err(Box::new(Problem::new(Code::NotSupported, detail).with("field", "from.cursor")));
        }
        let place = self.shared.pool.stream()?;
        let lender = Arc::clone(&self.shared.lender);
        Ok(events::follow(lender, request, place, self.shared.limits.beat, self.shared.stopped.clone()).await)
    }
}

/// Says whether the client is ours, which wants content and answer in frames.
fn is_framed(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|value| value == frames::MEDIA_TYPE)
}

/// Content that is about to be sent.
pub(crate) struct Sending {
    lender: Arc<dyn Lender>,
    form: Form,
    media_type: &'static str,
}

impl Sending {
    /// Decides how content is sent. Bundles are packed already, and ranges count bytes that are not.
    pub(crate) fn new(shared: &Shared, media_type: &'static str, headers: &HeaderMap) -> Self {
        let is_plain = media_type == BYTES || headers.contains_key(RANGE);
        let form = if is_framed(headers) {
            Form::Frames
        } else {
            Form::Plain(coding::wanted(headers).filter(|_| !is_plain))
        };
        Self { lender: Arc::clone(&shared.lender), form, media_type }
    }

    /// Runs the operation that writes it. What is held is given back when nothing more is sent.
    pub(crate) async fn answer<Q, A, H>(self, held: H, request: Q, run: Out<Q, A>) -> Response
    where
        Q: Send + 'static,
        A: Serialize + 'static,
        H: Send + 'static,
    {
        let Self { lender, form, media_type } = self;
        let operation = move |out: &mut dyn Write, cancel: &CancelToken| {
            let service = lender.lend(Use::Operation, cancel)?;
            let control = Control { cancel: Some(cancel), ..Control::none() };
            let answer = service.explained(run(&*service, &request, out, &control));
            answer.map(|answer| json(&answer))
        };
        out::send(held, form, media_type, operation).await
    }
}

fn json(answer: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(answer).expect("an answer has only text keys")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_operation_with_a_flow_has_a_handler() {
        let source = include_str!("by_hand.rs");
        for row in stemmata_api::operation::rows().filter(|row| row.flow().is_some()) {
            let (facet, method) = row.head().name.split_once('.').expect("facet and method");
            let arm = format!("rows::{facet}::{}.head.name =>", method.to_uppercase());
            assert_eq!(source.matches(&arm).count(), 1, "{arm}");
        }
    }
}
