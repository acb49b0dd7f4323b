//! A test of a tea timer fails now and then; two files are read at once, and the cause is the clock.

use crate::claude::Transcript;

use super::script::{Call, Script};

const TIMER: &str = r#"//! The timer: how long a tea has to steep, and whether it is done.

use std::time::{Duration, Instant};

use crate::tea::Tea;

/// A running timer.
pub struct Timer {
    tea: Tea,
    started: Instant,
}

impl Timer {
    /// Starts a timer for a tea.
    pub fn start(tea: Tea) -> Self {
        Self {
            tea,
            started: Instant::now(),
        }
    }

    /// Returns how long is left, zero when the tea is done.
    pub fn left(&self) -> Duration {
        self.tea.steeping().saturating_sub(self.started.elapsed())
    }

    /// Says whether the tea is done.
    pub fn is_done(&self) -> bool {
        self.left().is_zero()
    }

    /// Returns the line shown while waiting.
    pub fn status(&self) -> String {
        let seconds = self.left().as_secs();
        format!("{} {:02}:{:02}", self.tea.name(), seconds / 60, seconds % 60)
    }
}
"#;

const TEST: &str = r#"use std::thread::sleep;
use std::time::Duration;

use teatime::{Tea, Timer};

#[test]
fn shows_what_is_left() {
    let timer = Timer::start(Tea::new("sencha", Duration::from_secs(90)));
    assert_eq!(timer.status(), "sencha 01:30");
}

#[test]
fn rings_when_done() {
    let timer = Timer::start(Tea::new("sencha", Duration::from_millis(50)));
    assert!(!timer.is_done());
    sleep(Duration::from_millis(50));
    assert!(timer.is_done());
}
"#;

const CLOCK: &str = r"//! Where the time comes from, so that a test can turn the hands itself.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Says how much time has passed since it was made.
pub trait Clock {
    fn elapsed(&self) -> Duration;
}

/// The machine's own clock.
pub struct SystemClock(Instant);

impl SystemClock {
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that moves only when told to.
#[derive(Default)]
pub struct ManualClock(Cell<Duration>);

impl ManualClock {
    pub fn advance(&self, by: Duration) {
        self.0.set(self.0.get() + by);
    }
}

impl Clock for &ManualClock {
    fn elapsed(&self) -> Duration {
        self.0.get()
    }
}
";

const NEW_TEST: &str = r#"use std::time::Duration;

use teatime::{ManualClock, Tea, Timer};

#[test]
fn shows_what_is_left() {
    let clock = ManualClock::default();
    let timer = Timer::with_clock(Tea::new("sencha", Duration::from_secs(90)), &clock);
    assert_eq!(timer.status(), "sencha 01:30");
    clock.advance(Duration::from_secs(31));
    assert_eq!(timer.status(), "sencha 00:59");
}

#[test]
fn rings_when_done() {
    let clock = ManualClock::default();
    let timer = Timer::with_clock(Tea::new("sencha", Duration::from_millis(50)), &clock);
    clock.advance(Duration::from_millis(49));
    assert!(!timer.is_done());
    clock.advance(Duration::from_millis(1));
    assert!(timer.is_done());
}
"#;

const FAILURE: &str = r"
running 2 tests
test rings_when_done ... ok
test shows_what_is_left ... FAILED

failures:

---- shows_what_is_left stdout ----

thread 'shows_what_is_left' panicked at tests/timer.rs:9:5:
assertion `left == right` failed
  left: 'sencha 01:29'
 right: 'sencha 01:30'

failures:
    shows_what_is_left

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.05s

error: test failed, to rerun pass `--test timer`";

pub(super) fn story() -> Transcript {
    let timer = "/home/robin/teatime/src/timer.rs";
    let test = "/home/robin/teatime/tests/timer.rs";
    let script = Script::new("2.1.39", "/home/robin/teatime", "main", "2026-02-03T08:41:12.000Z")
        .slug("gently-steeping-oolong");
    let script = script
        .prompt("The test `shows_what_is_left` fails on CI now and then, always with one second too little. Can you find out why, and fix it properly? No retries please.")
        .think("A flaky test about a timer: the first suspect is real time. I should see the test and the timer together before I guess. Both reads are independent, so I can make them at once.")
        .say("One second too little, now and then: that smells of a real clock. Let me read the timer and its test side by side.")
        .calls(&[Call::read(timer, TIMER), Call::read(test, TEST)])
        .think("`Timer::start` takes `Instant::now()` and `left()` asks `elapsed()`. In `shows_what_is_left` at least a few nanoseconds pass between the two, so 90 s minus something is 89.99… s, and `as_secs()` cuts it to 89. Then it should fail always, not now and then! Unless the clock did not tick at all between both calls. On a machine with a coarse clock it passes. So the test is wrong on every machine with a fine clock. Let me run it many times to be sure rather than argue.")
        .say("`left()` is 90 s minus the nanoseconds since the start, and `as_secs` cuts down. So the test passes only where the clock has not ticked in between. Let me see how often that is here.")
        .calls(&[Call::bash_failed(
            "for i in $(seq 1 40); do cargo test -q --test timer 2>&1 | grep -q FAILED && echo fail || echo ok; done | sort | uniq -c; cargo test --test timer",
            "Run the test forty times and count",
            &format!("     37 fail\n      3 ok\n{FAILURE}"),
        )])
        .answer("Found it, and it is worse than flaky: here it fails 37 times in 40. It passes only when no clock tick falls between `Timer::start` and `status()`.\n\nTwo things are wrong:\n\n1. **The test uses the machine's clock.** Whatever it says depends on how fast the machine is.\n2. **`status()` rounds down**, so a tea of 90 s shows `01:29` as soon as you look. A person would expect `01:30` for the first second.\n\nI would give the timer a clock that a test can move by hand, and round the display up. `rings_when_done` sleeps for real as well, so it would get faster too. Shall I?");
    let rounded_old = "        let seconds = self.left().as_secs();";
    let rounded_new = "        // Rounded up: a tea of 90 s has 01:30 left until its first second is over.\n        let seconds = self.left().as_millis().div_ceil(1000);";
    let struct_old = "pub struct Timer {\n    tea: Tea,\n    started: Instant,\n}";
    let struct_new = "pub struct Timer<C: Clock = SystemClock> {\n    tea: Tea,\n    clock: C,\n}";
    let script = script
        .prompt("Yes, do both. And keep `Timer::start(tea)` as it is for callers.")
        .calls(&[
            Call::write("/home/robin/teatime/src/clock.rs", CLOCK),
            Call::edit(timer, TIMER, rounded_old, rounded_new),
        ])
        .say("Now the timer takes its clock, with the machine's own as the default:")
        .calls(&[Call::edit(timer, TIMER, struct_old, struct_new)])
        .say("And the tests turn the hands themselves:")
        .calls(&[Call::write(test, NEW_TEST)])
        .calls(&[Call::bash(
            "for i in $(seq 1 200); do cargo test -q --test timer 2>&1 | grep -q FAILED && echo fail || echo ok; done | sort | uniq -c && cargo clippy -q --all-targets",
            "Run the test two hundred times, then the linter",
            "    200 ok",
        )])
        .answer("200 runs, 200 passes, and the linter is quiet.\n\n- `src/clock.rs` (new): the trait `Clock`, the machine's clock, and a `ManualClock` for tests.\n- `src/timer.rs`: `Timer<C: Clock = SystemClock>`; `Timer::start(tea)` works as before, `Timer::with_clock` is new. What is shown is rounded up.\n- `tests/timer.rs`: no sleeping any more; the edge at exactly 50 ms is now tested from both sides.\n\nThe whole test file takes less than a millisecond instead of 50.");
    let script = script
        .prompt("Lovely. Commit it.")
        .calls(&[Call::bash(
            "git add -A && git commit -q -m \"Give the timer a clock that tests can move\n\nWhat is left is rounded up, so a tea of 90 s starts at 01:30.\" && git log --oneline -1",
            "Commit the change",
            "4be17d0 Give the timer a clock that tests can move",
        )])
        .answer("Committed as `4be17d0`.");
    script.titled("Flaky timer test").finish()
}
