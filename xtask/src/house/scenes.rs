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

/// The longest of the recorded sessions: it was compacted, so that a walk meets what that takes.
const SESSION: &str = "496ce8b5";
const TRANSCRIPT: &str = ".claude/projects/-home-robin-teatime/496ce8b5-5668-49e2-be17-0775d4602360.jsonl";

const IMPORT_ALL: Step = step(&["import"]);
/// `--quiet`, for the overview that an import ends with is a walk of its own: `list`.
const IMPORT_ONE: Step = step(&["--quiet", "import", TRANSCRIPT]);
const SEARCH: Step = step(&["search", "log of brews"]);
const BEGIN: Step = Step {
    arguments: &["turn", "begin"],
    input: r#"{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
        "said":{"id":"u1","role":"user","text":"Why does the log of brews lose lines?"},
        "prompt":{"strategy":{"name":"live"}}}"#,
};
const END: Step = Step {
    arguments: &["turn", "end"],
    input: r#"{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
        "entries":[{"role":"assistant","text":"Two processes append to it at once."}]}"#,
};

/// Every walk in the order of the table.
pub(super) const WALKS: &[Walk] = &[
    whole("import", &[], IMPORT_ONE),
    part("capture", &[], IMPORT_ONE, "*Engine*::capture"),
    part("line", &[], IMPORT_ONE, "*Ingest*::line"),
    whole("search", &[IMPORT_ALL, SEARCH], SEARCH),
    whole("turn-begin", &[IMPORT_ALL, SEARCH], BEGIN),
    whole("turn-end", &[IMPORT_ALL, BEGIN], END),
    whole("compact", &[IMPORT_ALL], step(&["compact", SESSION, "--with", "heuristic"])),
    whole("materialize", &[IMPORT_ALL, SEARCH], step(&["materialize", SESSION, "--out", "-"])),
    whole("resume", &[IMPORT_ALL, SEARCH], step(&["resume", SESSION, "--print", "--here"])),
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
