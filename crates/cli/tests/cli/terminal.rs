//! A terminal for a command that draws: it reads what is drawn, and knows only what ours may send.
//! Not a whole terminal: a sequence that it does not know is told, and nobody should have sent it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use unicode_width::UnicodeWidthChar;

/// A command that draws nothing for so long hangs.
const SILENCE_S: i64 = 60;

/// A pseudo-terminal and the other end of it, which commands get.
pub(crate) fn open() -> (File, OwnedFd) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let own = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    (File::from(terminal), own)
}

/// Gives a command a terminal for all of its streams.
pub(crate) fn give(command: &mut Command, own: &OwnedFd) {
    let own = || Stdio::from(own.try_clone().unwrap());
    command.stdin(own()).stdout(own()).stderr(own());
}

/// What a terminal shows.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// The lines of the screen that programs draw on.
    pub(crate) lines: Vec<String>,
    /// What was printed outside of it.
    pub(crate) printed: String,
    /// Whether it is the one that programs draw on.
    pub(crate) is_alternate: bool,
    /// Whether the cursor is seen.
    pub(crate) has_cursor: bool,
    /// What was put into the clipboard, as it was sent.
    pub(crate) copied: Vec<String>,
    /// What nobody should have sent.
    pub(crate) unknown: Vec<String>,
}

impl Screen {
    pub(crate) fn says(&self, text: &str) -> bool {
        self.lines.iter().any(|line| line.contains(text))
    }
}

/// A command on a terminal.
pub(crate) struct Terminal {
    device: File,
    /// Kept open, so that how the terminal was left can be read once the command has ended.
    own: OwnedFd,
    child: Child,
    got: Vec<u8>,
    size: (u16, u16),
}

impl Terminal {
    pub(crate) fn start(mut command: Command, (columns, rows): (u16, u16)) -> Self {
        let (device, own) = open();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&own, size).unwrap();
        give(&mut command, &own);
        command.env("TERM", "xterm").env("STEMMATA_PAGER", "cat");
        let child = command.spawn().unwrap();
        Self { device, own, child, got: Vec::new(), size: (columns, rows) }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.device.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn resize(&self, (columns, rows): (u16, u16)) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.own, size).unwrap();
        // The command has no controlling terminal that would tell it.
        self.signal(rustix::process::Signal::WINCH);
    }

    /// Waits until the screen is as wanted.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: impl Fn(&Screen) -> bool) -> Screen {
        loop {
            let screen = screen(&self.got, self.size);
            if wanted(&screen) {
                return screen;
            }
            assert!(self.read(), "{screen:#?}");
        }
    }

    #[track_caller]
    pub(crate) fn until_says(&mut self, text: &str) -> Screen {
        self.until(|screen| screen.says(text))
    }

    /// Waits for the end, and asserts that the terminal is as it was.
    #[track_caller]
    pub(crate) fn end(mut self) -> (ExitStatus, Screen) {
        let status = self.child.wait().unwrap();
        let modes = tcgetattr(&self.own).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{modes:?}");
        drop(std::mem::replace(&mut self.own, File::open("/dev/null").unwrap().into()));
        while self.read() {}
        let screen = screen(&self.got, self.size);
        assert!(!screen.is_alternate && screen.has_cursor, "{screen:#?}");
        assert_eq!(screen.unknown, Vec::<String>::new(), "{screen:#?}");
        (status, screen)
    }

    /// Reads what there is; says whether more may come.
    fn read(&mut self) -> bool {
        let limit = Timespec { tv_sec: SILENCE_S, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&self.device, PollFlags::IN)], Some(&limit)).unwrap();
        let mut buffer = [0; 4096];
        let length = if ready == 0 { 0 } else { self.device.read(&mut buffer).unwrap_or(0) };
        self.got.extend_from_slice(&buffer[..length]);
        length > 0
    }
}

/// Returns what a terminal shows that got these bytes.
fn screen(bytes: &[u8], (columns, rows): (u16, u16)) -> Screen {
    let text = String::from_utf8_lossy(bytes);
    let blank = || vec![vec![' '; usize::from(columns)]; usize::from(rows)];
    let (mut cells, mut at) = (blank(), (0_usize, 0_usize));
    let mut screen = Screen { has_cursor: true, ..Screen::default() };
    let sequence =
        regex::Regex::new("^\u{1b}(?:\\[([0-9;?]*)([A-Za-z])|\\]52;c;([A-Za-z0-9+/=]*)\u{7}|(.))").unwrap();
    let mut rest = text.as_ref();
    while let Some(char) = rest.chars().next() {
        if char != '\u{1b}' {
            rest = &rest[char.len_utf8()..];
            let width = char.width().unwrap_or(0);
            if !screen.is_alternate {
                screen.printed.push(char);
            } else if char.is_control() {
                screen.unknown.push(format!("{char:?}"));
            } else if let Some(cell) =
                cells.get_mut(at.0).and_then(|row| row.get_mut(at.1)).filter(|_| width > 0)
            {
                *cell = char;
                at.1 += width;
            }
            continue;
        }
        let Some(found) = sequence.captures(rest) else { break };
        rest = &rest[found[0].len()..];
        if let Some(copied) = found.get(3) {
            screen.copied.push(copied.as_str().to_owned());
            continue;
        }
        let numbers = found.get(1).map_or("", |found| found.as_str());
        match (numbers, found.get(2).map_or("", |found| found.as_str())) {
            (_, "m") | ("?2004", "h" | "l") => {}
            ("?1049", way) => (screen.is_alternate, cells) = (way == "h", blank()),
            ("?25", way) => screen.has_cursor = way == "h",
            ("2", "J") => cells = blank(),
            (place, "H") => {
                let mut numbers = place.split(';').map(|number| number.parse().unwrap_or(1_usize));
                at = (numbers.next().unwrap_or(1) - 1, numbers.next().unwrap_or(1) - 1);
            }
            _ => screen.unknown.push(found[0].to_owned()),
        }
    }
    screen.lines = cells.into_iter().map(|row| row.into_iter().collect::<String>()).collect();
    screen
}
