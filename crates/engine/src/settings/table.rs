//! The table of keys: name, variable, flag, meaning, default and shape, one row each.
//!
//! What the values become is the parent's.

use super::keys::Setting;
use super::keys::SettingDefault::{Value, Words};
use super::keys::SettingShape::{Choice, Granularity, Number, Prices, ProjectDays, Switch, Variable, Zones};

/// The most that a limit of a tool's output may be: more than a line of a ledger holds is never left in one.
const OUTPUT_LIMIT_MAX: u64 = 1 << 20;

/// The keys that concern a store, in the order in which they are shown.
pub const SETTINGS: &[Setting] = &[
    Setting::of("capture.granularity", "STEMMATA_GRANULARITY", Value("turn"))
        .takes(Granularity)
        .flag("--granularity")
        .about("How often imports close a commit: `turn`, `message` or `every:N` turns. A session keeps what it \
                 began with, unless it is imported with `--full`."),
    Setting::of("capture.provisional", "STEMMATA_PROVISIONAL", Value("turn"))
        .takes(Choice(&["end", "turn", "significant", "tool"]))
        .about("When hooks, `run` and `watch` keep what an open turn holds as a provisional commit: `end` (a session ends, or \
                 a command asks), `turn` (also where a turn ends, and at compactions), `significant` (also where a tool fails \
                 or something is decided), `tool` (after every tool). `stemma install` asks clients for what it needs."),
    Setting::of("capture.sidecars", "STEMMATA_SIDECARS", Value("results"))
        .takes(Choice(&["all", "results", "none"]))
        .about("Which files that a client keeps beside a transcript are captured with it: `results` (long outputs of tools, \
                 what is known of subagents), `all` (also backups of files that the agent changed), `none`. Secrets in them \
                 are replaced as in transcripts."),
    Setting::of("gc.grace_days", "STEMMATA_GC_GRACE_DAYS", Value("14"))
        .takes(Number { min: 0, max: 3650 })
        .flag("--grace-days")
        .about("Days between marking expired data and deleting it, each by a run of `gc`."),
    Setting::of("identity.user", "STEMMATA_USER", Words("`$USER`, else `user`"))
        .about("The user's name in principals (`<user>@<machine>/<runtime>`)."),
    Setting::of(
        "identity.machine_label",
        "STEMMATA_MACHINE_LABEL",
        Words("the host's name when the data directory was created"),
    )
        .about("A readable name of this machine in principals. Its id stays what it is."),
    Setting::of("import.threads", "STEMMATA_IMPORT_THREADS", Words("the number of processors, at most 8"))
        .takes(Number { min: 1, max: 64 })
        .flag("--threads")
        .about("How many transcripts are read at once."),
    Setting::of("ledger.engine", "STEMMATA_LEDGER_ENGINE", Value("store"))
        .takes(Choice(&["store", "files"]))
        .about("Where ledgers are kept: `store` (in the store, a turn's events and its commit in one transaction) or `files` \
                 (folders that people can read, search and copy, one writer at a time). Changing it moves nothing."),
    Setting::of("ledger.integrity", "STEMMATA_LEDGER_INTEGRITY", Value("checksum"))
        .takes(Choice(&["none", "checksum", "chain"]))
        .about("How lines of new ledgers in files are protected: `none`, `checksum`, or `chain`, where each line's checksum \
                 covers the line before it."),
    Setting::of("ledger.save_events", "STEMMATA_LEDGER_SAVE_EVENTS", Value("256"))
        .takes(Number { min: 1, max: 1_000_000 })
        .about("Save the state of a ledger after this many new events; checkpoints and ends of sessions always save it."),
    Setting::of("llm.attempts", "STEMMATA_LLM_ATTEMPTS", Value("3"))
        .takes(Number { min: 1, max: 10 })
        .about("Attempts to ask a model in all, if its server fails or asks to wait."),
    Setting::of("llm.endpoint", "STEMMATA_LLM_ENDPOINT", Words("the provider's own"))
        .about("The address of the model's server before the API's own path, such as `http://127.0.0.1:11434/v1`. A key is sent \
                 over `https://` and to this machine only."),
    Setting::of(
        "llm.key_env",
        "STEMMATA_LLM_KEY_ENV",
        Words("`ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, by the provider and to its own server only; no key where it is not set"),
    )
        .takes(Variable)
        .about("The name of the environment variable that holds the API key. The key itself is never configured, stored or shown."),
    Setting::of("llm.max_output_tokens", "STEMMATA_LLM_MAX_OUTPUT_TOKENS", Value("8192"))
        .takes(Number { min: 64, max: 131_072 })
        .about("Tokens of a model's answer, at most."),
    Setting::of("llm.model", "STEMMATA_LLM_MODEL", Words("none"))
        .about("The model that writes summaries, as its server names it."),
    Setting::of("llm.provider", "STEMMATA_LLM_PROVIDER", Words("none"))
        .takes(Choice(&["anthropic", "openai"]))
        .about("Which API the model's server speaks: `anthropic`, or `openai`, as most servers do (also Ollama, vLLM and \
                 llama.cpp). `stemma compact --with llm` asks it, and turns whose window is guarded (`window.compact_with`, `window.tool_summary`)."),
    Setting::of("llm.timeout_s", "STEMMATA_LLM_TIMEOUT_S", Value("120"))
        .takes(Number { min: 1, max: 3_600 })
        .about("Seconds that one attempt may take."),
    Setting::of(
        "llm.window_tokens",
        "STEMMATA_LLM_WINDOW_TOKENS",
        Words("not known: what the server refuses is shortened"),
    )
        .takes(Number { min: 1_000, max: 1 << 40 })
        .about("Tokens of that model's window; a conversation may fill 40 % of it, the newest entries first."),
    Setting::of("pack.after_import_mib", "STEMMATA_PACK_AFTER_IMPORT_MIB", Value("256"))
        .takes(Number { min: 0, max: 1_048_576 })
        .about("An import ends with packing if at least this many MiB are not packed; 0: never."),
    Setting::of("retention.keep_last", "STEMMATA_RETENTION_KEEP_LAST", Words("`0`"))
        .takes(Number { min: 0, max: 1_000_000 })
        .about("How many of the latest sessions of each project are kept, whatever their age."),
    Setting::of("retention.projects", "STEMMATA_RETENTION_PROJECTS", Words("none"))
        .takes(ProjectDays)
        .about("Days for single projects, as a list `PATH=DAYS,PATH=DAYS`; the longest path that holds a session counts."),
    Setting::of("retention.provisional_days", "STEMMATA_RETENTION_PROVISIONAL_DAYS", Words("unlimited"))
        .takes(Number { min: 1, max: 36_500 })
        .about("Days that a provisional commit of an open turn is kept, unless something continues from it."),
    Setting::of("retention.sessions_days", "STEMMATA_RETENTION_SESSIONS_DAYS", Words("unlimited"))
        .takes(Number { min: 1, max: 36_500 })
        .about("Days after its last record that a session is kept."),
    Setting::of(
        "retention.subagents_days",
        "STEMMATA_RETENTION_SUBAGENTS_DAYS",
        Words("as long as the session it belongs to"),
    )
        .takes(Number { min: 1, max: 36_500 })
        .about("Days after its last record that a subagent's session is kept."),
    Setting::of(
        "retriever.dense_key_env",
        "STEMMATA_RETRIEVER_DENSE_KEY_ENV",
        Value("STEMMATA_EMBEDDINGS_KEY"),
    )
        .takes(Variable)
        .about("The name of the environment variable that holds the key of `retriever.dense_url`. The key itself is never configured, stored or shown."),
    Setting::of("retriever.dense_model", "STEMMATA_RETRIEVER_DENSE_MODEL", Words("none"))
        .about("The model that turns texts into vectors, as the server of `retriever.dense_url` knows it."),
    Setting::of("retriever.dense_url", "STEMMATA_RETRIEVER_DENSE_URL", Words("none (nothing is sent)"))
        .about("A server that speaks OpenAI's embeddings, such as `http://127.0.0.1:11434/v1`: `stemma recall` then \
                 also finds what is similar in meaning. Memory and search results for the task are sent there, without secrets."),
    Setting::of("stats.prices", "STEMMATA_PRICES", Words("none: no cost is shown"))
        .takes(Prices)
        .about("What a million tokens cost, for `stemma stats`: a list of `MODEL=IN/OUT/CACHE_READ/CACHE_WRITE`, separated by \
                 commas. MODEL is what a model's name begins with, the longest one counts; the last two may be left out and are \
                 then as IN. No price is built in."),
    Setting::of("store.allow_network", "STEMMATA_ALLOW_NETWORK_STORE", Value("off"))
        .takes(Switch)
        .about("Whether a store on a network file system is opened: `on` only if nothing else ever opens it, on \
                 any machine."),
    Setting::of("store.quota_mib", "STEMMATA_STORE_QUOTA_MIB", Words("none"))
        .takes(Number { min: 1, max: 1 << 30 })
        .about("Mebibytes that the store may take: from 80 % on there is a warning, and at the limit `import` \
                 stops. It never deletes anything."),
    Setting::of("store.wait_ms", "STEMMATA_STORE_WAIT_MS", Value("10000"))
        .takes(Number { min: 0, max: 3_600_000 })
        .about("How long a command waits for another process that holds the store, in milliseconds."),
    Setting::of("tools.files", "STEMMATA_TOOLS_FILES", Value("on"))
        .takes(Switch)
        .about("Whether a tool output that is stored whole is also written to `ai_tool_outputs-<uid>` in the temporary folder, for \
                 agents whose tools read files: `on` or `off`."),
    Setting::of("tools.keep", "STEMMATA_TOOLS_KEEP", Value("head_tail"))
        .takes(Choice(&["head_tail", "head"]))
        .about("Which part of a tool output stays if it is cut: `head_tail` (its beginning and its end) or `head`."),
    Setting::of("tools.max_bytes", "STEMMATA_TOOLS_MAX_BYTES", Value("51200"))
        .takes(Number { min: 0, max: OUTPUT_LIMIT_MAX })
        .about("Bytes of one tool output in a turn, and at most two for each token of `window.tokens`; 0: no limit."),
    Setting::of("tools.max_chars", "STEMMATA_TOOLS_MAX_CHARS", Value("204800"))
        .takes(Number { min: 0, max: OUTPUT_LIMIT_MAX })
        .about("Characters of one tool output in a turn; 0: no limit."),
    Setting::of("tools.max_lines", "STEMMATA_TOOLS_MAX_LINES", Value("2000"))
        .takes(Number { min: 0, max: OUTPUT_LIMIT_MAX })
        .about("Lines of one tool output in a turn; 0: no limit."),
    Setting::of("tools.spill_chars", "STEMMATA_TOOLS_SPILL_CHARS", Value("204800"))
        .takes(Number { min: 0, max: OUTPUT_LIMIT_MAX })
        .about("A tool output with more characters is stored whole beside the turn, which gets a notice; 0: never."),
    Setting::of("window.auto_compact", "STEMMATA_WINDOW_AUTO_COMPACT", Value("on"))
        .takes(Switch)
        .about("Whether a session of turns is compacted by itself when a turn ends: `on` or `off`. Recovery from an overflow compacts anyway."),
    Setting::of("window.compact_with", "STEMMATA_WINDOW_COMPACT_WITH", Value("llm"))
        .takes(Choice(&["llm", "heuristic"]))
        .about("Who writes the summaries of the compactions that turns make by themselves: `llm` (the model of `llm.model`, \
                 and rules where none is configured) or `heuristic` (rules; nothing is sent)."),
    Setting::of("window.keep_recent", "STEMMATA_WINDOW_KEEP_RECENT", Value("5"))
        .takes(Number { min: 1, max: 100_000 })
        .about("Messages that a compaction keeps of the end, where `window.keep_recent_tokens` is 0."),
    Setting::of("window.keep_recent_tokens", "STEMMATA_WINDOW_KEEP_RECENT_TOKENS", Value("20000"))
        .takes(Number { min: 0, max: 1 << 40 })
        .flag("--keep")
        .about("Tokens that a compaction keeps of the end, and in turns at most half of where compaction is due; 0: \
                 `window.keep_recent` counts messages instead."),
    Setting::of("window.max_messages", "STEMMATA_WINDOW_MAX_MESSAGES", Value("50"))
        .takes(Number { min: 1, max: 100_000 })
        .about("Messages at which a session of turns is compacted, where no limit of tokens is known: `window.max_tokens` is 0, and the \
                 window is not known or not larger than the reserve."),
    Setting::of("window.max_tokens", "STEMMATA_WINDOW_MAX_TOKENS", Value("8000"))
        .takes(Number { min: 0, max: 1 << 40 })
        .about("Tokens at which a session of turns is compacted where the window is not known or not larger than the reserve, and never \
                 above the window; 0: `window.max_messages` decides there."),
    Setting::of("window.reserve_tokens", "STEMMATA_WINDOW_RESERVE_TOKENS", Value("16384"))
        .takes(Number { min: 0, max: 1 << 40 })
        .about("Tokens of the window that are left for the answer: compaction is due where the rest is in use. 0: 16384."),
    Setting::of("window.target", "STEMMATA_WINDOW_TARGET", Value("70"))
        .takes(Number { min: 1, max: 99 })
        .about("The size that pruning aims at, in per cent of the window; below the critical zone."),
    Setting::of("window.tokens", "STEMMATA_WINDOW_TOKENS", Words("by the session's client or model"))
        .takes(Number { min: 1, max: 1 << 40 })
        .flag("--window")
        .about("Size of the model's window in tokens."),
    Setting::of("window.tool_call_cutoff", "STEMMATA_WINDOW_TOOL_CALL_CUTOFF", Value("10"))
        .takes(Number { min: 0, max: 1_000_000 })
        .about("Results of tools that the model sees; the oldest above it are archived, and a summary stands for them. 0: none are."),
    Setting::of("window.tool_summary", "STEMMATA_WINDOW_TOOL_SUMMARY", Value("llm"))
        .takes(Choice(&["llm", "heuristic", "off"]))
        .about("How results of tools are summarized that are archived: `llm` (by the model of `llm.model`, and by rules where none is \
                 configured or it fails), `heuristic` (by rules; nothing is sent) or `off` (none are archived)."),
    Setting::of("window.zones", "STEMMATA_WINDOW_ZONES", Value("70,85,95"))
        .takes(Zones)
        .about("Where the warning, danger and critical zones of a window begin, in per cent of it."),
];
