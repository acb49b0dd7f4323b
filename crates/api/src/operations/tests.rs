//! Laws of the table of operations: each method has its row, and what a row says of it holds together.

use std::collections::BTreeSet;

use schemars::generate::Contract;
use serde_json::{Map, Value};

use super::http::SOURCES;
use super::*;
use crate::operation::{Effect, Flow, Method, Repeat, Row, Scope, TABLE};
use crate::schema::components;

/// Returns the methods of a facet's trait as `facet.method`, with what flows beside their requests.
fn methods(facet: &str, source: &str) -> Vec<(String, Option<Flow>)> {
    let method = |signature: &str| {
        let name = signature.split('(').next().unwrap_or_default();
        let flow = [
            ("dyn FnMut", Flow::Events),
            ("dyn Write", Flow::Out),
            ("dyn Read", Flow::In),
            ("dyn ByteSource", Flow::In),
        ];
        let flow = flow.into_iter().find(|(parameter, _)| signature.contains(parameter));
        (format!("{facet}.{name}"), flow.map(|(_, flow)| flow))
    };
    let declared = source.split("\n    fn ").skip(1).filter_map(|rest| rest.split(';').next());
    declared.map(method).collect()
}

#[test]
fn every_method_has_one_row_and_what_flows_is_routed_by_hand() {
    assert_eq!(TABLE.len(), SOURCES.len());
    for ((facet, source), rows) in SOURCES.iter().zip(TABLE) {
        let rows: Vec<_> = rows.iter().map(|row| (row.head().name.to_owned(), row.flow())).collect();
        assert!(!rows.is_empty(), "{facet}");
        assert_eq!(rows, methods(facet, source));
    }
}

#[test]
fn a_name_and_a_route_are_one_operation_and_a_command_shows_one_answer() {
    let (mut names, mut commands) = (BTreeSet::new(), BTreeSet::new());
    for operation in OPERATIONS.iter() {
        assert!(names.insert(operation.name), "{}", operation.name);
        for command in operation.commands {
            assert!(commands.insert(*command), "{command}");
        }
    }
    let mut routes = BTreeSet::new();
    for head in rows().map(Row::head) {
        for path in head.paths() {
            // Two names of one hole are one route.
            let shape: Vec<&str> =
                path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect();
            assert!(path.starts_with("/v1/"), "{path}");
            assert!(routes.insert((format!("{:?}", head.method), shape)), "{:?} {path}", head.method);
        }
    }
    for name in FIRST.split(' ').chain(PRINTED.iter().map(|(name, _)| *name)) {
        assert!(names.contains(name), "no operation `{name}`");
    }
}

#[test]
fn the_holes_of_a_path_are_fields_of_the_request() {
    for row in rows() {
        let (head, request) = (row.head(), row.request());
        let schemas = components([request], Contract::Deserialize);
        let properties = &schemas[&request.name()]["properties"];
        for hole in head.holes() {
            assert_eq!(properties[hole]["type"], "string", "{}: {hole}", head.name);
        }
        for hole in head.also_at.iter().flat_map(|path| path.split('/')).filter_map(crate::hole_of) {
            assert!(properties[hole]["type"].to_string().contains("string"), "{}: {hole}", head.name);
        }
    }
}

#[test]
fn every_listing_in_pages_is_known() {
    let mut paged = BTreeSet::new();
    for row in rows() {
        let request = row.request();
        let schemas = components([request], Contract::Deserialize);
        let properties = &schemas[&request.name()]["properties"];
        // Of a prompt, it is the last event that the model was given.
        let is_place = properties["after"].is_object() && row.head().name != "prompts.assemble";
        if properties["page"].is_object() || is_place {
            paged.insert(row.head().name);
        }
    }
    // A new one belongs into the story of places that are foreign or cut, too: `remote_stories/pressure.rs`.
    let known = [
        "chains.children",
        "chains.commits",
        "chains.sessions",
        "ledgers.events",
        "ledgers.ledgers",
        "maintain.scan",
        "registry.audit",
        "registry.pointers",
    ];
    assert_eq!(paged, BTreeSet::from(known));
}

/// Says whether a query can hold a value: a text, a number, a list of these, or fields of such values (`page.limit=20`).
fn fits_a_query(schema: &Value, schemas: &Map<String, Value>, is_listed: bool) -> bool {
    let fits = |schema: &Value| fits_a_query(schema, schemas, is_listed);
    if let Some(name) = schema["$ref"].as_str() {
        return fits(&schemas[name.rsplit('/').next().unwrap_or_default()]);
    }
    if let Some(choices) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        return choices.iter().all(fits);
    }
    match schema["type"].as_str() {
        Some("object") => {
            !is_listed && schema["properties"].as_object().is_some_and(|all| all.values().all(fits))
        }
        Some("array") => !is_listed && fits_a_query(&schema["items"], schemas, true),
        Some(_) => true,
        None => schema["enum"].is_array() || schema["const"].is_string(),
    }
}

#[test]
fn what_is_asked_with_get_fits_a_query() {
    let mut larger = BTreeSet::new();
    for row in rows().filter(|row| row.head().method.has_query()) {
        let request = row.request();
        let schemas = components([request], Contract::Deserialize);
        let properties = schemas[&request.name()]["properties"].as_object().cloned().unwrap_or_default();
        let all = properties.iter().filter(|(_, schema)| !fits_a_query(schema, &schemas, false));
        larger.extend(all.map(|(field, _)| format!("{} {field}", row.head().name)));
    }
    // A server has prices of its own.
    assert_eq!(larger, BTreeSet::from(["chains.stats prices".to_owned()]));
}

#[test]
fn what_reads_changes_nothing_and_what_destroys_is_done_once() {
    for row in rows() {
        let (head, request) = (row.head(), row.request());
        let name = head.name;
        if let Repeat::Keyed(field) = head.repeat {
            let schemas = components([request], Contract::Deserialize);
            assert_eq!(schemas[&request.name()]["properties"][field]["type"], "string", "{name}: {field}");
        }
        if head.method == Method::Get || head.scope == Scope::Read {
            assert_eq!(head.effect, Effect::Reads, "{name}");
        }
        match head.effect {
            Effect::Reads => assert_eq!(head.repeat, Repeat::Same, "{name}"),
            Effect::Writes => assert_ne!(head.repeat, Repeat::Planned, "{name}"),
            Effect::Destroys => {
                assert!(head.repeat != Repeat::Again && head.scope == Scope::Manage, "{name}");
            }
        }
        // What is planned is shown to those who may do it, and has its plan beside it.
        if head.repeat == Repeat::Planned {
            let plan = name.replace(".apply_", ".plan_");
            let plan = rows().map(Row::head).find(|other| other.name == plan && plan != name);
            let plan = plan.unwrap_or_else(|| panic!("`{name}` has no plan"));
            assert_eq!((plan.path, plan.scope), (&*format!("{}/plan", head.path), head.scope));
        }
    }
}
