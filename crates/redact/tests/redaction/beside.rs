//! Values that stand beside their name: on the next line, in a block, in a table, behind a colour, in a sentence. Also in streams,
//! where each line comes alone. What is found in every dress is `dresses.rs`'s to say; the forms are here.

use crate::support::plant;
use proptest::prelude::*;
use serde_json::{Value, json};
use stemmata_redact::{LineScrubber, Scrubber};

/// What names beside them make secrets, with a first secret that is looked for.
pub(crate) const BESIDE: &[(&str, &str)] = &[
    ("password", "Password:\n  «hunter2»"),
    ("password", "Password:\n  «geheim»"),
    ("password", "{\"password\":\n \"«hunter2»\"}"),
    ("password", "{\"password\":\n \"«geheim»\"}"),
    ("password", "const password =\n  \"«hunter2»\";"),
    ("password", "password: |\n  «hunter2»\n  zweite!\nother: x"),
    ("password", "  password: >-\n    «geheim»\n  user: bob"),
    ("password", "stringData:\n  - db_password: |2-\n      «geheim»"),
    ("password", "\u{1b}[31mpassword\u{1b}[0m: \u{1b}[1m«hunter2»\u{1b}[0m"),
    (
        "password",
        "\u{1b}[1;39m{\n  \u{1b}[0m\u{1b}[34;1m\"password\"\u{1b}[0m\u{1b}[1;39m:\u{1b}[0m \u{1b}[0;32m\"«geheim»\"\u{1b}[0m\u{1b}[1;39m\n\u{1b}[1;39m}\u{1b}[0m",
    ),
    (
        "password",
        "\u{1b}[38;5;203mpassword\u{1b}[0m\u{1b}[38;5;231m:\u{1b}[0m\u{1b}[38;5;231m \u{1b}[0m\u{1b}[38;5;186m«geheim»\u{1b}[0m",
    ),
    ("password", "DB_\u{1b}[01;31m\u{1b}[KPASSWORD\u{1b}[m\u{1b}[K=«geheim»"),
    ("password", "| password | «hunter2» |"),
    ("password", "| user | password |\n|------|----------|\n| bob  | «hunter2»  |\n| eve  | tr0ub4dor |"),
    ("password", "user,password\nbob,«hunter2»"),
    ("password", "user,password,mail\n\"bob\",\"«Hunter2x9»\",\"a@b.de\"\neve,S3cr3t!,x@y.z"),
    ("password", " user | password\n------+----------\n bob  | «hunter2»\n(1 row)"),
    ("password", "│ password │ «hunter2» │"),
    ("password", "set PGPASSWORD «hunter2»"),
    ("password", "set PGPASSWORD «geheim»"),
    ("password", "set -gx DB_PASSWORD \"«geheim»\""),
    ("password", "setenv DB_PASSWORD «geheim»"),
    ("password", "git config http.password «hunter2»"),
    ("password", "set password «hunter2»"),
    ("password", "the password is «hunter2»"),
    ("password", "The password is «hunter2»."),
    ("password", "the password is \"«geheim»\""),
    ("password", "password is: «hunter2»"),
    ("password", "password is: «Hunter2x9Kq» and the user bob"),
    ("password", "The password for bob@acme.dev is «Hunter2x9Kq», ok?"),
    ("password", "Set the password to «S3cr3t!x»."),
    ("password", "log in as bob with password «hunter2»"),
    ("password", "The password is:\n\n```\n«hunter2»\n```"),
    ("password", "**Password:** «hunter2»"),
    ("password", "**Password**: `«Hunter2x»`"),
    ("password", "- **Password:** «S3cr3t!»"),
    ("password", "app --password \\\n  «hunter2» \\\n  --force"),
    ("password", "The password is **«Hunter2x»**."),
    ("password", "password -> «hunter2»"),
    ("token", "API token:\n  «0b9f6c1d2e3a48575f60»"),
    ("api-key", "api_key: |\n  «0b9f6c1d2e3a48575f60»"),
    ("password", "user\tpassword\nbob\t«hunter2»"),
    ("password", "app.cfg:12:Password:\napp.cfg-13-  «hunter2»"),
    ("password", "     1→password: |\n     2→  «geheim»"),
];

/// What stands beside such a name and is none.
pub(crate) const BESIDE_STAYS: &[&str] = &[
    "the password is wrong",
    "password is required",
    "password is hashed with bcrypt2b",
    "The password is base64-encoded and stored",
    "the token is not valid12 for",
    "password: string",
    "password:\n  type: string\n  minLength: 8",
    "password = getpass()",
    "password =\n    getpass()",
    "password =\n  \"Enter your password\"",
    "| user | password | email |",
    "| password | string | yes |",
    "| password | varchar(255) | NO |",
    "| name | type |\n|---|---|\n| password | string |\n| token | sha256 |\n| secret | v1beta1 |",
    "user,password",
    "import { user, password } from 'x'\nfoo, bar",
    "const { user, password,\n  host, port } = x",
    "DB_PASSWORD=\nDB_HOST=db1.acme9",
    "password:\nusername: bob7seven",
    "Password:\nroot@box1:/home/me#",
    "[sudo] password for me:\ntotal 48",
    "if not password:\n    raise ValueError1(\"x\")",
    "set password policy",
    "Please set password first",
    "set PASSWORD_FILE /run/x",
    "SET PASSWORD FOR 'bob'@'h' = 'x'",
    "the secret is out",
    "secret: |\n  The shared secret of the two",
    "password: |\n  ${PASSWORD}",
    "description: |\n  the password of 2fa",
    "password is at least 12 characters",
    "password to access db2 and utf8mb4",
    "Password - required",
    "password-protected zip2",
    "The password was changed on 2024-01-31",
    "password is 10.0.0.1",
    "token | description\n--- | ---\na1b2c3 | x",
    "- [x] password, token2 and key3",
    "user\tpassword\tv2",
    "The password for step-2 is web_1",
    "\u{1b}[31mpassword\u{1b}[0m: \u{1b}[1mstring\u{1b}[0m",
    "PASS:\n  test_one1",
    "password is stored in config2.yaml",
    "password is sent to the server1 process",
    "the password in line42 is unused",
    "Set the password to `process.env.DB_PASSWORD`",
    "the password is `null`",
    "key,value\npassword,required",
    "password is: required",
    "Password: \n  Forgot?",
    "password:\n- min 8",
    "use password auth2 here",
    "with password v1.2.3",
    "pwd: |\n  /home/me",
    "<label>Password</label> is x",
    "secret:\n  name: db-1a",
    "the token is abc123",
    "password -> PasswordHash2",
    "![chart](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ) with the password",
    "the password hash is 5f4dcc3b5aa765d61d8327deb882cf99",
    "password reset for 3f2b8c1e-9d4a-4b7c-8e5f-1a2b3c4d5e6f",
];

fn whole(text: &str) -> String {
    Scrubber::builtin().scrub_text(text).unwrap().text.into_owned()
}

/// The same text as a command prints it, each line with its time.
fn streamed(text: &str) -> String {
    let mut scrubber = LineScrubber::new(Scrubber::builtin());
    let mut given = Vec::new();
    for line in text.lines() {
        let line = format!("{}\n", json!({"t":"2026-01-01T00:00:00Z","fd":"stdout","line":line}));
        given.extend(scrubber.push(line.as_bytes()).unwrap().into_iter().map(|line| line.bytes.into_owned()));
    }
    given.extend(scrubber.finish().unwrap().into_iter().map(|line| line.bytes.into_owned()));
    let line =
        |line: Vec<u8>| serde_json::from_slice::<Value>(&line).unwrap()["line"].as_str().unwrap().to_owned();
    given.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The rules before had none of these: what is stored under them is not looked at by others.
#[test]
fn the_rules_before_are_as_they_were() {
    let earlier = Scrubber::builtin().earlier().unwrap().clone();
    assert_eq!(earlier.rules_version(), "structured-3");
    for (_, template) in BESIDE {
        let text = plant(template, 3).text();
        let (old, new) = (earlier.scrub_text(&text).unwrap().text, whole(&text));
        assert!(old.matches("[REDACTED:").count() < new.matches("[REDACTED:").count(), "{text}");
    }
}

#[test]
fn what_a_name_has_beside_it_is_found() {
    for (kind, template) in BESIDE {
        let planted = plant(template, 3);
        let clean = whole(&planted.text());
        let start = planted.scrubbed(kind);
        let until = start.find(']').unwrap() + 1;
        assert_eq!(clean.get(..until), start.get(..until), "{template:?}: {clean:?}");
        assert_eq!(whole(&clean), clean, "twice is once");
    }
    for text in BESIDE_STAYS {
        assert_eq!(whole(text), *text);
        assert_eq!(streamed(text), *text);
    }
}

/// Found in review: what stood in a line of its own went into the record of `stemma run` in the clear.
#[test]
fn a_name_is_known_in_the_lines_that_follow() {
    let pairs = [
        "- name: DB_PASSWORD\n  value: «hunter2»",
        "{\"name\":\"DB_PASSWORD\",\n\"value\":\"«hunter2»\"}",
        "variable \"db_password\" {\n  type = string\n  default = \"«geheim»\"\n}",
        "\"db_password\": {\n  \"sensitive\": true,\n  \"value\": \"«geheim»\"\n}",
        "machine h\n  login me\n  password «Hunter2x9»",
    ];
    for template in pairs.iter().chain(BESIDE.iter().map(|(_, template)| template)) {
        let text = plant(template, 3).text();
        assert_eq!(streamed(&text), whole(&text), "{template}");
        assert_ne!(streamed(&text), text, "{template}");
    }
    let rows: String = (0..200).map(|number| format!("u{number},hunt{number}er\n")).collect();
    let table = format!("user,password\n{rows}end");
    assert_eq!(streamed(&table).matches("[REDACTED:password]").count(), 200);
    assert_eq!(streamed(&table), whole(&table));
}

proptest! {
    /// Whatever stands around them: line by line they become what they are as a whole.
    #[test]
    fn a_stream_says_what_the_text_becomes_whole(
        forms in prop::collection::vec((prop::sample::select(BESIDE), 0..5_u64), 1..4),
        between in prop::collection::vec("[a-z]{0,8}( [a-z]{1,8}){0,3}", 4),
        prefix in prop::sample::select(vec!["", "web_1  | ", "app.cfg:12:", "\u{1b}[36m"]),
    ) {
        let mut lines = Vec::new();
        for ((_, template), seed) in &forms {
            lines.push(between[lines.len() % 4].clone());
            lines.extend(plant(template, *seed).text().lines().map(str::to_owned));
            // Far enough that a block has ended, and that one form says nothing of the next.
            lines.extend(between.iter().cycle().take(20).map(|words| format!("{words}.")));
        }
        let text = lines.iter().map(|line| format!("{prefix}{line}")).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(streamed(&text), whole(&text));
    }

    /// Whatever the rules before replace, these do.
    #[test]
    fn nothing_passes_that_did_not(
        forms in prop::collection::vec(prop::sample::select(BESIDE), 1..4),
        glue in prop::sample::select(vec!["\n", " ", ", ", "\npassword=hunter2x\n", "\ntoken: ", "|"]),
    ) {
        let text = forms.iter().map(|(_, template)| plant(template, 1).text()).collect::<Vec<_>>().join(glue);
        let (old, new) = (Scrubber::builtin().earlier().unwrap().scrub_text(&text).unwrap(), Scrubber::builtin().scrub_text(&text).unwrap());
        for finding in old.findings {
            let covered = new.findings.iter().any(|other| other.offset <= finding.offset && finding.offset + finding.len <= other.offset + other.len);
            prop_assert!(covered, "{:?} in {:?}", finding, text);
        }
    }
}
