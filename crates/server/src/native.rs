//! `GET …/native`: the one content that never changes as long as it is there, so that a client may ask for what it lacks of it.
//!
//! What the bytes are is the operation's; here is what HTTP adds: a validator, one range, and a head without a body.

use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use hyper::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, HeaderValue, RANGE};
use hyper::{Method, StatusCode};
use stemmata_api::v1::{NativeRequest, NativeSizeRequest};
use stemmata_api::{Answer, Code, Problem, Use};

use crate::by_hand::{Call, Sending};
use crate::coding;
use crate::reply;
use crate::validators::{Part, Tag};

/// The media type of transcripts: most are lines of JSON.
pub(crate) const MEDIA_TYPE: &str = "application/x-ndjson";

/// Answers the request.
///
/// # Errors
/// Those of the operation, and `out_of_bounds` for a range that begins behind the end.
pub(crate) async fn answer(call: Call<'_>) -> Answer<Response> {
    let Call { shared, head, parts, request } = call;
    let (http, _no_body) = request.into_parts();
    let (headers, method) = (&http.headers, &http.method);
    let request: NativeRequest = parts.read(head.method)?;
    let place = shared.pool.stream()?;
    // Asked each time: what was forgotten is not confirmed to a client that has it still.
    let lender = Arc::clone(&shared.lender);
    let asked = NativeSizeRequest { ctx: request.ctx.clone() };
    let size = shared.pool.run(move |cancel| {
        let service = lender.lend(Use::Operation, cancel)?;
        service.explained(service.native_size(&asked))
    });
    let size = size.await?;
    // A name may mean another commit in a moment; all that follows is about this one.
    let request = NativeRequest { ctx: size.ctx.to_string(), ..request };
    let whole = size.bytes.and_then(|bytes| within(&request, bytes));
    let is_ranged = method == Method::GET && headers.contains_key(RANGE);
    let sending = Sending::new(shared, MEDIA_TYPE, headers);
    let send = |request| sending.answer(place, request, |s, q: &_, out, c| s.native(q, out, c));
    let Some(whole) = whole else {
        // Nobody knows how long it will be, or the operation refuses it.
        return Ok(send(request).await);
    };
    let length = whole.end - whole.start;
    let wanted = coding::wanted(headers).filter(|_| !is_ranged && length >= coding::BYTES_MIN as u64);
    let tag = Tag::of_name(&name(&request, &whole), wanted);
    if tag.is_known(headers) {
        return Ok(reply::not_modified(&tag));
    }
    let part = match Part::wanted(headers, length) {
        part if is_ranged && tag.is_continued(headers) => part,
        _ => Part::Whole,
    };
    let mut response = match &part {
        Part::Beyond => return Ok(beyond(length)),
        Part::Whole if method == Method::HEAD => {
            let mut response = reply::with(StatusCode::OK, MEDIA_TYPE, Body::new(NoBody));
            reply::packed(&mut response, wanted);
            response
        }
        Part::Whole => send(request).await,
        Part::Of(part) => {
            let (from, to) = (Some(whole.start + part.start), Some(whole.start + part.end));
            send(NativeRequest { from, to, ..request }).await
        }
    };
    if !response.status().is_success() {
        return Ok(response);
    }
    let mut bytes = length;
    if let Part::Of(part) = part {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        set_range(&mut response, &format!("bytes {}-{}/{length}", part.start, part.end - 1));
        bytes = part.end - part.start;
    }
    if wanted.is_none() {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes));
    }
    reply::revalidated(&mut response, &tag);
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    Ok(response)
}

/// The body of an answer to `HEAD`. It does not say that the answer to `GET` would have no bytes.
struct NoBody;

impl http_body::Body for NoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}

/// Refuses a range, and says how long the content is.
fn beyond(length: u64) -> Response {
    let problem =
        Problem::new(Code::OutOfBounds, format!("the range begins behind the end of {length} bytes"));
    let mut response = reply::problem_as(&problem.with("bound", length), StatusCode::RANGE_NOT_SATISFIABLE);
    set_range(&mut response, &format!("bytes */{length}"));
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    response
}

/// Returns the bytes of the whole that the request's own fields name; nothing for a range that the operation refuses.
fn within(request: &NativeRequest, bytes: u64) -> Option<Range<u64>> {
    let (from, to) = (request.from.unwrap_or(0), request.to.unwrap_or(bytes));
    (from <= to && from <= bytes).then(|| from..to.min(bytes))
}

/// Returns what the bytes are made of, and nothing else: the commit, and which of its bytes.
fn name(request: &NativeRequest, range: &Range<u64>) -> String {
    match (request.from, request.to) {
        (None, None) => request.ctx.clone(),
        _ => format!("{}.{}-{}", request.ctx, range.start, range.end),
    }
}

fn set_range(response: &mut Response, range: &str) {
    let range = HeaderValue::from_str(range).expect("digits are a header");
    response.headers_mut().insert(CONTENT_RANGE, range);
}
