//! What stands between a name and its value, and where the value ends: each sign, and what only looks like one.
//! Which names and values count is in `dresses.rs`.

use crate::support::draw;
use serde_json::json;
use stemmata_redact::{RuleFile, RuleScope, Scrubber};

/// A drawn value, `V` in the rows; a name says what it is, so that entropy has no say.
fn check(rows: &[(&str, &str)]) {
    let off = RuleFile { name: "off", text: "entropy.mode = 'off'", scope: RuleScope::Store };
    let scrubber = Scrubber::with_files(&[off]).unwrap();
    let value = draw("{alnum:8}1a2b3c{alnum:12}", 3);
    for (template, expected) in rows {
        let (text, expected) = (template.replace('V', &value), expected.replace('V', &value));
        assert_eq!(scrubber.scrub_text(&text).unwrap().text, expected, "{template}");
        // In a string the prefilter must see it, too.
        let line = json!({ "t": json!({ "u": text }).to_string() }).to_string();
        let output = scrubber.scrub_line(line.as_bytes()).unwrap().bytes.into_owned();
        let inner: serde_json::Value = serde_json::from_slice(&output).unwrap();
        let inner: serde_json::Value = serde_json::from_str(inner["t"].as_str().unwrap()).unwrap();
        assert_eq!(inner["u"].as_str().unwrap(), expected, "{template} in JSON in JSON");
    }
}

const R: &str = "[REDACTED:token]";

#[test]
fn every_sign_assigns() {
    for sign in [
        "=", " = ", ": ", ":", " := ", " ::= ", " :::= ", " => ", " ?= ", " ?? ", " || ", "\t=\t", "']=",
        "\"] = ", "': ", "` = ",
    ] {
        let text = format!("api_token{sign}V;");
        check(&[(&text, &text.replace('V', R))]);
        let quoted = format!("api_token{sign}\"V\";");
        check(&[(&quoted, &quoted.replace('V', R))]);
    }
    check(&[
        ("--api-token V", "--api-token [REDACTED:token]"),
        ("--api-token 'V'", "--api-token '[REDACTED:token]'"),
        ("<token>V</token>", "<token>[REDACTED:token]</token>"),
        ("set('token', 'V')", "set('token', '[REDACTED:token]')"),
        ("token: str = 'V'", "token: str = '[REDACTED:token]'"),
        ("token: Option<&'static str> = \"V\"", "token: Option<&'static str> = \"[REDACTED:token]\""),
        ("var token string = \"V\"", "var token string = \"[REDACTED:token]\""),
        ("token: b'V'", "token: b'[REDACTED:token]'"),
    ]);
}

#[test]
fn what_is_no_sign_assigns_nothing() {
    for between in [
        " == ", " =~ ", "::", " :: ", " === ", " != ", " ", ", ", " > ", "()", "; ", " + ", "] ", "' ", "\n",
        " ? ", " , ", " !== ",
    ] {
        let text = format!("api_token{between}V");
        check(&[(&text, &text)]);
    }
    check(&[
        ("token == 'V'", "token == 'V'"),
        ("token =~ 'V'", "token =~ 'V'"),
        ("token::'V'", "token::'V'"),
        ("token 'V'", "token 'V'"),
        ("token, 'V'", "token, 'V'"),
        ("'token', V", "'token', V"),
        ("'token'> 'V'", "'token'> 'V'"),
        ("<token>V", "<token>V"),
        ("<token>V@host", "<token>V@host"),
        ("<'token'>V</", "<'token'>V</"),
        ("-token V", "-token V"),
        ("api-token V", "api-token V"),
        ("--api-token\"V\"", "--api-token\"V\""),
        ("token: f(V)", "token: f(V)"),
        ("token = [V]", "token = [V]"),
        ("token = {V}", "token = {V}"),
        ("token = V(1)", "token = V(1)"),
        ("token = V[1]", "token = V[1]"),
        ("token = $V", "token = $V"),
        ("token = V = 1", "token = V = 1"),
        ("tokens = V", "tokens = V"),
        ("token_id = V", "token_id = V"),
        ("csrf_token = V", "csrf_token = V"),
        ("nextPageToken = V", "nextPageToken = V"),
        ("max-token- = V", "max-token- = V"),
    ]);
}

#[test]
fn a_value_ends_where_its_frame_does() {
    for (template, expected) in [
        ("token=V", "token=R"),
        ("token=V&q=1", "token=R&q=1"),
        ("token=V;q=1", "token=R;q=1"),
        ("token=V; cd x", "token=R; cd x"),
        ("token:V,q:1", "token:R,q:1"),
        ("token=V,'x'", "token=R,'x'"),
        ("token=V==", "token=R"),
        ("token=V= x", "token=R x"),
        ("token=V=\"", "token=R\""),
        ("token=V===", "token=V==="),
        ("token=V=x", "token=V=x"),
        ("(token=V)", "(token=R)"),
        ("[token=V]", "[token=R]"),
        ("{token=V}", "{token=R}"),
        ("token=V|x", "token=R|x"),
        ("token=V<br>", "token=R<br>"),
        ("token=V\nx", "token=R\nx"),
        ("token=V\u{1b}[0m", "token=R\u{1b}[0m"),
        ("token='V' x", "token='R' x"),
        ("token='V x'", "token='V x'"),
        ("token=\"V\\\" x", "token=\"V\\\" x"),
        ("token=\\\"V\\\" x", "token=\\\"R\\\" x"),
        ("token=\\\\\\\"V\\\\\\\" x", "token=\\\\\\\"R\\\\\\\" x"),
        ("{\\\"token\\\":\\\"V\\\"}", "{\\\"token\\\":\\\"R\\\"}"),
        ("token=V&amp", "token=V&amp"),
        ("token=\\'V\" x", "token=\\'R\" x"),
    ] {
        check(&[(template, &expected.replace('R', R))]);
    }
}

/// A bare `token` that is a UUID names a thing; with a word before it it opens one.
#[test]
fn a_uuid_is_a_token_only_where_a_name_says_more() {
    let uuid = draw("{uuid}", 4);
    let bare = format!("token={uuid}");
    let named = format!("api_token={uuid}");
    check(&[(&bare, &bare), (&named, "api_token=[REDACTED:token]")]);
    let other = format!("token={}", uuid.replace('-', "_"));
    check(&[(&other, "token=[REDACTED:token]")]);
}

/// `pass` alone reports; as a part of a name, and behind a bare `=`, it sets.
#[test]
fn pass_is_a_word_of_its_own() {
    check(&[
        ("pass: hunter2", "pass: hunter2"),
        ("PASS = hunter2", "PASS = hunter2"),
        ("pass=hunter2", "pass=[REDACTED:password]"),
        ("pass: 'S3cr3tPw!9'", "pass: '[REDACTED:password]'"),
        ("smtpPass: hunter2", "smtpPass: [REDACTED:password]"),
        ("smtp_pass: hunter2", "smtp_pass: [REDACTED:password]"),
        ("smtp-pass: hunter2", "smtp-pass: [REDACTED:password]"),
        ("bypass=hunter2", "bypass=hunter2"),
        ("BYPASS=hunter2", "BYPASS=hunter2"),
        ("compass: hunter2", "compass: hunter2"),
        ("\u{1b}[32mpass: 12\u{1b}[0m", "\u{1b}[32mpass: 12\u{1b}[0m"),
        ("\u{1b}[1;32mpassword: hunter2\u{1b}[0m", "\u{1b}[1;32mpassword: [REDACTED:password]\u{1b}[0m"),
    ]);
}

/// What behind a name that says password counts without quotes depends on what stands around it.
#[test]
fn said_values_without_quotes() {
    check(&[
        ("password=hunter", "password=[REDACTED:password]"),
        ("password=nhunter", "password=[REDACTED:password]"),
        ("x\npassword=hunter", "x\npassword=[REDACTED:password]"),
        ("x\npass=hunter", "x\npass=[REDACTED:password]"),
        ("password=\nhunter", "password=\nhunter"),
        ("password=[hunter]", "password=[hunter]"),
        ("password=hunter)", "password=hunter)"),
        ("password=hunter, x", "password=hunter, x"),
        ("password=hunter,x=1", "password=[REDACTED:password],x=1"),
        ("password=hun-ter)", "password=[REDACTED:password])"),
        ("password=my_token", "password=my_token"),
        ("password=tok.x", "password=tok.x"),
        ("password = hunter", "password = hunter"),
        ("password = hunter2", "password = [REDACTED:password]"),
        ("password = hunter2;", "password = hunter2;"),
        ("password = hunter2 + x", "password = hunter2 + x"),
        ("password = hun-ter", "password = [REDACTED:password]"),
        ("password = 4711", "password = [REDACTED:password]"),
        ("password = 471", "password = 471"),
        ("password=xy", "password=xy"),
        ("password=xyz", "password=[REDACTED:password]"),
        ("password=zzz", "password=zzz"),
        ("password: hunter", "password: [REDACTED:password]"),
        ("password: hunter # old", "password: [REDACTED:password] # old"),
        ("password: hunter#1 x", "password: [REDACTED:password] x"),
        ("password: hunter,", "password: hunter,"),
        ("password: Hunter", "password: Hunter"),
        ("password: hunter x y", "password: [REDACTED:password]"),
        ("password: hunter is x", "password: hunter is x"),
        ("password: hunter X", "password: hunter X"),
        ("the password: hunter", "the password: hunter"),
        ("the password: hunter7", "the password: [REDACTED:password]"),
        ("the password: hunt7", "the password: hunt7"),
        ("a: the password: hunter", "a: the password: hunter"),
        ("a: password: hunter", "a: password: [REDACTED:password]"),
        ("\"password: hunter\"", "\"password: [REDACTED:password]\""),
        ("\"x\" password: hunter", "\"x\" password: hunter"),
        ("- password: hunter", "- password: [REDACTED:password]"),
        ("x\n  password: hunter\n", "x\n  password: [REDACTED:password]\n"),
        ("a.b.password: hunter", "a.b.password: [REDACTED:password]"),
        ("--password hunter", "--password [REDACTED:password]"),
        ("--password hunter -f", "--password [REDACTED:password] -f"),
        ("--password hunter | x", "--password [REDACTED:password] | x"),
        ("--password hunter now", "--password hunter now"),
        ("--password hunter7 now", "--password [REDACTED:password] now"),
        ("--password PASS_WORD", "--password PASS_WORD"),
        ("password=PASS_WORD", "password=PASS_WORD"),
        ("--password DB_HUNTER", "--password DB_HUNTER"),
        ("password=@file", "password=@file"),
        ("password: !Ref X", "password: !Ref X"),
        ("password=!x$y", "password=[REDACTED:password]"),
        ("password=/etc/pw1", "password=/etc/pw1"),
        ("password=./pw-1", "password=./pw-1"),
    ]);
}

/// Longer values are texts and data.
#[test]
fn said_values_have_a_length() {
    let (most, more) = ("ab".repeat(128), "ab".repeat(128) + "c");
    check(&[
        (&format!("password={most}"), "password=[REDACTED:password]"),
        (&format!("password={more}"), &format!("password={more}")),
        (&format!("password: '{most}'"), "password: '[REDACTED:password]'"),
        (&format!("password: '{more}'"), &format!("password: '{more}'")),
        (&format!("password: '{more}"), &format!("password: '{more}")),
    ]);
}

/// Values in quotes, and whether each is a secret behind `password`.
const QUOTED: [(&str, bool); 51] = [
    ("xyz", true),
    ("xy", false),
    ("zzz", false),
    ("a b", true),
    ("a.b", true),
    ("pässwört", true),
    ("hunter two", true),
    ("keyboard cat", true),
    ("keyboard, the cat", false),
    ("Enter hunter", false),
    ("password1", false),
    ("password12345", true),
    ("secret!", false),
    ("changeme", false),
    ("$x", false),
    ("$x$y", true),
    ("$1a", true),
    ("%X%", false),
    ("%Xy", true),
    ("%s", false),
    ("%(x)s", false),
    ("!vault", false),
    ("<x y>", false),
    ("<xy", true),
    ("[x]", false),
    ("[xy", true),
    ("a{x}b", false),
    ("a{x!}b", true),
    ("a{x", true),
    ("#{x}y!", false),
    ("f(x)", true),
    ("fn(x)", false),
    ("fn(x)y", true),
    ("fn(x$)", true),
    ("a::f(x, 'y')", false),
    ("db-password", false),
    ("my_secret", false),
    ("secrets", true),
    ("db-hunter", true),
    ("mypassword-a", false),
    ("mypass-a", true),
    ("a1-password", true),
    ("/etc/pw", false),
    ("~/pw", false),
    ("./pw", false),
    ("../pw", false),
    (".xw", true),
    ("C:/pw", false),
    ("C:xw", true),
    ("https://x", false),
    ("sha256:abc", false),
];

/// What is quoted counts whole, unless it refers, names or says something.
#[test]
fn said_values_in_quotes() {
    let long = "a1 ".repeat(86);
    for (value, is_secret) in QUOTED.into_iter().chain([(&long[..256], true), (&long[..257], false)]) {
        let text = format!("password = \"{value}\"");
        let expected = if is_secret { "password = \"[REDACTED:password]\"".to_owned() } else { text.clone() };
        let scrubbed = Scrubber::builtin().scrub_text(&text).unwrap();
        assert_eq!(scrubbed.text, expected);
        let line = json!({ "password": value }).to_string();
        let expected =
            if is_secret { r#"{"password":"[REDACTED:password]"}"#.to_owned() } else { line.clone() };
        let scrubbed = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap();
        assert_eq!(String::from_utf8_lossy(&scrubbed.bytes), expected);
    }
    check(&[
        ("password=`ls -l`", "password=`ls -l`"),
        ("password: `a b`", "password: `[REDACTED:password]`"),
        ("define('PASSWORD', 'hunter2')", "define('PASSWORD', '[REDACTED:password]')"),
        ("define('PASSWORD', 'hunter')", "define('PASSWORD', 'hunter')"),
        ("['PASSWORD', 'hunter2']", "['PASSWORD', 'hunter2']"),
        ("<password>a b</password>", "<password>[REDACTED:password]</password>"),
        ("<password>a b<br>", "<password>a b<br>"),
        ("password: 'a b", "password: '[REDACTED:password]"),
        ("password: \\'a b\" x", "password: \\'[REDACTED:password]\" x"),
        ("password: 'a\nb'", "password: 'a\nb'"),
        ("password: b'a b'", "password: b'[REDACTED:password]'"),
        ("a \"password\": \"x\\ny z\"", "a \"password\": \"x\\ny z\""),
    ]);
}
