//! A log of brews is added over a long morning; the context fills up, is compacted, and work goes on.

use crate::claude::Transcript;

use super::script::{Call, Script};

const LOG: &str = r#"//! The log of brews: one line of JSON for each cup, appended and never rewritten.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use crate::tea::Tea;

/// A log that lies in a file.
pub struct BrewLog {
    path: PathBuf,
}

/// A cup that was brewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brew {
    /// When it was done, in seconds since 1970, UTC.
    pub done_at: i64,
    /// The tea's name.
    pub tea: String,
    /// How long it steeped, in seconds.
    pub steeped_s: u64,
}

impl BrewLog {
    /// Opens the log at a path; the file is made with the first brew.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Appends a brew as one line, in one write.
    pub fn append(&self, tea: &Tea, done_at: i64) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        let line = format!(
            "{{\"done_at\":{done_at},\"tea\":{:?},\"steeped_s\":{}}}\n",
            tea.name(),
            tea.steeping().as_secs()
        );
        file.write_all(line.as_bytes())
    }

    /// Returns the last brews, the newest first, and how many lines could not be read.
    pub fn last(&self, count: usize) -> std::io::Result<(Vec<Brew>, usize)> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error),
        };
        let (mut brews, mut unreadable) = (Vec::new(), 0);
        for line in BufReader::new(file).lines() {
            match line?.parse() {
                Ok(brew) => brews.push(brew),
                Err(()) => unreadable += 1,
            }
        }
        brews.reverse();
        brews.truncate(count);
        Ok((brews, unreadable))
    }
}
"#;

const TEST: &str = r#"use teatime::{BrewLog, Tea};

fn sencha() -> Tea {
    Tea::new("sencha", std::time::Duration::from_secs(90))
}

#[test]
fn a_missing_log_is_an_empty_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = BrewLog::at(&folder.path().join("brews.jsonl"));
    assert_eq!(log.last(10).unwrap(), (Vec::new(), 0));
}

#[test]
fn brews_come_back_newest_first() {
    let folder = tempfile::tempdir().unwrap();
    let log = BrewLog::at(&folder.path().join("brews.jsonl"));
    log.append(&sencha(), 1_000).unwrap();
    log.append(&sencha(), 2_000).unwrap();
    let (brews, unreadable) = log.last(10).unwrap();
    assert_eq!(brews.iter().map(|brew| brew.done_at).collect::<Vec<_>>(), [2_000, 1_000]);
    assert_eq!(unreadable, 0);
}

#[test]
fn a_torn_last_line_costs_one_brew_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("brews.jsonl");
    let log = BrewLog::at(&path);
    log.append(&sencha(), 1_000).unwrap();
    log.append(&sencha(), 2_000).unwrap();
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 9]).unwrap();
    let (brews, unreadable) = log.last(10).unwrap();
    assert_eq!((brews.len(), unreadable), (1, 1));
}
"#;

const SUMMARY: &str = "Summary of the work so far:\n\n1. What was asked:\n- A log of brews for teatime, and a command `teatime log` that shows the last ones.\n- No database: \"it is tea\".\n\n2. Decisions:\n- The log is a file of JSON lines, `brews.jsonl`, in the platform's data directory. It is appended to and never rewritten.\n- Times are stored in UTC as seconds since 1970. They are turned into local time only when shown. Robin travels, and a log that jumps back at the border is worse than none.\n- A line that cannot be read is counted and skipped, never deleted.\n- The oldest entries are not pruned. At ten cups a day the file grows by 200 KB a year.\n\n3. Files and code:\n- `src/log.rs` (new): `BrewLog::at`, `append`, `last`; `Brew { done_at, tea, steeped_s }`.\n- `tests/log.rs` (new): missing file, order, torn last line.\n- `src/main.rs`: appends after the bell; an error while writing is shown and does not stop the bell.\n\n4. Errors and fixes:\n- The torn line test failed at first: `lines()` returned the half line as a brew because the number at its end was cut but still a number. Lines now must end in `}`.\n\n5. Pending tasks:\n- `teatime log` itself: the last 10 brews, newest first, local time, `--count N`.\n- A line in the README.\n\n6. Next step:\n- Write the command in `src/main.rs` and show an example.";

pub(super) fn story() -> Transcript {
    let main = "/home/robin/teatime/src/main.rs";
    let main_text = "use std::time::Duration;\n\nuse teatime::{bell, BrewLog, Tea, Timer};\n\nfn main() -> anyhow::Result<()> {\n    let tea = Tea::from_args()?;\n    let log = BrewLog::at(&teatime::data_file(\"brews.jsonl\")?);\n    let timer = Timer::start(tea.clone());\n    while !timer.is_done() {\n        print!(\"\\r{}\", timer.status());\n        std::thread::sleep(Duration::from_millis(200));\n    }\n    println!();\n    bell::ring_best();\n    if let Err(error) = log.append(&tea, teatime::now()) {\n        eprintln!(\"warning: this cup is not in the log: {error}\");\n    }\n    Ok(())\n}\n";
    let script = Script::new("2.1.330", "/home/robin/teatime", "brew-log", "2026-03-02T08:12:30.000Z")
        .slug("slowly-logging-assam");
    let script = script
        .prompt("I'd like teatime to remember what I drank. After each brew, note the tea, when, and how long it steeped; later I want `teatime log`. Before you build anything: how would you store it?")
        .think("Options: SQLite, one JSON file rewritten each time, JSON lines appended. A personal tea log has perhaps ten entries a day. Appending is atomic enough for one small line, survives a crash with at most one torn line, and can be read with any tool.")
        .answer("As a file of JSON lines that is only ever appended to, `brews.jsonl` in the data directory:\n\n- **A crash costs at most the last line.** A single JSON document that is rewritten can lose everything.\n- **No dependency.** SQLite would be fine too, but for ten cups a day it is a lot of kettle.\n- **It is yours**: `tail`, `grep` and `jq` can read it.\n\nTwo questions before I start:\n\n1. Times: store UTC and show local time?\n2. What should happen with a line that cannot be read?");
    let script = script
        .prompt("JSON lines, no database, it is tea. 1: yes, UTC, I travel a lot. 2: count it and skip it, never delete anything.")
        .say("Then the log with its tests:")
        .calls(&[
            Call::write("/home/robin/teatime/src/log.rs", LOG),
            Call::write("/home/robin/teatime/tests/log.rs", TEST),
        ])
        .calls(&[Call::bash_failed(
            "cargo test -q --test log",
            "Run the tests of the log",
            "running 3 tests\n..F\nfailures:\n\n---- a_torn_last_line_costs_one_brew_and_no_more stdout ----\n\nthread 'a_torn_last_line_costs_one_brew_and_no_more' panicked at tests/log.rs:36:5:\nassertion `left == right` failed\n  left: (2, 0)\n right: (1, 1)\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        )])
        .think("The torn line was read as a whole brew: my parser takes what it finds and does not ask whether the line is complete. Cutting 9 bytes off `\"steeped_s\":90}\\n` leaves `\"stee`, so the field is missing and a default was used. The parser must insist on all three fields and on the closing brace.")
        .say("Good that the test is there: my parser was too kind and filled a missing field with a default. A line has to be whole:")
        .calls(&[Call::bash(
            "sed -i 's/unwrap_or_default()/ok_or(())?/' src/log.rs && cargo test -q --test log",
            "Refuse lines that lack a field, then test again",
            "running 3 tests\n...\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        )])
        .calls(&[Call::read(main, main_text)])
        .answer("The log writes and reads, and a torn last line costs exactly one brew.\n\n`main.rs` appends after the bell. If the disk is full you still get your tea: the error is printed as a warning, and the bell has rung by then.\n\nNext would be `teatime log` itself.");
    let script = script
        .prompt("One thing before that. If I brew two teas at once in two terminals, can their lines get mixed up?")
        .calls(&[
            Call::grep(
                "append\\(true\\)|write_all",
                "/home/robin/teatime/src",
                "/home/robin/teatime/src/log.rs:37:        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;\n/home/robin/teatime/src/log.rs:43:        file.write_all(line.as_bytes())",
            ),
            Call::bash(
                "for i in $(seq 1 50); do ./target/debug/teatime --tea a$i --for 0 & done; wait; wc -l < ~/.local/share/teatime/brews.jsonl; jq -c . ~/.local/share/teatime/brews.jsonl | wc -l",
                "Brew fifty teas at once and count whole lines",
                "50\n50",
            ),
        ])
        .answer("No. The file is opened for appending and each brew is a single write of less than 200 bytes, so the lines cannot interleave on a local disk. I brewed fifty teas at once to see it: 50 lines, all of them whole.\n\nOn a network drive that promise does not hold. If yours is on one, say so and I take a lock.")
        .compact(SUMMARY, true);
    let command = "/// `teatime log`: the last brews, newest first, in local time.\nfn show_log(log: &BrewLog, count: usize) -> anyhow::Result<()> {\n    let (brews, unreadable) = log.last(count)?;\n    for brew in &brews {\n        println!(\n            \"{}  {:<12} {}\",\n            local(brew.done_at),\n            brew.tea,\n            minutes(brew.steeped_s)\n        );\n    }\n    if unreadable > 0 {\n        eprintln!(\"note: {unreadable} lines of the log could not be read and are left out\");\n    }\n    Ok(())\n}\n";
    let anchor = "fn main() -> anyhow::Result<()> {";
    let script = script
        .prompt("No network drive. Go on with `teatime log`. And remind me: did we say local time or UTC?")
        .think("The summary says: stored in UTC, shown in local time. The pending task is the command with `--count N`, newest first.")
        .say("We said: **stored in UTC, shown in local time**, because you travel. Here is the command:")
        .calls(&[Call::edit(main, main_text, anchor, &format!("{command}\n{anchor}"))])
        .calls(&[
            Call::bash(
                "TZ=Europe/Vienna cargo run -q -- log --count 3; echo; TZ=Asia/Tokyo cargo run -q -- log --count 1",
                "Show the log at home and far away",
                "2026-03-02 10:41  assam        4:00\n2026-03-02 09:03  sencha       1:30\n2026-03-01 16:20  rooibos      7:00\n\n2026-03-02 18:41  assam        4:00",
            ),
            Call::bash(
                "cargo test -q 2>&1 | grep 'test result' && cargo clippy -q --all-targets",
                "Run everything once more",
                "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            ),
        ])
        .answer("```\n$ teatime log --count 3\n2026-03-02 10:41  assam        4:00\n2026-03-02 09:03  sencha       1:30\n2026-03-01 16:20  rooibos      7:00\n```\n\nThe same cup of assam shows as 18:41 in Tokyo, as it should. Lines that cannot be read are left out and counted in a note. I have not touched the README yet; shall I add a paragraph?");
    script.titled("A log of brews").finish()
}
