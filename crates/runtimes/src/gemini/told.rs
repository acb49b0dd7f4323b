//! Results that stand beside their calls only, told behind them.
//!
//! A line is decoded by itself, and a result is read where a message of its own has it. A log that the client made of an older
//! session has no such messages; whether one has, only all of its lines say.

use std::collections::{HashMap, HashSet};

use stemmata_model::Entry;

use super::legacy::result;
use super::record::{Call, Kind, Record, apart, elements};
use super::restated::line_of;
use crate::apart::each;
use crate::lines::decode::line_id;

/// Adds the results that stand nowhere else, each behind the answer that has its call.
pub(super) fn with_results(entries: Vec<Entry>, bytes: &[u8]) -> Vec<Entry> {
    let answered: HashSet<String> =
        entries.iter().flat_map(|entry| entry.answers().map(str::to_owned)).collect();
    // Of an answer that was written again, the last version has all results.
    let mut last: HashMap<String, usize> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let calls = entry.calls().map(|call| (call.to_owned(), index));
        last.extend(calls);
    }
    let mut told = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let beside = beside(&entry, bytes, &answered);
        told.push(entry);
        let is_last = |result: &Entry| result.answers().any(|call| last.get(call) == Some(&index));
        told.extend(beside.into_iter().filter(is_last));
    }
    told
}

/// Returns the results that stand in an answer's own line.
fn beside(entry: &Entry, bytes: &[u8], answered: &HashSet<String>) -> Vec<Entry> {
    let mut told = Vec::new();
    let mut take = |text: &[u8], _| {
        let record = Record::parse(text)?;
        let calls = elements(record.fields.tool_calls).into_iter().filter(|_| record.kind == Kind::Gemini);
        let results = calls
            .filter_map(|call| result(&Call::read(call).ok()?, answered, entry.timestamp))
            .map(|(at, line)| {
                let id = line.id.clone().unwrap_or_else(|| line_id(format!("{} {at}", entry.id).as_bytes()));
                line.into_entry(id, entry.native)
            });
        told.extend(results);
        Ok(())
    };
    // A line that is no record has no results.
    each(line_of(entry, bytes), apart, &mut take).unwrap_or_default();
    told
}

#[cfg(test)]
mod tests {
    use stemmata_model::{Part, Role};

    use crate::adapter::Adapter as _;
    use crate::gemini::Gemini;

    const HEADER: &str = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}
{"id":"1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"look"}]}
"#;

    /// An answer with two calls, as a client makes it of an older session: results in it, and nowhere else.
    fn answer(second: &str) -> String {
        let call = |id: &str, said: &str| {
            format!(
                r#"{{"id":"{id}","name":"ls","args":{{}},"result":[{{"functionResponse":{{"id":"{id}","name":"ls","response":{{"output":"{said}"}}}}}}]}}"#
            )
        };
        format!(
            "{{\"id\":\"2\",\"timestamp\":\"2026-01-01T00:00:02.000Z\",\"type\":\"gemini\",\"content\":\"so\",\"toolCalls\":[{},{}]}}\n",
            call("c1", "one"),
            call("c2", second)
        )
    }

    const RESULT: &str = r#"{"id":"3","timestamp":"2026-01-01T00:00:03.000Z","type":"user","content":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"own"}}}]}
"#;

    fn told(log: &str) -> Vec<(Role, String)> {
        let entries = Gemini.told(log.as_bytes()).entries;
        let results = entries.iter().flat_map(|entry| {
            entry.parts.iter().filter_map(|part| match part {
                Part::ToolResult { call_id, parts, .. } => Some((entry.role, format!("{call_id} {parts:?}"))),
                _ => None,
            })
        });
        results.map(|(role, text)| (role, text.replace("[Text(\"", "").replace("\")]", ""))).collect()
    }

    #[test]
    fn a_result_that_stands_beside_its_call_only_is_told_once() {
        let tool = |text: &str| (Role::Tool, text.to_owned());
        let log = format!("{HEADER}{}", answer("two"));
        assert_eq!(told(&log), [tool("c1 one"), tool("c2 two")]);
        // Of the calls, one is answered by a message of its own, and the answer was written twice.
        let log = format!("{HEADER}{}{}{RESULT}", answer("early"), answer("late"));
        assert_eq!(told(&log), [tool("c2 late"), tool("c1 own")]);
        // A line by itself is what it was: results are looked for in a whole context only.
        assert!(
            Gemini.decode(log.as_bytes()).entries.iter().filter(|entry| entry.role == Role::Tool).count()
                == 1
        );
    }
}
