//! What this process is asked to do by signals: to end, or what it has to pass on to a command that it runs.

use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::exfiltrator::{Exfiltrator, SignalOnly, WithOrigin};
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level;
use signal_hook::low_level::siginfo::Cause;

/// Listens for as long as it is kept.
pub(crate) struct Listening {
    handle: Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// Calls `asked` in a thread of its own when the process is asked to end; the second time it ends at once.
pub(crate) fn listen(asked: impl Fn() + Send + 'static) -> io::Result<Listening> {
    let was_asked = Arc::new(AtomicBool::new(false));
    start::<SignalOnly>(&[SIGINT, SIGTERM], move |signal| {
        if was_asked.swap(true, Ordering::Relaxed) {
            end_by(signal);
        }
        asked();
    })
}

/// Calls `heard` in a thread of its own with each of these signals.
pub(crate) fn hear(signals: &[c_int], heard: impl Fn(c_int) + Send + 'static) -> io::Result<Listening> {
    start::<SignalOnly>(signals, heard)
}

/// Calls `pass` in a thread of its own with each signal, and whether it was sent to this process alone.
///
/// What a terminal sends, it sends to the whole group, a command that runs included; a second one would be heard as another
/// press of the key. What was ignored when this process began stays ignored, for the command too.
pub(crate) fn pass_on(pass: impl Fn(c_int, bool) + Send + 'static) -> io::Result<Listening> {
    let all = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];
    let ignored = ignored();
    let heard: Vec<c_int> = all.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0).collect();
    start::<WithOrigin>(&heard, move |origin| {
        pass(origin.signal, !matches!(origin.cause, Cause::Kernel));
    })
}

fn start<E: Exfiltrator + Default>(
    signals: &[c_int],
    heard: impl Fn(E::Output) + Send + 'static,
) -> io::Result<Listening>
where
    SignalsInfo<E>: Send + 'static,
{
    let mut listening = SignalsInfo::<E>::new(signals)?;
    let handle = listening.handle();
    let thread = std::thread::Builder::new().name("stemma-signals".to_owned()).spawn(move || {
        for signal in listening.forever() {
            heard(signal);
        }
    })?;
    Ok(Listening { handle, thread: Some(thread) })
}

/// Ends this process by a signal, as it ends one that does not listen. Returns where the signal ends none.
pub(crate) fn end_by(signal: c_int) {
    let _unknown = low_level::emulate_default_handler(signal);
}

/// Returns the set of signals that are ignored, as Linux tells it; none elsewhere.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or_default()
}
