//! Every rule in every dress: how many of its secrets are found, and which look-alikes stay.
//! The secrets of the rules are in `fixtures.toml`, those that only a name makes one in `NAMED`.
//!
//! `cargo nextest run -p stemmata-redact dresses --no-capture` prints the recall of each rule in each dress.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::beside::{BESIDE, BESIDE_STAYS};
use crate::support::{Planted, cases, escaped, plant};
use serde_json::json;
use stemmata_redact::Scrubber;

const SEEDS: [u64; 3] = [2, 11, 23];

/// A way to show a text: changes what stands around its lines, and nothing in them.
type Dress = (&'static str, fn(&str) -> String);

const DRESSES: [Dress; 8] = [
    ("plain", str::to_owned),
    ("JSON-escaped", |text| json!({ "role": "user", "content": text }).to_string()),
    ("JSON in JSON", |text| json!({ "arguments": json!({ "cmd": text, "n": 1 }).to_string() }).to_string()),
    ("shell", |text| by_line(text, |line| format!("me@host_1:~/src$ {line}"))),
    ("coloured", |text| by_line(text, |line| format!("\u{1b}[1;32m{line}\u{1b}[0m"))),
    ("prefixed", |text| by_line(text, |line| format!("2026-01-31T12:00:00Z web_1  | {line}"))),
    ("grep", |text| by_line(text, |line| format!("deploy/app_one.cfg:12:{line}"))),
    ("prefixed, coloured, escaped", |text| {
        let lines = by_line(text, |line| format!("\u{1b}[36mapi_1  |\u{1b}[0m \u{1b}[2m{line}\u{1b}[0m"));
        json!({ "type": "tool_result", "content": [{ "type": "text", "text": lines }] }).to_string()
    }),
];

/// What stands before each line of a diff, of a file that a tool shows, beside what `grep` found.
const PREFIXES: [Dress; 6] = [
    ("added", |text| by_line(text, |line| format!("+{line}"))),
    ("removed", |text| by_line(text, |line| format!("-{line}"))),
    ("removed, escaped", |text| json!({ "content": by_line(text, |line| format!("-{line}")) }).to_string()),
    ("numbered", |text| numbered(text, |number, line| format!("{number:6}→{line}"))),
    ("numbered, escaped", |text| {
        json!({ "content": numbered(text, |number, line| format!("{number:6}→{line}")) }).to_string()
    }),
    ("grep, context", |text| numbered(text, |number, line| format!("deploy/app-one.cfg-{number}-{line}"))),
];

fn by_line(text: &str, each: impl Fn(&str) -> String) -> String {
    text.lines().map(each).collect::<Vec<_>>().join("\n")
}

fn numbered(text: &str, each: impl Fn(usize, &str) -> String) -> String {
    text.lines().zip(9..).map(|(line, number)| each(number, line)).collect::<Vec<_>>().join("\n")
}

/// What a name that says password, passphrase, secret or pwd makes one, however it looks.
const NAMED: [(&str, &str); 59] = [
    ("password", "spring.datasource.password: «hunter2»"),
    ("password", "The password: «hunter2»"),
    ("password", "helm install --set auth.password=«hunter2»,foo=bar"),
    ("password", "define('DB_PASSWORD', '«hunter2»');"),
    ("password", "os.environ[\"DB_PASSWORD\"] = \"«hunter»\""),
    ("password", "'password' => '«hunter»',"),
    ("secret", "SECRET_KEY=\"«p(k$9x!a)»\""),
    ("password", "String password = \"«hunter»\";"),
    ("password", "password = \"«xyz»\""),
    ("password", "password = '«4711»'"),
    ("password", "\"password\": \"«geheim»\""),
    ("password", "passphrase: \"«correct horse battery staple»\""),
    ("password", "passphrase: «correct horse battery staple»"),
    ("password", "password: '«pässwört»'"),
    ("password", "password: «pässwört»"),
    ("password", "DB_PASSWORD=«hunter»"),
    ("password", "export DB_PASSWORD=«hunter»"),
    ("password", "DB_PASSWORD=«471147»"),
    ("password", "MYSQL_PWD=«letmein»"),
    ("password", "Server=db;Uid=sa;Pwd=«letmein»;"),
    ("password", "password: «hunter»"),
    ("password", "db_password: «4711»"),
    ("password", "smtp_pass: «hunter»"),
    ("password", "mail_pass: \"«ab cd»\""),
    ("password", "  ansible_become_pass: «hunter2»"),
    ("password", "\"smtpPass\": \"«hunter»\""),
    ("password", "PGPASSWORD=«hunter» psql -h db"),
    ("password", "app --password «hunter» --force"),
    ("password", "app --password=«geheim»"),
    ("password", "app --password '«two words»'"),
    ("password", "<password>«hunter»</password>"),
    ("password", "let password = \"«hunter»\";"),
    ("password", "{ user: 'me', password: '«hunter»' }"),
    ("password", "ENV ADMIN_PASSWORD=«hunter»"),
    ("password", "password=«h!nter»"),
    ("secret", "secret: '«keyboard cat»'"),
    ("secret", "client_secret = \"«abcdef-ghijk»\""),
    ("secret", "SECRET_KEY = '«django-insecure-#x@4$k!v(8^z&)q=e+w*m_p%r»'"),
    ("secret", "SECRET_KEY_BASE=«{hex:128}»"),
    ("secret", "secret_key_base: «{hex:128}»"),
    ("secret", "JWT_SECRET=«geheim»"),
    ("secret", "\"clientSecret\": \"«ÄÖÜ»\""),
    ("password", "{\"name\":\"DB_PASSWORD\",\"value\":\"«hunter»\"}"),
    ("password", "[{'name': 'DB_PASSWORD', 'value': '«two words»'}]"),
    ("password", "{\"name\": \"DB_PASSWORD\", \"slotSetting\": false, \"value\": \"«4711»\"}"),
    ("password", "  {\n    \"name\": \"DB_PASSWORD\",\n    \"value\": \"«pässwört»\"\n  }"),
    ("password", "env:\n- name: DB_PASSWORD\n  value: «hunter2»\n- name: MODE\n  value: live"),
    ("password", "  - name: \"DB_PASSWORD\"\n    value: \"«hunter»\""),
    ("password", "set {\n  name  = \"auth.password\"\n  value = \"«hunter»\"\n}"),
    ("password", "{\"Name\":\"/prod/db/password\",\"Type\":\"SecureString\",\"Value\":\"«hunter»\"}"),
    (
        "password",
        "\"db_password\": {\n  \"sensitive\": true,\n  \"type\": \"string\",\n  \"value\": \"«hunter»\"\n}",
    ),
    ("secret", "{\"Key\":\"JWT_SECRET\",\"Value\":\"«geheim»\"}"),
    ("secret", "{\"ParameterKey\":\"ClientSecret\",\"ParameterValue\":\"«geheim»\"}"),
    ("password", "- value: «hunter2»\n  name: DB_PASSWORD"),
    (
        "password",
        "env:\n- value: live\n  name: MODE\n- value: \"«two words»\"\n  name: DB_PASSWORD\n- name: x",
    ),
    ("password", "[{'value': '«two words»', 'name': 'DB_PASSWORD'}]"),
    ("key", "API key: «0b9f6c1d2e3a48575f60»"),
    ("token", "\"name\": \"API_TOKEN\", \"value\": \"«{alnum:40}»\""),
    ("key", "- name: SIGNING_KEY\n  value: «{alnum:40}»"),
];

/// Code, documentation, references and what is drawn and no secret.
const STAYS: [&str; 119] = [
    "password: !Ref DbPassword",
    "password=`cat x`",
    "password: ENC(abcdef)",
    "\"pwd\": \"C:\\Users\\me\"",
    "password: faker.internet.password(),",
    "translate('password', 'Password')",
    "def check(password=None, secret=None):",
    "{ email, password: pw }",
    "The secret: always be kind",
    "password: string;",
    "password: string",
    "password: str = None",
    "password: Option<String>,",
    "password: SecretStr",
    "password String",
    "let password = read_password()?;",
    "password = getpass.getpass()",
    "password = hashed",
    "password = req.body.password",
    "password: hashedPassword,",
    "self.password = password",
    "this.password = password;",
    "password: process.env.DB_PASSWORD",
    "password: os.environ['DB_PASSWORD']",
    "password = os.getenv(\"DB_PASSWORD\")",
    "password=${DB_PASSWORD}",
    "password=$DB_PASSWORD",
    "password: \"${DB_PASSWORD}\"",
    "password: \"{{ vault.password }}\"",
    "password: '%(password)s'",
    "password: \"#{password}\"",
    "password = f\"{password}\"",
    "connect(user=user, password=pw, host=host)",
    "connect(password=db_password)",
    "password=settings.DB_PASSWORD",
    "if (password === confirmation) {",
    "if password == other {",
    "password =~ /[a-z]/",
    "password::hash(x)",
    "password.length > 8",
    "fn verify(password: &str, hash: &str) -> bool {",
    "function login(user, password) {",
    "def login(user: str, password: str):",
    "password: z.string().min(8)",
    "password: { type: String, required: true }",
    "\"password\": { \"type\": \"string\" }",
    "\"password\": \"string\"",
    "\"password\": \"password\"",
    "\"password\": \"\"",
    "\"password\": null",
    "\"password\": \"********\"",
    "\"password\": \"<password>\"",
    "\"password\": \"Enter your password\"",
    "password: \"Password must be at least 8 characters\"",
    "password: \"auth.password.label\"",
    "password: the one of the database",
    "Password: required",
    "password: (prompt)",
    "--password <password>",
    "--password PASSWORD",
    "--password=DB_PASSWORD",
    "--password-stdin",
    "use --password to set it",
    "max_password=128",
    "min_password_length: 8",
    "PWD=/home/me/src",
    "pwd: '/home/me/src'",
    "OLDPWD=~/src",
    "cd $(pwd)",
    "PASS: test_one",
    "pass: 12, fail: 0",
    "bypass = true",
    "secret: true",
    "secret: Secret",
    "secret: \"my-app-secret\"",
    "secretName: tls-cert-a",
    "secrets: inherit",
    "client_secret: str,",
    "secret = secrets.token_hex(32)",
    "const secret = crypto.randomBytes(32)",
    "SECRET_KEY = env('SECRET_KEY')",
    "from keys import secret, password",
    "type=\"password\" name=\"password\"",
    "<password>@host",
    "docker run -p 8080:80 nginx",
    "mkdir -p src/secret/password",
    "ssh -p 2222 me@host",
    "cp -p a b",
    "commit {hex:40}",
    "id: {uuid}",
    "\"integrity\": \"sha512-{b64:86}==\"",
    "sha256:{hex:64}",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:43} me@host",
    "-----BEGIN PUBLIC KEY-----\n{b64:64}\n{b64:64}\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\n{b64:64}\n{b64:64}\n-----END CERTIFICATE-----",
    "http://localhost:3000/@fs/home/me/src",
    "git@github.com:acme/app.git",
    "https://acme.dev/?page=2&sort=key",
    "cookie: string;",
    "cookies: { session: true }",
    "$1$2$3",
    "password [hidden]",
    "password required for me@host",
    "[sudo] password for me:",
    "me@host's password:",
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-1a\n      key: password\n- name: MODE\n  value: live12345",
    "[{\"name\":\"DB_PASSWORD\"},{\"name\":\"MODE\",\"value\":\"live12345\"}]",
    "{\"name\":\"DB_PASSWORD\",\"value\":\"${DB_PASSWORD}\"}",
    "{\"name\":\"DB_PASSWORD\",\"value\":\"\"}",
    "{\"name\":\"DB_PASSWORD\",\"values\":\"live12345\"}",
    "{\"name\":\"MODE\",\"value\":\"password\"}",
    "{\"name\":\"max_tokens\",\"value\":\"4096\"}",
    "{\"name\":\"password\",\"type\":\"string\",\"value\":\"Enter your password\"}",
    "{\"key\":\"auth.token\",\"value\":\"live\"}",
    "The key: password, value: string",
    "Each row has a name: the password, and a value: hunter22",
    "password: { value: form.password, error: errors.password }",
    "<input name=\"password\" value=\"{{ password }}\">",
    "\"secrets\": {\n  \"count\": 2\n},\n\"value\": \"live12345\"",
];

fn scrub(line: &str) -> String {
    String::from_utf8(Scrubber::builtin().scrub_line(line.as_bytes()).unwrap().bytes.into_owned()).unwrap()
}

/// All secrets: those of the rules, and those of the names.
fn planted() -> Vec<(String, String)> {
    let rules = cases().into_iter().flat_map(|case| {
        let kind = case.kind;
        case.yes.into_iter().map(move |template| (kind.clone(), template)).collect::<Vec<_>>()
    });
    let named = NAMED.iter().map(|(kind, template)| (format!("{kind} (name)"), (*template).to_owned()));
    let beside = BESIDE.iter().map(|(kind, template)| (format!("{kind} (beside)"), (*template).to_owned()));
    rules.chain(named).chain(beside).collect()
}

/// A secret is found when none of its lines is left, whatever a dress put between them; armour and comments of a key are none.
fn is_found(planted: &Planted, output: &str) -> bool {
    let armour = |line: &str| line.is_empty() || line.starts_with("-----") || line.starts_with("Version: ");
    output.contains("[REDACTED:")
        && planted.secret.lines().map(str::trim).filter(|line| !armour(line)).all(|line| {
            let spellings = [line.to_owned(), escaped(line), escaped(&escaped(line))];
            spellings.iter().all(|line| !output.contains(line.as_str()))
        })
}

#[test]
fn every_secret_is_found_in_every_dress() {
    let mut recall: BTreeMap<String, [(usize, usize); DRESSES.len()]> = BTreeMap::new();
    let mut missed = Vec::new();
    for (kind, template) in planted() {
        for (seed, (at, (name, dress))) in
            SEEDS.iter().flat_map(|seed| DRESSES.iter().enumerate().map(move |dress| (seed, dress)))
        {
            let planted = plant(&template, *seed);
            let output = scrub(&dress(&planted.text()));
            let (found, all) = &mut recall.entry(kind.clone()).or_default()[at];
            *all += 1;
            if is_found(&planted, &output) {
                *found += 1;
            } else {
                missed.push(format!("{kind}, {name}: {output}"));
            }
            assert_eq!(scrub(&output), output, "twice is once: {name}");
        }
    }
    let mut report = String::new();
    let names: Vec<&str> = DRESSES.iter().map(|(name, _)| *name).collect();
    writeln!(report, "rule: {}", names.join(" | ")).unwrap();
    for (kind, found) in &recall {
        let cells: Vec<String> = found.iter().map(|(found, all)| format!("{found}/{all}")).collect();
        writeln!(report, "{kind}: {}", cells.join(" | ")).unwrap();
    }
    let sum = |count: fn(&(usize, usize)) -> usize| recall.values().flatten().map(count).sum::<usize>();
    writeln!(report, "all: {} of {}", sum(|cell| cell.0), sum(|cell| cell.1)).unwrap();
    println!("{report}");
    assert!(missed.is_empty(), "{}\n{report}", missed.join("\n"));
}

/// Found by a check: what is found in a file was not in its diff, nor where its lines had numbers.
#[test]
fn what_a_name_says_is_found_behind_the_prefix_of_its_line() {
    let mut missed = Vec::new();
    for (kind, template) in NAMED.iter().chain(BESIDE) {
        for (name, dress) in PREFIXES {
            let planted = plant(template, 3);
            let output = scrub(&dress(&planted.text()));
            if !is_found(&planted, &output) {
                missed.push(format!("{kind}, {name}: {output}"));
            }
            assert_eq!(scrub(&output), output, "twice is once: {name}");
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn what_is_no_secret_stays_in_every_dress() {
    let mut found = Vec::new();
    for template in STAYS.iter().chain(BESIDE_STAYS) {
        // A removed report reads as an option, `-PASS`.
        let is_report = |name: &str| template.starts_with("PASS:") && name.starts_with("removed");
        for (name, dress) in DRESSES.iter().chain(&PREFIXES).filter(|(name, _)| !is_report(name)) {
            let line = dress(&plant(template, 5).text());
            let output = scrub(&line);
            if output != line {
                found.push(format!("{name}: {line}\n  -> {output}"));
            }
        }
    }
    assert!(found.is_empty(), "{}: {}", found.len(), found.join("\n"));
}
