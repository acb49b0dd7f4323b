//! Tests of the suite itself: it passes the adapters that are there, and catches broken ones.

use super::*;
use crate::adapter::Keeps;
use crate::claude_code::samples_tests::transcript;
use crate::registry;

/// Made-up sessions with something of everything.
const SESSIONS: [&str; 6] =
    ["U", "mxUATRAdUIATRAmm", "UATRBmCUAUAB", "UAsSrSbcA?U A", "sSrSbcSsS", "mUATTRRZUACUABUA"];

/// The adapter whose samples are here; others bring theirs.
fn claude() -> &'static dyn Adapter {
    registry::detect(&transcript("U")).expect("an adapter").0
}

#[test]
fn claude_code_keeps_the_laws() {
    for letters in SESSIONS {
        let sample = transcript(letters);
        let report = check(claude(), &sample).unwrap_or_else(|violation| panic!("{letters}: {violation}"));
        let blank = letters.matches(' ').count();
        assert_eq!(report.entries, letters.len() - blank, "{letters}");
    }
}

#[test]
fn claude_code_keeps_the_laws_when_damaged() {
    for letters in ["xUATRBmC?I d", "sSrb"] {
        check_damaged(claude(), &transcript(letters))
            .unwrap_or_else(|violation| panic!("{letters}: {violation}"));
    }
    let crlf = transcript("UATRBCUA").iter().fold(Vec::new(), |mut bytes, byte| {
        bytes.extend((*byte == b'\n').then_some(b'\r'));
        bytes.push(*byte);
        bytes
    });
    check(claude(), &crlf).unwrap_or_else(|violation| panic!("{violation}"));
    let too_large = vec![b' '; SMALL_SAMPLE_BYTES_MAX + 1];
    assert!(check_damaged(claude(), &too_large).is_err_and(|violation| violation.law == "small"));
}

/// An adapter that breaks one law, to see each of them fail.
mod broken {
    use stemmata_model::{CommitType, FormatId, Template, Timestamp};

    use super::*;
    use crate::adapter::{ClientPlace, Detection, PlaceRequest, Placer, SessionFacts, Validator};
    use crate::reading::Reading;

    struct Broken(&'static str);

    /// Delegates to a good splitter and spoils what it says.
    struct Spoiled {
        law: &'static str,
        good: Box<dyn Splitter>,
        resumed: bool,
        lines: u64,
    }

    impl Splitter for Spoiled {
        fn line(&mut self, line: &[u8], notes: &mut Vec<Note>) -> Cut {
            let mut cut = self.good.line(line, notes);
            self.lines += 1;
            if self.law == "resume" && self.resumed && self.lines == 2 {
                cut.before = Some(self.good.open());
            }
            if self.law == "counts"
                && let Some(before) = &mut cut.before
            {
                before.counts.messages += 1;
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
            let mut open = self.good.open();
            if self.law == "none" {
                open.commit_type = CommitType::Compaction;
            }
            open
        }

        fn state(&self) -> Vec<u8> {
            let mut state = self.good.state();
            if self.law == "state" {
                state.resize(STATE_BYTES_MAX + 1, b' ');
            }
            state
        }
    }

    impl Adapter for Broken {
        fn format(&self) -> FormatId {
            let name = if self.0 == "detect" { "another" } else { "claude-code-v1" };
            FormatId::new(name).expect("a name")
        }

        fn reading(&self) -> Reading {
            claude().reading()
        }

        fn detect(&self, head: &[u8]) -> Option<Detection> {
            claude().detect(head)
        }

        fn splitter(&self, granularity: Granularity, state: Option<&[u8]>) -> Box<dyn Splitter> {
            let good = claude().splitter(granularity, state);
            Box::new(Spoiled { law: self.0, good, resumed: state.is_some(), lines: 0 })
        }

        fn decode(&self, bytes: &[u8]) -> Decoded {
            let mut decoded = claude().decode(bytes);
            match self.0 {
                "cover" => drop(decoded.entries.pop()),
                "concat" => {
                    if let Some(first) = decoded.entries.first_mut() {
                        first.parent = Some(stemmata_model::EntryId::new("first").expect("a name"));
                    }
                }
                "torn" if bytes.ends_with(b"\"") => {
                    if let Some(first) = decoded.entries.first_mut() {
                        first.parts.clear();
                    }
                }
                _ => {}
            }
            decoded
        }

        fn encode(&self, entries: &[Entry]) -> Vec<u8> {
            let entries = if self.0 == "encode" { entries.get(1..).unwrap_or_default() } else { entries };
            claude().encode(entries)
        }

        fn encode_compaction(&self, summary: &str, keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
            claude().encode_compaction(summary, keeps, at)
        }

        fn placer(&self, request: &PlaceRequest) -> Box<dyn Placer> {
            claude().placer(request)
        }

        fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
            claude().client_place(request)
        }

        fn validator(&self, client_version: Option<&str>) -> Box<dyn Validator> {
            claude().validator(client_version)
        }
    }

    #[test]
    fn each_broken_law_is_found() {
        let sample = transcript("UAUATRUA");
        for law in ["detect", "cover", "concat", "encode", "state", "resume", "counts"] {
            let found = check(&Broken(law), &sample).map_err(|violation| violation.law);
            assert_eq!(found, Err(law));
        }
        let found = check_damaged(&Broken("torn"), &sample).map_err(|violation| violation.law);
        assert_eq!(found, Err("torn"));
    }
}
