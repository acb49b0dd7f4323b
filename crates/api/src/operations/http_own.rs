//! What HTTP itself adds to an operation, for the document: headers, statuses, and the paths that are no operations.
//!
//! What it says here, `crates/server` does.

use serde_json::{Map, Value, json};

use crate::PAGE_ITEMS_MAX;
use crate::operation::{Effect, Flow, Method, Repeat, Row};
use crate::v1;

/// What the document says of itself.
pub(super) const ABOUT: &str = "What `stemma serve` answers: every operation of the command, over HTTP. `HEAD` is taken wherever \
    `GET` is. Answers of 1 KiB and more are packed with zstd or gzip where `Accept-Encoding` prefers that.";

/// The bounds that fields are documented with, by their names in the code.
const NUMBERS: [(&str, u64); 8] = [
    ("AROUND_MAX", v1::AROUND_MAX),
    ("AROUND_TOKENS_DEFAULT", v1::AROUND_TOKENS_DEFAULT),
    ("HITS_DEFAULT", v1::HITS_DEFAULT),
    ("HITS_MAX", v1::HITS_MAX),
    ("PAGE_ITEMS_MAX", PAGE_ITEMS_MAX),
    ("QUERY_BYTES_MAX", v1::QUERY_BYTES_MAX),
    ("RECALL_TOKENS_DEFAULT", v1::RECALL_TOKENS_DEFAULT),
    ("SHOWN_TURNS_MAX", v1::SHOWN_TURNS_MAX),
];

/// Says bounds as numbers in all descriptions: who reads the document has no code to look names up in.
pub(super) fn say_numbers(document: &mut Value) {
    match document {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                for (name, number) in NUMBERS {
                    *text = text.replace(&format!("[`{name}`]"), &number.to_string());
                }
            }
            fields.values_mut().for_each(say_numbers);
        }
        Value::Array(all) => all.iter_mut().for_each(say_numbers),
        _ => {}
    }
}

/// Returns what a repeated request does, in a word.
pub(super) const fn repeat(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Same => "same",
        Repeat::Keyed(_) => "keyed",
        Repeat::Planned => "planned",
        Repeat::Again => "again",
    }
}

/// Says whether an answer has a validator: the whole answers of `GET`, and the one content that never changes.
fn is_validated(row: &dyn Row) -> bool {
    (row.head().method == Method::Get && row.flow().is_none()) || is_ranged(row)
}

/// Says whether a part of an answer can be asked for.
fn is_ranged(row: &dyn Row) -> bool {
    row.head().name == "give_back.native"
}

/// Returns the headers that an operation takes.
pub(super) fn parameters_of(row: &dyn Row) -> Vec<Value> {
    let is_keyed = matches!(row.head().repeat, Repeat::Keyed(_)) && row.head().effect == Effect::Writes;
    let taken = [
        ("Idempotency-Key", is_keyed),
        ("If-None-Match", is_validated(row)),
        ("If-Range", is_ranged(row)),
        ("Last-Event-ID", row.flow() == Some(Flow::Events)),
        ("Range", is_ranged(row)),
    ];
    let taken = taken.into_iter().filter(|(_, is_taken)| *is_taken);
    taken.map(|(name, _)| json!({ "$ref": format!("#/components/parameters/{name}") })).collect()
}

/// Returns the answers of an operation by status.
pub(super) fn responses_of(row: &dyn Row, content: &Value, has_body: bool) -> Value {
    let header = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
    let mut headers = Map::from_iter([("X-Request-Id".to_owned(), header("X-Request-Id"))]);
    if is_validated(row) {
        headers.insert("ETag".to_owned(), header("ETag"));
    }
    let mut all = json!({
        "200": { "description": "The answer.", "headers": headers, "content": content },
        "429": { "$ref": "#/components/responses/TooManyRequests" },
        "default": { "$ref": "#/components/responses/Problem" },
    });
    if is_validated(row) {
        all["304"] = json!({ "$ref": "#/components/responses/NotModified" });
    }
    if is_ranged(row) {
        headers.insert("Content-Range".to_owned(), header("Content-Range"));
        all["206"] =
            json!({ "description": "The part that was asked for.", "headers": headers, "content": content });
        all["416"] = json!({ "$ref": "#/components/responses/RangeNotSatisfiable" });
    }
    if has_body {
        all["413"] = json!({ "$ref": "#/components/responses/ContentTooLarge" });
    }
    all
}

/// Returns the headers that requests may have.
pub(super) fn parameters() -> Value {
    let header = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "header", "required": false, "description": about, "schema": schema });
    let text = json!({ "type": "string" });
    json!({
        "Idempotency-Key": header(
            "Idempotency-Key",
            "A name of the request, with or without quotes: sent again with it, the request is done once and answered alike. It \
             stands for the field `request` of a turn and `idempotency_key` of a commit, and is refused where that says something \
             else. Operations that do nothing more when they are repeated take no notice of it; those that do refuse it.",
            json!({ "type": "string", "minLength": 1, "maxLength": 256 }),
        ),
        "If-None-Match": header("If-None-Match", "The `ETag` of an answer that the client has.", text.clone()),
        "If-Range": header("If-Range", "The `ETag` of an answer that the client has a part of. Otherwise all of it is sent.", text.clone()),
        "Last-Event-ID": header(
            "Last-Event-ID",
            "The number of the last event that the client has, in place of `from`.",
            text.clone(),
        ),
        "Range": header("Range", "One range of bytes, such as `bytes=0-499`. Several are answered with all of it.", text),
    })
}

/// Returns the headers that answers have.
pub(super) fn headers() -> Value {
    let header = |about: &str| json!({ "description": about, "schema": { "type": "string" } });
    json!({
        "Content-Range": header("Which bytes these are, and of how many."),
        "ETag": header("Names the bytes of the answer. Answers that have it may be kept and are asked about each time."),
        "Retry-After": header("Seconds after which to try again."),
        "X-Request-Id": header("The request's name, as it was sent or a new one. The log has it."),
    })
}

/// Returns the answers that operations have in common.
pub(super) fn responses() -> Value {
    let content =
        json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
    let with = |about: &str, name: &str| {
        json!({
            "description": about,
            "headers": { name: { "$ref": format!("#/components/headers/{name}") } },
            "content": content,
        })
    };
    json!({
        "ContentTooLarge": { "description": "The request has too many bytes.", "content": content },
        "NotModified": {
            "description": "The client has the answer.",
            "headers": { "ETag": { "$ref": "#/components/headers/ETag" } },
        },
        "Problem": { "description": "A problem.", "content": content },
        "RangeNotSatisfiable": with("The range begins behind the end.", "Content-Range"),
        "TooManyRequests": with("Every place is taken.", "Retry-After"),
    })
}

/// Returns the paths that are no operations.
pub(super) fn paths() -> Map<String, Value> {
    let path = |name: &str, about: &str, media_type: &str| {
        let content = json!({ media_type: { "schema": { "type": "string" } } });
        json!({ "get": {
            "operationId": name,
            "tags": ["service"],
            "summary": about,
            "description": about,
            "responses": {
                "200": { "description": "The answer.", "content": content },
                "default": { "$ref": "#/components/responses/Problem" },
            },
        } })
    };
    Map::from_iter([
        ("/healthz".to_owned(), path("service.health", "Says that the service runs", "text/plain")),
        ("/readyz".to_owned(), path("service.ready", "Says that the store can be asked", "text/plain")),
        (
            "/metrics".to_owned(),
            path(
                "service.metrics",
                "Returns figures of the service in OpenMetrics",
                "application/openmetrics-text",
            ),
        ),
    ])
}
