//! Every rule, seen failing on a made-up tree and passing on its mended twin; then the real tree.

use proptest::prelude::*;

use super::source::Source;
use super::*;

/// What one rule says about a made-up tree.
fn said(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::made_up(files)).iter().map(Finding::to_string).collect()
}

/// Asserts that a rule finds exactly this in one file, and nothing in its mended twin.
#[track_caller]
fn told_apart(rule: Rule, path: &str, bad: &str, good: &str, expected: &str) {
    let found = said(rule, &[(path, bad)]);
    assert_eq!(found.len(), 1, "in {bad:?}: {found:?}");
    assert!(found[0].starts_with(expected), "{:?} does not start with {expected:?}", found[0]);
    assert_eq!(said(rule, &[(path, good)]), Vec::<String>::new(), "in the mended twin {good:?}");
}

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nlicense.workspace = true\n[lints]\nworkspace = true\n{rest}")
}

#[test]
fn a_crate_without_an_example_says_so_and_one_with_an_example_does_not() {
    let (plain, off) = (manifest("m", ""), manifest("m", "[lib]\ndoctest = false"));
    let rows = [
        ("//! A crate.\n", false),
        ("//! A crate.\n//!\n//! ```text\n//! a picture\n//! ```\n", false),
        ("//! A crate.\n//!\n//! ```\n//! assert!(true);\n//! ```\n", true),
        ("//! A crate.\n/// ```no_run\n/// loop {}\n/// ```\nfn f() {}\n", true),
        ("//! A crate.\n/// ```json\n/// {}\n/// ```\nfn f() {}\n", false),
    ];
    for (source, has_example) in rows {
        let (bad, good) = if has_example { (&off, &plain) } else { (&plain, &off) };
        let tree = |manifest: &str| {
            said(doctests::check, &[("crates/m/Cargo.toml", manifest), ("crates/m/src/lib.rs", source)])
        };
        assert_eq!(tree(bad).len(), 1, "{source}");
        assert_eq!(tree(good), Vec::<String>::new(), "{source}");
    }
    let program = [("crates/m/Cargo.toml", plain.as_str()), ("crates/m/src/main.rs", "//! A program.\n")];
    assert_eq!(said(doctests::check, &program), Vec::<String>::new());
}

#[test]
fn a_trait_of_many_methods_is_found_and_bodies_and_types_are_none() {
    let of = |methods: usize, more: &str| {
        let methods: String = (0..methods).map(|number| format!("    fn f{number}(&self);\n")).collect();
        format!("//! A.\n\npub trait Wide: Send {{\n{methods}{more}}}\n")
    };
    let more = "    fn more(&self, f: fn(u8) -> u8) -> u8 {\n        fn within() {}\n        f(1)\n    }\n";
    let expected = "crates/m/src/a.rs:3: `Wide` has 33 methods";
    told_apart(traits::check, "crates/m/src/a.rs", &of(32, more), &of(31, more), expected);
    assert_eq!(said(traits::check, &[("crates/m/src/tests.rs", &of(40, ""))]), Vec::<String>::new());
}

#[test]
fn an_edge_that_points_up_or_sideways_is_found_however_it_is_written() {
    let rows = [
        ("crates/model", "[dependencies]\nstemmata-store.workspace = true", "store"),
        ("crates/store", "[dependencies.stemmata-runtimes]\nworkspace = true", "runtimes"),
        (
            "crates/engine",
            "[target.'cfg(unix)'.dependencies]\nstemmata-server = { path = \"../server\" }",
            "server",
        ),
        ("crates/server", "[build-dependencies]\nstemmata-llm.workspace = true", "llm"),
        ("crates/store", "[dev-dependencies]\nstemmata-engine.workspace = true", "engine"),
        ("crates/cli", "[dependencies]\nstemmata-testkit.workspace = true", "testkit"),
        ("xtask", "[dependencies]\nstemmata-model.workspace = true", "model"),
    ];
    for (folder, edge, name) in rows {
        let path = format!("{folder}/Cargo.toml");
        let bad = manifest("made-up", edge);
        let good = manifest(
            "made-up",
            "[dependencies]\nserde = \"1\"\n[dev-dependencies]\nstemmata-testkit = \"1\"",
        );
        told_apart(layers::check, &path, &bad, &good, &format!("{path}: depends on `{name}` in "));
    }
}

/// Its tests are built with a feature so; anywhere else it would be a circle.
#[test]
fn a_crate_names_itself_for_its_tests_alone() {
    let path = "crates/engine/Cargo.toml";
    let own = |kind: &str| {
        manifest(
            "engine",
            &format!("[{kind}]\nstemmata-engine = {{ path = \".\", features = [\"testing\"] }}"),
        )
    };
    let message = format!("{path}: depends on `engine` in ");
    told_apart(layers::check, path, &own("build-dependencies"), &own("dev-dependencies"), &message);
}

#[test]
fn a_client_that_is_named_outside_of_its_folder_is_found() {
    let table =
        "pub static ALL: &[&Client] = &[\n    &crate::claude_code::CLIENT,\n    &crate::pi::CLIENT,\n];\n";
    let in_file = |path: &str, text: &str| {
        said(clients::check, &[("crates/runtimes/src/clients.rs", table), (path, text)])
    };
    let path = "crates/engine/src/made_up.rs";
    for bad in [
        "const A: &str = \"claude-code\";",
        "use crate::claude_code::RUNTIME;",
        "const A: Claude = Claude;",
        "const A: &str = \"Claude Code keeps them\";",
        "const A: &str = \"pi\";",
        "const A: &str = \"PI_CODING_AGENT_DIR\";",
        "use stemmata_runtimes::pi::RUNTIME;",
    ] {
        let found = in_file(path, bad);
        assert_eq!(found.len(), 1, "{bad}: {found:?}");
        assert!(found[0].starts_with(&format!("{path}:1: names the client of `")), "{found:?}");
        for row in ["crates/runtimes/src/lib.rs", "crates/acts/src/tools/table.rs", "crates/faults/src/a.rs"]
        {
            assert_eq!(in_file(row, bad), [""; 0], "{row}");
        }
    }
    assert_eq!(in_file("crates/runtimes/src/claude_code/a.rs", "const A: &str = \"claude\";"), [""; 0]);
    assert_eq!(in_file("crates/runtimes/src/pi.rs", "const A: &str = \"pi\";"), [""; 0]);
    for good in [
        "// Claude Code and pi.\nconst A: &str = \"pipe PIN spider\";",
        "const A: &str = \"https://example.org/claude-code/pi/1\";",
        "#[cfg(test)]\nmod tests {\n    const A: &str = \"claude-code\";\n}",
    ] {
        assert_eq!(in_file(path, good), [""; 0], "{good}");
    }
}

#[test]
fn a_wire_type_that_buffers_defaults_or_reads_the_wrong_way_is_found() {
    let path = "crates/api/src/v1/made_up.rs";
    let response = "#[derive(Serialize)]\nstruct Note {\n    #[serde(skip_serializing_if = \"Option::is_none\")]\n    line: Option<u64>,\n}\n";
    let request = "/// Asks.\n#[derive(Serialize)]\n#[serde(deny_unknown_fields)]\nstruct NoteRequest {\n    #[serde(default)]\n    line: u64,\n}\n";
    let good = format!("{response}{request}");
    let rows = [
        (response.replace("skip_serializing_if", "flatten, skip_serializing_if"), "3: `flatten` buffers"),
        (good.replacen("#[derive", "#[serde(tag = \"kind\")]\n#[derive", 1), "1: `tag` buffers"),
        (good.replacen("#[derive", "#[cfg_attr(a, serde(untagged))]\n#[derive", 1), "1: `untagged` buffers"),
        (good.replacen("Serialize", "Serialize, Default", 1), "1: a wire type with `Default`"),
        (
            good.replace("struct NoteRequest", "struct NoteResult"),
            "9: a response ignores unknown fields: `NoteResult`",
        ),
        (
            good.replace("struct Note {", "struct NewEvent {"),
            "2: a request refuses unknown fields: `NewEvent`",
        ),
    ];
    for (bad, expected) in rows {
        told_apart(wire::check, path, &bad, &good, &format!("{path}:{expected}"));
    }
    assert_eq!(
        said(wire::check, &[("crates/cli/src/made_up.rs", "#[serde(flatten)]\n")]),
        Vec::<String>::new()
    );
}

#[test]
fn a_command_that_names_the_engine_is_found() {
    let path = "crates/cli/src/commands/show.rs";
    let bad = "use stemmata_api::v1;\nuse stemmata_engine::Engine;\n";
    told_apart(
        operations::check,
        path,
        bad,
        "use stemmata_api::v1;\n",
        &format!("{path}:2: `stemmata_engine`"),
    );
    assert_eq!(said(operations::check, &[("crates/cli/src/wiring.rs", bad)]), [""; 0]);
}

#[test]
fn a_crate_that_is_not_listed_or_leaves_the_workspace_lints_is_found() {
    let path = "crates/new/Cargo.toml";
    assert_eq!(
        said(layers::check, &[(path, &manifest("new", ""))]),
        [format!("{path}: a crate that the table in xtask/src/tidy/layers.rs does not list")]
    );
    let path = "crates/model/Cargo.toml";
    let bad = manifest("model", "").replace("[lints]\nworkspace = true\n", "");
    told_apart(
        layers::check,
        path,
        &bad,
        &manifest("model", ""),
        "crates/model/Cargo.toml: no `workspace` in [lints]",
    );
    let bad = manifest("model", "").replace("license.workspace = true\n", "");
    told_apart(
        layers::check,
        path,
        &bad,
        &manifest("model", ""),
        "crates/model/Cargo.toml: no `license` in [package]",
    );
    told_apart(layers::check, path, "[package", &manifest("model", ""), "crates/model/Cargo.toml: not TOML");
}

#[test]
fn a_pure_crate_that_names_an_effect_is_found_but_its_tests_and_strings_are_not() {
    let path = "crates/model/src/commit.rs";
    let rows = [
        ("fn f() { std::fs::read(p) }", "std::fs"),
        ("use std::{fmt, env};", "std::env"),
        ("use std::{collections::{BTreeMap, fs_like}, net::TcpStream};", "std::net"),
        ("fn f() { std::thread::spawn(g); }", "std::thread"),
        ("fn f() { let now = SystemTime::now(); }", "SystemTime"),
        ("fn f(since: Instant) {}", "Instant"),
        ("fn f() { jiff::Timestamp::now(); }", "Timestamp::now"),
        ("fn f() { rand::random() }", "rand"),
        ("async fn f() {}", "async"),
    ];
    let good = "//! About std::fs.\nuse std::{collections::{fs, env}, fmt};\nfn f() { g(\"std::env\"); operand(); }\n\
                #[cfg(test)]\nmod tests { fn f() { std::fs::read(p); } }\n";
    for (bad, name) in rows {
        told_apart(purity::check, path, bad, good, &format!("{path}:1: a pure crate names `{name}`"));
    }
    let effect = "use std::fs;";
    for path in ["crates/model/tests/golden.rs", "crates/model/src/tests.rs", "crates/store/src/lib.rs"] {
        assert_eq!(said(purity::check, &[(path, effect)]), Vec::<String>::new(), "{path}");
    }
    let path = "crates/redact/Cargo.toml";
    let good = manifest("redact", "[dependencies]\nregex = \"1\"\n[dev-dependencies]\ntempfile = \"3\"");
    let bad = manifest("redact", "[dependencies]\ntempfile = \"3\"");
    told_apart(
        purity::check,
        path,
        &bad,
        &good,
        "crates/redact/Cargo.toml: a pure crate depends on `tempfile`",
    );
}

#[test]
fn a_long_file_and_a_long_function_are_found_tests_aside() {
    let path = "crates/model/src/lib.rs";
    let long = "//! Line.\n".repeat(501);
    told_apart(sizes::check, path, &long, &"//! Line.\n".repeat(500), "crates/model/src/lib.rs: 501 lines");
    assert_eq!(said(sizes::check, &[("crates/model/src/tests.rs", &long)]), Vec::<String>::new());
    let function = |lines: usize| {
        let body = "    call(\"}\", '}', [0; { 3 }]); // }\n\n    // why\n".repeat(lines);
        format!(
            "//! Functions.\n\nfn short();\n\nfn long<T>(a: [u8; {{ 2 }}]) -> T where T: Copy {{\n{body}}}\n"
        )
    };
    told_apart(
        sizes::check,
        path,
        &function(71),
        &function(70),
        "crates/model/src/lib.rs:5: a function of 71 lines",
    );
    let in_tests = format!("//! Tested.\n#[cfg(test)]\nmod tests {{\n{}}}\n", function(71));
    assert_eq!(said(sizes::check, &[(path, &in_tests)]), Vec::<String>::new());
}

#[test]
fn a_hidden_failure_is_found() {
    let path = "crates/model/src/lib.rs";
    let good = "//! No `#[allow(dead_code)]`.\n#[expect(dead_code, reason = \"shown\")]\nfn f() { g(\"#[ignore]\", sleep); rules.allow(x) }";
    let rows = [
        ("//! A.\n#[allow(dead_code)]\nfn f() {}", ":2: `#[expect"),
        ("//! A.\n#![allow(dead_code)]", ":2: `#[expect"),
        ("//! A.\n#[cfg_attr(unix, allow(dead_code))]\nfn f() {}", ":2: `#[expect"),
        ("//! A.\n#[test]\n#[ignore = \"slow\"]\nfn f() {}", ":3: no ignored test"),
        ("//! A.\n#[should_panic(expected = \"x\")]\nfn f() {}", ":2: no `should_panic`"),
        ("//! A.\n#[cfg(test)]\nmod tests {\n    fn f() { std::thread::sleep(d); }\n}", ":4: no sleep"),
    ];
    for (bad, expected) in rows {
        told_apart(attributes::check, path, bad, good, &format!("{path}{expected}"));
    }
    let path = "crates/engine/tests/crash.rs";
    told_apart(
        attributes::check,
        path,
        "fn f() { tokio::time::sleep(d) }",
        "fn f() { g(\"sleep 1\") }",
        path,
    );
}

#[test]
fn a_file_that_no_mod_declares_is_found() {
    let package = manifest("engine", "");
    let lib = "//! Root.\nmod walk;\n#[path = \"odd name.rs\"]\nmod odd;\nmod inner { mod leaf; }\n#[cfg(test)]\nmod tests;\n";
    let mut files = vec![
        ("crates/engine/Cargo.toml", package.as_str()),
        ("crates/engine/src/lib.rs", lib),
        ("crates/engine/src/walk.rs", "mod plan;\nmod reach;"),
        ("crates/engine/src/walk/plan.rs", ""),
        ("crates/engine/src/walk/reach/mod.rs", "mod deep;"),
        ("crates/engine/src/walk/reach/deep.rs", ""),
        ("crates/engine/src/odd name.rs", ""),
        ("crates/engine/src/inner/leaf.rs", ""),
        ("crates/engine/src/tests.rs", "mod laws;"),
        ("crates/engine/src/tests/laws.rs", ""),
        ("crates/engine/tests/story.rs", "mod parts;"),
        ("crates/engine/tests/parts/mod.rs", ""),
        ("crates/engine/examples/show.rs", ""),
    ];
    assert_eq!(said(modules::check, &files), Vec::<String>::new());
    files.push(("crates/engine/src/walk_tests.rs", ""));
    files.push(("crates/engine/tests/parts/forgotten.rs", ""));
    assert_eq!(
        said(modules::check, &files),
        [
            "crates/engine/src/walk_tests.rs: no `mod` declares this file, so cargo never compiles it",
            "crates/engine/tests/parts/forgotten.rs: no `mod` declares this file, so cargo never compiles it",
        ]
    );
}

#[test]
fn a_test_module_with_another_name_and_tests_switched_off_are_found() {
    let path = "crates/engine/src/laws.rs";
    let bad = [
        ("crates/engine/Cargo.toml", manifest("engine", "")),
        ("crates/engine/src/lib.rs", "//! Root.\n#[cfg(test)]\nmod laws;\n".to_owned()),
        (path, String::new()),
    ];
    let bad: Vec<(&str, &str)> = bad.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(said(modules::check, &bad).len(), 1);
    assert!(said(modules::check, &bad)[0].starts_with(&format!("{path}: only tests use this module")));
    let off = manifest("engine", "").replace("[lints]", "autotests = false\n[lints]");
    let found = said(modules::check, &[("crates/engine/Cargo.toml", &off)]);
    assert_eq!(
        found,
        ["crates/engine/Cargo.toml: `autotests = false`: a new file in `tests` would never run"]
    );
}

#[test]
fn a_name_that_says_nothing_and_a_missing_first_line_are_found() {
    let named = "//! What it is.\n";
    for path in
        ["crates/cli/src/utils.rs", "crates/cli/src/helpers/a.rs", "crates/cli/src/session_manager.rs"]
    {
        let found = said(names::check, &[(path, named)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("{path}: `")), "{found:?}");
    }
    told_apart(
        names::check,
        "crates/cli/src/list.rs",
        "use a;",
        named,
        "crates/cli/src/list.rs:1: the first line",
    );
}

#[test]
fn text_that_only_one_machine_or_one_day_can_use_is_found() {
    let slash = "/";
    let rows = [
        ("docs/a.md", "fine\r\n".to_owned(), "fine\n", ":1: a line ends with CRLF"),
        ("docs/a.md", "a\nTODO: more".to_owned(), "`mktemp aXXXXXX`", ":2: unfinished work: `TODO`"),
        (
            "crates/cli/src/a.rs",
            "// FIXME later".to_owned(),
            "let a = \"XXX\";",
            ":1: unfinished work: `FIXME`",
        ),
        ("crates/cli/src/a.rs", "fn f() { todo!() }".to_owned(), "// no todo!()", ":1: unfinished code"),
        (".ci/run", format!("cd {slash}work/main"), "cd ../work/main", ":1: a path of one machine"),
        (
            "docs/a.md",
            format!("see ({slash}root/x)"),
            "see https://host.example/root/x",
            ":1: a path of one machine",
        ),
        (
            "crates/cli/src/a.rs",
            format!("f(\"{slash}root/.x\")"),
            "f(\"/home/ada/x\")",
            ":1: a path of one machine",
        ),
        (
            "Cargo.lock",
            "source = \"git+https://host.example\"".to_owned(),
            "version = 4",
            ":1: a crate from \"git+",
        ),
    ];
    for (path, bad, good, expected) in rows {
        told_apart(text::check, path, &bad, good, &format!("{path}{expected}"));
    }
    let made_up = format!("//! Test.\nconst CWD: &str = \"{slash}work/app\";\n");
    assert_eq!(said(text::check, &[("crates/cli/tests/resume.rs", &made_up)]), Vec::<String>::new());
    assert_eq!(said(text::check, &[("examples/session.jsonl", "{}\r\n")]), Vec::<String>::new());
}

#[test]
fn a_phrase_that_readers_stumble_over_is_found_in_pages_texts_and_output() {
    let snapshot = |line: &str| format!("---\nexpression: stage.told(&args)\n---\nexit 0\n{line}\n");
    let rows = [
        (
            "docs/guide/a.md",
            "a\nThe file is no store.",
            "There is no store; it is no longer one.",
            ":2: `is no`",
        ),
        ("docs/guide/a.md", "It goes on.", "[It](goes on)\n```\ngoes on\n```\n`goes on`", ":1: `goes on`"),
        ("README.md", "1 entries", "1 entry, 21 entries, 0.1 entries", ":1: `1 entries`"),
        ("crates/cli/tests/a.snap", &snapshot("1 sessions"), &snapshot("1 session"), ":5: `1 sessions`"),
        (
            "crates/cli/src/a.rs",
            "f(\"was \\\n    looked at\")",
            "f(\"checked\"); // looked at",
            ":1: `looked at`",
        ),
        ("crates/cli/src/a.rs", "f(\"{n} was told\")", "f(\"{told} \", \"told\")", ":1: `told`"),
    ];
    for (path, bad, good, expected) in rows {
        told_apart(wording::check, path, bad, good, &format!("{path}{expected}"));
    }
    // A test's own words and a crate that speaks to nobody may say what they like.
    for path in ["crates/cli/src/a/tests.rs", "crates/store/src/a.rs", "docs/reference/seeds.md"] {
        assert_eq!(said(wording::check, &[(path, "f(\"it goes on\")")]), Vec::<String>::new(), "{path}");
    }
}

/// The documents that a tree must have, as small as they may be.
fn documents() -> Vec<(&'static str, String)> {
    let names = ["CONTRIBUTING.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "SECURITY.md"];
    let mut files: Vec<(&str, String)> = names.iter().map(|name| (*name, String::new())).collect();
    files.push(("ARCHITECTURE.md", "# Map\n\n## Code map: the crates\n\n`crates/model`".to_owned()));
    files.push(("CHANGELOG.md", "# Changes\n\n## Unreleased\n".to_owned()));
    files.push(("crates/model/Cargo.toml", manifest("model", "")));
    files
}

#[test]
fn a_missing_or_broken_document_is_found() {
    let good = documents();
    let rows: Vec<(&str, String, String)> = vec![
        ("ARCHITECTURE.md", "# Map".into(), "ARCHITECTURE.md: does not mention `crates/model`".into()),
        ("ARCHITECTURE.md", "crates/model\n".repeat(251), "ARCHITECTURE.md: 251 lines, at most 250".into()),
        ("CHANGELOG.md", "# Changes\n".into(), "CHANGELOG.md: no section `## Unreleased`".into()),
        (
            "README.md",
            "\n[a](docs/gone.md)".into(),
            "README.md:2: the link to `docs/gone.md` leads nowhere".into(),
        ),
        ("README.md", "[`a`](../up.md)".into(), "README.md:1: the link to `../up.md` leads nowhere".into()),
        ("README.md", "[a]: gone/".into(), "README.md:1: the link to `gone/` leads nowhere".into()),
        (
            "README.md",
            "[a](ARCHITECTURE.md#none)".into(),
            "README.md:1: `ARCHITECTURE.md` has no heading for `#none`".into(),
        ),
    ];
    let fine = "[a](crates/model) [b](ARCHITECTURE.md#code-map-the-crates) `[c](d)` [e](https://host.example)\n```\n[f](g)\n```\n";
    let replaced = |path: &str, text: &str| -> Vec<String> {
        let files = good.iter().map(|(name, old)| (*name, if *name == path { text } else { old.as_str() }));
        said(documents::check, &files.collect::<Vec<_>>())
    };
    assert_eq!(replaced("README.md", fine), Vec::<String>::new());
    for (path, text, expected) in rows {
        assert_eq!(replaced(path, &text), [expected]);
    }
    let most: Vec<(&str, &str)> = good.iter().skip(1).map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(said(documents::check, &most), ["CONTRIBUTING.md: does not exist"]);
}

#[test]
fn a_decision_that_the_index_forgets_is_found() {
    let page = "docs/decisions/0001-blocking-store.md";
    let mut files = documents();
    files.push(("docs/decisions/README.md", "# Decisions\n\n[Blocking](0001-blocking-store.md)".to_owned()));
    files.push((page, String::new()));
    let listed: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(said(documents::check, &listed), Vec::<String>::new());
    let forgotten: Vec<(&str, &str)> = listed
        .iter()
        .map(|(path, text)| (*path, if path.ends_with("decisions/README.md") { "" } else { *text }))
        .collect();
    assert_eq!(
        said(documents::check, &forgotten),
        [format!("{page}: docs/decisions/README.md does not list it")]
    );
}

#[test]
fn a_seed_row_that_names_no_real_test_is_found() {
    let page = "docs/reference/seeds.md";
    let test =
        ("crates/store/tests/laws.rs", "//! Laws.\nfn a_batch_is_atomic() {}\nfn a_flip_is_found() {}\n");
    let row = |id: &str, cell: &str| format!("| {id} | a | `not_this` | {cell} |\n");
    let good = row("1.01", "`store::a_batch_is_atomic`, `a_flip_is_found`")
        + &row("1.02", "`cargo xtask bench`; to come: packs");
    assert_eq!(said(seeds::check, &[(page, &good), test]), Vec::<String>::new());
    let bad = good + &row("1.02", "`store::a_batch_was_atomic`") + &row("1.03", "");
    assert_eq!(
        said(seeds::check, &[(page, &bad), test]),
        [
            "docs/reference/seeds.md:3: a second row 1.02",
            "docs/reference/seeds.md:3: 1.02 is held by `a_batch_was_atomic`, which does not exist",
            "docs/reference/seeds.md:4: nothing holds 1.03",
        ]
    );
}

#[test]
fn code_is_told_from_comments_and_literals() {
    let rows = [
        ("a /* b /* c */ d */ e", "a", "e"),
        ("a \"b \\\" c\" e", "a", "e"),
        ("a r#\"b \" c\"# e", "a", "e"),
        ("a b\"b\" br##\"c\"# \"## c\"d\" e", "a", "e"),
        ("a '\"' '\\'' b'\\\\' e", "a", "e"),
        ("a // b ' \" c\ne", "a", "e"),
    ];
    for (text, first, last) in rows {
        let code = Source::new("crates/a/src/a.rs", text).code.clone();
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), [first, last], "{text}");
    }
    let lifetimes = "fn f<'a>(r#type: &'a str, b: &'static u8) -> char";
    assert_eq!(Source::new("crates/a/src/a.rs", lifetimes).code, lifetimes);
}

proptest! {
    #[test]
    fn any_text_keeps_its_length_and_lines(text in "(?s)[\"'#/*\\\\rbc{}\\[\\]();a-c \nä]{0,80}|\\PC{0,80}") {
        let source = Source::new("crates/a/src/a.rs", &text);
        for part in [&source.code, &source.production, &source.comments] {
            prop_assert_eq!(part.len(), text.len());
            let breaks = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
            prop_assert_eq!(breaks(part), breaks(&text));
        }
        // No rule may panic on a file that is not Rust.
        let tree = Tree::made_up(&[("crates/model/src/lib.rs", &text), ("README.md", &text), ("crates/model/Cargo.toml", &text)]);
        findings(&tree);
    }
}

#[test]
fn the_real_tree_is_tidy() {
    let tree = Tree::load(&crate::process::repository().unwrap()).unwrap();
    let findings: Vec<String> = findings(&tree).iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}
