//! Flags of the commands that give conversations back.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use stemmata_api::v1::{ExportForm, HANDOFF_TOKENS_DEFAULT};
use stemmata_model::FormatId;

use super::{REF_HELP, clients};

/// `native`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma native ctx-3f9k2m7q --out session.jsonl
  stemma native ctx-3f9k2m7q --out - | wc -c

Exactly the bytes that were captured, each checked against its hash.\n\n{REF_HELP}"))]
pub(crate) struct Native {
    /// The commit
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The file to write (written atomically), or `-` for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// `materialize`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma materialize ctx-3f9k2m7q --out context.jsonl
  stemma materialize ctx-3f9k2m7q --from start --out -    skip compactions
  stemma materialize none --out -    a fresh start: nothing

{REF_HELP}"))]
pub(crate) struct Materialize {
    /// The commit, or `none` for the empty context
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// Where to start: `compaction` (the nearest), `start` (of the session), or an earlier commit (included)
    #[arg(long = "from", alias = "stop", value_name = "START", default_value = "compaction")]
    pub(crate) stop: String,

    /// The format [default: the stored one]. `handoff-v1` is a narrative (`stemma handoff` sets its budget)
    #[arg(long)]
    pub(crate) format: Option<FormatId>,

    /// The file to write (written atomically), or `-` for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// `export`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma export ctx-3f9k2m7q -o talk.html       one page to read and share
  stemma export ctx-3f9k2m7q -o talk.md             the same as Markdown
  stemma export ctx-3f9k2m7q --format atif      for programs

The whole conversation as it was said, from its beginning and without the summaries of compactions; \
`--from compaction` gives what the agent still knows. Secrets were redacted when it was captured, but read it before \
you share it: only you know what else is confidential.\n\n{REF_HELP}"))]
pub(crate) struct Export {
    /// The commit, or `SESSION:N..M` for the turns of these prompts
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// `html`, `markdown`, `atif`, `acp` or `otel-genai` [default: by the extension of FILE, else `markdown`]
    #[arg(long, value_name = "FORM", value_parser = form)]
    pub(crate) format: Option<ExportForm>,

    /// Where to start: `start` (of the session), `compaction` (the nearest), or an earlier commit (included)
    #[arg(long = "from", alias = "stop", value_name = "START", default_value = "start")]
    pub(crate) stop: String,

    /// The file to write (written atomically), or `-` for standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
}

fn form(name: &str) -> Result<ExportForm, String> {
    let known = || ExportForm::ALL.map(ExportForm::as_str).join("`, `");
    let form = ExportForm::ALL.into_iter().find(|form| form.as_str() == name);
    form.ok_or_else(|| format!("known are `{}`", known()))
}

/// What `resume` and `fork` share.
#[derive(Debug, Args)]
pub(crate) struct Placement {
    /// Stop at this entry: its id, the beginning of it, or `@N`. A user prompt is not included; it is printed so you can edit
    /// and resend it
    #[arg(long, value_name = "ENTRY")]
    pub(crate) at: Option<String>,

    /// Where the context starts: `compaction` (the nearest), `start` (of the session), or an earlier commit
    #[arg(long = "from", alias = "stop", value_name = "START", default_value = "compaction")]
    pub(crate) stop: String,

    /// The directory that the agent will work in [default: the session's own]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Work in the current directory, as `--cwd .`
    #[arg(long, conflicts_with = "cwd")]
    pub(crate) here: bool,

    #[arg(help = clients::to_continue_in(), long = "in", value_name = "CLIENT")]
    pub(crate) runtime: Option<String>,

    /// Check everything and report what would be written, and what would be lost; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The client's version [default: the installed one, else the newest known]
    #[arg(long, value_name = "VERSION")]
    pub(crate) client_version: Option<String>,
}

/// `resume`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma resume                       choose from the sessions of this directory
  stemma resume @                     the newest session of this directory
  stemma resume --last                the newest of all
  stemma resume ctx-3f9k2m7q          from any commit
  stemma resume ctx-3f9k2m7q --print     print the client's command
  stemma resume 3f9c1d20 --in codex --dry-run   what another client would get

Starts the client in the session's own directory. If the session has not changed since, the client resumes it as it is. From an \
older commit, in another client or directory, or if a client has the session open, the client gets a copy with a new session \
id, and the old session is not changed. What you do there continues the commit.\n\n{REF_HELP}"))]
pub(crate) struct Resume {
    /// The session or commit; `@` for the newest session here [default: choose from a list]
    #[arg(value_name = "REF", conflicts_with = "last")]
    pub(crate) reference: Option<String>,

    /// The newest session of all
    #[arg(long)]
    pub(crate) last: bool,

    /// Place the session and print the client's command instead of running it (as `--json` does)
    #[arg(long)]
    pub(crate) print: bool,

    /// Resume a copy even if the client's own session could be resumed
    #[arg(long)]
    pub(crate) copy: bool,

    /// Where and how.
    #[command(flatten)]
    pub(crate) placement: Placement,
}

/// `fork`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma fork ctx-3f9k2m7q                  a second branch from there
  stemma fork ctx-3f9k2m7q --at 0f8b6c1d    from an entry within it
  eval \"$(stemma fork ctx-3f9k2m7q --print)\"  fork and start

Writes a new session for the client and prints how to start it. The commit and its session stay as they are.\n\n{REF_HELP}"))]
pub(crate) struct Fork {
    /// The session or commit [default: choose from a list]
    #[arg(value_name = "REF", default_value = "", hide_default_value = true)]
    pub(crate) reference: String,

    /// Print only the client's command
    #[arg(long)]
    pub(crate) print: bool,

    /// Where and how.
    #[command(flatten)]
    pub(crate) placement: Placement,
}

/// `handoff`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma handoff                            the latest session here
  stemma handoff 3f9c1d20 --budget 4000     in about 4,000 tokens
  stemma handoff ctx-3f9k2m7q --out handoff.md
  stemma handoff --last | codex exec -           start another agent with it
  stemma handoff --for pr -o pr.md          a pull request's title and text
  stemma handoff --for commit | git commit -F -

Summarizes a session as Markdown within a token budget: the user's last request, open tasks, written files and summaries, then \
the turns: the newest in full, older ones shortened. Every quoted line is marked as data. To continue with the whole \
conversation in another client instead: `stemma resume REF --in codex`.

With `--for pr` or `--for commit` it says what a session was asked for and what it changed: files, test runs, decisions and what is \
open. Rules make it; the agent's own words stand in a quote. The first line is the title, the last one the commit that \
`stemma show` takes. A commit's message covers what came after the session's last commit of git. Read it before you publish \
it.\n\n{REF_HELP}"))]
pub(crate) struct Handoff {
    /// The commit or session [default: the latest session of the current directory]
    #[arg(value_name = "REF", conflicts_with = "last")]
    pub(crate) reference: Option<String>,

    /// The newest session of all
    #[arg(long)]
    pub(crate) last: bool,

    /// Who reads it: another `agent`, reviewers of a `pr`, or readers of a `commit`
    #[arg(long = "for", value_name = "READER", value_enum, default_value = "agent", conflicts_with_all = ["budget", "stop"])]
    pub(crate) reader: Reader,

    /// Size of the text in tokens, estimated at four characters each; at least 1000
    #[arg(long, value_name = "TOKENS", default_value_t = HANDOFF_TOKENS_DEFAULT)]
    pub(crate) budget: u64,

    /// Where to start: `compaction` (the nearest), `start` (of the session), or an earlier commit
    #[arg(long = "from", alias = "stop", value_name = "START", default_value = "compaction")]
    pub(crate) stop: String,

    /// The file to write (written atomically), or `-` for standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
}

/// Who reads what is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reader {
    /// An agent that goes on
    Agent,
    /// Reviewers of a pull request
    Pr,
    /// Readers of the history
    Commit,
}

/// `compact`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma compact ctx-3f9k2m7q               without a model
  stemma compact ctx-3f9k2m7q --with llm --focus 'the parser'
  stemma compact ctx-3f9k2m7q --range @12..@40 --dry-run  what it would do
  stemma compact ctx-3f9k2m7q --summary-file summary.md
  my-summarizer < context.jsonl | stemma compact ctx-3f9k2m7q --summary-file -
  stemma compact ctx-3f9k2m7q --print       print the summary, store nothing

Stores a compaction: a commit whose context begins with the summary. A session of your own agent loop (`stemma turn`) \
continues from it; for a client's session it is a branch, which `stemma resume` opens. An empty summary, or one that is not smaller than what it \
replaces, is refused. Nothing is deleted: `stemma uncompact` is the way back.\n\n{REF_HELP}"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Compact {
    /// The commit or session
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The summary: a file, or `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["print", "with", "focus", "ratio"])]
    pub(crate) summary_file: Option<PathBuf>,

    /// Print a summary and store nothing
    #[arg(long, conflicts_with_all = ["focus", "range", "keep", "again", "dry_run"])]
    pub(crate) print: bool,

    /// What makes the summary [default: heuristic]
    #[arg(long, value_name = "SUMMARIZER")]
    pub(crate) with: Option<Summarizer>,

    /// What the summary should focus on, in your words. A model reads them; without a model, entries with these words rank
    /// higher
    #[arg(long, value_name = "TEXT")]
    pub(crate) focus: Option<String>,

    /// Compact only these entries, given by id or `@N`: from the first up to, but not including, the second
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    pub(crate) range: Option<EntryRange>,

    /// Keep this many tokens at the end as they are, if the format can [default: `window.keep_recent_tokens`, 20000]
    #[arg(long, value_name = "TOKENS", conflicts_with = "range")]
    pub(crate) keep: Option<u64>,

    /// Redo the nearest compaction from the original entries, on a branch beside it. It covers the same entries, unless `--range`
    /// or `--keep` says otherwise
    #[arg(long)]
    pub(crate) again: bool,

    /// Report the result and store no compaction; a model is still asked
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// With `--print`: stop before this entry (full id, as `materialize --format stemmata-v1 --out -` prints it)
    #[arg(long, value_name = "ENTRY", requires = "print")]
    pub(crate) at: Option<String>,

    /// With `--print`: the full id of the first entry that stays in the window; all before it is summarized
    #[arg(long, value_name = "ENTRY", requires = "print")]
    pub(crate) recent_from: Option<String>,

    /// Size of the summary as a share of what it replaces, from 0.001 to 1 [default: 0.1, but at least 2000 tokens, unless
    /// that is more than a quarter; without `--print` at most an eighth of the window]
    #[arg(long, value_name = "SHARE", value_parser = permille)]
    pub(crate) ratio: Option<u32>,

    /// With `--print`: leave out what users said, both in the summary and in the size that `--ratio` refers to
    #[arg(long, requires = "print")]
    pub(crate) exclude_user: bool,

    /// With `--print`: where the context starts: `start` (of the session), `compaction` (the nearest), or an earlier commit
    #[arg(long = "from", alias = "stop", value_name = "START", default_value = "start", requires = "print")]
    pub(crate) stop: String,
}

/// What makes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Summarizer {
    /// No summary: only pinned entries and a pointer to the full history.
    Off,
    /// Counters of names, files, commands and errors; the same entries give the same text.
    Heuristic,
    /// The model in `llm.model`, added to the `heuristic` summary; if the model fails, only the latter.
    Llm,
}

/// Some entries: the first, and the one behind the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryRange {
    /// The first.
    pub(crate) from: String,
    /// The one behind the last.
    pub(crate) to: String,
}

/// Reads a range of entries.
fn range(text: &str) -> Result<EntryRange, String> {
    match text.split_once("..") {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            Ok(EntryRange { from: from.to_owned(), to: to.to_owned() })
        }
        _ => Err("use FROM..TO: the first entry and the one after the last, such as @12..@40".to_owned()),
    }
}

/// Reads a share in thousandths.
fn permille(text: &str) -> Result<u32, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let thousandths = (share * 1_000.0).round();
    if !(1.0..=1_000.0).contains(&thousandths) {
        return Err("use a share from 0.001 to 1".to_owned());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 1 to 1000"
    )]
    Ok(thousandths as u32)
}

/// `uncompact`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma uncompact ctx-3f9k2m7q            the commit before the compaction
  stemma uncompact ctx-3f9k2m7q --out before.jsonl   write its context

{REF_HELP}"))]
pub(crate) struct Uncompact {
    /// A compaction, or a commit after one
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// Write the context before the compaction to this file (`-` for standard output)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
