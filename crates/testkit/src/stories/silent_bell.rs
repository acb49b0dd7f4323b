//! A bell stays silent on one machine; a subagent is sent to find every place that makes a sound.

use crate::claude::Transcript;

use super::script::{Call, Script};

const BELL: &str = r#"//! The bell: tells a person that the tea is done.

use std::io::Write;
use std::process::Command;

/// Ways to ring, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    Player,
    Terminal,
    Silent,
}

/// Finds the best way to ring on this machine.
pub fn find() -> Ring {
    if Command::new("paplay").arg("--version").output().is_ok() {
        Ring::Player
    } else if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        Ring::Terminal
    } else {
        Ring::Silent
    }
}

/// Rings once.
pub fn ring(way: Ring, sound: &str) {
    match way {
        Ring::Player => {
            let _ = Command::new("paplay").arg(sound).status();
        }
        Ring::Terminal => {
            print!("\x07");
            let _ = std::io::stdout().flush();
        }
        Ring::Silent => {}
    }
}
"#;

const MAIN: &str = r#"use std::time::Duration;

use teatime::{bell, Tea, Timer};

fn main() {
    let tea = Tea::from_args().unwrap_or_else(|| Tea::new("tea", Duration::from_secs(180)));
    let timer = Timer::start(tea);
    while !timer.is_done() {
        print!("\r{}", timer.status());
        std::thread::sleep(Duration::from_millis(200));
    }
    println!();
    bell::ring(bell::find(), "/usr/share/sounds/freedesktop/stereo/bell.oga");
}
"#;

const FOUND: &str = "Sound is made in exactly one module and used in two places:\n\n1. `src/bell.rs` decides (`find`, line 16) and rings (`ring`, line 27).\n2. `src/main.rs`, line 14, rings when the timer is done. The path of the sound file is written out there.\n3. `src/remind.rs`, line 22, rings again every minute until a key is pressed.\n\nWhat struck me:\n\n- `find` asks only whether `paplay` **can be started**. `output()` is `Ok` whenever the program exists, whatever it then says. On a machine without a sound server `paplay --version` works, and so `Ring::Player` is chosen.\n- `ring` throws the exit status of `paplay` away (`let _ =`), so nobody learns that it failed.\n- There is no test for `find`, and none for `ring`.\n- `docs/sound.md` says that the terminal's bell is used when there is no sound server. That is what was meant, but not what happens.";

const NEW_RING: &str = r"/// Rings once, by the best way that works: a player that fails is not the end.
pub fn ring(way: Ring, sound: &str, runner: &mut impl Runner) -> Ring {
    match way {
        Ring::Player if runner.play(sound) => Ring::Player,
        Ring::Player | Ring::Terminal if runner.beep() => Ring::Terminal,
        _ => Ring::Silent,
    }
}";

pub(super) fn story() -> Transcript {
    let bell = "/home/robin/teatime/src/bell.rs";
    let old_ring = &BELL[BELL.find("/// Rings once.").unwrap_or(0)..];
    let script = Script::new("2.1.39", "/home/robin/teatime", "main", "2026-02-11T17:20:45.000Z")
        .slug("quietly-ringing-kettle");
    let script = script
        .prompt("On my little server the bell never rings, not even the terminal's. On the laptop all is well. I forgot where we make sounds; please have a look around first.")
        .think("Finding every place that makes a sound means reading across the crate, and I only need the conclusion. That is a good task for a subagent; I keep my own context for the fix.")
        .say("I'll send someone to look for every place that makes a sound, so that we keep our heads free for the fix.")
        .subagent(
            (
                "Find where sound is made",
                "In /home/robin/teatime, find every place that makes a sound or decides how. For each: file, line, what it does. Then say what could make it silent on a machine without a sound server. Do not change anything.",
            ),
            |side| {
                side.calls(&[
                    Call::grep(
                        "bell|paplay|x07|sound",
                        "/home/robin/teatime",
                        "/home/robin/teatime/src/main.rs:3:use teatime::{bell, Tea, Timer};\n/home/robin/teatime/src/main.rs:14:    bell::ring(bell::find(), \"/usr/share/sounds/freedesktop/stereo/bell.oga\");\n/home/robin/teatime/src/remind.rs:22:        bell::ring(self.way, &self.sound);\n/home/robin/teatime/src/lib.rs:1:pub mod bell;\n/home/robin/teatime/docs/sound.md:5:Without a sound server the terminal's bell is used.",
                    ),
                    Call::bash(
                        "ls -la src docs",
                        "List the source and the documentation",
                        "docs:\ntotal 16\n-rw-r--r-- 1 robin robin  412 Jan 28 19:02 sound.md\n-rw-r--r-- 1 robin robin 1290 Jan 28 19:02 teas.md\n\nsrc:\ntotal 40\n-rw-r--r-- 1 robin robin  905 Jan 28 19:02 bell.rs\n-rw-r--r-- 1 robin robin  884 Feb  3 08:52 clock.rs\n-rw-r--r-- 1 robin robin  210 Feb  3 08:52 lib.rs\n-rw-r--r-- 1 robin robin  466 Feb  3 08:52 main.rs\n-rw-r--r-- 1 robin robin  730 Jan 28 19:02 remind.rs\n-rw-r--r-- 1 robin robin 1644 Jan 28 19:02 tea.rs\n-rw-r--r-- 1 robin robin 1120 Feb  3 08:52 timer.rs",
                    ),
                ])
                .calls(&[
                    Call::read("/home/robin/teatime/src/bell.rs", BELL),
                    Call::read("/home/robin/teatime/src/main.rs", MAIN),
                ])
                .say("`find` trusts that a player which starts also plays. Let me see what really happens without a sound server.")
                .calls(&[Call::bash(
                    "PULSE_SERVER=/nonexistent paplay --version; echo \"version: $?\"; PULSE_SERVER=/nonexistent paplay /usr/share/sounds/freedesktop/stereo/bell.oga; echo \"play: $?\"",
                    "Try the player without a sound server",
                    "paplay 17.0\nversion: 0\nConnection failure: Connection refused\npa_context_connect() failed: Connection refused\nplay: 1",
                )])
            },
            FOUND,
        )
        .think("So the report explains it completely: `paplay --version` succeeds without a server, playing fails with 1, and the status is ignored. The fix: ring by trying, and fall back to the terminal when the player says no. To test it I need a seam for running the player and for the beep. Keep `find` cheap.")
        .answer("That explains it. On your server `paplay` is installed, so `find` picks it; there is no sound server, so `paplay` fails; and `ring` ignores that it failed. The terminal's bell is never tried.\n\nI would not make `find` cleverer. Asking beforehand whether something will work is how this came about. Instead `ring` should **try the player, look at its exit status, and beep if it failed**. The two ways of making noise go behind a small trait, so a test can have a player that always fails.");
    let script = script
        .prompt("Good. Do it that way, with the test first.")
        .say("The test first; it must fail for the right reason:")
        .calls(&[
            Call::write(
                "/home/robin/teatime/tests/bell.rs",
                "use teatime::bell::{self, Ring, Runner};\n\n/// A machine whose player is installed, but has nobody to play to.\n#[derive(Default)]\nstruct NoSoundServer {\n    beeps: usize,\n}\n\nimpl Runner for NoSoundServer {\n    fn play(&mut self, _sound: &str) -> bool {\n        false\n    }\n\n    fn beep(&mut self) -> bool {\n        self.beeps += 1;\n        true\n    }\n}\n\n#[test]\nfn beeps_when_the_player_fails() {\n    let mut machine = NoSoundServer::default();\n    assert_eq!(bell::ring(Ring::Player, \"bell.oga\", &mut machine), Ring::Terminal);\n    assert_eq!(machine.beeps, 1);\n}\n\n#[test]\nfn silence_stays_silent() {\n    let mut machine = NoSoundServer::default();\n    assert_eq!(bell::ring(Ring::Silent, \"bell.oga\", &mut machine), Ring::Silent);\n    assert_eq!(machine.beeps, 0);\n}\n",
            ),
            Call::bash_failed(
                "cargo test -q --test bell",
                "See the new test fail",
                "error[E0432]: unresolved import `teatime::bell::Runner`\n --> tests/bell.rs:1:33\n  |\n1 | use teatime::bell::{self, Ring, Runner};\n  |                                 ^^^^^^ no `Runner` in `bell`\n\nerror: could not compile `teatime` (test \"bell\") due to 1 previous error",
            ),
        ])
        .calls(&[Call::edit(bell, BELL, old_ring, NEW_RING)])
        .calls(&[Call::bash(
            "cargo test -q && PULSE_SERVER=/nonexistent cargo run -q -- --tea test --for 1 | od -c | tail -3",
            "Run all tests, then ring without a sound server",
            "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nrunning 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n0000040   t   e   s   t       0   0   :   0   0  \\n  \\a\n0000053",
        )])
        .answer("It rings. The last line above is the proof: `\\a` is the terminal's bell, sent with no sound server in reach.\n\n- `ring` tries the player, believes its exit status, and beeps when it failed. It returns how it rang, so `--verbose` could say so one day.\n- `Runner` is the seam: two methods, one for the player and one for the beep.\n- `docs/sound.md` needed no change. It is true now.");
    script.titled("Why the bell was silent").finish()
}
