//! What is in the place of a transcript, and the sessions in whose place nothing of theirs is.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;

use stemmata_store::{Session, SessionFilter};

use crate::capture::kept::{is_session_kept, is_session_there};
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Bytes of a file that are looked at for what a transcript begins with.
const BEGINNING_BYTES: usize = 64;

/// What a compressed transcript and a database begin with.
const PACKED: [&[u8]; 2] = [&[0x28, 0xb5, 0x2f, 0xfd], b"SQLite format 3\0"];

impl Engine {
    /// Gives each session of this machine whose transcript is gone, the one with the latest activity first: only this store has
    /// it. Subagents' are left out, and copies that nobody used.
    ///
    /// # Errors
    /// Store errors.
    pub fn only_here(&self, take: &mut dyn FnMut(Session)) -> Result<()> {
        let filter = SessionFilter { main_only: true, ..SessionFilter::default() };
        self.each_session(&filter, &mut |session, _| {
            if self.is_only_here(&session) {
                take(session);
            }
            ControlFlow::Continue(())
        })
    }

    /// Returns whether only this store has a session of this machine. A copy that was placed and never used says nothing that its
    /// original does not; whether a session is still in a client's database is not asked, since that would read it.
    pub fn is_only_here(&self, session: &Session) -> bool {
        let path = Path::new(&session.key.path);
        session.key.machine == self.identity.machine
            && session.tip.is_some()
            && !session.is_unused()
            && path.is_absolute()
            && !is_session_kept(path)
            && !self.is_of_run(path)
            && (!is_session_there(path) || is_something_else(path))
    }

    /// Returns whether a transcript is what `run` recorded of a command: no client ever had it, and it goes when it is stored.
    pub fn is_of_run(&self, path: &Path) -> bool {
        let Some(run) = self.leftovers.data.as_ref().map(|data| data.join("run")) else { return false };
        // The path of a session has no links in it.
        run.canonicalize().is_ok_and(|run| path.starts_with(run)) || path.starts_with(&run)
    }
}

/// Returns whether what is in a transcript's place is no transcript: it was emptied, or something was written over it. Of what begins
/// as JSON, is compressed or a database, only doctor finds out.
fn is_something_else(path: &Path) -> bool {
    let mut head = [0; BEGINNING_BYTES];
    let Some(count) = std::fs::File::open(path).ok().and_then(|mut file| file.read(&mut head).ok()) else {
        return false;
    };
    let head = head.get(..count).unwrap_or_default();
    let begins_as_one = head.trim_ascii_start().first().is_some_and(|byte| matches!(byte, b'{' | b'['));
    // What a client packed or keeps in a database is not unpacked for each look at the list.
    let is_packed = PACKED.iter().any(|magic| head.starts_with(magic));
    if begins_as_one || is_packed || path.is_dir() {
        return false;
    }
    let detected = Transcript::open_whole(path).and_then(|mut opened| opened.detected().map(drop));
    matches!(detected, Err(EngineError::NotATranscript { .. }))
}
