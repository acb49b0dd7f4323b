//! The terminal of a picker: taken, drawn on, read from, and given back on every way out.

use std::io::{self, PipeReader, PipeWriter, Read as _, Stdout, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::draw;
use super::keys::{Key, Keys};
use super::state::Pick;

/// How long a sequence may take to follow its escape; a person presses no key that soon after another.
const SEQUENCE_WAIT_MS: i64 = 25;

/// Bytes that are read at once.
const READ_BYTES: usize = 4096;

/// Whether the terminal is ours now. A panic anywhere gives it back before it says anything.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, for as long as this is kept.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        static HOOK: std::sync::Once = std::sync::Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        let screen = Self { terminal };
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        Ok(screen)
    }

    /// Draws a picker.
    pub(crate) fn draw(&mut self, pick: &Pick) -> io::Result<()> {
        self.terminal.draw(|frame| draw::draw(pick, frame)).map(drop)
    }

    /// Returns the rows of the list that are in view.
    pub(crate) fn rows(&self) -> usize {
        self.terminal.size().map_or(1, |size| draw::rows(size.height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, once. Where it is gone there is nothing to give.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _gone = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _gone = disable_raw_mode();
    }
}

/// Wakes the thread that draws.
#[derive(Clone)]
pub(crate) struct Waker {
    pipe: Arc<PipeWriter>,
    is_awake: Arc<AtomicBool>,
}

/// The other end of a [`Waker`].
pub(crate) struct Woken {
    pipe: PipeReader,
    is_awake: Arc<AtomicBool>,
}

/// Makes a waker and what it wakes.
pub(crate) fn waker() -> io::Result<(Waker, Woken)> {
    let (reader, writer) = io::pipe()?;
    let is_awake = Arc::new(AtomicBool::new(false));
    let waker = Waker { pipe: Arc::new(writer), is_awake: Arc::clone(&is_awake) };
    Ok((waker, Woken { pipe: reader, is_awake }))
}

impl Waker {
    /// Wakes it, now or when it waits next. One byte is enough for all who call meanwhile, so that the pipe is never full.
    pub(crate) fn wake(&self) {
        if !self.is_awake.swap(true, Ordering::SeqCst) {
            let _gone = (&*self.pipe).write_all(b"!");
        }
    }
}

/// Waits until keys were pressed or somebody wakes it, and returns the keys. A terminal that is gone counts as left.
pub(crate) fn wait(woken: &Woken, keys: &mut Keys) -> io::Result<Vec<Key>> {
    let input = io::stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN), PollFd::new(&woken.pipe, PollFlags::IN)];
    let pause = Timespec { tv_sec: 0, tv_nsec: SEQUENCE_WAIT_MS * 1_000_000 };
    let limit = keys.is_unfinished().then_some(&pause);
    let ready = match poll(&mut watched, limit) {
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        ready => ready?,
    };
    if ready == 0 {
        return Ok(keys.finish().into_iter().collect());
    }
    let [typed, woke] = watched.map(|one| !one.revents().is_empty());
    if woke {
        // Before the channel is read: who sends now wakes again.
        (&woken.pipe).read_exact(&mut [0])?;
        woken.is_awake.store(false, Ordering::SeqCst);
    }
    if !typed {
        return Ok(Vec::new());
    }
    let mut bytes = [0; READ_BYTES];
    match rustix::io::read(input.as_fd(), &mut bytes) {
        Ok(0) | Err(rustix::io::Errno::IO) => Ok(vec![Key::Leave]),
        Ok(length) => Ok(keys.take(bytes.get(..length).unwrap_or_default())),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Puts a text into the clipboard of the person's terminal, wherever that runs (OSC 52). Encoded, so that the terminal obeys
/// nothing in it.
pub(crate) fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
    out.flush()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for piece in bytes.chunks(3) {
        let byte = |at: usize| u32::from(piece.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_usize {
            let digit = DIGITS.get((bits >> (18 - 6 * at) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if at > piece.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_encoded() {
        for (text, wanted) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("ctx-3f9k", "Y3R4LTNmOWs=")]
        {
            assert_eq!(base64(text.as_bytes()), wanted);
        }
    }
}
