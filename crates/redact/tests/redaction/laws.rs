//! What holds for any bytes: nothing lands, nothing else changes, twice is once, and the time is linear.
//! Which secrets there are is in `fixtures.rs`.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::support::{cases, draw, escaped, plant};
use proptest::prelude::*;
use serde_json::{Value, json};
use stemmata_redact::{RuleFile, RuleScope, Scrubbed, Scrubber};

fn scrub(line: &[u8]) -> Scrubbed<'_> {
    Scrubber::builtin().scrub_line(line).unwrap()
}

/// The scrubber whose entropy has no line looked at that no rule has looked at.
fn without_entropy() -> &'static Scrubber {
    static OFF: OnceLock<Scrubber> = OnceLock::new();
    OFF.get_or_init(|| {
        let off = RuleFile { name: "off", text: "entropy.mode = 'off'", scope: RuleScope::Store };
        Scrubber::with_files(&[off]).unwrap()
    })
}

/// Texts with secrets, near-secrets, edges and escapes side by side.
fn pieces() -> impl Strategy<Value = String> {
    let cases = cases();
    let yes: Vec<String> = cases.iter().flat_map(|case| case.yes.clone()).collect();
    let no: Vec<String> = cases.iter().flat_map(|case| case.no.clone()).collect();
    let glue = [
        "",
        " ",
        "\n",
        "\t",
        "\"",
        "\\",
        "\\n",
        "=",
        ": ",
        "-",
        "_",
        "/",
        "@",
        "[REDACTED:x]",
        "{\"",
        "\":\"",
        "é",
        "ü",
        "😀",
    ];
    let piece = prop_oneof![
        3 => (prop::sample::select(yes), 0..50u64).prop_map(|(template, seed)| plant(&template, seed).text()),
        1 => (prop::sample::select(no), 0..50u64).prop_map(|(template, seed)| plant(&template, seed).text()),
        4 => prop::sample::select(glue.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        pieces().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(Value::Null),
        pieces().prop_map(|text| Value::from(json!({ "cmd": text, "n": 1 }).to_string())),
    ];
    let key = prop::sample::select(vec![
        "text",
        "password",
        "token",
        "api_key",
        "signature",
        "data",
        "input",
        "type",
        "thinking",
        "uuid",
        "lines",
    ]);
    leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// A name, a sign and a value, with what may stand between them.
fn assignment() -> impl Strategy<Value = String> {
    let one_of = |parts: &[&'static str]| prop::sample::select(parts.to_vec());
    let glue = || one_of(&["", "", "\t", "\t\t", " ", "ü", "/", "\"", "'", ",", "ü,", ",ü", "\n", "\\"]);
    let name = one_of(&[
        "DB_PASSWORD",
        "api_token",
        "--token",
        "PASS",
        "aws_secret_access_key",
        "postgres://",
        "curl -u me",
        "machine a login b password",
        "smtp_pass",
        "passphrase",
        "<secret>",
        "pwd",
        "SECRET_KEY_BASE",
    ]);
    let sign = one_of(&["=", ":", " = ", ": ", "=>", " "]);
    let value = || {
        one_of(&[
            "S3cr3tPw!9",
            "0b9f6c1d2e3a48575f60",
            "app:p4sS",
            "@db.acme.dev/x",
            "Zq1!",
            "",
            "hunter",
            "4711",
            "two words",
            "</secret>",
            "${X}",
            "f(x)",
        ])
    };
    (name, glue(), sign, glue(), value(), glue(), value(), glue())
        .prop_map(|(a, b, c, d, e, f, g, h)| [a, b, c, d, e, f, g, h].concat())
}

/// The same JSON as writers give it that keep to ASCII.
fn in_ascii(json: &str) -> String {
    let mut units = [0; 2];
    json.chars()
        .map(|char| match char {
            char if char.is_ascii() => char.to_string(),
            char => char.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        })
        .collect()
}

/// The same value with every string emptied.
fn bones(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::from(""),
        Value::Array(items) => items.iter().map(bones).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), bones(value))).collect(),
        other => other.clone(),
    }
}

/// What the findings say must be what was replaced: rebuilds the output from the input.
fn rebuilt(line: &[u8], scrubbed: &Scrubbed<'_>) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    for finding in &scrubbed.findings {
        out.extend_from_slice(&line[at..finding.offset]);
        if &*finding.kind == "thinking" {
            out.extend_from_slice(br#"{"type":"text","text":"[REDACTED:thinking]"}"#);
        } else {
            out.extend_from_slice(format!("[REDACTED:{}]", finding.kind).as_bytes());
        }
        at = finding.offset + finding.len;
    }
    out.extend_from_slice(&line[at..]);
    out
}

fn check_line(line: &[u8]) {
    let once = scrub(line);
    assert_eq!(once.findings.is_empty(), matches!(once.bytes, Cow::Borrowed(_)));
    assert_eq!(once.bytes.as_ref(), rebuilt(line, &once), "{}", String::from_utf8_lossy(line));
    let twice = scrub(&once.bytes);
    assert!(
        matches!(twice.bytes, Cow::Borrowed(_)),
        "{}\n-> {}\n-> {:?}",
        String::from_utf8_lossy(line),
        String::from_utf8_lossy(&once.bytes),
        twice.findings
    );
    assert_eq!(once, scrub(line));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]

    #[test]
    fn json_stays_json_and_twice_is_once(value in values()) {
        let line = value.to_string();
        check_line(line.as_bytes());
        let scrubbed = scrub(line.as_bytes());
        if scrubbed.findings.iter().all(|finding| &*finding.kind != "thinking") {
            let after: Value = serde_json::from_slice(&scrubbed.bytes).unwrap();
            prop_assert_eq!(bones(&after), bones(&value));
        } else {
            prop_assert!(serde_json::from_slice::<Value>(&scrubbed.bytes).is_ok());
        }
    }

    /// The prefilter on the raw line misses nothing that a look at every string finds, whether the writer spells letters
    /// by their numbers or not. An escaped letter forces the look at every string.
    #[test]
    fn the_fast_path_finds_what_the_slow_path_finds(value in values()) {
        for value in [value.to_string(), in_ascii(&value.to_string())] {
            let fast = format!(r#"{{"pad":"AAAAAA","value":{value}}}"#);
            let slow = format!(r#"{{"pad":"\u0041","value":{value}}}"#);
            for scrubber in [&Scrubber::builtin(), without_entropy()] {
                let found = |line: &str| scrubber.scrub_line(line.as_bytes()).unwrap().findings;
                prop_assert_eq!(found(&fast), found(&slow), "{}", value);
            }
        }
    }

    /// Nor does it where blanks, slashes, quotes and foreign letters stand between the parts of one assignment.
    #[test]
    fn the_fast_path_knows_what_stands_within_an_assignment(parts in assignment()) {
        let text = json!({ "text": parts }).to_string();
        for text in [text.clone(), in_ascii(&text), json!({ "arguments": in_ascii(&text) }).to_string()] {
            let fast = format!(r#"{{"pad":"AAAAAA","value":{text}}}"#);
            let slow = format!(r#"{{"pad":"\u0041","value":{text}}}"#);
            let found = |line: &str| without_entropy().scrub_line(line.as_bytes()).unwrap().findings;
            prop_assert_eq!(found(&fast), found(&slow), "{}", text);
        }
    }

    #[test]
    fn a_torn_line_holds_no_more_than_the_whole(value in values(), cut in 0.0..1.0f64) {
        let line = value.to_string();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short line")]
        let cut = (line.len() as f64 * cut) as usize;
        check_line(&line.as_bytes()[..cut]);
    }

    #[test]
    fn text_is_scrubbed_once(text in pieces()) {
        check_line(text.as_bytes());
        let scrubber = Scrubber::builtin();
        let once = scrubber.scrub_text(&text).unwrap();
        prop_assert!(matches!(scrubber.scrub_text(&once.text).unwrap().text, Cow::Borrowed(_)));
    }

    #[test]
    fn any_bytes_are_survived(line in prop::collection::vec(any::<u8>(), 0..300)) {
        check_line(&line);
    }

    #[test]
    fn the_end_of_the_line_survives(text in pieces(), end in prop::sample::select(vec!["", "\n", "\r\n"])) {
        let line = json!({ "text": text }).to_string();
        let bare = scrub(line.as_bytes()).bytes.into_owned();
        let with_end = [line.as_bytes(), end.as_bytes()].concat();
        let expected = [bare.as_slice(), end.as_bytes()].concat();
        prop_assert_eq!(scrub(&with_end).bytes.into_owned(), expected);
    }

    #[test]
    fn planted_secrets_never_land(index in any::<prop::sample::Index>(), seed in 0..1000u64, depth in 0..4usize, before in "[a-z .,:é\n]{0,20}") {
        let cases = cases();
        let all: Vec<&String> = cases.iter().flat_map(|case| &case.yes).collect();
        let planted = plant(index.get(&all).as_str(), seed);
        let mut text = format!("{before} {} .", planted.text());
        for _ in 0..depth {
            text = format!(r#"{{"t":"{}"}}"#, escaped(&text));
        }
        // The fixtures draw at random: a value may lack the digits that its rule asks for.
        let result = scrub(text.as_bytes());
        let longest = planted.secret.split(|c: char| !c.is_ascii_alphanumeric()).max_by_key(|part| part.len()).unwrap().to_owned();
        prop_assert!(longest.len() < 8 || !String::from_utf8_lossy(&result.bytes).contains(&longest), "{text}");
    }
}

/// Law of invariant 13: secrets are replaced before they land; ciphertext and signatures are never altered.
#[test]
fn invariant_13_secrets_never_land_and_signatures_stay() {
    let key = draw("ghp_{alnum:36}", 3);
    let aws = draw("AKIA{upper:16}", 3);
    let opaque = format!("{}{aws}+{}", draw("{b64:60}/", 1), draw("{b64:60}==", 2));
    let line = json!({
        "type": "assistant", "uuid": format!("{aws}"), "parentUuid": format!("x {aws}"), "requestId": aws, "sessionId": aws,
        "message": { "id": "msg_1", "role": "assistant", "content": [
            { "type": "thinking", "thinking": "plain", "signature": format!("a {aws} b") },
            { "type": "redacted_thinking", "data": format!("a {aws} b") },
            { "data": format!("a {aws} b"), "type": "redacted_thinking" },
            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": opaque } },
            { "type": "text", "text": format!("the key {key}"), "thoughtSignature": format!("x {aws}") },
            { "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": format!("export A={aws}\nB='{key}'"), "signature": format!("a {aws} b") } },
            { "type": "reasoning", "encrypted_content": format!("a {aws} b") },
        ] },
        "toolUseResult": { "stdout": format!("\u{1b}[32m{key}\u{1b}[0m"), "file": { "base64": opaque } },
    })
    .to_string();
    let scrubbed = scrub(line.as_bytes());
    let text = String::from_utf8(scrubbed.bytes.into_owned()).unwrap();
    assert!(!text.contains(&key));
    let after: Value = serde_json::from_str(&text).unwrap();
    let before: Value = serde_json::from_str(&line).unwrap();
    for path in [
        "/uuid",
        "/parentUuid",
        "/requestId",
        "/sessionId",
        "/message/content/0",
        "/message/content/1",
        "/message/content/2",
        "/message/content/3",
        "/message/content/4/thoughtSignature",
        "/message/content/6",
        "/toolUseResult/file",
    ] {
        assert_eq!(after.pointer(path).unwrap(), before.pointer(path).unwrap(), "{path}");
    }
    assert_eq!(after.pointer("/message/content/4/text").unwrap(), "the key [REDACTED:github-token]");
    assert_eq!(
        after.pointer("/message/content/5/input").unwrap(),
        &json!({ "command": "export A=[REDACTED:aws-access-key-id]\nB='[REDACTED:github-token]'", "signature": "a [REDACTED:aws-access-key-id] b" })
    );
    assert_eq!(after.pointer("/toolUseResult/stdout").unwrap(), "\u{1b}[32m[REDACTED:github-token]\u{1b}[0m");
}

/// A signed text cannot be changed: the block gives way to a text block, and the record stays.
#[test]
fn a_signed_thinking_block_with_a_secret_becomes_text() {
    let key = draw("ghp_{alnum:36}", 3);
    let thinking = format!(r#"{{"type":"thinking","thinking":"use {key}","signature":"EqQB"}}"#);
    let line = |block: &str| {
        format!(r#"{{"uuid":"1","message":{{"content":[{block},{{"type":"text","text":"hi"}}]}}}}"#)
    };
    let text = r#"{"type":"text","text":"[REDACTED:thinking]"}"#;
    let input = line(&thinking);
    let scrubbed = scrub(input.as_bytes());
    assert_eq!(String::from_utf8_lossy(&scrubbed.bytes), line(text));
    assert_eq!((&*scrubbed.findings[0].kind, scrubbed.findings[0].len), ("thinking", thinking.len()));
    // Without a signature there is nothing to break.
    let unsigned = thinking.replace(r#","signature":"EqQB""#, "");
    let expected = line(r#"{"type":"thinking","thinking":"use [REDACTED:github-token]"}"#);
    assert_eq!(String::from_utf8_lossy(&scrub(line(&unsigned).as_bytes()).bytes), expected);
}

/// A diff as clients record it: the lines of the key stand in strings of their own.
#[test]
fn a_private_key_split_over_an_array_is_found() {
    let body = [draw("{b64:64}", 1), draw("{b64:64}", 2), draw("{b64:20}==", 3)];
    let header = "+-----BEGIN RSA PRIVATE KEY-----";
    let line = json!({ "lines": [" x", header, format!("+{}", body[0]), format!("+{}", body[1]), format!("+{}", body[2]), "+-----END RSA PRIVATE KEY-----", "+some_function_name_after_it"] });
    let expected = json!({ "lines": [" x", header, "+[REDACTED:private-key]", "+[REDACTED:private-key]", "+[REDACTED:private-key]", "+-----END RSA PRIVATE KEY-----", "+some_function_name_after_it"] });
    let line = line.to_string();
    let scrubbed = scrub(line.as_bytes());
    assert_eq!(serde_json::from_slice::<Value>(&scrubbed.bytes).unwrap(), expected);
    assert!(matches!(scrub(&scrubbed.bytes).bytes, Cow::Borrowed(_)));
}

/// Names of fields are text like any other.
#[test]
fn a_secret_as_a_key_is_found() {
    let key = draw("ghp_{alnum:36}", 3);
    let line =
        json!({ "files": { format!("https://me:{key}@git.acme.dev/x"): 1 }, key.clone(): { "a": [] } })
            .to_string();
    let expected = line.replace(&key, "[REDACTED:github-token]");
    assert_eq!(String::from_utf8_lossy(&scrub(line.as_bytes()).bytes), expected);
}

/// A field whose name says "secret" is one, whatever its object.
#[test]
fn fields_are_assignments() {
    let (password, token) = (draw("Xk7!{alnum:8}", 1), draw("{alnum:8}1a2b3c{alnum:12}", 2));
    let line = json!({ "input": { "password": password, "apiToken" : token, "nextPageToken": token, "note": token, "password_hint": password } });
    let expected = json!({ "input": { "password": "[REDACTED:password]", "apiToken" : "[REDACTED:token]", "nextPageToken": token, "note": token, "password_hint": password } });
    for (line, expected) in [
        (line.to_string(), expected.to_string()),
        (
            serde_json::to_string_pretty(&line).unwrap().replace('\n', " "),
            serde_json::to_string_pretty(&expected).unwrap().replace('\n', " "),
        ),
        (json!({ "t": line.to_string() }).to_string(), json!({ "t": expected.to_string() }).to_string()),
    ] {
        assert_eq!(String::from_utf8_lossy(&scrub(line.as_bytes()).bytes), expected);
    }
}

/// The name in one field, the value in another: lists of settings, of Kubernetes, of a container or a cloud.
#[test]
fn a_value_beside_its_name_is_an_assignment() {
    let rows = [
        (
            json!({ "env": [{ "name": "DB_PASSWORD", "value": "«»" }, { "name": "MODE", "value": "live12345" }] }),
            true,
        ),
        (json!({ "env": [{ "value": "«»", "name": "DB_PASSWORD" }] }), true),
        (
            json!({ "Parameter": { "Name": "/prod/db/password", "Type": "SecureString", "Value": "«»" } }),
            true,
        ),
        (
            json!({ "outputs": { "db_password": { "sensitive": true, "type": "string", "value": "«»" } } }),
            true,
        ),
        (json!({ "a": { "key": "jwt_secret", "is": { "key": "x", "of": [1] }, "value": "«»" } }), true),
        (json!({ "key": "DB_PASSWORD", "name": "prod database", "value": "«»" }), true),
        (json!({ "Name": "DB_PASSWORD", "Key": "q", "Value": "«»" }), true),
        (json!({ "name": "DB_PASSWORD", "of": { "value": "«»" } }), false),
        (json!([{ "name": "DB_PASSWORD" }, { "value": "«»" }]), false),
        (json!({ "name": "DB_PASSWORD", "values": "«»" }), false),
        (json!({ "name": "password_reset", "value": "«»" }), false),
    ];
    for (line, is_secret) in rows {
        for value in ["hunter", "hä unter 2"] {
            let line = line.to_string();
            let filled = |value: &str| line.replace("«»", &escaped(value));
            let inner = |line: String| json!({ "content": line }).to_string();
            let secret = if line.contains("jwt") { "[REDACTED:secret]" } else { "[REDACTED:password]" };
            let expected = filled(if is_secret { secret } else { value });
            assert_eq!(String::from_utf8_lossy(&scrub(filled(value).as_bytes()).bytes), expected);
            // In a text the value is looked for behind its name only, and not behind other objects.
            if !line.contains("\"of\":[1]") && !line.starts_with("{\"env\":[{\"value\"") {
                let found = scrub(inner(filled(value)).as_bytes()).bytes.into_owned();
                assert_eq!(String::from_utf8_lossy(&found), inner(expected));
            }
        }
    }
}

/// Two records on one line, garbage before and after a record, a record whose beginning is lost.
#[test]
fn broken_lines_are_scrubbed_too() {
    let key = draw("ghp_{alnum:36}", 3);
    for line in [
        format!(r#"{{"a":"{key}"}}{{"b":"x"}}"#),
        format!(r#"{{"a":"b{{"a":"{key}"}}"#),
        format!("garbage {{\"a\":\"{key}\"}}"),
        format!(r#"tail of it {key}","n":1}}"#),
        format!("\0\0\0{key}\0"),
        format!(r#"{{"a":"x\n{key}"#),
        r#"{"a":"x\"#.to_owned() + &key,
        r#"{"a":"\u"#.to_owned() + &key,
        format!("{{'a': '{key}'}}"),
    ] {
        let expected = line.replace(&key, "[REDACTED:github-token]");
        assert_eq!(String::from_utf8_lossy(&scrub(line.as_bytes()).bytes), expected, "{line}");
        check_line(line.as_bytes());
    }
}

/// What lines are made of that cost as much as they can.
const HOSTILE_UNITS: [&str; 76] = [
    "a",
    "AKIA",
    "AKIA ",
    "sk-",
    "ghp_",
    "eyJ",
    "eyJaaaaaaaaaaaa.",
    "token",
    "token=",
    "token:\"",
    "password=",
    "password='",
    "://",
    "://a:b",
    "https://a:b@",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----aaaaaaaaaaaaaaaaaaaa",
    "[",
    "{\"a\":",
    "\\",
    "\\\\\"",
    "\\u0041",
    "\"",
    "AccountKey=",
    "discord ",
    "machine a login b ",
    " -u a:",
    "secret_key='",
    "%41eyJ",
    "session_token=",
    "AAAAAAAAAAAAAAAAAAAAAAAA",
    "kubeadm join ",
    "xoxb-",
    "[REDACTED:x]",
    "api_key: str = ",
    "passphrase: a b ",
    "password: \"a ",
    "secret:",
    "<password>",
    "Cookie: a=1; ",
    "Set-Cookie: a=1234567",
    " -b a=1; ",
    "session=",
    "a_session",
    "variable \"password\" {",
    "variable ",
    "default = ",
    "mysql -u ",
    "docker login -u ",
    "htpasswd -b -n ",
    "echo a:b|chpasswd",
    "a:5432:",
    "*:*:",
    "$6$",
    "$6$aaaaaaaaaaaaaaaaaaaaaaaa",
    "https://a:b#/",
    "https://a:b#/@",
    "&api_key=",
    "LS0tLS1CRUdJTiBQUklWQVRF",
    "AKIAAAAAAAAAAAAAAAAA\t",
    "secret access key |",
    "password\n= ",
    "password\n  = a\n",
    "password\n",
    "passwords:\n- Hunter2x9\n",
    "password: # \n",
    "password: &a !!str ",
    "? password\n: ",
    "- value: Hunter2x9\n  name: ",
    "{value: a, name: password}",
    "<password>\n",
    "<a name=\"password\">",
    "password = \"\"\"\n",
    "PASSWORD  token  ",
    "\u{1b}]8;;",
    "password: a\u{1b}[1m",
];

/// Time grows with the bytes and not faster, whatever they are.
#[test]
fn hostile_lines_take_linear_time() {
    let size: usize = if cfg!(debug_assertions) { 1 << 18 } else { 7 << 20 };
    let limit = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 5 });
    // Lines full of findings, and of fields that are never touched.
    let key = draw("ghp_{alnum:36} ", 3);
    let dense = [
        key.clone(),
        format!("\"signature\":\"x\" {key}"),
        format!("{{\"token\":\"{key}\"}} "),
        draw("A={alnum:20}1a2b3cPASSWORD=Xk7!{alnum:9}\n", 2),
        format!("{key}token {} ", draw("{alnum:9}4xK9b{alnum:14}", 4)),
        format!(
            r#"{{"type":"reasoning","encrypted_content":"x","text":"{key}","summary":[{{"text":"{key}"}}]}}"#
        ),
    ];
    // Each row is one of the table that those before it head, and heads one itself.
    let heads = (0..).map(|row| format!("n{row}_password,n{row}_secret\n"));
    let heads = heads.take(size / 40).collect::<String>();
    let aligned = heads.replace(',', "   ");
    // Many columns of many kinds, and rows below all of them.
    let words = ["password", "secret", "token", "api_key", "access_key", "auth_key", "app_key", "hmac_key"];
    let columns = (2..40).flat_map(|count| words.map(|word| format!("{}{word}\n", "a   ".repeat(count))));
    let columns = columns.collect::<String>() + &"a   a1b2c3d4e5f6   ab\n".repeat(size / 24);
    let made = [heads.as_str(), aligned.as_str(), columns.as_str()];
    let units = HOSTILE_UNITS.into_iter().chain(dense.iter().map(String::as_str)).chain(made);
    for unit in units {
        let body = unit.repeat(size / unit.len());
        for line in [body.clone(), format!("{{\"text\":\"{}\"}}", escaped(&body))] {
            let started = Instant::now();
            let result = scrub(line.as_bytes());
            let took = started.elapsed();
            assert!(took < limit, "{unit:.80?}: {took:?}, {} findings", result.findings.len());
        }
    }
}

/// The hash of the shipped rules. A commit records it, so that it must change with whatever changes the bytes, and
/// with nothing else: whoever changes a rule, or code that gives other bytes, makes a new `Edition`, and pins its hash here. Those
/// before stay.
#[test]
fn the_rule_set_is_named_and_hashed() {
    let scrubber = Scrubber::builtin();
    let hex = |scrubber: &Scrubber| {
        scrubber.rules_hash().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
    };
    assert_eq!(
        (scrubber.rules_version(), hex(&scrubber).as_str()),
        ("structured-4", "dc9f7bad49fb1dd0377e85c1f49f3faa3fe757b4ee6c5f5a71928956f668822e")
    );
    let earlier = scrubber.earlier().unwrap();
    assert_eq!(
        (earlier.rules_version(), hex(earlier).as_str()),
        ("structured-3", "a5e63e0d6f5b27c31a97f8dfc4b04b78b456d07779646eb3d63a8b6d853e5171")
    );
}

#[test]
fn threads_share_a_scrubber() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    shared(&Scrubber::builtin());
    let key = draw("ghp_{alnum:36}", 3);
    let results: Vec<_> = std::thread::scope(|scope| {
        let each =
            (0..4).map(|_| scope.spawn(|| scrub(key.as_bytes()).bytes.into_owned())).collect::<Vec<_>>();
        each.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(results.iter().all(|bytes| bytes == b"[REDACTED:github-token]"));
}

/// A field beside it says nothing of the next one's name.
#[test]
fn a_seal_in_another_string_hides_no_token_from_the_prefilter() {
    let line = br#"{"signature":0,"token":"tokenizer = \"cl100k_base_v2_1a2b3c\""}"#;
    let kinds: Vec<String> = scrub(line).findings.iter().map(|finding| finding.kind.to_string()).collect();
    assert_eq!(kinds, ["high-entropy"]);
}

/// Without entropy, which would have the line looked at anyway.
#[test]
fn no_escape_hides_a_value_from_the_prefilter() {
    let aws = draw("{alnum:39}7", 3);
    let tabs = "\\t".repeat(40);
    for (text, kind) in [
        (r"DB_PASSWORD=\tS3cr3tPw!9".to_owned(), "password"),
        (r"DB_PASSWORD=\\tS3cr3tPw!9".to_owned(), "password"),
        (r"DB_PASSWORD\t=\t \tS3cr3tPw!9".to_owned(), "password"),
        (r"DB_PASSWORD=\u0009S3cr3tPw!9".to_owned(), "password"),
        (format!("DB_PASSWORD{tabs}=S3cr3tPw!9"), "password"),
        (format!("DB_PASSWORD={tabs}S3cr3tPw!9"), "password"),
        (r"SMTP_PASS=\tS3cr3tPw!9".to_owned(), "password"),
        (r"api_token:\t0b9f6c1d2e3a48575f60".to_owned(), "token"),
        (format!(r"aws_secret_access_key\t=\t{aws}"), "aws-secret-key"),
        (r"CONTRIBSYS__COM\t=\t0b9f6c1d:2e3a4857".to_owned(), "sidekiq-credentials"),
        (r"DB_PASSWORD=Z\u00fcrich2024!".to_owned(), "password"),
        (r"DB_PASSWORD=\u00fcrich2024!".to_owned(), "password"),
        (r"DB_PASSWORD=ab,\u00fcrich2024!".to_owned(), "password"),
        (r"<secret>,:\t</secret>".to_owned(), "secret"),
        (r"<secret>$ab:\u00fcrich2024!<\/secret>".to_owned(), "secret"),
        (r"DB_PASSWORD=Z\\u00fcrich2024!".to_owned(), "password"),
        (r"postgres://app:p\u00e4ssw0rd9@db/x".to_owned(), "url-credentials"),
        (r"postgres:\/\/\u00e4pp:pw0rd9x@db/x".to_owned(), "url-credentials"),
        (r"curl -u me:pw\u00e4rd9x1 https".to_owned(), "curl-user"),
    ] {
        let line = format!(r#"{{"text":"{text}"}}"#);
        let found = without_entropy().scrub_line(line.as_bytes()).unwrap().findings;
        let kinds: Vec<&str> = found.iter().map(|finding| &*finding.kind).collect();
        assert_eq!(kinds, [kind], "{line}");
    }
}
