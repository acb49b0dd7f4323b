//! Answers as HTTP has them: JSON, and problems as RFC 9457 wants them.

use axum::body::Body;
use axum::response::Response;
use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, RETRY_AFTER, SERVER, VARY,
};
use stemmata_api::operation::Method;
use stemmata_api::{Code, Kind, Problem};

use crate::coding::{self, Coding};
use crate::validators::Tag;

/// This program and its version, for a client that was not understood.
const NAME: &str = concat!("stemmata/", env!("CARGO_PKG_VERSION"));

/// Returns an answer in JSON.
pub(crate) fn json(bytes: Vec<u8>) -> Response {
    with(StatusCode::OK, "application/json", Body::from(bytes))
}

/// Returns the answer of an operation, in JSON, as the client asked for it: packed, and not at all where it has the answer of a `GET`
/// already. Called where the operation ran: packing takes time.
pub(crate) fn whole(json: Vec<u8>, method: Method, headers: &HeaderMap) -> Response {
    let wanted = coding::wanted(headers).filter(|_| json.len() >= coding::BYTES_MIN);
    let tag = (method == Method::Get).then(|| Tag::of_bytes(&json, wanted));
    if let Some(tag) = tag.as_ref().filter(|tag| tag.is_known(headers)) {
        return not_modified(tag);
    }
    let packed = wanted.and_then(|coding| Some((coding, coding.pack(&json).ok()?)));
    let (coding, bytes) = packed.map_or((None, json), |(coding, bytes)| (Some(coding), bytes));
    let mut response = self::json(bytes);
    self::packed(&mut response, coding);
    if let Some(tag) = tag {
        revalidated(&mut response, &tag);
    }
    response
}

/// Says how a body is packed, and that another client may get it in another way.
pub(crate) fn packed(response: &mut Response, coding: Option<Coding>) {
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, coding.header());
    }
}

/// Lets a client keep an answer if it asks each time whether that is still the answer: what is forgotten here goes there, too.
pub(crate) fn revalidated(response: &mut Response, tag: &Tag) {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(ETAG, tag.header());
}

/// Says that the client has the answer already.
pub(crate) fn not_modified(tag: &Tag) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    packed(&mut response, None);
    revalidated(&mut response, tag);
    response
}

/// Returns a response with a body of a type.
pub(crate) fn with(status: StatusCode, media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    // What was given out once may be forgotten in a moment.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns a problem.
pub(crate) fn problem(problem: &Problem) -> Response {
    problem_as(problem, status_of(problem))
}

/// Refuses a request whose head is too long.
pub(crate) fn head_too_large(bytes_max: usize) -> Response {
    let detail = format!("the head of the request is longer than {bytes_max} bytes");
    problem_as(&Problem::new(Code::TooLarge, detail), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
}

fn status_of(problem: &Problem) -> StatusCode {
    match () {
        () if problem.is(Code::Overloaded) => StatusCode::TOO_MANY_REQUESTS,
        () if problem.is(Code::TooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
        () => StatusCode::from_u16(problem.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Returns a problem with a status of HTTP's own.
pub(crate) fn problem_as(problem: &Problem, status: StatusCode) -> Response {
    let mut problem = problem.clone();
    if problem.is(Code::BadRequest) {
        // Who asks over HTTP has no command to ask for help.
        problem.hint = Some("`GET /openapi.json` has the fields of each request".to_owned());
    }
    let mut body = serde_json::to_value(&problem).expect("a problem has only text keys");
    if let Some(fields) = body.as_object_mut() {
        fields.insert("type".to_owned(), format!("urn:stemmata:problem:{}", problem.code).into());
        fields.insert("status".to_owned(), status.as_u16().into());
    }
    let mut response = with(status, "application/problem+json", Body::from(body.to_string()));
    response.headers_mut().insert(SERVER, HeaderValue::from_static(NAME));
    if status == StatusCode::TOO_MANY_REQUESTS || matches!(problem.kind, Kind::Locked) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
