//! Reading profiles.

use super::*;

#[test]
fn a_profile_is_what_its_fields_say_in_either_language() {
    let json = r#"{"id": "v1", "role": "validator", "instructions": "Judge.", "nonInteractive": true,
        "outputSchema": {"type": "object", "required": ["approved"], "a": 1}, "skipHints": ["no network"]}"#;
    let toml = "id = \"v1\"\nrole = \"validator\"\ninstructions = \"Judge.\"\nnon_interactive = true\n\
        output_schema = '{\"type\": \"object\", \"required\": [\"approved\"], \"a\": 1}'\nskip_hints = [\"no network\"]\n";
    let one = Profile::parse(json, DocumentFormat::Json).expect("a profile");
    let two = Profile::parse(toml, DocumentFormat::Toml).expect("a profile");
    assert_eq!(one, two);
    assert!(one.is_validator() && one.non_interactive);
    let schema = one.output_schema.expect("a schema");
    assert_eq!(schema.as_str(), r#"{"type":"object","required":["approved"],"a":1}"#, "in the file's order");
    let short =
        Profile::parse("{\"id\": \"w\", \"role\": \"worker\"}", DocumentFormat::Json).expect("a profile");
    assert_eq!(short, Profile::new(Party::new("w").expect("a name"), "worker"));
}

#[test]
fn what_is_wrong_with_a_profile_is_said_with_its_place() {
    let long = format!("{{\"id\": \"w\", \"role\": \"x\", \"instructions\": \"{}\"}}", "x".repeat(70_000));
    let hints =
        format!("{{\"id\": \"w\", \"role\": \"x\", \"skipHints\": [{}]}}", vec!["\"h\""; 65].join(","));
    for (text, words) in [
        ("{\"id\": \"w\"}", "line 1, column 1: a profile has a `role`, and this one has none"),
        ("{\"role\": \"worker\"}", "line 1, column 1: a profile has a `id`, and this one has none"),
        ("{\"id\": \"w\",\n \"role\": \"\"}", "line 2, column 10: `role` is empty"),
        ("{\"id\": \"w\", \"role\": \"a\\nb\"}", "`role` holds a control character"),
        ("{\"id\": 5, \"role\": \"x\"}", "line 1, column 8: `id` is a number, not text"),
        ("{\"id\": \"w\", \"role\": \"x\", \"rules\": 1}", "a profile has no field `rules`"),
        (
            "{\"id\": \"w\", \"role\": \"x\", \"outputSchema\": 1}",
            "`outputSchema` is a number, not a JSON Schema",
        ),
        ("{\"id\": \"w\", \"role\": \"x\", \"outputSchema\": \"{\"}", "`outputSchema` is not JSON"),
        (
            "{\"id\": \"w\", \"role\": \"x\", \"nonInteractive\": \"yes\"}",
            "`nonInteractive` is text, not true or false",
        ),
        ("{\"id\": \"w\", \"role\": \"x\", \"skipHints\": \"all\"}", "`skipHints` is text, not a list"),
        ("{\"id\": \"w\", \"role\": \"x\", \"skipHints\": [1]}", "a skip hint is a number"),
        (&long, "`instructions` has 70000 bytes, more than 65536"),
        (&hints, "`skipHints` has 65 texts, at most 64"),
        ("role = 1", "a profile has a `id`"),
    ] {
        let error = Profile::parse(text, DocumentFormat::of(text)).expect_err(text).to_string();
        assert!(error.contains(words), "{error}");
    }
}
