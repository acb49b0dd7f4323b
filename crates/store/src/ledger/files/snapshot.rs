//! `snapshot.json`: the saved states of a ledger. Derived: it may be lost at any time.
//!
//! What states mean is the reducers'.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use stemmata_model::Json;

use super::seal;
use super::v2::{CursorV2, ReducerV2, SCHEMA_VERSION, SnapshotV2};
use crate::ledger::SavedState;

/// Bytes of the file at most.
pub(super) const SNAPSHOT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Saved states by name.
pub(super) type States = BTreeMap<String, SavedState>;

/// Returns the last event that no state has to see any more.
pub(super) fn last_event(states: &States) -> u64 {
    states.values().map(|state| state.through).min().unwrap_or_default()
}

pub(super) fn encode(states: &States) -> String {
    let cursor = |state: &SavedState| CursorV2 {
        through: state.through.to_string(),
        position: state.position.clone(),
    };
    let reducer = |state: &SavedState| ReducerV2 {
        version: state.version,
        state: RawValue::from_string(state.state.as_str().to_owned()).expect("a checked text is JSON"),
    };
    let snapshot = SnapshotV2 {
        schema_version: SCHEMA_VERSION,
        last_event_seq: last_event(states).to_string(),
        cursors: states.iter().map(|(name, state)| (name.clone(), cursor(state))).collect(),
        reducers: states.iter().map(|(name, state)| (name.clone(), reducer(state))).collect(),
    };
    let text = serde_json::to_string(&snapshot).expect("texts and numbers are JSON");
    format!("{}\n", seal::seal(&text))
}

/// Reads the file, or says why it is to be ignored.
pub(super) fn decode(bytes: &[u8]) -> Result<States, String> {
    let line = bytes.strip_suffix(b"\n").ok_or("it does not end with a newline")?;
    // What is no JSON at all is told as that: it is what a person would see first.
    let read: SnapshotV2 =
        serde_json::from_slice(line).map_err(|error| format!("it is not a snapshot: {error}"))?;
    seal::check(line)?;
    if read.schema_version != SCHEMA_VERSION {
        return Err(format!("it is of version {}", read.schema_version));
    }
    let mut cursors = read.cursors;
    let mut states = States::new();
    for (name, reducer) in read.reducers {
        let cursor = cursors.remove(&name).ok_or_else(|| format!("`{name}` has no cursor"))?;
        let through =
            any_number(&cursor.through).ok_or_else(|| format!("the cursor of `{name}` is not a number"))?;
        let state = Json::parse(reducer.state.get()).map_err(|error| format!("`{name}`: {error}"))?;
        let (version, position) = (reducer.version, cursor.position);
        states.insert(name.clone(), SavedState { name, version, through, position, state });
    }
    Ok(states)
}

/// Returns the greatest number that a state knows, without reading what states say; none where that cannot be told.
pub(super) fn greatest(bytes: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Cursors {
        schema_version: u32,
        cursors: BTreeMap<String, CursorV2>,
    }
    let line = bytes.strip_suffix(b"\n")?;
    let read: Cursors = serde_json::from_slice(line).ok()?;
    let is_ours = read.schema_version == SCHEMA_VERSION && seal::check(line).is_ok();
    let numbers = read.cursors.values().map(|cursor| any_number(&cursor.through));
    numbers.collect::<Option<Vec<u64>>>()?.into_iter().max().filter(|_| is_ours)
}

/// Reads a number in its one form. It is held to the log by who reads it.
fn any_number(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> States {
        let state = |name: &str, through, text: &str| SavedState {
            name: name.to_owned(),
            version: 3,
            through,
            position: (through > 5).then(|| "line \"7\"".to_owned()),
            state: Json::parse(text).expect("JSON"),
        };
        let states = [
            state("memory", 9, "{\"n\":9007199254740993.10,\"checksum\":\"x\"}"),
            state("a\u{1}", (1 << 53) + 1, "null"),
            state("ahead", u64::MAX, "1"),
        ];
        states.into_iter().map(|state| (state.name.clone(), state)).collect()
    }

    #[test]
    fn it_comes_back_and_every_flipped_bit_is_found() {
        let bytes = encode(&states()).into_bytes();
        assert_eq!(decode(&bytes), Ok(states()));
        assert_eq!(decode(encode(&States::new()).as_bytes()), Ok(States::new()));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
        }
    }
}
