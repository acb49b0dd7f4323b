//! Every rule finds its made-up secrets in every spelling, and nothing in what only looks like one.
//! The laws that hold for any input are in `laws.rs`.

use std::borrow::Cow;

use crate::support::{cases, escaped, escaped_slashes, plant, spelled_out};
use stemmata_redact::{RuleFile, RuleScope, Scrubber};

const SEEDS: [u64; 3] = [1, 7, 40];

fn scrub(line: &str) -> (String, usize) {
    let scrubbed = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap();
    (String::from_utf8(scrubbed.bytes.into_owned()).unwrap(), scrubbed.findings.len())
}

/// A way to put a text on a line of a transcript.
type Spelling = (&'static str, fn(&str) -> String);

fn in_content(content: &str) -> String {
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":"{content}"}},"uuid":"00000000-0000-4000-8000-000000000001"}}"#
    )
}

const SPELLINGS: [Spelling; 8] = [
    ("in a string", |text| in_content(&escaped(text))),
    ("with escaped slashes", |text| in_content(&escaped_slashes(text))),
    ("in JSON in a string", |text| in_content(&escaped(&format!(r#"{{"cmd":"{}"}}"#, escaped(text))))),
    ("in JSON in JSON in a string", |text| {
        let inner = format!(r#"{{"cmd":"{}"}}"#, escaped(text));
        in_content(&escaped(&format!(r#"{{"arguments":"{}","n":1}}"#, escaped(&inner))))
    }),
    ("escaped slashes in JSON in a string", |text| {
        in_content(&escaped(&format!(r#"{{"cmd":"{}"}}"#, escaped_slashes(text))))
    }),
    ("torn behind it", |text| {
        let line = in_content(&escaped(text));
        line[..line.rfind("\"},\"uuid").unwrap()].to_owned()
    }),
    ("torn in JSON in a string", |text| {
        let line = in_content(&escaped(&format!(r#"{{"cmd":"{}"#, escaped(text))));
        line[..line.rfind("\"},\"uuid").unwrap()].to_owned()
    }),
    ("in an array", |text| format!(r#"{{"lines":["first","{}","last"]}}"#, escaped(text))),
];

#[test]
fn every_secret_is_found_in_every_spelling() {
    let mut failures = Vec::new();
    for case in cases() {
        for (template, seed) in case.yes.iter().flat_map(|template| SEEDS.map(|seed| (template, seed))) {
            let mut planted = plant(template, seed);
            planted.before.insert_str(0, "run ");
            planted.after.push_str(" now");
            for (name, spelling) in SPELLINGS {
                let expected = spelling(&planted.scrubbed(&case.kind));
                let (result, _) = scrub(&spelling(&planted.text()));
                if result != expected {
                    failures.push(format!("{}: {template} {name}: {result}", case.kind));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_secret_is_found_in_plain_text() {
    for case in cases() {
        for (template, seed) in case.yes.iter().flat_map(|template| SEEDS.map(|seed| (template, seed))) {
            let planted = plant(template, seed);
            let scrubbed = Scrubber::builtin();
            let text = planted.text();
            let result = scrubbed.scrub_text(&text).unwrap();
            assert_eq!(result.text, planted.scrubbed(&case.kind), "{}: {template}", case.kind);
            assert_eq!(result.findings.len(), 1, "{template}");
            assert_eq!(result.findings[0].offset, planted.before.len(), "{template}");
            assert_eq!(result.findings[0].len, planted.secret.len(), "{template}");
            assert_eq!(&*result.findings[0].kind, case.kind.as_str());
        }
    }
}

#[test]
fn a_secret_spelled_as_escapes_is_found() {
    for case in cases() {
        for template in &case.yes {
            let planted = plant(template, 1);
            let line = in_content(&spelled_out(&planted.text()));
            let before = spelled_out(&planted.before);
            let after = spelled_out(&planted.after);
            let expected = in_content(&format!("{before}[REDACTED:{}]{after}", case.kind));
            assert_eq!(scrub(&line).0, expected, "{}: {template}", case.kind);
        }
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    // What no rule knows by its form may still be drawn and stand near a word; that has cases of its own.
    let text = "entropy.mode = 'off'";
    let off = RuleFile { name: "off", text, scope: RuleScope::Store };
    let scrubber = Scrubber::with_files(&[off]).unwrap();
    for case in cases() {
        for (template, seed) in case.no.iter().flat_map(|template| SEEDS.map(|seed| (template, seed))) {
            let text = plant(template, seed).text();
            let result = scrubber.scrub_text(&text).unwrap();
            assert!(matches!(result.text, Cow::Borrowed(_)), "{}: {template}: {result:?}", case.kind);
            for (name, spelling) in SPELLINGS {
                let line = spelling(&format!("run {text} now"));
                let result = scrubber.scrub_line(line.as_bytes()).unwrap();
                assert!(result.findings.is_empty(), "{}: {template} {name}", case.kind);
            }
        }
    }
}

#[test]
fn every_kind_of_the_rules_has_a_case() {
    let known: Vec<String> = cases().into_iter().map(|case| case.kind).collect();
    let rules: toml::Table = toml::from_str(include_str!("../../rules/structured.toml")).unwrap();
    for rule in rules["rules"].as_array().unwrap() {
        let kind = rule["kind"].as_str().unwrap();
        assert!(kind == "assignment" || known.iter().any(|name| name == kind), "{kind}");
    }
}
