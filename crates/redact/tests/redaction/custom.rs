//! Rules and allowances of a store and of a project, as their owner sees them.
//! Which files make no sense is tested beside the reader.

use proptest::prelude::*;
use stemmata_redact::{RuleFile, RuleScope, Scrubber};

use crate::support::draw;

fn with(files: &[(&str, RuleScope)]) -> Scrubber {
    let files: Vec<RuleFile<'_>> =
        files.iter().map(|(text, scope)| RuleFile { name: "rules.toml", text, scope: *scope }).collect();
    Scrubber::with_files(&files).unwrap()
}

fn scrub(scrubber: &Scrubber, line: &str) -> String {
    String::from_utf8(scrubber.scrub_line(line.as_bytes()).unwrap().bytes.into_owned()).unwrap()
}

const ACME: &str = "[[rules]]\nkind = 'acme-ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";

#[test]
fn a_rule_of_ones_own_is_found_in_every_spelling() {
    let scrubber = with(&[(ACME, RuleScope::Store)]);
    for (line, expected) in [
        ("see ACME-123456 now", "see [REDACTED:acme-ticket] now"),
        (r#"{"t":"\"ACME-123456\""}"#, r#"{"t":"\"[REDACTED:acme-ticket]\""}"#),
        (r#"{"t":"{\"a\":\"x\\nACME-123456\"}"}"#, r#"{"t":"{\"a\":\"x\\n[REDACTED:acme-ticket]\"}"}"#),
        (r#"{"t":"\u0041CME-123456"}"#, r#"{"t":"[REDACTED:acme-ticket]"}"#),
        ("see ACME-1234567 now", "see ACME-1234567 now"),
        ("see XACME-123456 now", "see XACME-123456 now"),
    ] {
        assert_eq!(scrub(&scrubber, line), expected, "{line}");
    }
    assert_ne!(scrubber.rules_hash(), Scrubber::builtin().rules_hash());
}

#[test]
fn a_group_says_which_part_is_the_secret() {
    let text = "[[rules]]\nkind = 'pin'\nkeywords = ['pin code']\nregex = 'pin code (?P<s>[0-9]{4})'\n";
    let scrubber = with(&[(text, RuleScope::Store)]);
    assert_eq!(scrub(&scrubber, "the pin code 1234 is"), "the pin code [REDACTED:pin] is");
}

#[test]
fn the_owner_allows_anything_and_a_project_only_its_own() {
    let key = draw("ghp_{alnum:36}", 3);
    let line = format!("{key} ACME-123456");
    let value = format!("[[allow]]\nvalue = '{key}'\n");
    let own = scrub(&with(&[(ACME, RuleScope::Store), (&value, RuleScope::Store)]), &line);
    assert_eq!(own, format!("{key} [REDACTED:acme-ticket]"));
    let rows = [
        ("[[allow]]\nregex = 'ghp_[A-Za-z0-9]+'\n", format!("{key} [REDACTED:acme-ticket]")),
        ("[[allow]]\nregex = 'ghp_'\n", "[REDACTED:github-token] [REDACTED:acme-ticket]".to_owned()),
        (
            "[[allow]]\nkinds = ['npm-token']\nregex = 'ghp_.*'\n",
            "[REDACTED:github-token] [REDACTED:acme-ticket]".to_owned(),
        ),
        (
            "[[allow]]\nkinds = ['acme-ticket']\nregex = '.{4,}'\n",
            "[REDACTED:github-token] ACME-123456".to_owned(),
        ),
    ];
    for (allow, expected) in rows {
        assert_eq!(
            scrub(&with(&[(ACME, RuleScope::Store), (allow, RuleScope::Store)]), &line),
            expected,
            "{allow}"
        );
    }
    let project = format!("{ACME}[[allow]]\nregex = '.{{4,}}'\n");
    assert_eq!(scrub(&with(&[(&project, RuleScope::Project)]), &line), "[REDACTED:github-token] ACME-123456");
    let of_store = with(&[(ACME, RuleScope::Store), ("[[allow]]\nregex = '.{4,}'\n", RuleScope::Project)]);
    assert_eq!(scrub(&of_store, &line), "[REDACTED:github-token] [REDACTED:acme-ticket]");
}

/// Everything that decides is in the hash; what does not decide is not.
#[test]
fn the_hash_covers_rules_and_allowances() {
    let hash = |text: &str| with(&[(text, RuleScope::Store)]).rules_hash();
    let allow = "[[allow]]\nvalue = 'abcd'\n";
    let all = [
        hash(""),
        hash(ACME),
        hash(&ACME.replace("{6}", "{7}")),
        hash(&ACME.replace("ACME-']", "ACME-', 'acme-']")),
        hash(&format!("{ACME}max_bytes = 100\n")),
        hash(&format!("{ACME}bound = 'any'\n")),
        hash(allow),
        hash(&format!("{allow}kinds = ['jwt']\n")),
        hash("[[allow]]\nregex = 'abcd'\n"),
        with(&[(ACME, RuleScope::Project)]).rules_hash(),
    ];
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    assert_eq!(hash(ACME), hash(&format!("# mine\n{}", ACME.replace('\'', "\""))));
}

/// What stands before a match may match too, pass no test, and be another keyword's.
#[test]
fn a_match_before_its_keyword_is_found_among_others() {
    let rule = "[[rules]]\nkind = 'acme'\nkeywords = ['-ACME']\nregex = '[a-z0-9]{4,8}-ACME'\nbefore = 64\n";
    let scrubber = with(&[(rule, RuleScope::Store)]);
    assert_eq!(scrub(&scrubber, "foo_abcd-ACME tok12345-ACME"), "foo_abcd-ACME [REDACTED:acme]");
    let many = |one: &str| format!("all of {}.", [one; 9].join(" "));
    assert_eq!(scrub(&scrubber, &many("tok12345-ACME")), many("[REDACTED:acme]"));
    let line = |text: String| format!(r#"{{"t":"{text}"}}"#);
    assert_eq!(scrub(&scrubber, &line(many("tok12345-ACME"))), line(many("[REDACTED:acme]")));
}

/// Neither somebody's rules nor somebody's text take more than time in proportion to the text; what was not looked at is
/// not shown.
#[test]
fn rules_that_look_at_too_much_take_the_whole_text() {
    let rule = |index: usize| {
        format!(
            "[[rules]]\nkind = 'r{index}'\nkeywords = ['aaa']\nregex = 'aaa[a-z]{{4,500}}!'\nbound = 'any'\nmax_bytes = 512\n"
        )
    };
    let rules: String = (0..50).map(rule).collect();
    let scrubber = with(&[(&rules, RuleScope::Store)]);
    let started = std::time::Instant::now();
    let text = "a".repeat(100_000);
    let line = format!(r#"{{"a":"one {}","b":"{text}","c":"two"}}"#, &text[..100]);
    let clean = scrub(&scrubber, &line);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    // What is short is looked at whole; of the other the kind is that of the rule that was one too many.
    let (before, after) = line.split_once(&format!("\"{text}")).unwrap();
    let taken = clean.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).unwrap();
    assert!(taken.starts_with("\"[REDACTED:r") && taken.len() < 20, "{taken}");
    // A project's rules that would take so much are not used.
    let project = with(&[(&rules, RuleScope::Project)]);
    assert_eq!((scrub(&project, &line), project.suspensions()), (line.clone(), 1));
    // All means all: of fields that are never touched nothing is known any more either.
    let text = format!("\"signature\": \"abc\" {text}");
    let clean = scrubber.scrub_text(&text).unwrap().text;
    assert!(clean.starts_with("[REDACTED:r") && clean.len() < 20, "{clean}");
}

/// Found in review: each string of a line had a bound of its own, so that a line of many strings had hardly any.
#[test]
fn the_strings_of_a_line_share_what_may_be_looked_at() {
    let rule = |index: usize| {
        format!(
            "[[rules]]\nkind = 'r{index}'\nkeywords = ['aaa']\nregex = 'aaa[a ]{{4,500}}!'\nbound = 'any'\nmax_bytes = 512\n"
        )
    };
    let rules: String = (0..8).map(rule).collect();
    let scrubber = with(&[(&rules, RuleScope::Store)]);
    let string = format!("\"{}\"", "aaa ".repeat(100));
    let line = |count: usize| format!("[{}]", vec![string.as_str(); count].join(","));
    assert_eq!(scrub(&scrubber, &line(1)), line(1), "what is short is looked at whole");
    let clean = scrub(&scrubber, &line(300));
    let taken = clean.matches("\"[REDACTED:r").count();
    assert!(taken > 0 && clean.matches(&string).count() + taken == 300, "{taken}");
    assert_eq!(scrub(&scrubber, &clean), clean, "twice is once");
    let project = with(&[(&rules, RuleScope::Project)]);
    assert_eq!((scrub(&project, &line(300)), project.suspensions()), (line(300), 1));
}

/// An expression that compiles to more than it may be blocks what holds its keyword, and all that comes after.
#[test]
fn a_rule_that_cannot_be_used_blocks() {
    let text =
        "[[rules]]\nkind = 'huge'\nkeywords = ['huge-']\nregex = 'huge-(?:[a-z]{1,900}[0-9]{1,900}){400}'\n";
    let scrubber = with(&[(text, RuleScope::Store)]);
    assert!(scrubber.scrub_line(b"nothing here").is_ok(), "not compiled before its keyword is seen");
    let error = scrubber.scrub_line(b"a huge-one").unwrap_err().to_string();
    assert!(error.contains("rule `huge` cannot be used, compiled it has more than"), "{error}");
    assert!(scrubber.scrub_line(b"nothing here").is_err());
    assert!(scrubber.scrub_text("nothing here").is_err());
}

proptest! {
    /// What somebody's rule finds in a placeholder is no finding: twice is once whatever the rule.
    #[test]
    fn twice_is_once_under_any_rule(
        regex in prop::sample::select(vec!["REDACTED:[a-z-]+", "DACTED", "[A-Z]{4,9}", "acme.*", ".{4,9}acme", "(?i)red.{3,8}"]),
        text in "[a-zA-Z:\\[\\] ]{0,30}",
        before in 0..20usize,
    ) {
        let rule = format!("[[rules]]\nkind = 'acme'\nkeywords = ['acme', 'RED', 'ACT', 'aaa']\nregex = '{regex}'\nbefore = {before}\nbound = 'any'\n");
        let scrubber = with(&[(&rule, RuleScope::Store)]);
        let line = format!("{{\"t\":\"{text} acme aaaa REDX [REDACTED:token] ACTED\"}}");
        let once = scrub(&scrubber, &line);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&once).is_ok());
        prop_assert_eq!(scrub(&scrubber, &once), once);
    }
}
