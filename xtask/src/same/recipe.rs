//! What builds are asked: commands, as data, by the kind of behaviour that they show.
//! Not how they are asked, nor in which home: `lane` does that.
//!
//! A word in braces stands for what is known of the subject. Whoever changes a step changes `digest`, and files that were saved
//! before are refused: they hold answers to other questions.

use serde_json::json;

/// A command, and how its answer is taken.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
    /// Without `--json`, which every command is given.
    pub(super) arguments: &'static [&'static str],
    pub(super) input: Input,
    pub(super) taken: Taken,
}

/// What a command reads.
#[derive(Debug)]
pub(super) enum Input {
    Nothing,
    /// The turn of an agent's own that continues the session.
    BeginTurn,
    /// The same turn, and its prompt.
    BeginTurnForPrompt,
    EndTurn,
    TurnWindow,
}

/// What of an answer is compared.
#[derive(Debug)]
pub(super) enum Taken {
    Whole,
    /// Only how it ended, and what it said of a failure.
    Done,
    /// Only the ids of a history.
    Ids,
    /// All but the ids of commits that the command made: they hold a moment.
    New,
    /// As `New`, and the file that was placed, without its new session id.
    Placed,
}

const fn whole(kind: &'static str, name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { kind, name, arguments, input: Input::Nothing, taken: Taken::Whole }
}

const fn done(kind: &'static str, name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { kind, name, arguments, input: Input::Nothing, taken: Taken::Done }
}

const fn turn(name: &'static str, arguments: &'static [&'static str], input: Input) -> Step {
    Step { kind: "prompts", name, arguments, input, taken: Taken::New }
}

const fn placed(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { kind: "place", name, arguments, input: Input::Nothing, taken: Taken::Placed }
}

const fn ids(name: &'static str) -> Step {
    let arguments = &["history", "{tip}", "-n", "0"];
    Step { kind: "ids", name, arguments, input: Input::Nothing, taken: Taken::Ids }
}

/// Asked of each session where commits close with turns. First of all steps: it says which commits there are.
pub(super) const IDS: Step = ids("turn");

/// Asked of each session of a second import.
pub(super) const IDS_BY_MESSAGE: Step = ids("message");

/// Asked of each session; they change nothing.
pub(super) const READS: &[Step] = &[
    whole("session", "log", &["log", "{tip}", "-n", "0"]),
    whole("session", "tree", &["tree", "{tip}"]),
    whole("session", "glance", &["show", "{path}"]),
    whole("session", "turn", &["show", "{tip}"]),
    whole("session", "entries", &["show", "{tip}", "--entries"]),
    whole("native", "bytes", &["native", "{tip}", "--out", "{out}"]),
    whole("context", "compaction", &["materialize", "{tip}", "--out", "{out}"]),
    whole("context", "start", &["materialize", "{tip}", "--from", "start", "--out", "{out}"]),
    whole(
        "translation",
        "claude-code",
        &["materialize", "{tip}", "--format", "claude-code-v1", "--out", "{out}"],
    ),
    whole("translation", "codex", &["materialize", "{tip}", "--format", "codex-v1", "--out", "{out}"]),
    whole("translation", "gemini", &["materialize", "{tip}", "--format", "gemini-v1", "--out", "{out}"]),
    whole("translation", "pi", &["materialize", "{tip}", "--format", "pi-v3", "--out", "{out}"]),
    whole("translation", "opencode", &["materialize", "{tip}", "--format", "opencode-v1", "--out", "{out}"]),
    whole("translation", "stemmata", &["materialize", "{tip}", "--format", "stemmata-v1", "--out", "{out}"]),
    whole("summaries", "compact", &["compact", "{tip}", "--print", "--with", "heuristic"]),
    whole(
        "summaries",
        "compaction",
        &["compact", "{tip}", "--dry-run", "--with", "heuristic", "--keep", "2000"],
    ),
    whole("summaries", "lost", &["diff", "{tip}"]),
    whole("summaries", "handoff", &["handoff", "{tip}", "--budget", "4000"]),
    whole("export", "html", &["export", "{tip}", "--format", "html", "--out", "{out}"]),
    whole("export", "markdown", &["export", "{tip}", "--format", "markdown", "--out", "{out}"]),
    whole("export", "atif", &["export", "{tip}", "--format", "atif", "--out", "{out}"]),
    whole("export", "acp", &["export", "{tip}", "--format", "acp", "--out", "{out}"]),
    whole("export", "otel", &["export", "{tip}", "--format", "otel-genai", "--out", "{out}"]),
    whole("guard", "own", &["guard", "{tip}"]),
    whole("guard", "small", &["guard", "{tip}", "--window", "16000", "--counter", "o200k"]),
    whole("doctor", "verdict", &["doctor", "{path}"]),
    whole("doctor", "repair", &["repair", "{path}", "--dry-run"]),
    whole("search", "title", &["search", "-n", "10", "--", "{title}"]),
    whole("search", "recall", &["recall", "--everywhere", "--max-tokens", "1500", "--", "{title}"]),
];

/// Brings the index up to date. Making a prompt spends only some milliseconds on that, so that what it finds would depend on
/// how fast the machine is.
const INDEX: &[&str] = &["search", "-n", "1", "anything"];

/// Asked of each project, in a folder that takes its sessions over.
pub(super) const PROJECT: &[Step] = &[
    // The marks of the ledger, which it prints, are in the order of chance.
    done("project", "adopt", &["ledger", "adopt", "{project}"]),
    done("project", "indexed", INDEX),
    whole("project", "state", &["state"]),
    whole("project", "decisions", &["decision", "list"]),
    whole("project", "tasks", &["task", "list"]),
    whole("project", "recall", &["recall", "--max-tokens", "2000", "--", "{say}"]),
    whole("prompts", "live", &["assemble", "--strategy", "live", "--max-tokens", "6000", "--say", "{say}"]),
    whole("prompts", "counted", &["assemble", "--strategy", "live", "--counter", "o200k", "--say", "{say}"]),
    whole("prompts", "worker", &["assemble", "--strategy", "worker", "--agent", "same", "--say", "{say}"]),
];

/// Asked of each session after all that: they write. Each pass is asked of all sessions before the next one, as ranks depend on
/// all that is stored: before the last prompt is made, nothing is stored that another build might say differently.
pub(super) const WRITES: [&[Step]; 2] = [
    &[
        turn("begin", &["turn", "begin"], Input::BeginTurn),
        done("prompts", "indexed", INDEX),
        // Once more, now for its prompt: what the first call stored is indexed by now.
        turn("prompt", &["turn", "begin"], Input::BeginTurnForPrompt),
        turn("explained", &["context", "debug", "--ledger", "{turn}", "--session", "{turn}"], Input::Nothing),
    ],
    &[
        turn("end", &["turn", "end"], Input::EndTurn),
        turn("window", &["turn", "window"], Input::TurnWindow),
        whole("summaries", "brief-made", &["import", "--quiet", "--brief", "{path}"]),
        whole("summaries", "brief", &["hook", "{client}", "--inject", "--input", "{hook}"]),
        // In a directory that is the same for every run: one client hashes its path.
        placed("own", &["resume", "{tip}", "--copy", "--print", "--cwd", "/"]),
        placed("codex", &["resume", "{tip}", "--copy", "--print", "--cwd", "/", "--in", "codex"]),
    ],
];

/// Asked once, of all that was imported.
pub(super) const STORE: &[Step] = &[
    whole("session", "list", &["list", "--all", "-n", "0"]),
    whole("session", "tips", &["tips", "-n", "0"]),
    whole("session", "verify", &["verify"]),
    whole("session", "scan", &["scan"]),
    whole("search", "words", &["search", "fix", "the", "failing", "test"]),
    whole("search", "one-word", &["search", "-n", "100", "error"]),
    whole("search", "phrase", &["search", "\"do not\""]),
    whole("search", "identifier", &["search", "parse_line", "getUserName", "src/main"]),
    whole(
        "search",
        "long",
        &["search", "why", "did", "we", "decide", "to", "keep", "the", "old", "file", "format"],
    ),
    whole("search", "prompts", &["search", "-n", "50", "--kind", "prompt", "please"]),
    whole("search", "edits", &["search", "-n", "50", "--kind", "edit", "test"]),
    whole("search", "errors", &["search", "-n", "50", "--kind", "error"]),
    whole("search", "decisions", &["search", "-n", "50", "--kind", "decision"]),
    whole("search", "role", &["search", "--role", "assistant", "summary"]),
    whole("search", "client", &["search", "--client", "codex", "build"]),
    whole("search", "file", &["search", "--file", "README.md", "add"]),
    whole("search", "quiet-tools", &["search", "--no-tool-output", "function"]),
    whole("search", "literal", &["search", "-n", "30", "--literal", "();"]),
    whole("search", "regex", &["search", "-n", "30", "--regex", r"[A-Z]\w+Error\b"]),
    whole("search", "nothing", &["search", "zxqvkjwhatnobodysaid"]),
];

/// To be counted up by whoever changes how answers are taken, in `lane`, `answer` or `normal`.
const VERSION: u32 = 1;

/// What an agent is asked where a prompt is made.
pub(super) const SAY: &str =
    "Continue where the work stopped: which files were changed last, and what is still open?";

/// What an agent's own turn prints: enough lines that its output is cut.
const OUTPUT_LINES: usize = 900;

impl Input {
    /// Returns the text that the command reads. `tip` is the commit that the turn continues, `turn` names session and ledger.
    pub(super) fn text(&self, tip: &str, turn: &str) -> String {
        let of = json!({"ledger": turn, "session": turn, "agent": "same", "template": "same"});
        let window = json!({"tokens": 24_000, "counter": "estimate", "entries": true});
        let request = match self {
            Self::Nothing => return String::new(),
            Self::BeginTurn | Self::BeginTurnForPrompt => {
                let said = json!({"id": "said", "role": "user", "text": SAY});
                let mut begin =
                    json!({"turn": of, "window": window, "context": {"resume": tip}, "said": said});
                if matches!(self, Self::BeginTurnForPrompt) {
                    let strategy = json!({"name": "live"});
                    begin["prompt"] =
                        json!({"strategy": strategy, "max_tokens": 20_000, "counter": "estimate"});
                }
                begin
            }
            Self::EndTurn => {
                let lines =
                    (0..OUTPUT_LINES).map(|line| format!("src/part_{line}.rs:{line}: fn part_{line}()"));
                let output = lines.collect::<Vec<_>>().join("\n");
                let call = json!({"id": "call", "name": "bash", "input": {"command": "grep -rn fn src"}});
                json!({"turn": of, "window": window, "entries": [
                    {"id": "asks", "role": "assistant", "text": "I search.", "calls": [call]},
                    {"id": "finds", "role": "tool", "results": [{"id": "call", "text": output}]},
                    {"id": "says", "role": "assistant", "text": "Decision: keep the parser. Nothing is open."},
                ]})
            }
            Self::TurnWindow => json!({"turn": of, "window": window}),
        };
        request.to_string()
    }
}

/// Returns a digest of everything that is asked.
pub(super) fn digest() -> String {
    let mut digest = blake3::Hasher::new();
    let tables = WRITES.into_iter().chain([READS, PROJECT, STORE]);
    for step in tables.flatten().chain([&IDS, &IDS_BY_MESSAGE]) {
        digest.update(format!("{step:?}{}\n", step.input.text("tip", "turn")).as_bytes());
    }
    digest.update(format!("{VERSION} {SAY}").as_bytes());
    digest.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_steps_of_a_subject_have_the_same_name() {
        for steps in [
            READS
                .iter()
                .chain(WRITES.into_iter().flatten())
                .chain([&IDS, &IDS_BY_MESSAGE])
                .collect::<Vec<_>>(),
            PROJECT.iter().collect(),
            STORE.iter().collect(),
        ] {
            let names: BTreeSet<_> = steps.iter().map(|step| (step.kind, step.name)).collect();
            assert_eq!(names.len(), steps.len());
        }
    }
}
