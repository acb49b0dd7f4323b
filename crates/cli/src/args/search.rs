//! Flags of `search`.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::Args;

use super::clients;

/// `search`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma search why did we drop retries       any of the words, best first
  stemma search '\"drop the retries\"' --here   a phrase, in this directory
  stemma search retries --kind prompt --since 2w
  stemma search --literal 'foo::bar()'        exactly this text, newest first
  stemma search --regex 'E0\\d{3}' --client codex
  stemma search retries --project shop
  stemma search --kind decision --since 2d    no words: the newest decisions
  stemma search drop retries --resume         continue from the best hit
  stemma search                               search as you type

Words match in all their forms, identifiers also by their parts; the text around an entry counts, too. KIND is `prompt`, \
`answer`, `call`, `edit`, `error`, `decision`, `thinking`, `event`, or one that `stemma show REF --entries` lists.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Search {
    /// What to search for
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,

    #[arg(help = clients::to_search(), long)]
    pub(crate) client: Option<String>,

    /// Only entries of this role: `user`, `assistant`, `system`, `tool`
    #[arg(long)]
    pub(crate) role: Option<String>,

    /// Only sessions of this project: its name as hits show it, its ledger's id, or a directory with all below it; may be given
    /// several times
    #[arg(long, value_name = "NAME|DIR", conflicts_with = "here")]
    pub(crate) project: Vec<String>,

    /// Only sessions of the repository around the current directory; without one, of the directory and what is below it
    #[arg(long)]
    pub(crate) here: bool,

    /// Only sessions on this branch of git
    #[arg(long)]
    pub(crate) branch: Option<String>,

    /// Only entries that name this file; the end of its path is enough, and a typo is forgiven
    #[arg(long)]
    pub(crate) file: Option<String>,

    /// Only entries of this kind; may be given several times
    #[arg(long)]
    pub(crate) kind: Vec<String>,

    /// Only entries since then: how long ago (`2h`, `3d`, `2w`), a day (`2026-02-14`) or a moment (`2026-02-14T09:30:00Z`)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,

    /// Only entries until then; a day is included
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,

    /// Only this session: its id or the beginning of it
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Leave out the output of tools
    #[arg(long)]
    pub(crate) no_tool_output: bool,

    /// Search for exactly this text, newest first; case matters if the text has capitals
    #[arg(long, conflicts_with = "regex")]
    pub(crate) literal: bool,

    /// Search for a regular expression, newest first
    #[arg(long)]
    pub(crate) regex: bool,

    /// How many at most; 0 for all, up to 1000 [default: 20]
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<u64>,

    /// Choose from a list that is filtered as you type
    #[arg(short = 'i', long)]
    pub(crate) pick: bool,

    /// Continue after the turn of the best hit, as `stemma resume REF`
    #[arg(long, conflicts_with = "fork")]
    pub(crate) resume: bool,

    /// Start a new session from the best hit, as `stemma fork REF --at ENTRY`
    #[arg(long)]
    pub(crate) fork: bool,

    /// With `--resume`, `--fork` or the list: the client to continue in [default: the original]
    #[arg(long = "in", value_name = "CLIENT")]
    pub(crate) runtime: Option<String>,

    /// With `--resume`, `--fork` or the list: the directory to work in [default: the session's own]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// With `--resume`, `--fork` or the list: print the client's command instead of running it
    #[arg(long)]
    pub(crate) print: bool,
}
