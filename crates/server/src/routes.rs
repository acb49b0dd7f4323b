//! Routes, made from the table of operations: method and path, and the parts that a request is read from.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, State};
use axum::response::Response;
use axum::routing::{MethodFilter, get, on};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use stemmata_api::operation::{self, Head, Method, Row};
use stemmata_api::{Answer, Code, Control, Lender, Parts, Problem, Use};
use tokio::sync::watch;
use uuid::Uuid;

use crate::limits::Limits;
use crate::metrics::{self, Metrics};
use crate::pool::Pool;
use crate::{body, by_hand, key, reply};

/// What there is to ask, for programs.
const OPENAPI: &str = include_str!("../../../docs/reference/openapi.json");

/// What every request is answered with.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) lender: Arc<dyn Lender>,
    pub(crate) pool: Pool,
    pub(crate) limits: Arc<Limits>,
    pub(crate) stopped: watch::Receiver<bool>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Returns the routes of all operations.
pub(crate) fn router(
    lender: &Arc<dyn Lender>,
    limits: &Arc<Limits>,
    stopped: &watch::Receiver<bool>,
    metrics: &Arc<Metrics>,
) -> Router {
    let shared = Shared {
        lender: Arc::clone(lender),
        pool: Pool::new(limits),
        limits: Arc::clone(limits),
        stopped: stopped.clone(),
        metrics: Arc::clone(metrics),
    };
    let mut router = Router::new();
    for row in operation::rows() {
        let method = match row.head().method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Patch => MethodFilter::PATCH,
            Method::Put => MethodFilter::PUT,
            Method::Delete => MethodFilter::DELETE,
        };
        let handler = move |State(shared): State<Shared>,
                            path: Result<RawPathParams, RawPathParamsRejection>,
                            request: Request<Body>| async move {
            let logged = Logged::begin(row.head(), &request);
            let answered = answer(&shared, (row, logged.id.clone()), path, request).await;
            logged.end(answered.unwrap_or_else(|problem| reply::problem(&problem)), &shared.metrics)
        };
        for path in row.head().paths() {
            router = router.route(path, on(method, handler));
        }
    }
    let well = || async { reply::with(StatusCode::OK, "text/plain; charset=utf-8", Body::from("ok\n")) };
    router
        .route("/healthz", get(well))
        .route("/readyz", get(ready))
        .route("/metrics", get(told))
        .route(
            "/openapi.json",
            get(|| async { reply::with(StatusCode::OK, "application/json", Body::from(OPENAPI)) }),
        )
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .with_state(shared)
}

/// A request as the log has it: which operation and how it went, and nothing of what was asked or answered.
struct Logged {
    head: &'static Head,
    id: HeaderValue,
    began: Instant,
}

/// The header that names a request, in both directions.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Bytes of a name that a client may give its request.
const REQUEST_ID_BYTES_MAX: usize = 64;

impl Logged {
    fn begin(head: &'static Head, request: &Request<Body>) -> Self {
        let given = request.headers().get(REQUEST_ID).filter(|id| id.len() <= REQUEST_ID_BYTES_MAX);
        let given = given.filter(|id| id.to_str().is_ok());
        let id = given.cloned().unwrap_or_else(|| {
            HeaderValue::from_str(&Uuid::new_v4().simple().to_string()).expect("digits are a header")
        });
        Self { head, id, began: Instant::now() }
    }

    /// Logs how it went. An answer that flows has only begun.
    fn end(self, mut response: Response, metrics: &Metrics) -> Response {
        let (status, took) = (response.status().as_u16(), self.began.elapsed());
        metrics.answered(self.head.name, status, took);
        let (id, took_us) = (self.id.to_str().unwrap_or_default(), took.as_micros());
        tracing::info!(operation = self.head.name, request = id, status, took_us, "answered");
        response.headers_mut().insert(REQUEST_ID, self.id);
        response
    }
}

async fn answer(
    shared: &Shared,
    (row, id): (&'static dyn Row, HeaderValue),
    path: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request<Body>,
) -> Answer<Response> {
    let head = row.head();
    let path = path.map_err(|error| Box::new(Problem::new(Code::BadRequest, error.body_text())))?;
    let path = path.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let query = request.uri().query().unwrap_or_default();
    let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let mut parts = Parts { path, query, body: None };
    if row.flow().is_some() {
        return by_hand::answer(shared, head, parts, request).await;
    }
    let key = key::read(request.headers(), head)?;
    let body = std::mem::take(request.body_mut());
    let (json, memory) = body::in_memory(body, &shared.limits, &shared.pool).await?;
    parts.body = Some(json);
    let lender = Arc::clone(&shared.lender);
    let answer = shared.pool.run(move |cancel| {
        let _memory = memory;
        if let Some((field, key)) = &key {
            parts.fill(field, key)?;
        }
        let service = lender.lend(Use::Operation, cancel)?;
        let control = Control { cancel: Some(cancel), request: id.to_str().ok(), ..Control::none() };
        let answer = service.explained(row.call(&*service, &parts, &control))?;
        Ok(reply::whole(answer, head.method, request.headers()))
    });
    answer.await
}

/// Says whether the store can be asked.
async fn ready(State(shared): State<Shared>) -> Response {
    let lender = Arc::clone(&shared.lender);
    match shared.pool.run(move |cancel| lender.lend(Use::Operation, cancel)?.index_status()).await {
        Ok(_) => reply::with(StatusCode::OK, "text/plain; charset=utf-8", Body::from("ready\n")),
        Err(problem) => reply::problem_as(&problem, StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// Answers with the figures of this server.
async fn told(State(shared): State<Shared>) -> Response {
    let text = shared.metrics.text(&shared.pool.taken(&shared.limits));
    reply::with(StatusCode::OK, metrics::MEDIA_TYPE, Body::from(text))
}

async fn no_route(request: Request<Body>) -> Response {
    let detail = format!("there is no `{} {}`", request.method(), request.uri().path());
    reply::problem(&Problem::new(Code::NoRoute, detail))
}

async fn no_method(request: Request<Body>) -> Response {
    let detail = format!("`{}` does not take {}", request.uri().path(), request.method());
    reply::problem_as(&Problem::new(Code::NoRoute, detail), StatusCode::METHOD_NOT_ALLOWED)
}
