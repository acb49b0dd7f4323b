//! Lines of diffs, numbered lines and those that `grep` shows: what stands before each hides no value. Every form of a value has
//! these prefixes in `dresses.rs`; here are those that a check found, and look-alikes.

use crate::support::plant;
use serde_json::json;
use stemmata_redact::Scrubber;

fn scrub(text: &str) -> String {
    let clean = Scrubber::builtin().scrub_text(text).unwrap().text.into_owned();
    let line = json!({ "content": text }).to_string();
    let line = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap().bytes.into_owned();
    let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(line["content"].as_str().unwrap(), clean, "in JSON");
    clean
}

#[test]
fn a_prefix_of_its_line_hides_no_value() {
    for template in [
        "     1→set PGPASSWORD «hunter2»",
        "+set PGPASSWORD «hunter2»",
        "-set PGPASSWORD «hunter2»",
        "+ENV DB_PASSWORD «hunter2»",
        "12:set PGPASSWORD «hunter2»",
        "12|set PGPASSWORD «hunter2»",
        "+export PGPASSWORD=«hunter2»",
        "-password: |\n-  «hunter2»",
        "-- name: DB_PASSWORD\n-  value: «hunter2»",
        "@@ -1,2 +1,2 @@\n env:\n-- name: DB_PASSWORD\n-  value: «hunter2»\n+- name: MODE",
        "conf.yml-12-password: |\nconf.yml-13-  «geheim»",
        "conf.yml:12:password: |\nconf.yml-13-  «geheim»",
        "+user,password\n+bob,«hunter2»",
        "-user,password\n-bob,«hunter2»",
        "+| user | password |\n+|---|---|\n+| bob | «hunter2» |",
        "-| user | password |\n-|---|---|\n-| bob | «hunter2» |",
        "+password:\n+  «geheim»\n context: x",
        "x {\"old\": \"+set PGPASSWORD «hunter2»\"}",
    ] {
        let planted = plant(template, 3);
        assert_eq!(scrub(&planted.text()), planted.scrubbed("password"));
    }
}

#[test]
fn what_looks_like_a_prefix_hides_and_finds_nothing() {
    for text in [
        "- name: DB_PASSWORD\n  valueFrom: x\n- value: live12345\n  name: MODE",
        "- name: DB_PASSWORD\n- value: live12345",
        "--- a/password\n+++ b/password\n@@ -1 +1 @@\n-old1x\n+new2x",
        "+password: string\n-password: str",
        "-if not password:\n-    raise ValueError1(\"x\")",
        "+set password policy",
        "12:34:56 set password policy",
        "2026-01-31 password changed at10x",
        "-password\n-  = getpass1()",
        "+def win_getpass(prompt='Password: ', stream=None):",
        "     7→child.expect('Password: ', timeout=30)",
        "-1 password\n-2 tokens",
        "a-b.c-1-password\na-b.c-2-value2x",
    ] {
        assert_eq!(scrub(text), text);
    }
}
