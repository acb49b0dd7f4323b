//! How the database would run a statement, for tests that say which index it uses.

use rusqlite::Connection;

/// Returns the steps of a statement's plan.
pub(super) fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a plan");
    for parameter in 1..=statement.parameter_count() {
        statement.raw_bind_parameter(parameter, 1).expect("a parameter");
    }
    let mut rows = statement.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next().expect("a row") {
        plan.push(row.get::<_, String>(3).expect("a text"));
    }
    plan
}
