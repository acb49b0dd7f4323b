//! Answers as HTTP has them: JSON, and problems as RFC 9457 wants them.

use axum::body::Body;
use axum::response::Response;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, SERVER};
use stemmata_api::{Code, Kind, Problem};

/// This program and its version, for a client that was not understood.
const NAME: &str = concat!("stemmata/", env!("CARGO_PKG_VERSION"));

/// Returns an answer in JSON.
pub(crate) fn json(bytes: Vec<u8>) -> Response {
    with(StatusCode::OK, "application/json", Body::from(bytes))
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
