//! How should `3m30s` be read? One way is tried, then the person goes back and takes another.

use crate::claude::Transcript;

use super::script::{Call, Script};

const TEA: &str = r#"//! Teas and how long they steep.

use std::time::Duration;

/// A tea.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tea {
    name: String,
    steeping: Duration,
}

impl Tea {
    pub fn new(name: &str, steeping: Duration) -> Self {
        Self {
            name: name.to_owned(),
            steeping,
        }
    }

    /// Reads `--tea NAME --for SECONDS`.
    pub fn from_args() -> Option<Self> {
        let mut args = std::env::args().skip(1);
        let (mut name, mut seconds) = (String::from("tea"), None);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--tea" => name = args.next()?,
                "--for" => seconds = args.next()?.parse().ok(),
                _ => return None,
            }
        }
        Some(Self::new(&name, Duration::from_secs(seconds?)))
    }
}
"#;

const PARSER: &str = r#"//! Reads durations such as `90`, `90s`, `3m` and `3m30s`.

use std::time::Duration;

/// What was wrong with a duration, in words for a person.
#[derive(Debug, PartialEq, Eq)]
pub enum DurationError {
    /// There was nothing.
    Empty,
    /// A number was expected at this byte.
    NoNumber(usize),
    /// A unit that is not `h`, `m` or `s`.
    UnknownUnit(char),
    /// Nobody steeps tea for that long.
    TooLong,
}

/// The longest a tea may steep: a day, for cold brews.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads a duration; a number without a unit is seconds.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        let number: u64 = number
            .parse()
            .map_err(|_| DurationError::NoNumber(text.len() - rest.len()))?;
        let mut tail = tail.chars();
        let seconds = match tail.next() {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some(other) => return Err(DurationError::UnknownUnit(other)),
        };
        total = number
            .checked_mul(seconds)
            .and_then(|part| total.checked_add(part))
            .ok_or(DurationError::TooLong)?;
        rest = tail.as_str();
    }
    let total = Duration::from_secs(total);
    if total > LONGEST {
        return Err(DurationError::TooLong);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("3m", 180), ("3m30s", 210), ("12h", 43_200)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(parse(""), Err(DurationError::Empty));
        assert_eq!(parse("m"), Err(DurationError::NoNumber(0)));
        assert_eq!(parse("3m s"), Err(DurationError::NoNumber(2)));
        assert_eq!(parse("3d"), Err(DurationError::UnknownUnit('d')));
        assert_eq!(parse("25h"), Err(DurationError::TooLong));
        assert_eq!(parse("99999999999999999999h"), Err(DurationError::NoNumber(0)));
    }
}
"#;

pub(super) fn story() -> Transcript {
    let tea = "/home/robin/teatime/src/tea.rs";
    let manifest = "/home/robin/teatime/Cargo.toml";
    let manifest_text =
        "[package]\nname = \"teatime\"\nversion = \"0.3.1\"\nedition = \"2024\"\n\n[dependencies]\n";
    let old_line = "                \"--for\" => seconds = args.next()?.parse().ok(),";
    let script = Script::new("2.1.39", "/home/robin/teatime", "durations", "2026-02-20T09:05:00.000Z")
        .slug("patiently-parsing-darjeeling");
    let script = script
        .prompt("`--for` takes only seconds. I want to write `--for 3m30s`. How would you do that?")
        .calls(&[Call::read(tea, TEA), Call::read(manifest, manifest_text)])
        .answer("Two ways:\n\n| | a crate such as `humantime` | our own parser |\n|---|---|---|\n| lines of ours | 2 | about 40 |\n| dependencies | 1 (today: 0) | 0 |\n| accepts | `3m 30s`, `2days`, `1month` | just `h`, `m`, `s` |\n| errors | written for programmers | in our words |\n\nThe crate is the quick way. Tell me which one you prefer.");
    let script = script
        .prompt("Take the crate, I don't want to maintain a parser.")
        .calls(&[
            Call::bash(
                "cargo add humantime && cargo tree --edges normal",
                "Add the dependency",
                "    Updating crates.io index\n      Adding humantime v2.3.0 to dependencies\nteatime v0.3.1 (/home/robin/teatime)\n└── humantime v2.3.0",
            ),
            Call::edit(
                tea,
                TEA,
                old_line,
                "                \"--for\" => steeping = humantime::parse_duration(&args.next()?).ok(),",
            ),
        ])
        .calls(&[Call::bash(
            "cargo run -q -- --tea test --for 1s; cargo run -q -- --tea test --for 90; echo \"exit: $?\"",
            "Try both spellings",
            "test 00:00\ntea 03:00\nexit: 0",
        )])
        .answer("It works for `--for 1s`, but I have to tell you something that I did not expect: **`--for 90` no longer works.** The crate wants a unit, so a bare number is an error, and `from_args` then quietly falls back to three minutes. Everybody who has `teatime --for 90` in a script gets a different tea.\n\nI could try a plain number first and the crate second, and report the error instead of swallowing it. Or you go back and take the small parser; it would accept all three spellings and say what is wrong.");
    let script = script
        .rewind(1)
        .prompt("Hm, old scripts must go on working. Take our own parser then: h, m, s, and a bare number is seconds. Good errors, please, and no new dependency.")
        .think("The person went back, so the crate was never added: Cargo.toml has no dependencies. I write src/duration.rs with tests. Overflow: u64 multiplication must be checked. A limit of a day for cold brews. The error should say where.")
        .say("Then a small module of our own, with the tests beside it:")
        .calls(&[Call::write("/home/robin/teatime/src/duration.rs", PARSER)])
        .calls(&[
            Call::edit(
                tea,
                TEA,
                old_line,
                "                \"--for\" => steeping = Some(duration::parse(&value(&mut args)?)?),",
            ),
            Call::edit(
                tea,
                TEA,
                "    pub fn from_args() -> Option<Self> {",
                "    pub fn from_args() -> Result<Self, ArgsError> {",
            ),
            Call::bash(
                "cargo test -q duration",
                "Run the new tests",
                "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.00s",
            ),
        ])
        .calls(&[Call::bash(
            "for d in 90 1s 3m30s 3d ''; do printf '%-6s ' \"$d\"; cargo run -q -- --tea test --for \"$d\" --dry-run; done",
            "Try what people would write",
            "90     test steeps 01:30\n1s     test steeps 00:01\n3m30s  test steeps 03:30\n3d     error: `3d`: I know h, m and s, but not `d`\n       error: how long? for example `--for 3m30s`",
        )])
        .answer("Done, without a dependency. `--for 90` means what it always meant, `3m30s` works, and a mistake is answered in words:\n\n```\n$ teatime --for 3d\nerror: `3d`: I know h, m and s, but not `d`\n```\n\nThe parser is 40 lines, the tests are 20. The longest tea is a day, for cold brews; that limit is a constant with its reason beside it.");
    script.titled("Reading 3m30s").finish()
}
