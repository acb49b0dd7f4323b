//! Private keys in whatever dress tools give them, and what stands beside a header and is no key.
//! The form of the keys themselves is in `fixtures.rs`.

use std::fmt::Write as _;

use crate::support::{draw, escaped};
use serde_json::json;
use stemmata_redact::{PrivateKeyState, Scrubber};

/// Header, lines of base64 and end of a made-up key.
fn key(label: &str, seed: u64) -> Vec<String> {
    let mut lines = vec![format!("-----BEGIN {label}-----")];
    lines.extend((0..6).map(|line| draw("{b64:64}", seed * 10 + line)));
    lines.push(draw("{b64:21}9A=", seed));
    lines.push(format!("-----END {label}-----"));
    lines
}

/// A way to print a file, line by line: gets the number of the line and the line.
type Dress = (&'static str, fn(usize, &str) -> String);

const DRESSES: [Dress; 22] = [
    ("plain", |_, line| format!("{line}\n")),
    ("windows", |_, line| format!("{line}\r\n")),
    ("grep", |_, line| format!("deploy_certs/server_key.pem:{line}\n")),
    ("grep -n", |n, line| format!("deploy_certs/server_key.pem:{n}:{line}\n")),
    ("grep --color", |n, line| {
        let line = line.replace("PRIVATE", "\u{1b}[01;31m\u{1b}[KPRIVATE\u{1b}[m\u{1b}[K");
        format!("\u{1b}[35m\u{1b}[Ks_k.pem\u{1b}[m\u{1b}[K:\u{1b}[32m{n}\u{1b}[m:{line}\n")
    }),
    ("cat -A", |_, line| format!("{line}$\n")),
    ("cat -A with carriage returns", |_, line| format!("{line}^M$\n")),
    ("cat -n", |n, line| format!("  {n:4}\t{line}\n")),
    ("numbered with arrows", |n, line| format!("{n:6}→{line}\n")),
    ("coloured", |_, line| format!("\u{1b}[38;5;244m{line}\u{1b}[0m\n")),
    ("coloured, spelled", |_, line| format!("\\x1b[32m{line}\\033[0m\n")),
    ("coloured, cat -v", |_, line| format!("^[[32m{line}^[[0m\n")),
    ("docker compose logs", |_, line| format!("\u{1b}[36mweb_app-1  |\u{1b}[0m {line}\n")),
    ("log", |n, line| {
        format!("2026-01-31T12:00:{n:02}.123Z INFO [worker_{n}] {{job=7}} app::keys: {line}\n")
    }),
    ("systemd", |n, line| format!("Jan 31 12:00:{n:02} host_1 app[42]: <debug> {line}\n")),
    ("JSON log", |n, line| format!("{{\"level\":\"info\",\"n\":{n},\"msg\":\"{line}\"}}\n")),
    ("HTML", |_, line| format!("{line}<br>\n")),
    ("HTML on one line", |_, line| format!("{line}<br/>")),
    ("URL", |_, line| {
        line.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D").replace(' ', "%20") + "%0A"
    }),
    ("form", |_, line| {
        line.replace('+', "%2b").replace('/', "%2f").replace('=', "%3d").replace(' ', "+") + "%0d%0a"
    }),
    ("string", |_, line| format!("    \"{line}\\n\" +\n")),
    ("diff", |_, line| format!("+{line}\n")),
];

fn scrub(line: &str) -> String {
    let once = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap().bytes.into_owned();
    let twice = Scrubber::builtin().scrub_line(&once).unwrap();
    assert!(twice.findings.is_empty(), "{}", String::from_utf8_lossy(&once));
    String::from_utf8(once).unwrap()
}

/// What of a key's lines survives: stretches of 12 bytes of its base64.
fn survivors<'k>(key: &'k [String], output: &str) -> Vec<&'k str> {
    let body = &key[1..key.len() - 1];
    body.iter()
        .flat_map(|line| (0..line.len().saturating_sub(11)).map(move |at| &line[at..at + 12]))
        .filter(|part| output.contains(part))
        .collect()
}

fn dressed(key: &[String], dress: fn(usize, &str) -> String) -> String {
    key.iter().enumerate().fold(String::new(), |text, (n, line)| text + &dress(n + 1, line))
}

const LABELS: [&str; 4] = ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"];

#[test]
fn a_private_key_is_found_in_every_dress() {
    let mut report = String::new();
    let mut failed = false;
    for (name, dress) in DRESSES {
        let (mut found, mut all) = (0, 0);
        for (label, seed) in LABELS.iter().flat_map(|label| (1..9).map(move |seed| (label, seed))) {
            let key = key(label, seed);
            let text = format!("$ show\n{}and then nothing_more_than_that\n", dressed(&key, dress));
            for line in [
                text.clone(),
                json!({ "type": "user", "content": text }).to_string(),
                json!({ "arguments": json!({ "out": text }).to_string() }).to_string(),
            ] {
                let output = scrub(&line);
                let left = survivors(&key, &output);
                all += 1;
                found += usize::from(left.is_empty() && output.contains("and then nothing_more_than_that"));
                failed |= !left.is_empty();
                if !left.is_empty() {
                    writeln!(report, "{name}: {left:?}\n{output}").unwrap();
                }
            }
        }
        writeln!(report, "private-key, {name}: {found} of {all}").unwrap();
        failed |= found < all;
    }
    println!("{report}");
    assert!(!failed, "{report}");
}

/// Headers of PGP and of encrypted keys stand between the armour and the base64.
#[test]
fn comments_between_header_and_key_hide_nothing() {
    for comments in [
        "Version: GnuPG v2.2.19 (GNU/Linux) <gpg>\nComment: https://gpgtools.org & others_too; see #1!\n\n",
        "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123456789ABCDEF0123456789ABCDEF\n\n",
        "Comment: {made} by me_and_you ~ 100%\n\n",
    ] {
        let mut key = key("PGP PRIVATE KEY BLOCK", 3);
        key[0].push('\n');
        key[0].push_str(comments.trim_end_matches('\n'));
        let text = key.join("\n");
        assert_eq!(survivors(&key, &scrub(&text)), [""; 0], "{comments}");
        assert_eq!(survivors(&key, &scrub(&json!({ "t": text }).to_string())), [""; 0], "{comments}");
    }
}

/// Clients record a file as strings of an array, or as objects with a line each.
#[test]
fn a_private_key_split_over_objects_is_found() {
    let key = key("RSA PRIVATE KEY", 5);
    let texts: [fn(&[String]) -> serde_json::Value; 5] = [
        |lines| lines.iter().map(|line| json!({ "type": "add", "id": "0_x", "text": line })).collect(),
        |lines| {
            lines
                .iter()
                .enumerate()
                .map(|(n, line)| json!({ "line": n, "content": format!("{n}| {line}") }))
                .collect()
        },
        |lines| lines.iter().map(|line| json!([{ "value": { "text": line } }])).collect(),
        |lines| lines.iter().map(|line| json!(format!("+{line}"))).collect(),
        |lines| lines.iter().map(|line| json!([line, true])).collect(),
    ];
    for (index, lines) in texts.iter().enumerate() {
        let line = json!({ "type": "user", "patch": lines(&key), "id": draw("{alnum:40}", 2) });
        for line in [
            line.to_string(),
            json!({ "arguments": serde_json::to_string_pretty(&line).unwrap() }).to_string(),
        ] {
            let output = scrub(&line);
            assert_eq!(survivors(&key, &output), [""; 0], "{index}: {output}");
            assert!(output.contains(&draw("{alnum:40}", 2)), "{index}: {output}");
            serde_json::from_str::<serde_json::Value>(&output).unwrap();
        }
    }
}

/// A stream is scrubbed line by line as it comes.
#[test]
fn a_private_key_is_followed_from_line_to_line() {
    for (name, dress) in DRESSES {
        let key = key("OPENSSH PRIVATE KEY", 7);
        let text = dressed(&key, dress);
        let mut keys = PrivateKeyState::default();
        let mut output = String::new();
        for line in text.split_inclusive('\n') {
            let scrubbed = Scrubber::builtin().scrub_line_within(line.as_bytes(), &mut keys).unwrap();
            output.push_str(std::str::from_utf8(&scrubbed.bytes).unwrap());
        }
        assert_eq!(survivors(&key, &output), [""; 0], "{name}: {output}");
        assert_eq!(keys, PrivateKeyState::default(), "{name}");
        let after = format!("{} stays", draw("{alnum:40}", 1));
        let scrubbed = Scrubber::builtin().scrub_line_within(after.as_bytes(), &mut keys).unwrap();
        assert!(scrubbed.findings.is_empty());
    }
}

/// A key that never ends is followed as far as one could go, and no further.
#[test]
fn an_open_key_closes_by_itself() {
    let header = "-----BEGIN PRIVATE KEY-----";
    let mut keys = PrivateKeyState::default();
    assert!(keys.advance(header.as_bytes()).is_empty());
    assert!(keys.is_open());
    assert!(keys.advance("so_much for that. ".repeat(60).as_bytes()).is_empty());
    assert!(!keys.is_open());
    let line = draw("{b64:64}", 1);
    assert!(keys.advance(line.as_bytes()).is_empty());
    // With material it goes on to the bound of a whole key.
    keys.advance(header.as_bytes());
    let lines = (0..4_000).take_while(|_| !keys.advance(line.as_bytes()).is_empty()).count();
    assert_eq!(lines, 128 * 1024 / 64);
    assert!(!keys.is_open());
    // Another armour ends it, too.
    let text = format!("{header}\n{line}\n-----BEGIN CERTIFICATE-----\n{line}");
    let found = keys.advance(text.as_bytes());
    assert_eq!((found.len(), found[0].clone()), (1, 0..header.len() + 1 + line.len()));
    assert!(!keys.is_open());
}

/// State in and out by hand: places in a text are those of the text.
#[test]
fn material_is_found_in_the_middle_of_a_key() {
    let body = draw("{b64:64}", 4);
    let mut keys = PrivateKeyState::default();
    assert!(keys.advance(b"x_y: -----BEGIN EC PRIVATE KEY-----").is_empty());
    assert_eq!(keys.advance(format!("x_y: {body}\n").as_bytes()).first(), Some(&(5..69)));
    assert_eq!(keys.advance(b"x_y: dZ8=\n").first(), Some(&(5..9)));
    assert!(keys.advance(b"x_y: dZ8=\n").is_empty(), "a short line is the last one");
    assert!(keys.advance(b"x_y: -----END EC PRIVATE KEY-----\n").is_empty());
    assert!(!keys.is_open());
}

/// A header in a text about keys makes nothing else a key.
#[test]
fn what_stands_behind_a_header_and_is_no_key_stays() {
    let header = "-----BEGIN PRIVATE KEY-----";
    for rest in [
        "\\n...\\n-----END PRIVATE KEY-----",
        "` starts a key.\n\nUse `getAccessTokenFromStore` or `PrivateKeyInfo::from_pem`; see src/crypto/keys/parser.rs",
        "\", pem) {\n    return Err(KeyError::UnexpectedHeaderFormat { expected: \"x\" });\n}\nlet parsedPrivateKey = decodeBase64String(body_of_it)?;",
        "') && !pem.includes('PUBLIC'))\n  throw new InvalidPrivateKeyException(\"NotAPrivateKey\")\nexport const createKeyObjectFromPem = 1;",
        "\ncommit {hex:40}\nAuthor: me_too\n sha256: {hex:64}\n {uuid}",
        "<snip>\nRunning tests_for_everything\ndone\nINFO\n/home/me/projects/acme/service/src/main.rs:12",
        "\nMIIE...\n-----END PRIVATE KEY-----\n{b64:64}",
        "\n-----BEGIN CERTIFICATE-----\n{b64:64}\n{b64:64}\n-----END CERTIFICATE-----",
    ] {
        let text = format!("{header}{}", draw(rest, 3));
        for line in
            [text.clone(), json!({ "t": text }).to_string(), json!({ "a": [text.clone()] }).to_string()]
        {
            assert_eq!(scrub(&line), line);
        }
        assert!(!escaped(&text).is_empty());
    }
}

/// Ids and other texts beside a torn key are none of its lines.
#[test]
fn other_fields_beside_a_torn_key_stay() {
    let torn = key("RSA PRIVATE KEY", 2)[..4].join("\n");
    let id = draw("toolu_01{alnum:22}", 3);
    let line = json!({ "content": [
        { "type": "text", "text": torn },
        { "type": "tool_use", "id": id, "name": "x", "input": { "path": draw("{alnum:44}", 2) } },
    ], "requestRef": draw("{alnum:44}", 9) });
    let expected = line.to_string().replace(&escaped(&torn), "[REDACTED:private-key]");
    assert_eq!(scrub(&line.to_string()), expected);
}

/// Headers that never end, in any number, cost no more than their bytes.
#[test]
fn headers_without_an_end_take_linear_time() {
    let size = if cfg!(debug_assertions) { 1 << 19 } else { 8 << 20 };
    for unit in [
        "-----BEGIN PRIVATE KEY-----".to_owned(),
        "-----BEGIN PRIVATE KEY-----\n_".to_owned(),
        format!("-----BEGIN PRIVATE KEY-----_ {}\n", draw("{b64:64}", 1)),
        format!("-----BEGIN PRIVATE KEY-----{}", "_".repeat(1000)),
        "-----BEGIN \u{1b}[0m".to_owned(),
        "\\".to_owned(),
    ] {
        let text = format!("-----BEGIN PRIVATE KEY-----{}", unit.repeat(size / unit.len()));
        let started = std::time::Instant::now();
        scrub(&text);
        let mut keys = PrivateKeyState::default();
        keys.advance(text.as_bytes());
        assert!(started.elapsed().as_secs() < 10, "{unit:?}: {:?}", started.elapsed());
    }
}
