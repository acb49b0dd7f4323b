//! Made-up shell commands and what they print.
//! Not run anywhere.

use crate::rng::Rng;

use super::code::Language;
use super::expand;

/// Returns a shell command as an agent runs it on a project in that language.
pub fn command(rng: &mut Rng, language: Language) -> String {
    let own: &[&str] = match language {
        Language::Rust => RUST_COMMANDS,
        Language::Go => GO_COMMANDS,
        Language::TypeScript => NODE_COMMANDS,
        Language::Python => PYTHON_COMMANDS,
        Language::Elixir => ELIXIR_COMMANDS,
        Language::Shell | Language::Markdown | Language::Config => COMMANDS,
    };
    let template = if rng.chance(50) { rng.pick(own) } else { rng.pick(COMMANDS) };
    expand(rng, template)
}

/// Returns what such a command prints.
pub fn command_output(rng: &mut Rng, command: &str, language: Language) -> String {
    let templates = if command.contains("status") {
        STATUS
    } else if command.contains("log") {
        LOG
    } else if command.contains("diff") || command.contains("git show") {
        DIFF
    } else if command.contains("grep") || command.starts_with("rg ") {
        GREP
    } else if command.contains("ls") || command.contains("find") {
        LISTING
    } else if command.contains("commit") || command.contains("push") {
        COMMIT
    } else if command.contains("test") {
        tests_of(language)
    } else if command.contains("build") || command.contains("check") || command.contains("lint") {
        builds_of(language)
    } else {
        OTHER
    };
    let repeats = if rng.chance(70) { 1 } else { rng.range(2, 6) };
    (0..repeats)
        .map(|_| {
            let template = rng.pick(templates);
            expand(rng, template)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

const fn tests_of(language: Language) -> &'static [&'static str] {
    match language {
        Language::Go => GO_TESTS,
        Language::TypeScript | Language::Config | Language::Markdown => NODE_TESTS,
        Language::Python => PYTHON_TESTS,
        Language::Elixir => ELIXIR_TESTS,
        Language::Rust | Language::Shell => RUST_TESTS,
    }
}

const fn builds_of(language: Language) -> &'static [&'static str] {
    match language {
        Language::Go => GO_BUILDS,
        Language::TypeScript | Language::Config | Language::Markdown => NODE_BUILDS,
        Language::Python | Language::Elixir | Language::Rust | Language::Shell => RUST_BUILDS,
    }
}

const COMMANDS: &[&str] = &[
    "git status",
    "git status --short",
    "git diff",
    "git diff --stat HEAD~‹int:1:4›",
    "git log --oneline -‹int:5:20›",
    "git log --oneline ‹branch›..HEAD",
    "ls -la",
    "ls -la ‹dir›/",
    "find . -name \"*.‹ext›\" -not -path \"./node_modules/*\" | head -‹int:10:50›",
    "grep -rn \"‹noun|pascal›‹noun|pascal›\" ‹dir›/ --include=\"*.‹ext›\"",
    "grep -n \"‹verb›‹noun|pascal›\" ‹path›",
    "rg -n '‹verb›_‹noun|snake›' ‹dir›",
    "cat ‹path› | head -‹int:20:120›",
    "sed -n '‹int:1:90›,‹int:91:300›p' ‹path›",
    "wc -l ‹path›",
    "git add -A && git commit -m \"‹verb|cap› ‹noun› ‹noun›\"",
    "git add ‹path› ‹path› && git commit -m \"$(cat <<'EOF'\n‹verb|cap› ‹adj› ‹noun›\n\n‹fact›\nEOF\n)\"",
    "git push -u origin ‹branch›",
    "git show --stat HEAD",
    "gh pr view ‹int:10:900› --json title,body,comments",
    "mkdir -p ‹dir›/‹noun|kebab›",
    "rm -rf /tmp/‹noun|kebab›",
    "curl -s http://localhost:‹int:3000:9000›/api/‹noun|kebab›s | jq .",
    "cd ‹dir› && git stash list",
    "git branch --show-current",
];

const RUST_COMMANDS: &[&str] = &[
    "cargo test",
    "cargo test -p ‹noun|kebab› 2>&1 | tail -‹int:20:60›",
    "cargo build 2>&1 | head -‹int:30:80›",
    "cargo clippy --all-targets -- -D warnings",
    "cargo fmt --check",
    "cargo check --workspace",
    "cargo test ‹verb›_‹noun|snake› -- --nocapture",
    "cargo run --release -- ‹verb› --‹noun|kebab›",
];

const GO_COMMANDS: &[&str] = &[
    "go test ./...",
    "go test ./‹dir›/... -run Test‹verb|pascal›‹noun|pascal› -v 2>&1 | tail -‹int:20:60›",
    "go build ./...",
    "go vet ./...",
    "mise run fmt && mise run lint",
    "golangci-lint run ./...",
    "gofmt -l .",
    "go test -race ./‹dir›/‹noun|snake›/...",
];

const NODE_COMMANDS: &[&str] = &[
    "npm test",
    "npm run build",
    "npm run check",
    "npx vitest run ‹path›",
    "npx tsc --noEmit",
    "npm run lint -- --fix",
    "cd packages/‹noun|kebab› && npm run build",
    "npx tsx ../../node_modules/vitest/dist/cli.js --run test/‹noun|kebab›.test.ts",
    "pnpm install",
    "bun test",
];

const PYTHON_COMMANDS: &[&str] = &[
    "pytest -q",
    "python -m pytest tests/test_‹noun|snake›.py -x 2>&1 | tail -‹int:20:50›",
    "uv run ruff check .",
    "mypy ‹project|snake›",
    "python3 -c \"import json; print(json.load(open('‹noun|snake›.json'))['‹noun|snake›'])\"",
    "pip install -e '.[dev]'",
];

const ELIXIR_COMMANDS: &[&str] = &[
    "mix test",
    "mix test test/‹project|snake›/‹noun|snake›_test.exs 2>&1 | tail -‹int:20:60›",
    "mix compile --warnings-as-errors",
    "mix format",
    "mix credo --strict",
];

const STATUS: &[&str] = &[
    "On branch ‹branch›\nYour branch is up to date with 'origin/‹branch›'.\n\nChanges not staged for commit:\n  (use \"git add <file>...\" to update what will be committed)\n  (use \"git restore <file>...\" to discard changes in working directory)\n\tmodified:   ‹path›\n\tmodified:   ‹path›\n\nUntracked files:\n  (use \"git add <file>...\" to include in what will be committed)\n\t‹path›\n\nno changes added to commit (use \"git add\" and/or \"git commit -a\")",
    " M ‹path›\n M ‹path›\n?? ‹path›",
    "On branch ‹branch›\nnothing to commit, working tree clean",
];

const LOG: &[&str] = &[
    "‹hex:7› ‹verb|cap› ‹noun› ‹noun›\n‹hex:7› Fix ‹adj› ‹noun›\n‹hex:7› Merge pull request #‹int:10:900› from acme/‹branch›\n‹hex:7› Update ‹path›\n‹hex:7› ‹verb|cap› ‹noun› ‹how›",
    "commit ‹hex:40›\nAuthor: ‹person|cap› Example <‹person›@example.com>\nDate:   Tue ‹month› ‹int:1:28› ‹int:10:23›:‹int:10:59›:‹int:10:59› 2026 +0100\n\n    ‹verb|cap› ‹noun› ‹noun›\n",
];

const DIFF: &[&str] = &[
    "diff --git a/‹path#1› b/‹path#1›\nindex ‹hex:7›..‹hex:7› 100644\n--- a/‹path#1›\n+++ b/‹path#1›\n@@ -‹int:1:400›,7 +‹int:1:400›,9 @@\n \t‹noun#2|camel› := ‹noun#3|camel›.‹verb|pascal›()\n-\tif ‹noun#2|camel› == nil {\n+\tif ‹noun#2|camel› == nil || len(‹noun#2|camel›) == 0 {\n+\t\treturn nil\n \t}",
    " ‹path› | ‹int:2:90› ++++++++++-----\n ‹path› |  ‹int:1:9› +-\n 2 files changed, ‹int:10:200› insertions(+), ‹int:1:90› deletions(-)",
];

const GREP: &[&str] = &[
    "‹path›:‹int:1:900›:\tif err := ‹noun|camel›.‹verb|pascal›(ctx); err != nil {\n‹path›:‹int:1:900›:// ‹fact›\n‹path›:‹int:1:900›:func ‹verb|pascal›‹noun|pascal›(‹noun|camel› string) error {",
    "‹path#1›:‹int:1:90›:import { ‹noun|pascal› } from \"./‹noun|kebab›.js\";\n‹path#1›:‹int:100:900›:\tprivate ‹noun#2|camel›: ‹noun#2|pascal›;\n‹path#1›:‹int:100:900›:\t\tthis.‹noun#2|camel›.‹verb›();",
    "‹int:1:900›:    pub fn ‹verb›_‹noun|snake›(&self) -> Result<()> {\n‹int:1:900›-        let ‹noun|snake› = self.‹noun|snake›.‹verb›()?;\n‹int:1:900›:    fn ‹verb›_‹noun|snake›(&mut self) {",
    "‹path›\n‹path›\n‹path›",
];

const LISTING: &[&str] = &[
    "total ‹int:20:400›\ndrwxr-xr-x  ‹int:2:20› dev dev  4096 ‹month› ‹int:10:28› ‹int:10:23›:‹int:10:59› .\ndrwxr-xr-x  ‹int:2:20› dev dev  4096 ‹month› ‹int:10:28› ‹int:10:23›:‹int:10:59› ..\n-rw-r--r--  1 dev dev  ‹int:1000:9000› ‹month› ‹int:10:28› ‹int:10:23›:‹int:10:59› ‹noun|kebab›.‹ext›\n-rw-r--r--  1 dev dev   ‹int:100:999› ‹month› ‹int:10:28› ‹int:10:23›:‹int:10:59› README.md\n-rwxr-xr-x  1 dev dev ‹int:10000:99999› ‹month› ‹int:10:28› ‹int:10:23›:‹int:10:59› ‹project›",
    "./‹path›\n./‹path›\n./‹path›\n./‹path›\n./‹path›",
    "‹noun|kebab›.‹ext›\n‹noun|kebab›.‹ext›\n‹dir›\nREADME.md",
];

const COMMIT: &[&str] = &[
    "[‹branch› ‹hex:7›] ‹verb|cap› ‹noun› ‹noun›\n ‹int:2:9› files changed, ‹int:10:400› insertions(+), ‹int:1:90› deletions(-)\n create mode 100644 ‹path›",
    "To github.com:acme/‹project›.git\n   ‹hex:7›..‹hex:7›  ‹branch› -> ‹branch›\nbranch '‹branch›' set up to track 'origin/‹branch›'.",
];

const RUST_TESTS: &[&str] = &[
    "running ‹int:2:90› tests\ntest ‹noun#1|snake›::tests::‹verb›s_‹noun|snake›_‹noun|snake› ... ok\ntest ‹noun#1|snake›::tests::‹verb›s_‹adj›_‹noun|snake› ... ok\ntest ‹noun#1|snake›::tests::‹noun|snake›_is_‹adj|snake› ... ok\n\ntest result: ok. ‹int:2:90› passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.‹int:10:99›s",
    "failures:\n\n---- ‹noun#1|snake›::tests::‹verb›s_‹noun#2|snake› stdout ----\n\nthread '‹noun#1|snake›::tests::‹verb›s_‹noun#2|snake›' panicked at src/‹noun#1|snake›.rs:‹int:10:900›:9:\nassertion `left == right` failed\n  left: ‹int:0:9›\n right: ‹int:10:20›\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\ntest result: FAILED. ‹int:2:90› passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.‹int:10:99›s\n\nerror: test failed, to rerun pass `-p ‹project› --lib`",
];

const GO_TESTS: &[&str] = &[
    "=== RUN   Test‹verb#1|pascal›‹noun#1|pascal›\n--- PASS: Test‹verb#1|pascal›‹noun#1|pascal› (0.‹int:10:99›s)\n=== RUN   Test‹verb#2|pascal›‹noun#2|pascal›\n=== PAUSE Test‹verb#2|pascal›‹noun#2|pascal›\n=== CONT  Test‹verb#2|pascal›‹noun#2|pascal›\n--- PASS: Test‹verb#2|pascal›‹noun#2|pascal› (0.00s)\nPASS\nok  \tgithub.com/acme/‹project›/internal/‹noun|snake›\t0.‹int:100:999›s",
    "ok  \tgithub.com/acme/‹project#1›/cmd/‹noun|snake›\t‹int:1:9›.‹int:100:999›s\nok  \tgithub.com/acme/‹project#1›/internal/‹noun|snake›\t(cached)\n?   \tgithub.com/acme/‹project#1›/pkg/‹noun|snake›\t[no test files]",
    "--- FAIL: Test‹verb#1|pascal›‹noun#1|pascal› (0.‹int:10:99›s)\n    ‹noun#1|snake›_test.go:‹int:10:900›: ‹verb#1|pascal›‹noun#1|pascal›() = \"‹noun|kebab›\", want \"‹noun|kebab›\"\nFAIL\nFAIL\tgithub.com/acme/‹project›/internal/‹noun#1|snake›\t0.‹int:100:999›s\nFAIL",
];

const NODE_TESTS: &[&str] = &[
    "> @acme/‹noun#1|kebab›@0.‹int:1:30›.‹int:0:9› test\n> vitest --run\n\n RUN  v3.2.4 /home/dev/‹project›/packages/‹noun#1|kebab›\n\n ✓ test/‹noun|kebab›.test.ts (‹int:2:40› tests) ‹int:3:900›ms\n ✓ test/‹noun|kebab›-‹noun|kebab›.test.ts (‹int:2:40› tests) ‹int:3:900›ms\n\n Test Files  ‹int:2:40› passed (‹int:2:40›)\n      Tests  ‹int:20:400› passed (‹int:20:400›)\n   Start at  ‹int:10:23›:‹int:10:59›:‹int:10:59›\n   Duration  ‹int:1:9›.‹int:10:99›s",
    " FAIL  test/‹noun#1|kebab›.test.ts > ‹noun#1|pascal› > should ‹verb› ‹noun›\nAssertionError: expected '‹noun|kebab›' to be '‹noun|kebab›' // Object.is equality\n\n- Expected\n+ Received\n\n ❯ test/‹noun#1|kebab›.test.ts:‹int:10:400›:‹int:5:40›",
];

const PYTHON_TESTS: &[&str] = &[
    "============================= test session starts ==============================\nplatform linux -- Python 3.12.3, pytest-8.3.4, pluggy-1.5.0\nrootdir: /home/dev/‹project›\ncollected ‹int:5:200› items\n\ntests/test_‹noun|snake›.py ........                                      [ ‹int:10:60›%]\ntests/test_‹noun|snake›.py ..........                                    [100%]\n\n============================== ‹int:5:200› passed in ‹int:1:20›.‹int:10:99›s ==============================",
    "Traceback (most recent call last):\n  File \"/home/dev/‹project#1›/‹project#1|snake›/‹noun|snake›.py\", line ‹int:10:400›, in <module>\n    main()\n  File \"/home/dev/‹project#1›/‹project#1|snake›/‹noun|snake›.py\", line ‹int:10:400›, in ‹verb›_‹noun|snake›\n    raise ValueError(f\"‹adj› ‹noun›\")\nValueError: ‹adj› ‹noun›",
];

const ELIXIR_TESTS: &[&str] = &[
    "Running ExUnit with seed: ‹int:1000:900000›, max_cases: 16\n\n........................\nFinished in ‹int:1:9›.‹int:1:9› seconds (‹int:1:9›.‹int:1:9›s async, 0.‹int:1:9›s sync)\n‹int:20:300› tests, 0 failures",
];

const RUST_BUILDS: &[&str] = &[
    "   Compiling ‹project› v0.‹int:1:20›.‹int:0:9› (/home/dev/‹project›)\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in ‹int:1:60›.‹int:10:99›s",
    "error[E0308]: mismatched types\n  --> src/‹noun|snake›.rs:‹int:10:900›:‹int:5:60›\n   |\n‹int:10:900› |         ‹noun|snake›.‹verb›(‹noun|snake›)\n   |                      ^^^^^^^^ expected `&str`, found `String`\n   |\nhelp: consider borrowing here\n\nFor more information about this error, try `rustc --explain E0308`.\nerror: could not compile `‹project›` (lib) due to 1 previous error",
    "warning: unused variable: `‹noun#1|snake›`\n  --> src/‹noun|snake›.rs:‹int:10:900›:‹int:5:60›\n   |\n   = note: `#[warn(unused_variables)]` on by default",
];

const GO_BUILDS: &[&str] = &[
    "",
    "# github.com/acme/‹project›/internal/‹noun#1|snake›\ninternal/‹noun#1|snake›/‹noun|snake›.go:‹int:10:900›:‹int:2:40›: undefined: ‹noun|camel›\ninternal/‹noun#1|snake›/‹noun|snake›.go:‹int:10:900›:‹int:2:40›: declared and not used: err",
    "0 issues.",
    "[lint:go] $ golangci-lint run ./...\n[fmt] $ gofmt -s -w .\n0 issues.\nFinished in ‹int:1:30›.‹int:1:9›s",
];

const NODE_BUILDS: &[&str] = &[
    "> @acme/‹noun#1|kebab›@0.‹int:1:30›.‹int:0:9› build\n> tsc -p tsconfig.build.json\n",
    "> check\n> biome check --write . && tsc --noEmit\n\nChecked ‹int:20:300› files in ‹int:20:900›ms. No fixes applied.",
    "src/‹noun|kebab›.ts(‹int:10:400›,‹int:5:60›): error TS2339: Property '‹noun|camel›' does not exist on type '‹noun|pascal›'.\nsrc/‹noun|kebab›.ts(‹int:10:400›,‹int:5:60›): error TS2345: Argument of type 'string | undefined' is not assignable to parameter of type 'string'.",
];

const OTHER: &[&str] = &[
    "",
    "",
    "ok",
    "‹int:10:900› ‹path›",
    "‹fact›",
    "{\n  \"‹noun#1|snake›\": \"‹noun|kebab›\",\n  \"status\": \"ok\",\n  \"count\": ‹int:0:400›\n}",
    "2026-03-‹int:10:28›T‹int:10:23›:‹int:10:59›:‹int:10:59›Z ‹level› ‹noun|snake›: ‹verb› ‹noun› id=‹int:100:9000›\n2026-03-‹int:10:28›T‹int:10:23›:‹int:10:59›:‹int:10:59›Z ‹level› ‹noun|snake›: ‹error›",
    "fn ‹verb›_‹noun|snake›(‹noun#1|snake›: &str) -> Result<()> {\n    let path = PathBuf::from(‹noun#1|snake›);\n    Ok(())\n}",
];
