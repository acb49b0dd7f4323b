//! The `console` blocks of pages that people write: their commands are run on `examples/` in a made-up home, and what
//! they print goes below them. A line `<!-- $ command -->` is run and not shown.
//! Not a test of the commands: only what a reader sees is compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::write;

/// Pages whose blocks are run, each in a home of its own.
pub(super) const PAGES: &[&str] = &["README.md", "docs/guide/first-steps.md"];

/// The moment at which every command runs, a day after the last example session.
const NOW: &str = "2026-03-03T12:00:00Z";

/// Exit codes of commands that found what they looked for: damage (6), secrets (11).
const EXPECTED: &[i32] = &[0, 6, 11];

/// What ends the output of a command, before its number and exit code.
const MARK: char = '\u{1e}';

/// The environment of every command, beside `HOME` and `PATH`.
const ENVIRONMENT: &[&str] = &[
    "USER=robin",
    "STEMMATA_MACHINE_LABEL=desk",
    "COLUMNS=120",
    "TZ=UTC",
    "LC_ALL=C.UTF-8",
    "GIT_CONFIG_NOSYSTEM=1",
    "GIT_AUTHOR_NAME=Robin",
    "GIT_AUTHOR_EMAIL=robin@example.org",
    "GIT_AUTHOR_DATE=2026-03-02T09:00:00Z",
    "GIT_COMMITTER_NAME=Robin",
    "GIT_COMMITTER_EMAIL=robin@example.org",
    "GIT_COMMITTER_DATE=2026-03-02T09:00:00Z",
];

/// Returns the pages as they should be, by path.
pub(super) fn build(root: &Path, program: &Path) -> anyhow::Result<BTreeMap<&'static str, String>> {
    let mut pages = BTreeMap::new();
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).with_context(|| format!("reading `{page}`"))?;
        let outputs = run(root, program, &commands(&text)).with_context(|| format!("in `{page}`"))?;
        pages.insert(*page, filled(&text, &outputs));
    }
    Ok(pages)
}

/// A line of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Prose(&'a str),
    /// A command that is run and not shown.
    Hidden(&'a str),
    Command(&'a str),
    Output(&'a str),
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut within = false;
    text.lines()
        .map(|line| {
            if line.starts_with("```") {
                within = line == "```console";
                return Line::Prose(line);
            }
            match line.strip_prefix("<!-- $ ").and_then(|rest| rest.strip_suffix(" -->")) {
                Some(command) => Line::Hidden(command),
                None if !within => Line::Prose(line),
                None => line.strip_prefix("$ ").map_or(Line::Output(line), Line::Command),
            }
        })
        .collect()
}

fn commands(text: &str) -> Vec<&str> {
    let commands = lines(text).into_iter().filter_map(|line| match line {
        Line::Hidden(command) | Line::Command(command) => Some(command),
        Line::Prose(_) | Line::Output(_) => None,
    });
    commands.collect()
}

/// Runs the commands in one shell, so that `cd` and variables last, and returns what each printed.
pub(super) fn run(root: &Path, program: &Path, commands: &[&str]) -> anyhow::Result<Vec<String>> {
    let folder = tempfile::tempdir().context("creating a home")?;
    let base = folder.path().canonicalize().context("finding the home")?;
    let (home, bin) = (base.join("home"), base.join("bin"));
    let checkout = home.join("stemmata");
    for path in [&bin, &checkout.join("examples")] {
        fs::create_dir_all(path).with_context(|| format!("creating `{}`", path.display()))?;
    }
    let wrapper = format!("#!/bin/sh\nexec '{}' --test-now {NOW} \"$@\"\n", program.display());
    write(&bin.join("stemma"), wrapper.as_bytes())?;
    let mut script = format!("chmod +x '{}/stemma'\nexec 2>&1\n", bin.display());
    for (at, command) in commands.iter().enumerate() {
        script.push_str(command);
        script.push_str("\nprintf '\\n\\036%d %d\\n' ");
        script.push_str(&at.to_string());
        script.push_str(" $?\n");
    }
    write(&base.join("script"), script.as_bytes())?;
    let start = format!(
        "cp -R '{examples}/claude-code' '{examples}/teatime' examples && exec env -i HOME='{home}' \
         PATH='{bin}':\"$PATH\" {environment} sh '{base}/script'",
        examples = root.join("examples").display(),
        home = home.display(),
        bin = bin.display(),
        environment = ENVIRONMENT.join(" "),
        base = base.display(),
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &start]).current_dir(&checkout).stdin(Stdio::null());
    let output = shell.output().context("starting `sh`")?;
    let text = String::from_utf8(output.stdout).context("the output is not text")?;
    let text = text.replace(&bin.join("stemma").display().to_string(), "~/.cargo/bin/stemma");
    // Claude Code names a folder after the directory, with `-` for what is not a letter or a digit.
    let folder = home.display().to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let text = text.replace(&home.display().to_string(), "~").replace(&folder, "-home-robin");
    split(&text.replace(&program.display().to_string(), "~/.cargo/bin/stemma"), commands)
}

/// Cuts the output of the script into that of each command.
fn split(text: &str, commands: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut rest = text;
    let mut outputs = Vec::new();
    for command in commands {
        let (output, behind) =
            rest.split_once(MARK).with_context(|| format!("`{command}` did not run: {rest}"))?;
        let (ended, behind) = behind.split_once('\n').unwrap_or((behind, ""));
        let code = ended.split(' ').next_back().and_then(|code| code.parse().ok()).unwrap_or(-1);
        anyhow::ensure!(EXPECTED.contains(&code), "`{command}` ended with {code}:\n{output}");
        outputs.push(output.trim_matches('\n').to_owned());
        rest = behind;
    }
    Ok(outputs)
}

/// Returns the page with these outputs below its commands. An output that differs only in ids and times stays.
fn filled(text: &str, outputs: &[String]) -> String {
    let mut outputs = outputs.iter();
    let mut page = Vec::new();
    let mut pending: Option<(&String, Vec<&str>)> = None;
    for line in lines(text) {
        if let (Line::Output(old), Some((_, shown))) = (line, &mut pending) {
            shown.push(old);
            continue;
        }
        if let Some((fresh, shown)) = pending.take() {
            page.extend(kept(fresh, &shown));
        }
        match line {
            Line::Prose(line) | Line::Output(line) => page.push(line.to_owned()),
            Line::Hidden(command) => {
                outputs.next();
                page.push(format!("<!-- $ {command} -->"));
            }
            Line::Command(command) => {
                pending = outputs.next().map(|fresh| (fresh, Vec::new()));
                page.push(format!("$ {command}"));
            }
        }
    }
    page.join("\n") + "\n"
}

fn kept(fresh: &str, shown: &[&str]) -> Option<String> {
    // An empty line between two commands belongs to the reader.
    let gap = if shown.last().is_some_and(|line| line.is_empty()) { "\n" } else { "" };
    let old = shown.join("\n");
    let old = old.trim_matches('\n');
    let text = if masked(old) == masked(fresh) { old } else { fresh };
    (!text.is_empty() || !gap.is_empty()).then(|| format!("{text}{gap}"))
}

/// Returns a text without what differs from run to run: random ids and durations.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut words = text.split_inclusive(|character: char| !character.is_ascii_alphanumeric()).peekable();
    while let Some(word) = words.next() {
        let (name, end) = word.split_at(word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
        let is_hex = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let in_id = is_hex && (end == "-" || masked.ends_with("#-") || name.len() >= 32);
        let next = words.peek().map(|next| next.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()));
        let is_duration = end == " " && matches!(next, Some("ms" | "s")) && name.parse::<u64>().is_ok();
        masked.push_str(if in_id || is_duration { "#" } else { name });
        masked.push_str(end);
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# A\n<!-- $ mkdir a -->\n```console\n$ one\nold\n\n$ two\n```\nb\n```sh\n$ not run\n```\n";

    #[test]
    fn a_block_gets_what_its_commands_print_and_all_else_stays() {
        assert_eq!(commands(PAGE), ["mkdir a", "one", "two"]);
        let outputs = ["hidden", "new\nlines", "2"].map(str::to_owned);
        let wanted = PAGE.replace("old\n", "new\nlines\n").replace("$ two\n", "$ two\n2\n");
        assert_eq!(filled(PAGE, &outputs), wanted);
        assert_eq!(filled(&wanted, &outputs), wanted);
    }

    #[test]
    fn an_output_that_differs_only_in_ids_and_durations_stays() {
        let old = "session baf7d4b1-a7cd-482e-a0ee-91c440464ffc in 61 ms";
        let page = format!("```console\n$ fork\n{old}\n```\n");
        let again = old.replace("baf7d4b1-a7cd", "00000000-1111").replace("61 ms", "7 ms");
        assert_eq!(filled(&page, &[again]), page);
        let other = old.replace("session", "Session");
        assert_eq!(filled(&page, std::slice::from_ref(&other)), page.replace(old, &other));
    }

    #[test]
    fn a_command_that_fails_is_named() {
        let text = format!("fine\n\n{MARK}0 0\nno such thing\n\n{MARK}1 3\n");
        assert_eq!(split(&text, &["one"]).unwrap(), ["fine"]);
        let error = split(&text, &["one", "two"]).unwrap_err().to_string();
        assert!(error.contains("`two` ended with 3") && error.contains("no such thing"), "{error}");
    }
}
