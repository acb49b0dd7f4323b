//! Recall on real coding sessions: what the agent turned to next is in the pack, and more of it than the source's own rule finds.
//!
//! Each row stops a session before a prompt and asks, in words of ours, for what that prompt was about. Expected are the files that
//! the agent changed next and had touched before, and names that its work then needed; none of them is in the question. No weight was
//! tuned on these rows; if you tune one, leave every second row out.

#[path = "../../../prompt/examples/vectors/cases/source.rs"]
mod source;

use std::fs;
use std::path::Path;

use stemmata_engine::{AroundQuery, CandidateKind, Engine, RecallWanted, Recalled};
use stemmata_model::{Estimate, LedgerId, Part, Role, Timestamp, TokenCounter as _, Tokens};
use stemmata_store::LedgerChange;
use tempfile::TempDir;

use source::{SourceTurn, relevant_by_the_source};

use crate::search::{indexed, settle};
use crate::support::{corpus, import, new_store};

/// Tokens of a pack.
const TOKENS: Tokens = Tokens(2_000);
/// Turns that the source's rule returns.
const SOURCE_TURNS: usize = 8;
/// How much of what is expected is found at least, in hundredths. It only rises.
const FLOOR_PERCENT: usize = 85;

struct Row {
    transcript: &'static str,
    /// Lines of the transcript that came before.
    lines: usize,
    query: &'static str,
    expected: &'static [&'static str],
}

const SCENARIOS: &str = "claude-code/entireio_cli/4a364c97-9dde-4a98-a973-26edea2c0e8b.jsonl";
const WINGMAN: &str = "claude-code/entireio_cli/6dccd523-72ba-4cb2-b043-2422d5fa2cda.jsonl";
const RESUME: &str = "claude-code/entireio_cli/b00b80af-879f-4265-b95b-48db0938673c.jsonl";
const MIGRATE: &str = "claude-code/entireio_cli/f022dad1-9896-4a6c-bb91-0d1efb580b70.jsonl";
const HK: &str = "codex/jdx_hk/rollout-019f5cfd-b70b-73a1-ad47-32159be95bba.jsonl";
const REFACTOR: &str = "pi/pi-mono/before-compaction.jsonl";
const THEMES: &str = "pi/pi-mono/large-session.jsonl";

const fn row(
    transcript: &'static str,
    lines: usize,
    query: &'static str,
    expected: &'static [&'static str],
) -> Row {
    Row { transcript, lines, query, expected }
}

const ROWS: &[Row] = &[
    row(
        SCENARIOS,
        414,
        "validate expected transcripts and metadata in each test",
        &["deferred_finalization_test.go"],
    ),
    row(
        SCENARIOS,
        886,
        "check transcripts of multi checkpoint scenarios",
        &["scenario_checkpoint_workflows_test.go", "ValidateCheckpoint"],
    ),
    row(
        SCENARIOS,
        927,
        "file names of earlier checkpoints in multi commit scenarios",
        &["scenario_checkpoint_workflows_test.go", "FilesTouched"],
    ),
    row(
        WINGMAN,
        570,
        "solve the valid feedback of the wingman review",
        &["wingman.go", "wingman_review.go", "wingman_spawn_unix.go"],
    ),
    row(
        WINGMAN,
        690,
        "clear the review file and add log output to the wingman command for debugging",
        &["REVIEW.md", "wingman_review.go"],
    ),
    row(
        RESUME,
        260,
        "ask for confirmation before a newer session log is overwritten on resume",
        &["resume.go"],
    ),
    row(
        RESUME,
        401,
        "several sessions of a checkpoint, one of them has newer logs",
        &["manual_commit_rewind.go"],
    ),
    row(RESUME, 422, "print the prompt of the session instead of its id", &["manual_commit_rewind.go"]),
    row(
        RESUME,
        495,
        "integration tests of restoring session logs on resume",
        &["resume_test.go", "resume.go"],
    ),
    row(MIGRATE, 384, "nil pointer lint staticcheck in the checkpoint test", &["checkpoint_test.go"]),
    row(
        MIGRATE,
        781,
        "the migration checks for a skip after it has created the checkpoint",
        &["migrate-sessions.sh"],
    ),
    row(
        MIGRATE,
        872,
        "track the source commit of migrated sessions and keep the author",
        &["migrate-sessions.sh"],
    ),
    row(MIGRATE, 979, "git index lock exists while a checkpoint is migrated", &["migrate-sessions.sh"]),
    row(
        HK,
        241,
        "address the review feedback and the failing checks of batching",
        &["batching.rs", "types.rs"],
    ),
    row(
        REFACTOR,
        91,
        "keep the old code beside the new main for reference while refactoring",
        &["refactor.md", "main.ts"],
    ),
    row(
        REFACTOR,
        195,
        "unsubscribe clears the event listeners of the agent session",
        &["agent-session.ts", "refactor.md"],
    ),
    row(
        REFACTOR,
        407,
        "collapse changelog setting from the settings manager of the session",
        &["interactive-mode.ts", "settings-manager.ts"],
    ),
    row(
        THEMES,
        33,
        "design tokens of the theme for the thinking border instead of chalk",
        &["tui-renderer.ts", "theme.ts"],
    ),
    row(
        THEMES,
        298,
        "truncated text has to stop at a new line",
        &["truncated-text.ts", "truncated-text.test.ts"],
    ),
    row(THEMES, 388, "rgb values instead of indices in the themes", &["dark.json", "light.json"]),
    row(
        THEMES,
        400,
        "gray levels look the same in the vs code terminal",
        &["test-theme-colors.ts", "theme.ts"],
    ),
];

const SUMMARISE: &str = "claude-code/entireio_cli/1e0816ef-6f89-4f05-b331-dab09bb14485.jsonl";

/// What a person decided, a line or many after it was said. Asked for in words that are not its own.
const DECIDED: &[Row] = &[
    row(
        SUMMARISE,
        400,
        "where in the settings does the summary option belong",
        &["nested in strategy options"],
    ),
    row(SUMMARISE, 400, "which strategies get automatic summaries", &["just manual commit for now"]),
    row(SUMMARISE, 400, "how much of the log goes into a summary", &["summarising the checkpoint scope"]),
    row(SUMMARISE, 600, "reuse what explain has instead of writing it twice", &["avoid code duplication"]),
];

/// What had failed before.
const FAILED: &[Row] = &[
    row(SUMMARISE, 1_000, "the summarise tests do not build", &["undefined: strings"]),
    row(SCENARIOS, 886, "the e2e test environment does not compile", &["undefined: defaultAgent"]),
    row(RESUME, 260, "lint complains that resume swallows errors", &["nilerr"]),
    row(
        MIGRATE,
        200,
        "the linter is called with a flag that it does not know",
        &["unknown flag: --disable-all"],
    ),
];

/// Returns how many of the expected words a text has.
fn found(text: &str, row: &Row) -> usize {
    row.expected.iter().filter(|word| text.contains(*word)).count()
}

/// Returns what the source's rule finds in a chain, as far as the budget goes. A turn is a prompt, or all that the agent said
/// and called until the next one; results of tools are not in it, as in the source.
pub(crate) fn by_the_source(engine: &Engine, tip: stemmata_model::CommitId, question: &str) -> String {
    let query = AroundQuery { ctx: tip, entry: None, around: 100_000, tokens_max: u64::MAX };
    let mut turns: Vec<(bool, SourceTurn)> = Vec::new();
    for one in engine.around(&query).expect("entries").entries {
        let has_calls = one.entry.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
        let is_prompt = one.entry.role == Role::User && one.entry.answers().next().is_none();
        if is_prompt || turns.last().is_none_or(|(was_prompt, _)| *was_prompt) {
            turns.push((is_prompt, SourceTurn { text: String::new(), has_calls: false, has_files: false }));
        }
        let (_, turn) = turns.last_mut().expect("one was pushed");
        if one.entry.role != Role::Tool && one.entry.answers().next().is_none() {
            turn.text.push_str(&one.text);
            turn.text.push('\n');
        }
        turn.has_calls |= has_calls;
        turn.has_files |= has_calls;
    }
    let turns: Vec<SourceTurn> = turns.into_iter().map(|(_, turn)| turn).collect();
    let found = relevant_by_the_source(&turns, question, SOURCE_TURNS);
    let text: String = found.into_iter().map(|at| turns[at].text.as_str()).collect();
    // The estimate counts four characters a token.
    text.chars().take(usize::try_from(TOKENS.0 * 4).expect("small")).collect()
}

/// Returns what the pack has, and what the source's rule finds.
fn measured(data: &Path, row: &Row) -> (usize, usize) {
    let (pack, source) = recalled(data, row);
    (found(&pack.text, row), found(&source, row))
}

/// Returns the pack, and what the source's rule finds.
fn recalled(data: &Path, row: &Row) -> (Recalled, String) {
    let folder = TempDir::new().expect("a folder");
    let path = data.join(row.transcript);
    let whole = fs::read_to_string(&path).expect("a transcript of the corpus");
    let head: String = whole.split_inclusive('\n').take(row.lines).collect();
    let copy = folder.path().join(path.file_name().expect("a name"));
    fs::File::create(&copy)
        .and_then(|mut file| std::io::Write::write_all(&mut file, head.as_bytes()))
        .expect("written");
    let engine = indexed(&new_store(), &folder.path().join("index"));
    let session = import(&engine, &copy).session;
    settle(&engine);
    let ledger = LedgerId::new("p").expect("a name");
    let change = LedgerChange {
        root: session.cwd.clone(),
        ..LedgerChange::new(ledger.clone(), Timestamp::from_micros(1))
    };
    engine.log().change_ledger(change).expect("made");
    let pack =
        engine.recall(&RecallWanted::new(row.query, Some(&ledger), TOKENS, &Estimate)).expect("a pack");
    assert!(Estimate.count(&pack.text) <= TOKENS);
    let source = by_the_source(&engine, session.tip.expect("a tip"), row.query);
    #[expect(clippy::print_stdout, reason = "with --no-capture the packs are for reading")]
    let () = println!("=== {} {}\n{}", row.transcript, row.query, pack.text);
    (pack, source)
}

/// What a person decided and what failed is in the pack as that, or word for word as it was said. The source leaves results of tools out,
/// so its rule knows of no error.
#[test]
fn recall_finds_decisions_and_errors_of_real_sessions() {
    let Some(data) = corpus("recall_finds_decisions_and_errors_of_real_sessions") else { return };
    let mut lines = Vec::new();
    let mut of = |rows: &[Row], kind: CandidateKind| {
        let (mut own, mut as_such, mut source) = (0, 0, 0);
        for row in rows {
            let (pack, by_source) = recalled(&data, row);
            let words = row.expected[0];
            let kinds: Vec<&str> =
                pack.items.iter().filter(|item| item.text.contains(words)).map(|item| &*item.kind).collect();
            own += usize::from(!kinds.is_empty());
            as_such += usize::from(kinds.contains(&kind.as_str()));
            source += usize::from(by_source.contains(words));
            lines.push(format!("{kinds:?} {words}: {}", row.query));
        }
        (own, as_such, source)
    };
    let (decided, failed) = (of(DECIDED, CandidateKind::Decision), of(FAILED, CandidateKind::Error));
    let report = format!(
        "{}\ndecisions {decided:?}, errors {failed:?} (ours, as such, the source's rule)",
        lines.join("\n")
    );
    let () = println!("{report}");
    assert!(decided.0 >= 3 && decided.0 >= decided.2, "{report}");
    assert!(failed.0 >= 3 && failed.1 >= 2 && failed.0 > failed.2, "{report}");
}

#[test]
fn recall_finds_what_was_needed_next_in_real_sessions() {
    let Some(data) = corpus("recall_finds_what_was_needed_next_in_real_sessions") else { return };
    let (mut ours, mut theirs, mut all) = ([0; 2], [0; 2], [0; 2]);
    let mut lines = Vec::new();
    for (at, row) in ROWS.iter().enumerate() {
        let (own, source) = measured(&data, row);
        let is_held = at % 2;
        ours[is_held] += own;
        theirs[is_held] += source;
        all[is_held] += row.expected.len();
        lines.push(format!("{own}/{source} of {} {}", row.expected.len(), row.query));
    }
    let report = format!(
        "{}\nours {ours:?}, the source's rule {theirs:?}, of {all:?} (tried, held out)",
        lines.join("\n")
    );
    let () = println!("{report}");
    for is_held in [0, 1] {
        assert!(ours[is_held] * 100 >= all[is_held] * FLOOR_PERCENT, "{report}");
        assert!(ours[is_held] * 100 >= theirs[is_held] * 100 + all[is_held] * 15, "{report}");
    }
}
