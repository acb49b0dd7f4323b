//! Commands of one toolchain that do different things to the same code: a test that passes has compiled it.
//!
//! What makes two runs of a command the same is decided in `stemmata_acts::command`.

use stemmata_acts::command::is_checking;

use super::acts;

/// What a command of a toolchain does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Reads the code as a compiler does.
    Checks,
    /// The same, and says what it does not like.
    Lints,
    /// Makes programs.
    Builds,
    /// Makes tests and runs them.
    Tests,
}

/// A command, as far as it says what it compiles.
#[derive(Debug, PartialEq, Eq)]
struct Compiling<'a> {
    toolchain: &'a str,
    does: Does,
    /// What of the code, where it is not all.
    narrows: Vec<&'a str>,
    /// What makes it other code.
    varies: Vec<&'a str>,
}

/// Says whether success of these parts resolves a failure of those: each is there again, or, of a checking program, a
/// run of at least as much.
pub(super) fn covers(success: &[String], failure: &[String]) -> bool {
    !failure.is_empty()
        && failure.iter().all(|failed| success.iter().any(|passed| covers_part(passed, failed)))
}

fn covers_part(passed: &str, failed: &str) -> bool {
    if passed == failed || compiles(passed, failed) {
        return true;
    }
    if !is_checking(passed) {
        return false;
    }
    let (passed, failed): (Vec<&str>, Vec<&str>) = (passed.split(' ').collect(), failed.split(' ').collect());
    if passed.first() != failed.first() {
        return false;
    }
    let is_subset = passed.len() >= 2 && passed.iter().all(|word| failed.contains(word));
    let is_all = passed.get(1) == failed.get(1)
        && passed.iter().any(|word| matches!(*word, "./..." | "--workspace" | "--all"));
    is_subset || is_all
}

/// Says whether a command that passes has compiled at least what another one of its toolchain could not.
pub(super) fn compiles(passed: &str, failed: &str) -> bool {
    let (Some(passed), Some(failed)) = (compiling(passed), compiling(failed)) else { return false };
    let does = match failed.does {
        Does::Checks => true,
        Does::Builds => {
            matches!(passed.does, Does::Builds | Does::Tests)
                // Its check is as strict as its build.
                || (failed.toolchain == "go" && passed.does == Does::Lints)
        }
        Does::Lints => passed.does == Does::Lints,
        // Which tests ran is a matter of words.
        Does::Tests => false,
    };
    let is_all = passed.narrows.contains(&"./...");
    let is_wide = if failed.toolchain == "go" {
        is_all || failed.narrows.iter().all(|path| passed.narrows.contains(path))
    } else {
        passed.narrows.iter().all(|word| failed.narrows.contains(word))
    };
    does && is_wide && passed.toolchain == failed.toolchain && passed.varies == failed.varies
}

fn compiling(part: &str) -> Option<Compiling<'_>> {
    let words: Vec<&str> = part.split(' ').collect();
    match words.as_slice() {
        ["cargo", rest @ ..] => cargo(rest),
        ["go", "build" | "install", rest @ ..] => Some(go(Does::Builds, rest)),
        ["go", "vet", rest @ ..] => Some(go(Does::Lints, rest)),
        ["go", "test", rest @ ..] => Some(go(Does::Tests, rest)),
        _ => types(&words),
    }
}

fn cargo<'a>(words: &[&'a str]) -> Option<Compiling<'a>> {
    let toolchain = words.first().filter(|word| word.starts_with('+'));
    let words = words.get(usize::from(toolchain.is_some())..)?;
    let does = match *words.first()? {
        "check" | "c" => Does::Checks,
        "clippy" => Does::Lints,
        "build" | "b" => Does::Builds,
        "test" | "t" | "nextest" => Does::Tests,
        _ => return None,
    };
    let mut command = Compiling {
        toolchain: "cargo",
        does,
        narrows: Vec::new(),
        varies: Vec::from_iter(toolchain.copied()),
    };
    let mut words = words.iter().skip(1).take_while(|word| **word != "--");
    while let Some(word) = words.next() {
        match *word {
            "-p" | "--package" | "--bin" | "--example" | "--test" | "--bench" | "--manifest-path" => {
                command.narrows.extend(words.next());
            }
            "--lib" | "--bins" | "--doc" => command.narrows.push(word),
            "-F" | "--features" | "--target" => command.varies.extend(words.next()),
            _ if word.starts_with("--package=") || word.starts_with("--manifest-path=") => {
                command.narrows.push(word);
            }
            _ if word.starts_with("--features=")
                || word.starts_with("--target=")
                || word.starts_with("-Z")
                || matches!(*word, "--no-default-features" | "--all-features") =>
            {
                command.varies.push(word);
            }
            _ => {}
        }
    }
    command.varies.sort_unstable();
    Some(command)
}

fn go<'a>(does: Does, words: &[&'a str]) -> Compiling<'a> {
    let mut command = Compiling { toolchain: "go", does, narrows: Vec::new(), varies: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-tags" | "--tags" => command.varies.extend(words.next()),
            "-o" | "-run" | "-timeout" | "-ldflags" | "-bench" | "-count" | "-p" | "-C" => {
                words.next();
            }
            _ => match word.split_once("tags=") {
                Some(("-" | "--", tags)) => command.varies.push(tags),
                _ if !word.starts_with('-') => command.narrows.push(word),
                _ => {}
            },
        }
    }
    if command.narrows.is_empty() {
        command.narrows.push(".");
    }
    command
}

/// The checker of types by itself, and the scripts by which projects run it.
fn types<'a>(words: &[&'a str]) -> Option<Compiling<'a>> {
    let (does, rest) = match words {
        ["tsc" | "tsgo", rest @ ..]
        | ["npx" | "bunx" | "yarn", "tsc" | "tsgo", rest @ ..]
        | ["pnpm", "exec", "tsc" | "tsgo", rest @ ..] => (Does::Checks, rest),
        [
            "npm" | "pnpm" | "yarn" | "bun",
            "run",
            "check" | "typecheck" | "type-check" | "check-types" | "build" | "compile" | "ci",
            rest @ ..,
        ] => (Does::Tests, rest),
        _ => return None,
    };
    let is_neutral = |word: &&&str| matches!(**word, "--noEmit" | "--pretty" | "false" | "--skipLibCheck");
    let narrows = rest.iter().filter(|word| !is_neutral(word)).copied().collect();
    Some(Compiling { toolchain: "types", does, narrows, varies: Vec::new() })
}

/// Programs that run others and say which.
const RUNNERS: &[&str] =
    &["npm", "pnpm", "yarn", "bun", "make", "mise", "just", "task", "rake", "hk", "gradle", "./gradlew"];
/// Lines of a result in which commands are looked for.
const LINES_MAX: usize = 400;

/// Returns the commands that a runner shows before it runs them, as far as they check something.
pub(super) fn shown(parts: &[String], output: &str) -> Vec<String> {
    if !parts.iter().any(|part| RUNNERS.contains(&program(part))) {
        return Vec::new();
    }
    let lines = output.lines().take(LINES_MAX).filter_map(said);
    lines.flat_map(acts::parts).filter(|part| is_checking(part)).collect()
}

fn program(part: &str) -> &str {
    part.split(' ').next().unwrap_or_default()
}

/// Returns the command that a line shows.
fn said(line: &str) -> Option<&str> {
    let line = line.trim();
    let after_mark = line.split_once("$ ").filter(|(before, _)| before.is_empty() || before.ends_with("] "));
    let shown = after_mark.map(|(_, after)| after).or_else(|| line.strip_prefix("> "));
    let is_echo = is_checking(program(line)) && program(line) != line;
    shown.or_else(|| is_echo.then_some(line))
}
