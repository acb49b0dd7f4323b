//! Tests of the laws of documents: adapters that break one each, to see it found.

use stemmata_model::{CommitType, Entry, FormatId, Granularity, Note, Template, Timestamp};

use super::{STATE_BYTES_MAX, check, check_damaged};
use crate::adapter::{
    Adapter, ClientPlace, ContextPlan, Cut, Decoded, Detection, Keeps, PlaceRequest, Placer, PlanStop,
    SegmentFacts, Segments, SessionFacts, SourceError, Splitter, Validator,
};
use crate::bureau::Bureau;
use crate::bureau::samples_tests::agent_sample;
use crate::messages::Messages;
use crate::messages::samples_tests::ANTHROPIC_SAMPLE;
use crate::readable::Readable;
use crate::reading::Reading;

/// An adapter that breaks one law; all else is a good one's.
struct Broken {
    law: &'static str,
    good: &'static dyn Adapter,
}

/// Delegates to a good splitter and spoils what it says.
struct Spoiled {
    law: &'static str,
    good: Box<dyn Splitter>,
}

impl Splitter for Spoiled {
    fn line(&mut self, document: &[u8], notes: &mut Vec<Note>) -> Cut {
        let mut cut = self.good.line(document, notes);
        match (self.law, &mut cut.after) {
            ("snapshot", Some(after)) => after.commit_type = CommitType::Delta,
            ("snapshot: in two", after) => cut.before = *after,
            ("counts", Some(after)) => after.counts.messages += 1,
            ("counts: entries", Some(after)) => after.counts.entries += 1,
            _ => {}
        }
        cut
    }

    fn facts(&self) -> &SessionFacts {
        self.good.facts()
    }

    fn template(&self) -> Template {
        self.good.template()
    }

    fn open(&self) -> SegmentFacts {
        self.good.open()
    }

    fn state(&self) -> Vec<u8> {
        if self.law == "state" { vec![b' '; STATE_BYTES_MAX + 1] } else { self.good.state() }
    }
}

impl Adapter for Broken {
    fn format(&self) -> FormatId {
        let another = FormatId::new("another").expect("a name");
        if self.law == "detect" { another } else { self.good.format() }
    }

    fn reading(&self) -> Reading {
        self.good.reading()
    }

    fn join(&self, contents: &[&[u8]]) -> Option<Vec<u8>> {
        let joined = self.good.join(contents);
        match (self.law, contents) {
            ("join", [first, .., _]) => self.good.join(&[first, first]),
            ("join: alone", [only]) => Some([only, &b" "[..]].concat()),
            _ => joined,
        }
    }

    fn closing(&self, bytes: &[u8], keep: usize) -> Vec<u8> {
        if self.law == "closing" { Vec::new() } else { self.good.closing(bytes, keep) }
    }

    fn opening(&self, bytes: &[u8], keep: usize) -> (usize, Vec<u8>) {
        if self.law == "closing: head" { (0, Vec::new()) } else { self.good.opening(bytes, keep) }
    }

    fn is_frame(&self, between: &[u8]) -> bool {
        self.good.is_frame(between)
    }

    fn readable(&self, bytes: &[u8]) -> Option<Readable> {
        let mut readable = self.good.readable(bytes)?;
        if self.law == "readable" {
            readable.json.push('}');
        }
        Some(readable)
    }

    fn rewritten(&self, bytes: &[u8], json: &str) -> Option<Vec<u8>> {
        let mut rewritten = self.good.rewritten(bytes, json)?;
        if self.law == "readable: again" {
            rewritten.pop();
        }
        Some(rewritten)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        self.good.detect(head)
    }

    fn splitter(&self, granularity: Granularity, state: Option<&[u8]>) -> Box<dyn Splitter> {
        Box::new(Spoiled { law: self.law, good: self.good.splitter(granularity, state) })
    }

    fn decode(&self, bytes: &[u8]) -> Decoded {
        let mut decoded = self.good.decode(bytes);
        match self.law {
            "cover" => drop(decoded.entries.pop()),
            "cover: twice" => decoded.entries.extend(decoded.entries.last().cloned()),
            "torn" => decoded.notes.clear(),
            _ => {}
        }
        decoded
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        let entries = if self.law == "encode" { entries.get(1..).unwrap_or_default() } else { entries };
        self.good.encode(entries)
    }

    fn encode_compaction(&self, summary: &str, keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
        self.good.encode_compaction(summary, keeps, at)
    }

    fn plan_context(&self, chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
        self.good.plan_context(chain, stop)
    }

    fn placer(&self, request: &PlaceRequest) -> Box<dyn Placer> {
        self.good.placer(request)
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        self.good.client_place(request)
    }

    fn validator(&self, client_version: Option<&str>) -> Box<dyn Validator> {
        self.good.validator(client_version)
    }
}

/// The law that is said to be broken: what stands before a colon.
fn law(name: &'static str) -> &'static str {
    name.split(':').next().unwrap_or(name)
}

#[test]
fn each_broken_law_of_documents_is_found() {
    let json: &'static dyn Adapter = &Messages::ANTHROPIC;
    let cbor: &'static dyn Adapter = &Bureau::AGENT;
    let (array, binary) = (ANTHROPIC_SAMPLE.as_bytes(), agent_sample());
    let of_both = [
        "detect",
        "cover",
        "cover: twice",
        "state",
        "snapshot",
        "snapshot: in two",
        "counts",
        "counts: entries",
        "join",
        "join: alone",
        "encode",
    ];
    let of_json = ["closing"];
    let of_cbor = ["closing: head", "readable", "readable: again"];
    let all = of_both.iter().flat_map(|law| [(*law, json), (*law, cbor)]);
    let all = all.chain(of_json.map(|law| (law, json))).chain(of_cbor.map(|law| (law, cbor)));
    for (name, good) in all {
        let sample = if good.format() == json.format() { array } else { &binary };
        check(&Broken { law: "none", good }, sample).unwrap_or_else(|broken| panic!("{broken}"));
        let found = check(&Broken { law: name, good }, sample).map(|_| ()).map_err(|broken| broken.law);
        assert_eq!(found, Err(law(name)), "{name} of {}", good.format());
    }
    for (good, sample) in [(json, array), (cbor, binary.as_slice())] {
        let found = check_damaged(&Broken { law: "torn", good }, sample).map_err(|broken| broken.law);
        assert_eq!(found, Err("torn"), "{}", good.format());
    }
}
