//! Drawn tokens near words that say secret, and everything that is drawn and no secret.
//! Tokens of the rules are in `fixtures.rs`.

use std::borrow::Cow;

use crate::support::{draw, escaped};
use stemmata_redact::{RuleFile, RuleScope, Scrubber};

/// Texts with a token in «…» that is a secret there.
const FOUND: [&str; 19] = [
    "the deploy key is «{alnum:9}4xK9b{alnum:14}»",
    "Token: «{alnum:9}4xK9b{alnum:14}».",
    "use «{alnum:9}4xK9b{alnum:14}» as the token",
    "my secret «{alnum:9}4xK9b{b64:20}==» works",
    "X-Acme-Auth «{alnum:9}4xK9b{word:24}7»",
    "token -> «{alnum:9}4xK9b{alnum:14}»",
    "GATEWAY_KEYS[0]: '«{alnum:9}4xK9b{alnum:14}»'",
    "credentials («{alnum:9}4xK9b{alnum:14}»)",
    "login with the password «{alnum:9}4xK9b{alnum:14}» please",
    "apikey «{alnum:9}4xK9b{alnum:14}»",
    "AUTH=«{alnum:9}4xK9b{alnum:14}»",
    "if token == \"«{alnum:9}4xK9b{alnum:14}»\"",
    "unlockKey: \"«{alnum:9}4xK9b{alnum:14}»\"",
    "secretForBuild: [\"«{alnum:9}4xK9b{alnum:14}»\"]",
    "Bearer of bad news: «{alnum:9}4xK9b{alnum:14}»",
    "the token «acme_live_9f1b{hex:36}»",
    "the auth «acme-key-9f1b{hex:36}»",
    "the token «build-{hex:16}-{hex:16}Zq»",
    "your passphrase: `«{alnum:9}4xK9b{alnum:14}»`",
];

/// Texts in which nothing is a secret.
const LEFT: [&str; 50] = [
    "the value is {alnum:9}4xK9b{alnum:14}",
    "key {hex:40}",
    "token {uuid}",
    "key: {hex:64}",
    "the auth commit {hex:40} broke it",
    "monkey {alnum:9}4xK9b{alnum:14}",
    "tokenizer {alnum:9}4xK9b{alnum:14}",
    "keyboard {alnum:9}4xK9b{alnum:14}",
    "author {alnum:9}4xK9b{alnum:14}",
    "public key {alnum:9}4xK9b{alnum:14}",
    "public_key={alnum:9}4xK9b{alnum:14}",
    "cacheKey: {alnum:9}4xK9b{alnum:14}",
    "key id {alnum:9}4xK9b{alnum:14}",
    "keyId={alnum:9}4xK9b{alnum:14}",
    "tokenHash: {b64:43}=",
    "key fingerprint SHA256:{b64:43}",
    "signature of the key: {b64:86}==",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:40} key",
    "authorized keys: ssh-rsa AAAAB3NzaC1yc2E{b64:60}",
    "token msg_01{alnum:22}",
    "auth toolu_01{alnum:22}",
    "token call_{alnum:24}",
    "the password request req_01{alnum:22}",
    "key chatcmpl-{alnum:29}",
    "key integrity sha512-{b64:86}==",
    "golang.org/x/auth v0.1 h1:{b64:43}=",
    "token ./src/Auth/{alnum:9}4xK9b{alnum:14}.ts",
    "key /home/me/{alnum:9}4xK9b{alnum:14}",
    "key https://acme.dev/{alnum:9}4xK9b{alnum:14}",
    "auth src/components/Login2Form3Field4Group5Item",
    "token handleAuthorizationTokenRefresh2V3Callback",
    "token getStaticProps1ForUserPage2AndTeam3Page",
    "secret {as:40}",
    "key data:image/png;base64,{b64:400}",
    "password {digits:30}",
    "token {upper:13}7{upper:12}",
    "key,\nvalue: {alnum:9}4xK9b{alnum:14}",
    "keys: [a], rows: {alnum:9}4xK9b{alnum:14}",
    "\"token\": 1, \"note\": \"{alnum:9}4xK9b{alnum:14}\"",
    "token chunk-{alnum:9}4xK9b.js",
    "key of the object is far away from what comes in the end: {alnum:9}4xK9b{alnum:14}",
    "tokenAddress: 0x{hex:20}A0B1c2D3e4F5a6B7c8D9",
    "the token 0x{hex:40} was sent",
    "Cache restored from key: setup-node-Linux-x64-npm-{hex:64}",
    "Cache key: Linux-cargo-{hex:64}",
    "Cache hit for key: macOS-py311-pip-{hex:64}-{hex:40}",
    "key: session-{uuid}",
    "token build_{uuid}",
    "key: node-cache-ubuntu2404-v2-{hex:32}",
    "Traceback key EXAMPLE{alnum:9}4xK9b{alnum:14}",
];

/// Drawn, and with enough changes of class that chance cannot spoil the case.
fn planted(template: &str, seed: u64) -> (String, String, String) {
    let drawn = draw(template, seed);
    match drawn.split_once('«') {
        Some((before, rest)) => {
            let (secret, after) = rest.split_once('»').unwrap();
            (before.to_owned(), secret.to_owned(), after.to_owned())
        }
        None => (drawn, String::new(), String::new()),
    }
}

fn scrub(text: &str) -> String {
    let scrubbed = Scrubber::builtin().scrub_line(text.as_bytes()).unwrap();
    String::from_utf8(scrubbed.bytes.into_owned()).unwrap()
}

/// Ways to put a text on a line; with whether an object in it is one of the line's then.
fn spellings(text: &str) -> [String; 4] {
    let once = format!(r#"{{"type":"user","content":"{}"}}"#, escaped(text));
    let twice = format!(r#"{{"arguments":"{}"}}"#, escaped(&format!(r#"{{"cmd":"{}"}}"#, escaped(text))));
    [text.to_owned(), once, twice, format!("[\"{}\"", escaped(text))]
}

#[test]
fn a_drawn_token_near_a_word_is_a_secret() {
    let mut missed = Vec::new();
    for template in FOUND {
        for seed in 1..40 {
            let (before, secret, after) = planted(template, seed);
            let text = format!("{before}{secret}{after}");
            let expected = |kind: &str| format!("{before}[REDACTED:{kind}]{after}");
            for (line, clean) in spellings(&text).into_iter().zip(spellings(&expected("high-entropy"))) {
                let scrubbed = scrub(&line);
                // A rule may know it by its frame, and then its name stands there.
                let is_clean = scrubbed == clean || (!scrubbed.contains(&secret) && scrubbed != line);
                if !is_clean {
                    missed.push(format!("{template}: {line}"));
                }
            }
        }
    }
    // Of drawn tokens a few look like words: those are not known by their entropy.
    let all = FOUND.len() * 39 * 4;
    assert!(missed.len() * 20 < all, "{} of {all}: {}", missed.len(), missed.join("\n"));
}

#[test]
fn what_is_drawn_and_no_secret_stays() {
    let mut found = Vec::new();
    for template in LEFT {
        for seed in 1..40 {
            let text = draw(template, seed);
            for line in spellings(&text) {
                let scrubbed = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap();
                if !matches!(scrubbed.bytes, Cow::Borrowed(_)) {
                    found.push(format!("{template}: {line}: {:?}", scrubbed.findings));
                }
            }
        }
    }
    assert!(found.is_empty(), "{} {}", found.len(), found.join("\n"));
}

#[test]
fn a_field_that_says_secret_is_context() {
    let token = draw("{alnum:9}4xK9b{alnum:14}", 3);
    let line = format!(r#"{{"input":{{"unlock_key":"{token}","note":"{token}","row_key":"{token}"}}}}"#);
    let expected = line.replacen(&token, "[REDACTED:high-entropy]", 1);
    assert_eq!(scrub(&line).replace("[REDACTED:key]", "[REDACTED:high-entropy]"), expected);
}

#[test]
fn entropy_can_be_off_and_its_threshold_moved() {
    let with = |text: &str, scope| {
        let text = text.to_owned();
        let scrubber = Scrubber::with_files(&[RuleFile { name: "x", text: &text, scope }]).unwrap();
        let line = draw("the token {alnum:9}4xK9b{alnum:14}", 3);
        let is_found = !scrubber.scrub_line(line.as_bytes()).unwrap().findings.is_empty();
        (is_found, scrubber.rules_hash())
    };
    let (found, hash) = with("", RuleScope::Store);
    assert!(found);
    assert_eq!(hash, Scrubber::builtin().rules_hash(), "a file that says nothing changes nothing");
    let (found, off) = with("entropy.mode = 'off'", RuleScope::Store);
    assert!(!found && off != hash);
    let (found, strict) = with("entropy.threshold = 5.5", RuleScope::Store);
    assert!(!found && strict != hash && strict != off);
    // A project may be anybody's: it cannot make the scrubber look away.
    for text in ["entropy.mode = 'off'", "entropy.threshold = 5.5"] {
        assert_eq!(with(text, RuleScope::Project), (true, hash));
    }
}
