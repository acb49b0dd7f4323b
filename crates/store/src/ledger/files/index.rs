//! `index.json`: what a ledger's file holds and where, so that it need not be read from its start. Derived: losing it
//! costs only time, and what it says is believed only where it fits the file.

use std::collections::{BTreeMap, VecDeque};

use stemmata_model::{ArtifactId, EventSeq, Gone, Topic};

use super::catalog::Catalog;
use super::line::{hex, number, receipt_of, receipt_v2, time, unhex};
use super::scan::Place;
use super::seal;
use super::v2::{IndexV2, SCHEMA_VERSION};

/// Bytes of the file at most.
pub(super) const INDEX_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Events that a catalog has to have beyond its index before that is written: fewer are read in no time.
pub(super) const INDEX_EVENTS_MIN: usize = 4_096;

pub(super) fn encode(catalog: &Catalog, generation: u64) -> String {
    let left = |gone: &Gone| (gone.hash.to_string(), gone.bytes);
    let output = catalog.output.iter().map(|(at, gone)| (*at, left(gone))).collect();
    let hidden = catalog.hidden.iter();
    let hidden = hidden.map(|(at, (gone, receipt))| (*at, left(gone), receipt_v2(receipt))).collect();
    let receipts = catalog
        .receipts
        .iter()
        .map(|(topic, receipt)| (topic.to_string(), (receipt_v2(receipt), receipt.through.to_string())));
    let index = IndexV2 {
        schema_version: SCHEMA_VERSION,
        generation: generation.to_string(),
        last_event_seq: catalog.last().to_string(),
        last_timestamp: catalog.last_at.map(|at| at.to_string()),
        bytes: catalog.end(),
        durable: catalog.durable.to_string(),
        chain: hex(&catalog.link),
        lengths: catalog.places.iter().map(|place| place.length).collect(),
        topics: catalog.topics.iter().map(ToString::to_string).collect(),
        topic_of: catalog.topic_of.clone(),
        output,
        hidden,
        receipts: receipts.collect(),
    };
    let text = serde_json::to_string(&index).expect("texts and numbers are JSON");
    format!("{}\n", seal::seal(&text))
}

/// Reads the index of a file of a generation with so many bytes; none where it is of another one, or of a longer file.
pub(super) fn decode(
    bytes: &[u8],
    empty: Catalog,
    generation: u64,
    length: u64,
) -> Result<Option<Catalog>, String> {
    let line = bytes.strip_suffix(b"\n").ok_or("it does not end with a newline")?;
    seal::check(line)?;
    let read: IndexV2 = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if read.schema_version != SCHEMA_VERSION
        || read.generation != generation.to_string()
        || read.bytes > length
    {
        return Ok(None);
    }
    let catalog = of(&read, empty).ok_or("it says things that do not fit each other")?;
    let fits = catalog.end() == read.bytes && catalog.last().to_string() == read.last_event_seq;
    if fits { Ok(Some(catalog)) } else { Err("its sums are wrong".to_owned()) }
}

fn of(read: &IndexV2, mut catalog: Catalog) -> Option<Catalog> {
    let topics: Option<Vec<Topic>> = read.topics.iter().map(|name| Topic::new(name.clone()).ok()).collect();
    let topics = topics?;
    let mut byte = 0;
    if read.lengths.len() != read.topic_of.len() {
        return None;
    }
    // A place that no line has would be read as one.
    if read.lengths.contains(&0) {
        return None;
    }
    for (length, topic) in read.lengths.iter().zip(&read.topic_of) {
        catalog.note(Place { byte, length: *length }, topics.get(*topic)?);
        byte += u64::from(*length);
    }
    catalog.keyless = catalog.len();
    let left = |(hash, bytes): &(String, u64)| {
        let hash: ArtifactId = hash.parse().ok()?;
        Some(Gone { hash, bytes: *bytes, forgotten: false })
    };
    let mut output = VecDeque::new();
    for (at, gone) in &read.output {
        let is_next = output.back().is_none_or(|(before, _)| before < at);
        output.push_back((catalog.has(*at).filter(|_| is_next)?, left(gone)?));
    }
    let mut hidden = BTreeMap::new();
    for (at, gone, receipt) in &read.hidden {
        let receipt = receipt_of(receipt, catalog.seq_of(catalog.has(*at)?)?).ok()?;
        hidden.insert(*at, (left(gone)?, receipt));
    }
    for (topic, (receipt, through)) in &read.receipts {
        let through: EventSeq = through.parse().ok()?;
        catalog.receipts.insert(Topic::new(topic.clone()).ok()?, receipt_of(receipt, through).ok()?);
    }
    catalog.count(output, hidden)?;
    catalog.last_at = match &read.last_timestamp {
        Some(text) => Some(time(text)?),
        None => None,
    };
    catalog.link = unhex(&read.chain)?;
    // More than there is cannot be durable, and lines that follow would say that it is.
    catalog.durable = number(&read.durable).filter(|durable| *durable <= catalog.last())?;
    Some(catalog)
}

/// Returns the last number that an index knows, where it can be told.
pub(super) fn last_event(bytes: &[u8]) -> Option<u64> {
    // Without reading where each event is.
    #[derive(serde::Deserialize)]
    struct Last {
        last_event_seq: String,
    }
    let line = bytes.strip_suffix(b"\n")?;
    seal::check(line).ok()?;
    number(&serde_json::from_slice::<Last>(line).ok()?.last_event_seq)
}

/// Returns the generation that an index is of, where it can be told.
pub(super) fn generation(bytes: &[u8]) -> Option<u64> {
    let line = bytes.strip_suffix(b"\n")?;
    seal::check(line).ok()?;
    number(&serde_json::from_slice::<IndexV2>(line).ok()?.generation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        let mut catalog = Catalog::new(6, [0; 32]);
        for (byte, length) in [(0, 10), (10, 20)] {
            catalog.note(Place { byte, length }, &Topic::new("t").expect("a name"));
        }
        let gone = Gone { hash: stemmata_model::artifact_id(b"x"), bytes: 5, forgotten: false };
        catalog.count(VecDeque::from([(1, gone)]), BTreeMap::new()).expect("little");
        catalog.keyless = catalog.len();
        catalog
    }

    #[test]
    fn what_no_file_has_is_refused_even_with_a_right_checksum() {
        let empty = || Catalog::new(6, [0; 32]);
        let text = encode(&catalog(), 1);
        let read = |text: &str| decode(text.as_bytes(), empty(), 1, 30);
        assert_eq!(read(&text), Ok(Some(catalog())));
        let hash = stemmata_model::artifact_id(b"x");
        let receipt = format!(r#"{{"events":1,"bytes":1,"chain":"{}"}}"#, "0".repeat(64));
        let huge = u64::MAX;
        for (from, to) in [
            (r#""durable":"6""#, r#""durable":"9""#.to_owned()),
            (r#""lengths":[10,20]"#, r#""lengths":[30,0]"#.to_owned()),
            (r#""lengths":[10,20]"#, r#""lengths":[10,20,0]"#.to_owned()),
            (r#""topic_of":[0,0]"#, r#""topic_of":[0,1]"#.to_owned()),
            ("[[1,", "[[2,".to_owned()),
            ("[[1,", format!("[[{huge},")),
            ("[[1,", format!(r#"[[1,["{hash}",{huge}]],[0,"#)),
            (",5]]]", format!(r#",5]],[1,["{hash}",5]]]"#)),
            (r#""hidden":[]"#, format!(r#""hidden":[[{huge},["{hash}",1],{receipt}]]"#)),
            (
                r#""hidden":[]"#,
                format!(r#""hidden":[[0,["{hash}",{huge}],{receipt}],[1,["{hash}",1],{receipt}]]"#),
            ),
        ] {
            let (open, _) = text.split_once(",\"checksum\"").expect("a checksum");
            assert!(open.contains(from), "{from} in {open}");
            let changed = format!("{}\n", seal::seal(&format!("{}}}", open.replacen(from, &to, 1))));
            assert!(read(&changed).is_err(), "{to}: {:?}", read(&changed));
        }
    }
}
