//! Bundles as their users meet them: written, shown, taken in elsewhere, refused.

use std::os::unix::fs::PermissionsExt;

use crate::stage::Stage;
use crate::story;

struct Pair {
    from: Stage,
    to: Stage,
    tip: String,
    bundle: String,
}

fn pair() -> Pair {
    let from = Stage::new();
    let text = story::retry("/home/ann/shop").text();
    let path = from.home.write("a.jsonl", text.as_bytes());
    let tip = from.import(&path)["tip"].as_str().unwrap().to_owned();
    let bundle = from.home.path().join("out.stemma-bundle").to_str().unwrap().to_owned();
    Pair { from, to: Stage::new(), tip, bundle }
}

#[test]
fn a_session_goes_to_another_machine_and_on_from_there() {
    let Pair { from, to, tip, bundle } = pair();
    from.run(&["tag", &tip, "fix"]).ok();
    let done = from.json(&["bundle", "export", "fix", "--out", &bundle]);
    assert_eq!(done["tips"], serde_json::json!([tip]));
    let bytes = std::fs::metadata(&bundle).unwrap();
    assert_eq!((bytes.permissions().mode() & 0o777, bytes.len()), (0o600, done["bytes"].as_u64().unwrap()));

    let shown = to.json(&["bundle", "show", &bundle]);
    assert_eq!((&shown["commits"], &shown["session_count"]), (&done["commits"], &done["sessions"]));
    let dry = to.json(&["bundle", "import", &bundle, "--dry-run"]);
    assert_eq!((&dry["new_commits"], &dry["dry_run"]), (&done["commits"], &serde_json::json!(true)));
    assert_eq!(to.json(&["list"])["sessions"], serde_json::json!([]));
    let taken = to.json(&["bundle", "import", &bundle]);
    assert_eq!((&taken["new_commits"], &taken["known_commits"]), (&done["commits"], &serde_json::json!(0)));
    assert_eq!(to.native("fix"), from.native(&tip));
    to.run(&["verify"]).ok();
    let listed = to.run(&["list"]).ok().text();
    assert!(listed.contains("⇄ box: "), "{listed}");
    assert!(!from.run(&["list"]).ok().text().contains('⇄'), "it is at home there");

    let placed = to.json(&["fork", "fix", "--here"]);
    let path = placed["path"].as_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(to.home.project().to_str().unwrap()), "it works in this folder now");
    let again = to.json(&["bundle", "import", &bundle]);
    assert_eq!((&again["new_commits"], &again["new_bytes"]), (&serde_json::json!(0), &serde_json::json!(0)));
}

#[test]
fn only_what_is_missing_travels_and_pipes_do() {
    let Pair { from, to, tip, bundle } = pair();
    from.run(&["bundle", "export", &tip, "--out", &bundle]).ok();
    to.run(&["bundle", "import", &bundle]).ok();
    let have = to.run(&["bundle", "have", "--all"]).ok().text();
    assert!(have.contains(&tip), "{have}");
    let thin = from.feed(&["bundle", "export", "--all", "--have", "-", "--out", "-"], have.as_bytes()).ok();
    assert!(thin.stdout.starts_with(b"stemmata bundle\n"), "data goes to standard output");
    assert!(thin.stdout.len() < 600, "{}", thin.stdout.len());
    let taken = to.feed(&["bundle", "import", "-", "--json"], &thin.stdout).ok().json();
    assert_eq!(taken["new_commits"], 0);
}

#[test]
fn what_is_wrong_with_a_bundle_is_said() {
    let Pair { from, to, tip, bundle } = pair();
    from.run(&["bundle", "export", "--out", &bundle]).code(2).complains(&["--all"]);
    from.run(&["bundle", "export", &tip, "--out", &bundle]).ok();
    let again = from.run(&["bundle", "export", &tip, "--out", &bundle]);
    again.code(5).complains(&["exists; `--force` replaces it"]);
    from.run(&["bundle", "export", &tip, "--out", &bundle, "--force"]).ok();

    let bytes = std::fs::read(&bundle).unwrap();
    let cut = to.home.write("cut.bundle", &bytes[..bytes.len() / 2]);
    let said = to.run(&["bundle", "import", cut.to_str().unwrap()]);
    said.code(6)
        .complains(&["the bundle is cut off at byte", "hint: fetch or export it again; nothing was stored"]);
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    let flipped = to.home.write("flipped.bundle", &flipped);
    let said = to.run(&["bundle", "show", flipped.to_str().unwrap()]);
    said.code(6).complains(&["the bundle is damaged at byte"]);
    let newer = to.home.write("newer.bundle", b"stemmata bundle\n\x09\x00\x09\x00");
    let said = to.run(&["bundle", "import", newer.to_str().unwrap()]);
    said.code(9).complains(&["written by a newer version: it has format 9", "hint: update `stemma`"]);
    let other = to.home.write("other", b"{\"type\":\"user\"}\n and more of it\n");
    to.run(&["bundle", "import", other.to_str().unwrap()]).code(1).complains(&["this is not a bundle"]);
    let said = to.run(&["bundle", "import", &bundle, "--max-commits", "1"]);
    said.code(1).complains(&["commits in the bundle", "--max-commits"]);
    to.run(&["bundle", "import", "/no/such/file"]).code(3);
    assert_eq!(to.json(&["list"])["sessions"], serde_json::json!([]), "nothing was stored");
}

/// A newcomer gave a bundle to `import`, and met 22 names of formats.
#[test]
fn a_file_is_taken_for_what_it_is() {
    let Pair { from, to, tip, bundle } = pair();
    from.run(&["bundle", "export", &tip, "--out", &bundle]).ok();
    let other = to.home.write("other.bin", &std::fs::read(&bundle).unwrap());
    let other = other.to_str().unwrap();
    let transcript = to.home.write("b.jsonl", story::retry("/home/ann/barn").text().as_bytes());
    let transcript = transcript.to_str().unwrap();
    for command in ["show", "resume", "export"] {
        to.run(&[command, other]).code(3).complains(&[&format!("`stemma import {other}`")]);
        to.run(&[command, transcript])
            .code(3)
            .complains(&[&format!("`stemma import {transcript}` reads it first")]);
    }
    let said = to.run(&["import", other, transcript]).code(10);
    assert!(said.text().contains(&format!("`stemma bundle import {other}` imports it")), "{}", said.text());
    to.run(&["doctor", other]).complains(&["it is a bundle", "`stemma bundle import "]);
    to.run(&["bundle", "import", transcript]).complains(&["`stemma import FILE`"]);
    assert!(!to.run(&["list"]).ok().text().contains("⇄ box"));
    assert_eq!(
        to.run(&["import", other, "--json"]).ok().json()["new_commits"].as_u64().map(|new| new > 0),
        Some(true)
    );
    assert!(to.run(&["list"]).ok().text().contains("⇄ box"));
    let shown = to.run(&["bundle", "show", other]).ok().text();
    assert!(!shown.contains("sighting"), "{shown}");
}
