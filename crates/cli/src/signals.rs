//! What asks a long-running command to end: an interrupt or a request to terminate.
//!
//! The second one ends the process at once, as it does where nobody listens.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level;

/// Listens for as long as it is kept.
pub(crate) struct Listening {
    handle: Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Calls `asked` in a thread of its own, once, when the process is asked to end.
pub(crate) fn listen(asked: impl Fn() + Send + 'static) -> io::Result<Listening> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let handle = signals.handle();
    let was_asked = Arc::new(AtomicBool::new(false));
    let thread = std::thread::Builder::new().name("stemma-signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if was_asked.swap(true, Ordering::Relaxed) {
                let _ended = low_level::emulate_default_handler(signal);
            }
            asked();
        }
    })?;
    Ok(Listening { handle, thread: Some(thread) })
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}
