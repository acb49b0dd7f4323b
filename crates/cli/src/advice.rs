//! What people probably mean by a command line that is none: the next step after an error of the command line.
//!
//! Tables, checked against the commands that there are. What is wrong is said by the parser.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use stemmata_service::{is_slip, nearest};

use crate::args::Cli;

/// What people type who know it from elsewhere, with the commands that do it.
const MEANT: &[(&[&str], &str)] = &[
    (&["sessions", "session", "dir", "chats", "conversations", "projects"], "list"),
    (&["cat", "view", "open", "read", "less", "print", "display", "get", "inspect", "pick"], "show"),
    (&["delete", "rm", "remove", "del", "erase", "purge", "drop"], "forget"),
    (&["revert", "reset", "rollback"], "undo"),
    (&["revert", "reset", "expand"], "uncompact"),
    (&["summarize", "shrink", "compress"], "compact"),
    (&["rg", "query", "ask", "lookup"], "search"),
    (&["continue", "go", "load", "reopen", "convert", "switch", "attach", "restart"], "resume"),
    (&["branch", "copy", "cp", "clone", "split", "checkout", "rewind"], "fork"),
    (&["summary", "brief", "pr", "pull-request", "note"], "handoff"),
    (&["html", "markdown", "publish", "page"], "export"),
    (&["share", "send"], "export"),
    (&["share", "send", "sync", "push", "pull", "transfer"], "bundle"),
    (&["info", "describe", "details"], "show"),
    (&["cost", "costs", "usage", "tokens", "statistics", "metrics", "spend"], "stats"),
    (&["report"], "stats"),
    (&["report"], "handoff"),
    (&["window", "budget", "limit", "limits"], "guard"),
    (&["store"], "status"),
    (&["size", "disk", "space", "store"], "du"),
    (&["why", "who", "annotate", "praise"], "blame"),
    (&["restore-session", "rescue", "salvage", "undelete"], "recover"),
    (&["check", "fsck", "validate", "lint", "health"], "doctor"),
    (&["fix"], "repair"),
    (&["clean", "prune", "cleanup", "vacuum"], "gc"),
    (&["reindex"], "index"),
    (&["init", "configure", "onboard"], "setup"),
    (&["hooks"], "install"),
    (&["settings", "options", "set"], "config"),
    (&["scan-secrets", "leaks"], "scan"),
    (&["redact", "sanitize"], "scrub"),
    (&["ignore", "hide"], "exclude"),
    (&["stop", "disable"], "pause"),
    (&["continue-capture", "enable"], "unpause"),
    (&["record", "wrap", "exec"], "run"),
    (&["follow", "tail", "live"], "watch"),
    (&["save", "commit", "add"], "checkpoint"),
    (&["label", "name", "bookmark"], "tag"),
    (&["rename", "edit"], "update"),
    (&["compare"], "diff"),
    (&["graph", "forks", "branches"], "tree"),
    (&["commits"], "log"),
    (&["remember", "context-for", "memory"], "recall"),
    (&["todo", "todos", "tasks"], "task"),
    (&["decisions", "adr"], "decision"),
    (&["prompt"], "assemble"),
    (&["new", "launch"], "start"),
    (&["dump"], "backup"),
    (&["upgrade", "update-store"], "migrate"),
    (&["completion", "autocomplete"], "completions"),
];

/// What people call a flag elsewhere, with what it is called here: the first one that the command has.
const FLAGS_MEANT: &[(&[&str], &[&str])] = &[
    (&["client", "runtime", "agent", "tool", "target", "to"], &["in", "client"]),
    (&["number", "count", "max", "top", "lines"], &["limit"]),
    (&["output", "file", "html", "markdown"], &["out"]),
    (&["force", "confirm", "no-confirm", "assume-yes"], &["yes"]),
    (&["dry", "simulate", "plan", "preview", "check"], &["dry-run"]),
    (&["after", "newer", "from-date"], &["since"]),
    (&["before", "older", "to-date"], &["until"]),
    (&["dir", "directory", "cd", "path"], &["cwd", "project"]),
    (&["repo", "repository", "folder"], &["project"]),
];

/// What is meant by a flag that a command has under no name.
const FLAGS_ABSENT: &[(&str, &str, &str)] = &[(
    "import",
    "client",
    "`stemma import` reads every client; `stemma import PATH` reads one client's folder",
)];

/// What there is none of, and what does most of it.
const ABSENT: &[(&[&str], &str)] = &[
    (
        &["web", "ui", "gui", "dashboard"],
        "there is no page in a browser; `stemma` alone shows what is new, and `stemma export SESSION -o FILE.html` writes a page to read",
    ),
    (
        &["mcp"],
        "there is no MCP server; every command takes `--json`, and an agent may call it like a person",
    ),
    (&["version"], "the flag `--version` prints it"),
    (&["login", "logout", "auth"], "there are no accounts: everything is on this machine"),
];

/// What is usually meant by a command that lacks an argument.
const USUAL: &[(&str, &str)] = &[
    ("backup", "`stemma backup DIR` writes a verified copy of the store into a folder that it makes"),
    ("blame", "`stemma blame FILE:LINE` shows who wrote a line"),
    (
        "compact",
        "`stemma compact @` compacts this directory's newest session; `--dry-run` shows what it would do",
    ),
    ("diff", "`stemma diff @` shows what the last compaction of this directory's newest session lost"),
    ("doctor", "`stemma doctor --all` checks every transcript of this machine's clients"),
    (
        "export",
        "`stemma export @ -o FILE.html` writes this directory's newest session; `stemma list` shows all",
    ),
    ("forget", "`stemma forget SESSION --dry-run` shows what would go; `stemma list` shows the sessions"),
    ("handoff", "`stemma handoff @` tells this directory's newest session; `stemma list` shows all"),
    ("history", "`stemma history @` lists the commits of this directory's newest session"),
    ("install", "`stemma install --all` adds the hooks to every client of this machine"),
    ("pin", "`stemma pin @` keeps this directory's newest session whatever collection removes"),
    ("recall", "`stemma recall 'why do we retry'` finds what was said and done about it"),
    (
        "restore",
        "`stemma restore DIR` puts a backup in the place of the store; `--dry-run` verifies it first",
    ),
    ("tag", "`stemma tag` lists the tags with their commits"),
    ("uninstall", "`stemma uninstall --all` removes the hooks from every client"),
];

/// Returns what a command line that is none probably means, as sentences without a final stop.
pub(crate) fn advice(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => unknown(text(ContextKind::InvalidSubcommand)?, arguments),
        ErrorKind::UnknownArgument => {
            let back = text(ContextKind::InvalidArg)?.strip_prefix('-')?;
            if let Some(name) = back.strip_prefix('-') {
                return flag(name.split('=').next()?, &commands_in(arguments));
            }
            let is_number = !back.is_empty() && back.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| {
                format!("`@-{back}` is {back} before the newest session of this directory, `REF~{back}` is {back} commits back")
            })
        }
        ErrorKind::MissingRequiredArgument => {
            let names = commands_in(arguments);
            let usual = USUAL.iter().find(|(usual, _)| names.first().is_some_and(|name| name == usual));
            usual.map(|(_, usual)| (*usual).to_owned()).or_else(|| example_of(&names))
        }
        _ => None,
    }
}

/// Says whether what the parser proposes for a flag or a command that it does not know is one that was spelled wrong.
pub(crate) fn is_near(error: &clap::Error) -> bool {
    let strings = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.as_str()],
        Some(ContextValue::Strings(all)) => all.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let (kinds, near) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        _ => return true,
    };
    let typed = strings(kinds);
    strings(near).iter().any(|near| typed.iter().any(|typed| is_slip(typed, near)))
}

/// Returns what a flag that a command does not have probably means.
fn flag(name: &str, names: &[String]) -> Option<String> {
    let whole = Cli::command();
    let command = names.iter().try_fold(&whole, |command, name| command.find_subcommand(name))?;
    let absent = FLAGS_ABSENT
        .iter()
        .find(|(of, flag, _)| names.first().is_some_and(|name| name == of) && *flag == name);
    if let Some((_, _, said)) = absent {
        return Some((*said).to_owned());
    }
    let has = |flag: &&&str| {
        command.get_arguments().any(|known| known.get_long() == Some(**flag) && !known.is_hide_set())
    };
    let meant = FLAGS_MEANT.iter().filter(|(words, _)| words.contains(&name));
    let flag = meant.flat_map(|(_, flags)| flags.iter()).find(has)?;
    Some(format!("did you mean `--{flag}`?"))
}

/// Returns the commands that a line names, the outer one first.
fn commands_in(arguments: &[OsString]) -> Vec<String> {
    let whole = Cli::command();
    let (mut command, mut names) = (&whole, Vec::new());
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(sub) = command.find_subcommand(word) {
            command = sub;
            names.push(sub.get_name().to_owned());
        }
    }
    names
}

/// Returns the first example in the help of a command, or of the one that it is part of.
fn example_of(names: &[String]) -> Option<String> {
    let whole = Cli::command();
    let (mut command, mut helps) = (&whole, Vec::new());
    for name in names {
        command = command.find_subcommand(name)?;
        helps.extend(command.get_after_help().map(ToString::to_string));
    }
    let begins = format!("stemma {}", names.join(" "));
    let lines = helps.iter().rev().flat_map(|help| help.lines()).map(str::trim);
    let example = lines.into_iter().find(|line| line.starts_with(&begins))?;
    Some(match example.split_once("  ") {
        Some((command, what)) => format!("`{command}`: {}", what.trim_start()),
        None => format!("for example `{example}`"),
    })
}

/// Says whether a word is another name of the command that deletes.
fn is_meant_to_delete(word: &str) -> bool {
    MEANT.iter().any(|(words, command)| *command == "forget" && words.contains(&word))
}

/// Letters of a word that may be spelled wrong: of a shorter one any other is a slip or two away.
const SLIP_LETTERS_MIN: usize = 5;

/// Returns what an unknown command probably means: what people call it elsewhere, or a word that is spelled nearly so.
fn unknown(word: &str, arguments: &[OsString]) -> Option<String> {
    // Of `stemma ledger lst` the tables know nothing; the parser proposes what `ledger` has.
    if !commands_in(arguments).is_empty() {
        return None;
    }
    let whole = Cli::command();
    let visible: Vec<&str> =
        whole.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name).collect();
    let known = || MEANT.iter().chain(ABSENT).flat_map(|(words, _)| words.iter().copied());
    let same = known().find(|known| known.eq_ignore_ascii_case(word));
    // Of two slips in what is a command's other name nobody can say what was meant.
    let is_near =
        |known: &&str| word.chars().count() >= SLIP_LETTERS_MIN && is_slip(&word.to_lowercase(), known);
    let all: Vec<&str> = visible.iter().copied().chain(known().filter(is_near)).collect();
    // What deletes is proposed to who means it alone.
    let is_careful = |near: &&str| *near != "forget" && !is_meant_to_delete(near);
    let near = same.or_else(|| nearest(word, all.iter().copied()).filter(is_careful))?;
    if let Some((_, said)) = ABSENT.iter().find(|(words, _)| words.contains(&near)) {
        return Some((*said).to_owned());
    }
    let meant = MEANT.iter().filter(|(words, _)| words.contains(&near)).map(|(_, name)| *name);
    let names: Vec<String> = if visible.contains(&near) {
        vec![format!("`stemma {near}`")]
    } else {
        meant.map(|name| format!("`stemma {name}`")).collect()
    };
    Some(format!("did you mean {}?", names.join(" or ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn said(line: &str) -> Option<String> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Cli::command().try_get_matches_from(&arguments).expect_err("no command line");
        advice(&error, &arguments)
    }

    #[test]
    fn the_tables_name_commands_that_there_are_and_words_that_are_none() {
        let whole = Cli::command();
        let names: BTreeSet<&str> = whole.get_subcommands().map(Command::get_name).collect();
        let aliases: BTreeSet<&str> = whole.get_subcommands().flat_map(Command::get_all_aliases).collect();
        for name in MEANT.iter().map(|(_, name)| name).chain(USUAL.iter().map(|(name, _)| name)) {
            assert!(names.contains(name), "there is no `{name}`");
        }
        let has = |flag: &str| {
            let mut flags = whole.get_subcommands().flat_map(Command::get_arguments);
            flags.any(|known| known.get_long() == Some(flag))
        };
        let flags: Vec<&str> = FLAGS_MEANT.iter().flat_map(|(_, flags)| flags.iter().copied()).collect();
        assert!(flags.iter().all(|flag| has(flag)), "{flags:?}");
        let words = MEANT.iter().chain(ABSENT).flat_map(|(words, _)| words.iter().copied());
        let commands: Vec<&str> =
            words.filter(|word| names.contains(word) || aliases.contains(word)).collect();
        assert_eq!(commands, Vec::<&str>::new(), "these are commands");
        let said = USUAL.iter().map(|(_, said)| *said).chain(ABSENT.iter().map(|(_, said)| *said));
        let shown = said.chain(FLAGS_ABSENT.iter().map(|(_, _, said)| *said));
        for said in shown {
            for command in said.split("`stemma ").skip(1) {
                let name = command.split([' ', '`']).next().expect("a word");
                assert!(names.contains(name), "there is no `{name}`: {said}");
            }
        }
    }

    #[test]
    fn unknown_words_lead_to_what_is_meant() {
        for (line, meant) in [
            ("stemma sesions", "`stemma list`"),
            ("stemma chats", "`stemma list`"),
            ("stemma delete 4a36", "`stemma forget`"),
            ("stemma -q rm 4a36", "`stemma forget`"),
            ("stemma seach x", "`stemma search`"),
            ("stemma cost", "`stemma stats`"),
            ("stemma usage", "`stemma stats`"),
            ("stemma tokens", "`stemma stats`"),
            ("stemma pr", "`stemma handoff`"),
            ("stemma share", "`stemma export` or `stemma bundle`"),
            ("stemma STATUS", "`stemma status`"),
            ("stemma Delete x", "`stemma forget`"),
            ("stemma --color never rm x", "`stemma forget`"),
        ] {
            assert_eq!(said(line), Some(format!("did you mean {meant}?")), "{line}");
        }
        assert!(said("stemma mcp").is_some_and(|said| said.contains("no MCP server")));
        for line in [
            "stemma xyzzy",
            "stemma ledger lst",
            "stemma list --nothing",
            "stemma remote",
            "stemma stash",
            "stemma merge",
            "stemma sed",
            "stemma awk",
            "stemma ps",
            "stemma up",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
        for (line, meant) in [
            ("stemma resume @ --client codex", "`--in`"),
            ("stemma fork @ --runtime=pi", "`--in`"),
            ("stemma list --agent codex", "`--client`"),
            ("stemma list --count 3", "`--limit`"),
            ("stemma export @ --output x.md", "`--out`"),
            ("stemma forget x --force", "`--yes`"),
            ("stemma search x --after yesterday", "`--since`"),
        ] {
            assert_eq!(said(line), Some(format!("did you mean {meant}?")), "{line}");
        }
        assert!(
            said("stemma import --client codex").is_some_and(|said| said.contains("`stemma import PATH`"))
        );
        assert!(said("stemma show -1").is_some_and(|said| said.contains("`@-1`")));
        for (line, next) in [
            ("stemma unpin", "`stemma unpin "),
            ("stemma children", "`stemma children "),
            ("stemma tag add", "stemma tag"),
            ("stemma bundle export", "`stemma bundle export "),
            ("stemma decision add", "`stemma decision add "),
            ("stemma config set", "`stemma config set "),
            ("stemma run", "`stemma run "),
        ] {
            assert!(said(line).is_some_and(|said| said.contains(next)), "{line}: {:?}", said(line));
        }
        assert!(said("stemma backup").is_some_and(|said| said.contains("stemma backup DIR")));
    }
}
