//! What rules of somebody's own may not do: take what holds a transcript together, or blot a project out.

use stemmata_redact::{RuleFile, RuleScope, Scrubber};

fn with(rules: &str, scope: RuleScope) -> Scrubber {
    Scrubber::with_files(&[RuleFile { name: "rules.toml", text: rules, scope }]).unwrap()
}

fn scrubbed(scrubber: &Scrubber, line: &str) -> String {
    String::from_utf8(scrubber.scrub_line(line.as_bytes()).unwrap().bytes.into_owned()).unwrap()
}

/// Found in review: a rule for a structural word dropped the assistant's turns on resume.
#[test]
fn structure_ids_and_names_of_fields_stay() {
    let rules = "[[rules]]\nkind = 'x'\nkeywords = ['assistant']\nregex = 'assistant[a-z0-9-]{0,20}'\nbound = 'any'\n";
    let line = r#"{"type":"assistant","uuid":"assistant-1","sessionId":"assistant-2","assistantText":{"role":"assistant","text":"an assistant said"},"toolUseResult":{"type":"assistant"}}"#;
    let wanted = line
        .replace("an assistant said", "an [REDACTED:x] said")
        .replace(r#"{"type":"assistant"}"#, r#"{"type":"[REDACTED:x]"}"#);
    for scope in [RuleScope::Store, RuleScope::Project] {
        assert_eq!(scrubbed(&with(rules, scope), line), wanted, "{scope:?}");
    }
}

/// Found in review: a rule that matches everything replaced all that was said in a project.
#[test]
fn a_projects_rule_that_takes_too_much_is_not_used() {
    let rules = "[[rules]]\nkind = 'x'\nkeywords = ['the ']\nregex = '(?s)the .{8,500}'\nbound = 'any'\n";
    let line = format!(r#"{{"text":"{}"}}"#, "the quick brown fox and the lazy dog ".repeat(80));
    let project = with(rules, RuleScope::Project);
    assert_eq!((scrubbed(&project, &line), project.suspensions()), (line.clone(), 1));
    assert!(scrubbed(&with(rules, RuleScope::Store), &line).contains("[REDACTED:x]"), "an owner may");
    // A secret of ours is replaced all the same.
    let token = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let both = line.replacen("quick", &token, 1);
    assert_eq!(scrubbed(&project, &both), line.replacen("quick", "[REDACTED:github-token]", 1));
}
