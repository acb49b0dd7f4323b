//! The walks: commands that people and agents run often, each on a home of its own.
//! Data alone; `walks` runs them.

/// A command of `stemma`, with what it reads from standard input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) arguments: &'static [&'static str],
    pub(super) input: &'static str,
}

/// One walk.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) name: &'static str,
    /// Run before, without being watched.
    pub(super) before: &'static [Step],
    pub(super) step: Step,
    /// The one function that is watched, as valgrind matches the names of functions; none for the whole process.
    pub(super) only: Option<&'static str>,
}

/// What every process of `stemma` does first. It is no walk's own.
pub(super) const START_UP: Step = step(&["--version"]);

/// A session with a tool that failed, and one that was compacted.
const NEW: &str = ".claude/projects/-home-robin-teatime/d7d3ccc6-eacf-483d-892d-bf6dd475103f.jsonl";

const IMPORT_ALL: Step = step(&["import"]);
const IMPORT_NEW: Step = step(&["import", NEW]);
const BEGIN: Step = Step {
    arguments: &["turn", "begin"],
    input: r#"{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
        "said":{"id":"u1","role":"user","text":"Why does the timer test fail?"},
        "prompt":{"strategy":{"name":"live"}}}"#,
};
const END: Step = Step {
    arguments: &["turn", "end"],
    input: r#"{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
        "entries":[{"role":"assistant","text":"The clock moves while the test runs."}]}"#,
};

/// Every walk in the order of the table.
pub(super) const WALKS: &[Walk] = &[
    whole("import", &[], IMPORT_NEW),
    part("capture", &[], IMPORT_NEW, "*Engine*::capture"),
    whole("search", &[IMPORT_ALL], step(&["search", "flaky timer test"])),
    whole("turn-begin", &[IMPORT_ALL], BEGIN),
    whole("turn-end", &[IMPORT_ALL, BEGIN], END),
    whole("compact", &[IMPORT_ALL], step(&["compact", "d7d3ccc6", "--with", "heuristic"])),
    whole("materialize", &[IMPORT_ALL], step(&["materialize", "d7d3ccc6", "--out", "-"])),
    whole("resume", &[IMPORT_ALL], step(&["resume", "d7d3ccc6", "--print", "--here"])),
    whole("events", &[IMPORT_ALL], step(&["events", "append", "status_event", "tests are green"])),
    whole("list", &[IMPORT_ALL], step(&["list"])),
];

const fn step(arguments: &'static [&'static str]) -> Step {
    Step { arguments, input: "" }
}

const fn whole(name: &'static str, before: &'static [Step], step: Step) -> Walk {
    Walk { name, before, step, only: None }
}

const fn part(name: &'static str, before: &'static [Step], step: Step, only: &'static str) -> Walk {
    Walk { name, before, step, only: Some(only) }
}
