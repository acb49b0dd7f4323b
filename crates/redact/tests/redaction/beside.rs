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
    // The value in a line of its own.
    ("api-key", "API key:\n  «0b9f6c1d2e3a48575f60»"),
    ("api-key", "API key:\r\n\t«0b9f6c1d2e3a48575f60»\r\n"),
    ("api-key", "API_KEY=\n  «0b9f6c1d2e3a48575f60»"),
    ("api-key", "export API_KEY=\\\n«0b9f6c1d2e3a48575f60»"),
    ("password", "export DB_PASSWORD=\\\n  «0b9f6c1d2e3a48575f60»"),
    ("api-key", "API_KEY\n  = «0b9f6c1d2e3a48575f60»"),
    ("password", "password\n  = «0b9f6c1d2e3a48575f60»"),
    ("password", "password =\n\t«0b9f6c1d2e3a48575f60»"),
    ("password", "password:\n  «hunter2» # prod"),
    ("password", "password:\n  «hunter2»\ntoken:\n  «0b9f6c1d2e3a48575f60»"),
    // YAML.
    ("password", "password: # prod\n  «hunter2»"),
    ("password", "password:\n  # prod\n  «hunter2»"),
    ("password", "password:\n  - «hunter2»\n  - tr0ub4dor"),
    ("password", "password:\n  - \"«hunter2»\""),
    ("password", "passwords:\n- «Hunter2x9»\n- Tr0ub4dor3"),
    ("token", "tokens: # two\n  - «0b9f6c1d2e3a48575f60»\n\n  - 1b9f6c1d2e3a48575f60"),
    ("password", "password: !!str\n  «hunter2»"),
    ("password", "password: !unsafe |\n  «geheim»"),
    ("password", "password: !!str | # x\n  «geheim»"),
    ("api-key", "api_key: &key !!str «0b9f6c1d2e3a48575f60»"),
    ("api-key", "api_key: &key\n  «0b9f6c1d2e3a48575f60»"),
    ("password", "? password\n: «hunter2»"),
    // Columns.
    ("password", "NAME    PASSWORD   AGE\nbob     «hunter2»    5d\neve     tr0ub4dor  6d"),
    ("password", "PASSWORD               NAME\n«0b9f6c1d2e3a48575f60»   bob"),
    (
        "token",
        "NAMESPACE   NAME   API TOKEN              AGE\nprod        web    «0b9f6c1d2e3a48575f60»   5d",
    ),
    ("api-key", "NAME    API KEY\nweb     «0b9f6c1d2e3a48575f60»"),
    ("password", "user       password  \n----  ---------------\nbob   «hunter2»\neve   tr0ub4dor&3xyzz"),
    ("password", "=====  =========\nuser   password\n=====  =========\nbob    «hunter2»\n=====  ========="),
    ("password", "\u{1b}[1mNAME\u{1b}[0m    \u{1b}[1mPASSWORD\u{1b}[0m\nbob     «hunter2»"),
    ("password", "Jürg    PASSWORD\nZoë     «hunter2»"),
    ("password", "Key         Value\n---         -----\npassword    «hunter2»\nuser        bob"),
    // Tags and three quotes.
    ("password", "<password>\n  «hunter2»\n</password>"),
    ("password", "<db:password kind=\"a\">\r\n\t«hunter2»\r\n</db:password>"),
    ("api-key", "<api-key>\n  <![CDATA[«0b9f6c1d2e3a48575f60»]]>\n</api-key>"),
    ("password", "<property name=\"password\">\n  «hunter2»\n</property>"),
    ("password", "<property name=\"password\">«hunter2»</property>"),
    ("password", "password = \"\"\"\n«hunter2»\"\"\""),
    ("password", "password = \"\"\"\\\n  «hunter2»\n  \"\"\""),
    ("password", "password = '''\n  «hunter2»\n'''"),
    ("api-key", "const apiKey = `\n  «0b9f6c1d2e3a48575f60»\n`"),
    // Elements, macros, tags of YAML.
    ("password", "<key>password</key>\n<string>«geheim»</string>"),
    ("password", "\t<key>DB_PASSWORD</key><string>«hunter2»</string>"),
    ("api-key", "<key>API_KEY</key>\n\t<string>«0b9f6c1d2e3a48575f60»</string>"),
    ("password", "<td>Password</td><td>«hunter2»</td>"),
    ("password", "<tr><th>Password:</th>\n  <td class=\"a\">«hunter2»</td></tr>"),
    ("password", "<dt>Password</dt>\n<dd>«hunter2»</dd>"),
    ("password", "#define DB_PASSWORD \"«geheim»\""),
    ("password", "password: Some(\"«geheim»\"),"),
    ("password", "let password = Some(\"«geheim»\");"),
    // Links and colours of a terminal.
    ("password", "password: \u{1b}]8;;http://x.y\u{1b}\\«hunter2»\u{1b}]8;;\u{1b}\\"),
    ("password", "\u{1b}]8;id=1;file:///x\u{7}password\u{1b}]8;;\u{7}: «hunter2»"),
    ("password", "\u{1b}]8;;http://x.y\u{1b}\\password: \u{1b}]8;;\u{1b}\\«hunter2»"),
    ("password", "password\u{1b}[38;2;255;100;100;48;2;255;100;100m:\u{1b}(B «hunter2»"),
    ("password", "\u{1b}[?25lpassword:\u{1b}[?25h\n  «hunter2»"),
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
    // In a line of its own.
    "the password:\n  is in the vault",
    "API key:\n  see https://acme.dev/a1b2c3d4e5",
    "API key: required\n  since v1.2.3",
    "API_KEY=\n  # the key2\nHOST=db9x",
    "password = get_password()\nx = 1",
    "password =\n    self.get_password1",
    "let password =\n    read_password1()?;",
    "const token =\n  await getToken1();",
    "token =\n  request.headers1",
    "password\n  = getpass1()",
    "password\n  : string",
    "password string\n: Password2",
    "for password in passwords:\n    check1(password)",
    "def f(password:\n    str1): pass",
    "export DB_PASSWORD=\\\n  $(cat x1)",
    "password: string\n  token: string",
    "Password:\n  ********",
    "password:\n  <your-password1>",
    "tokens\n 12345",
    "tokens:\n  12345",
    "token:\n  abc",
    // YAML.
    "password:\n  secretKeyRef:\n    name: db",
    "password:\n  - min 8\n  - required",
    "Password:\n- must have 8 characters\n- and 2 digits",
    "passwords:\n  - the first one\n  - at least 8",
    "passwords:\n  min_length: 8",
    "passwords: hunter22",
    "secrets:\n  - db-password\n  - tls-cert-2024\n  - source: server1_cert",
    "secrets:\n  - regcred1",
    "tokens:\n  - id: 12ab34\n  - let",
    "password: # set in vault1\n  valueFrom: x",
    "password: !ref\n  DbPassword1",
    "password:\n  # of the user1\n  type: string",
    "Password:\n# Setup\nrun9x",
    "? password\n: string",
    "- value: live12345\n  name: MODE\n- value: x\n  name: PORT",
    "- value: live12345\n  name: MODE\n- name: DB_PASSWORD",
    "- value: live12345\n- name: DB_PASSWORD\n  valueFrom: x",
    "{'value': 'live12345'}, {'name': 'DB_PASSWORD'}",
    // Columns.
    "password   The password of the user\ntoken      An API token, see rfc6749x",
    "OPTION      DESCRIPTION\npassword    The password of user1\ntoken       The API token v2",
    "password   string   required\np12file1   string   optional",
    "NAME   PASSWORD  AGE\nbob    <none>    5d\neve    yes       2024-01-31",
    "NAME      SECRETS   AGE\ndefault   1         5d\nbuilder   2         2024-01-31",
    "NAME             TYPE                                  DATA   AGE\ndb-password      Opaque                                1      5d\napi-token-x7k2   kubernetes.io/service-account-token   3      12d",
    "NAME      SECRET                AGE\nweb-1     tls-web-1             5d\nweb-2     default-token-x7k2p   6d",
    "NAME   PASSWORD   ID\nbob    required   a1b2c3d4e5",
    "USER  PASSWORD  HOST\nbob   yes       db1x.acme9",
    "NAME     TOKENS  COST\nopus5    123456  0.12\nsonnet4  99k     1.2",
    "input tokens   output tokens   model\n12k            3k              gpt-4o-2024-11-20",
    "token    kind    line\nlet      Ident2  12\nfn_a1b   Word3   13",
    "=====  =====\ntoken  kind\n=====  =====\nab12x  word1\n=====  =====",
    "type User struct {\n\tPassword  string\n\tToken2x   string\n}",
    "id        integer      not null\npassword  varchar2     not null\nname2x    text         null",
    "password    token2\nwe saw web2py there",
    // Tags and three quotes.
    "<password>\n  <value>x1</value>\n</password>",
    "<label for=\"password\">\n  Password1\n</label>",
    "<password>\n  ${env.PASSWORD1}\n</password>",
    "<li>password\n  use sha256 here</li>",
    "Vec<Password>\n  inner2b",
    "if (x <password>\n  other2x)",
    "<input name=\"password\">\n  <b>web2py</b>",
    "def login(password):\n    \"\"\"Logs in user1 and tells.\"\"\"",
    "password = \"\"\"\nThe password of user1.\n\"\"\"",
    "help_password = '''\n  Enter your password2\n'''",
    // Elements, macros, tags of YAML.
    "<key>password</key>\n<true/>",
    "<key>password</key>\n<string>$(DB_PASSWORD)</string>",
    "<key>password</key>\n<string>Enter your password</string>",
    "<td>Password</td><td>string</td>",
    "<td>Password</td>\n<td>sha256</td><td>x1y2z3w4</td>",
    "<td>Password</td><th>web2py9</th>",
    "<dt>Password</dt>\n<dd>The password of user1</dd>",
    "<b>password</b><i>x1y2z3w4</i>",
    "#define DB_PASSWORD",
    "#define DB_PASSWORD value1x",
    "#define PASSWORD_MAX 128",
    "#define DB_PASSWORD \"%s\"",
    "password: !env \"DB_X1Y2Z3\"",
    "password: !Sub \"x1y2z3w4\"",
    "password: !vault-plain \"geheim\"",
    "password: Some(getpass1()),",
    "password: Some(\"string\"),",
    // Links and colours of a terminal.
    "password: \u{1b}]8;;http://x.y\u{1b}\\string\u{1b}]8;;\u{1b}\\",
    "password: \u{1b}[31mstr\u{1b}[0ming",
];

fn whole(text: &str) -> String {
    Scrubber::builtin().scrub_text(text).unwrap().text.into_owned()
}

/// The same text as a command prints it, each line with its time.
fn streamed(text: &str) -> String {
    streamed_by(text, &[1])
}

/// The same, with so many lines in each event.
fn streamed_by(text: &str, counts: &[usize]) -> String {
    let mut scrubber = LineScrubber::new(Scrubber::builtin());
    let (mut given, mut lines) = (Vec::new(), text.lines());
    for count in counts.iter().cycle() {
        let event: Vec<&str> = lines.by_ref().take(*count).collect();
        if event.is_empty() {
            break;
        }
        let event =
            format!("{}\n", json!({"t":"2026-01-01T00:00:00Z","fd":"stdout","line":event.join("\n")}));
        given
            .extend(scrubber.push(event.as_bytes()).unwrap().into_iter().map(|line| line.bytes.into_owned()));
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

/// Found by a check: the tag was replaced, and the value stayed.
#[test]
fn a_tag_before_a_quoted_value_is_none() {
    let text = "password: !vault-plain \"hunter2\"";
    let clean = "password: !vault-plain \"[REDACTED:password]\"";
    assert_eq!(whole(text), clean);
    assert_eq!(streamed(text), clean);
    let line = json!({ "t": json!({ "u": text }).to_string() }).to_string();
    let found = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap().findings;
    assert_eq!(found.iter().map(|finding| finding.len).collect::<Vec<_>>(), ["hunter2".len()]);
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
        let text = plant(template, 3).text().replace("\r\n", "\n").trim_end().to_owned();
        assert_eq!(streamed(&text), whole(&text), "{template}");
        assert_ne!(streamed(&text), text, "{template}");
    }
    let rows: String = (0..200).map(|number| format!("u{number},hunt{number}er\n")).collect();
    let table = format!("user,password\n{rows}end");
    assert_eq!(streamed(&table).matches("[REDACTED:password]").count(), 200);
    assert_eq!(streamed(&table), whole(&table));
}

/// Found in review: the second half of a value that a colour cuts stayed where something stood behind it.
#[test]
fn a_colour_within_a_value_leaves_no_part_of_it() {
    let value = "huNt5r2";
    let colours = [
        "\u{1b}[31m",
        "\u{1b}[01;31m\u{1b}[K",
        "\u{1b}[?25l",
        "\u{1b}(B\u{1b}[1m",
        "\u{1b}]8;;http://x.y\u{1b}\\",
    ];
    let forms = [
        ("password: {}", true),
        ("API_KEY=0b9f6c1d2e3a48575f60{}", true),
        ("password:\n  {}", true),
        ("the password is {}.", true),
        ("| password | {} |", true),
        ("NAME    PASSWORD\nbob     {}", true),
        ("password = {} (prod)", false),
        ("password: {} and more", false),
    ];
    let scrub = |line: &str| {
        String::from_utf8(Scrubber::builtin().scrub_line(line.as_bytes()).unwrap().bytes.into_owned())
            .unwrap()
    };
    for (form, is_found) in forms {
        for (colour, cut) in colours.iter().flat_map(|colour| (1..value.len()).map(move |cut| (colour, cut)))
        {
            let (first, second) = value.split_at(cut);
            let text = form.replace("{}", &format!("{first}{colour}{second}\u{1b}[0m"));
            let inner = json!({ "in": text }).to_string();
            for text in [text.clone(), json!({ "text": text, "n": inner }).to_string()] {
                let clean = scrub(&text);
                let is_gone = !clean.contains(&colour[1..4]) && clean.contains("[REDACTED:");
                // What no form finds in one piece stays whole, or goes as a whole.
                assert!(is_gone || (!is_found && clean == text), "{text:?}: {clean:?}");
            }
        }
    }
}

proptest! {
    /// Whatever stands around them: line by line they become what they are as a whole.
    #[test]
    fn a_stream_says_what_the_text_becomes_whole(
        forms in prop::collection::vec((prop::sample::select(BESIDE), 0..5_u64), 1..4),
        between in prop::collection::vec("[a-z]{0,8}( [a-z]{1,8}){0,3}", 4),
        prefix in prop::sample::select(vec!["", "web_1  | ", "app.cfg:12:", "\u{1b}[36m", "+", "-", "   12→", "app-1.cfg-12-"]),
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

    /// Forms one right behind the other, with what is no secret between them: each event says what its lines become whole.
    #[test]
    fn events_say_what_their_lines_become_whole(
        forms in prop::collection::vec(
            prop_oneof![
                3 => (prop::sample::select(BESIDE), 0..5_u64).prop_map(|((_, form), seed)| plant(form, seed).text()),
                2 => (prop::sample::select(BESIDE), prop::sample::select(vec!["+", "-", "  7→"])).prop_map(|((_, form), prefix)| {
                    plant(form, 1).text().lines().map(|line| format!("{prefix}{line}")).collect::<Vec<_>>().join("\n")
                }),
                2 => prop::sample::select(BESIDE_STAYS).prop_map(str::to_owned),
                1 => "[a-z:=|-]{0,9}( {1,3}[a-zA-Z0-9:=]{1,9}){0,3}",
            ],
            1..5,
        ),
        counts in prop::collection::vec(1..4_usize, 1..4),
    ) {
        // As many lines as a stream keeps.
        let text = forms.join("\n").replace('\r', "");
        let text = text.lines().take(16).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(streamed_by(&text, &counts), whole(&text), "{:?}", text);
        prop_assert_eq!(whole(&whole(&text)), whole(&text));
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
