//! The operations over HTTP, as documents: OpenAPI 3.1 for programs, a table for people.
//!
//! What is said of an operation is what its method says, so nothing is told a second time.

use std::fmt::Write as _;

use schemars::generate::Contract;
use serde_json::{Map, Value, json};

use super::http_own as own;
use crate::frames::MEDIA_TYPE;
use crate::hole_of;
use crate::operation::{Effect, Flow, Repeat, Row, Scope, rows};
use crate::problem::Problem;
use crate::schema::{TypeOf, components, read_components};

/// The facets in the order of the table, with the sources of their traits, which say what their methods do.
pub(super) const SOURCES: [(&str, &str); 7] = [
    ("chains", include_str!("../service/chains.rs")),
    ("give_back", include_str!("../service/give_back.rs")),
    ("ledgers", include_str!("../service/ledgers.rs")),
    ("maintain", include_str!("../service/maintain.rs")),
    ("prompts", include_str!("../service/prompts.rs")),
    ("registry", include_str!("../service/registry.rs")),
    ("search", include_str!("../service/search.rs")),
];

/// Returns what the method of an operation says it does, without its errors.
fn about(name: &str) -> String {
    let (facet, method) = name.split_once('.').expect("facet and method");
    let source = SOURCES.iter().find(|(own, _)| *own == facet).map_or("", |(_, source)| source);
    let before = source.split_once(&format!("\n    fn {method}(")).map_or("", |(before, _)| before);
    let lines: Vec<&str> = before.lines().rev().map_while(|line| line.trim().strip_prefix("///")).collect();
    let text: Vec<&str> =
        lines.into_iter().rev().map(str::trim).take_while(|line| *line != "# Errors").collect();
    // A link leads nowhere outside of the code: its text stays.
    let words = text.join(" ");
    let mut plain = String::new();
    let mut rest = words.trim();
    while let Some((before, link)) = rest.split_once("[`") {
        let (shown, after) = link.split_once("`]").unwrap_or((link, ""));
        let _infallible = write!(plain, "{before}`{shown}`");
        rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain + rest
}

/// Returns the document of all operations.
pub fn openapi() -> Value {
    let requests = Requests {
        query: components(rows().map(Row::request), Contract::Deserialize),
        body: read_components(rows().map(Row::request)),
    };
    let answers = rows().map(Row::answer).chain([TypeOf::of::<Problem>()]);
    let mut schemas = components(answers, Contract::Serialize);
    let mut paths = Map::new();
    for row in rows() {
        let head = row.head();
        for at in head.paths() {
            let path = paths.entry(at).or_insert_with(|| json!({}));
            path[word(&head.method)] = operation(row, at, &requests);
        }
    }
    paths.extend(own::paths());
    schemas.extend(requests.body);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Stemmata", "version": "1", "description": own::ABOUT },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "headers": own::headers(),
            "parameters": own::parameters(),
            "responses": own::responses(),
        },
    });
    own::say_numbers(&mut document);
    document
}

/// The types of requests: a query has no `null`, and JSON may have it.
struct Requests {
    query: Map<String, Value>,
    body: Map<String, Value>,
}

fn operation(row: &dyn Row, path: &'static str, requests: &Requests) -> Value {
    let (head, flow) = (row.head(), row.flow());
    let about = about(head.name);
    let summary = about.split_inclusive(". ").next().unwrap_or_default().trim().trim_end_matches('.');
    let schema = requests.query.get(&row.request().name()).cloned().unwrap_or_default();
    let holes: Vec<&str> = path.split('/').filter_map(hole_of).collect();
    // A name for each path: generators of clients make functions of them.
    let id = if path == head.path {
        head.name.to_owned()
    } else {
        format!("{}.by_{}", head.name, holes.join("_"))
    };
    let mut parameters: Vec<Value> = holes
        .iter()
        .map(|hole| {
            json!({ "name": hole, "in": "path", "required": true, "schema": schema["properties"][hole] })
        })
        .collect();
    let mut body = None;
    if head.method.has_query() || flow == Some(Flow::In) {
        query(&mut parameters, "", &without(schema, &holes), &requests.query, true);
    } else if schema["properties"].as_object().is_some_and(|all| all.len() > holes.len()) {
        let schema = requests.body.get(&row.request().name()).cloned().unwrap_or_default();
        let schema = without(schema, &holes);
        // A body without a byte is an object without a field.
        let is_required = schema["required"].as_array().is_some_and(|fields| !fields.is_empty());
        body =
            Some(json!({ "required": is_required, "content": { "application/json": { "schema": schema } } }));
    }
    if flow == Some(Flow::In) {
        // Any bytes: OpenAPI says so by saying nothing.
        body = Some(json!({ "required": false, "content": { "application/octet-stream": {} } }));
    }
    let answer = json!({ "schema": { "$ref": format!("#/components/schemas/{}", row.answer().name()) } });
    let content = match flow {
        Some(Flow::Out) => json!({ "*/*": {}, MEDIA_TYPE: {} }),
        Some(Flow::Events) => json!({ "text/event-stream": {} }),
        Some(Flow::In) | None => json!({ "application/json": answer }),
    };
    parameters.extend(own::parameters_of(row));
    let mut operation = json!({
        "operationId": id,
        "tags": [head.name.split('.').next()],
        "summary": summary,
        "description": about,
        "responses": own::responses_of(row, &content, body.is_some()),
        "x-stemma-scope": word(&head.scope),
        "x-stemma-effect": word(&head.effect),
        "x-stemma-repeat": own::repeat(head.repeat),
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = body {
        operation["requestBody"] = body;
    }
    operation
}

/// Returns the schema of a request without the fields that stand in the path.
fn without(mut schema: Value, holes: &[&str]) -> Value {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| !holes.contains(&name.as_str()));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str().is_none_or(|name| !holes.contains(&name)));
    }
    schema
}

/// Adds the fields of an object as parameters of a query, those of fields with a dot.
fn query(
    parameters: &mut Vec<Value>,
    within: &str,
    schema: &Value,
    schemas: &Map<String, Value>,
    is_required: bool,
) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = is_required && required.iter().any(|one| one == name);
        let name = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        let meant = field["$ref"].as_str().and_then(|path| schemas.get(path.rsplit('/').next()?));
        let meant = meant.unwrap_or(field);
        if meant["properties"].is_object() {
            query(parameters, &name, meant, schemas, is_required);
            continue;
        }
        parameters.push(json!({
            "name": name,
            "in": "query",
            "required": is_required,
            "description": field["description"].as_str().or(meant["description"].as_str()).unwrap_or_default(),
            "schema": field,
        }));
    }
}

fn word(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

/// Returns the table of all operations in Markdown.
pub fn table() -> String {
    let mut text = String::from("| request | operation | what it does | may |\n| --- | --- | --- | --- |\n");
    for row in rows() {
        let head = row.head();
        let about = about(head.name);
        let first = about.split_inclusive(". ").next().unwrap_or_default().trim();
        let scope = match head.scope {
            Scope::Read => "read",
            Scope::Publish => "publish",
            Scope::Manage => "manage",
        };
        let flow = match row.flow() {
            Some(Flow::In) => " The body is the content, the request is in the query.",
            Some(Flow::Out) => " The body is the content.",
            Some(Flow::Events) => " Server-sent events.",
            None => "",
        };
        let more = match (head.effect, head.repeat) {
            (Effect::Destroys, Repeat::Planned) => " Takes the plan's digest.",
            _ => "",
        };
        let method = head.method.name();
        let first = first.replace('|', "\\|");
        let paths: Vec<String> = head.paths().map(|path| format!("`{method} {path}`")).collect();
        let paths = paths.join(", ");
        writeln!(text, "| {paths} | `{}` | {first}{flow}{more} | {scope} |", head.name)
            .expect("a string takes it");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_described_and_every_reference_leads_somewhere() {
        let document = openapi();
        let mut operations = 0;
        for (path, verbs) in document["paths"].as_object().expect("paths") {
            for (verb, operation) in verbs.as_object().expect("operations") {
                operations += usize::from(path.starts_with("/v1/"));
                let about = operation["description"].as_str().unwrap_or_default();
                assert!(about.len() > 10 && !about.contains("[`"), "{verb} {path}: {about:?}");
            }
        }
        assert_eq!(operations, rows().map(|row| row.head().paths().count()).sum::<usize>());
        let text = document.to_string();
        let names: Vec<&str> = text.split("[`").skip(1).filter_map(|rest| rest.split("`]").next()).collect();
        assert!(names.is_empty(), "names of the code, and no numbers: {names:?}");
        for path in text.split("\"#/components/").skip(1).filter_map(|rest| rest.split('"').next()) {
            let (kind, name) = path.split_once('/').expect("a kind and a name");
            assert!(document["components"][kind][name].is_object(), "{path}");
        }
        assert_eq!(table().lines().count(), rows().count() + 2);
    }

    #[test]
    fn what_http_adds_is_said_where_it_holds() {
        let document = openapi();
        let of = |path: &str, verb: &str| -> (Vec<String>, Vec<String>) {
            let operation = &document["paths"][path][verb];
            let headers = operation["parameters"].as_array().into_iter().flatten();
            let headers = headers.filter_map(|one| one["$ref"].as_str()?.rsplit('/').next());
            let statuses = operation["responses"].as_object().expect("responses").keys();
            (headers.map(str::to_owned).collect(), statuses.cloned().collect())
        };
        let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        for (path, verb, headers, statuses) in [
            ("/v1/commits/{ctx}", "get", &["If-None-Match"][..], &["200", "304", "429", "default"][..]),
            (
                "/v1/commits/{ctx}/native",
                "get",
                &["If-None-Match", "If-Range", "Range"],
                &["200", "206", "304", "416", "429", "default"],
            ),
            ("/v1/commits/{ctx}/export", "get", &[], &["200", "429", "default"]),
            ("/v1/turns/begin", "post", &["Idempotency-Key"], &["200", "413", "429", "default"]),
            ("/v1/commits", "post", &["Idempotency-Key"], &["200", "413", "429", "default"]),
            ("/v1/guard", "post", &[], &["200", "413", "429", "default"]),
            ("/v1/events", "get", &["Last-Event-ID"], &["200", "429", "default"]),
        ] {
            assert_eq!(of(path, verb), (texts(headers), texts(statuses)), "{verb} {path}");
        }
    }

    #[test]
    fn the_fields_of_a_query_are_those_that_are_read() {
        let document = openapi();
        let parameters = |path: &str| -> Vec<String> {
            let all = document["paths"][path]["get"]["parameters"].as_array().expect("parameters");
            all.iter().map(|one| one["name"].as_str().unwrap_or_default().to_owned()).collect()
        };
        assert!(
            parameters("/v1/sessions").contains(&"page.limit".to_owned()),
            "{:?}",
            parameters("/v1/sessions")
        );
        let history = parameters("/v1/commits/{ctx}/history");
        assert_eq!(history.iter().filter(|name| *name == "ctx").count(), 1, "{history:?}");
    }
}
