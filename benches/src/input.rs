//! What is stored and read in a run: recorded sessions where there are some, else made-up ones.
//! Not measured: everything here is made before a clock starts.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use stemmata_testkit::claude::ClaudeSession;

use crate::scratch;

/// The recorded conversation that is stored a line a checkpoint: 2.3 MB in 1,003 lines.
const CONVERSATION: &str = "pi/pi-mono/before-compaction.jsonl";

/// Where the corpus keeps sessions of the client that this version reads.
const CLAUDE: &str = "claude-code";

/// Bytes of a made-up conversation that stands in for the recorded one.
const CONVERSATION_BYTES: u64 = 2_317_000;

/// Bytes of one made-up session in a folder of many.
const SESSION_BYTES: u64 = 8_000_000;

/// A conversation as the lines that are checkpointed one by one, each with its newline.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    /// Where it comes from.
    pub about: String,
    /// The lines.
    pub lines: Vec<Vec<u8>>,
}

impl Conversation {
    /// Returns `count` lines of the recorded conversation, or of a made-up one. Where more are asked for than
    /// there are, they come again, each with words of its own, so that no whole line is there twice.
    ///
    /// # Errors
    /// When the recorded one cannot be read.
    pub(crate) fn load(corpus: Option<&Path>, count: usize) -> anyhow::Result<Self> {
        let recorded = corpus.map(|corpus| corpus.join(CONVERSATION)).filter(|path| path.is_file());
        let (origin, text) = match recorded {
            Some(path) => {
                let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                ("recorded", text)
            }
            None => ("made up", claude_session(1, CONVERSATION_BYTES)?),
        };
        let own: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let lines: Vec<Vec<u8>> = own
            .iter()
            .cycle()
            .take(count)
            .enumerate()
            .map(|(at, line)| again(line, at / own.len()))
            .collect();
        let bytes = lines.iter().map(Vec::len).sum::<usize>();
        let times = if count > own.len() { ", come again with words of their own" } else { "" };
        let about = format!("{origin} conversation, {} lines, {bytes} bytes{times}", lines.len());
        Ok(Self { about, lines })
    }

    /// Returns all bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.iter().map(|line| length(line)).sum()
    }

    /// Returns the lines one after the other.
    pub(crate) fn text(&self) -> Vec<u8> {
        self.lines.concat()
    }
}

/// Returns a line as it comes back the `cycle`th time: with a field of its own at its end.
fn again(line: &[u8], cycle: usize) -> Vec<u8> {
    let closed = line.strip_suffix(b"}\n").filter(|_| cycle > 0);
    closed.map_or_else(
        || line.to_vec(),
        |open| {
            let salt = blake3::hash(&[&cycle.to_le_bytes(), open].concat()).to_hex();
            [open, format!(",\"again\":\"{}\"}}\n", salt.split_at(16).0).as_bytes()].concat()
        },
    )
}

/// Returns the text of a made-up session of about so many bytes, without compactions and subagents.
///
/// # Errors
/// None that is known: it is written to memory.
pub(crate) fn claude_session(seed: u64, bytes: u64) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    ClaudeSession::new(seed).approx_bytes(bytes).write_to(&mut text)?;
    Ok(text)
}

/// Writes a made-up session as a file of `folder` and returns its path.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn session_file(folder: &Path, seed: u64, bytes: u64) -> anyhow::Result<PathBuf> {
    session_file_with_rewinds(folder, seed, bytes, 0)
}

/// As `session_file`, of somebody who went back to the prompt before so often.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn session_file_with_rewinds(
    folder: &Path,
    seed: u64,
    bytes: u64,
    rewinds: u64,
) -> anyhow::Result<PathBuf> {
    let path = folder.join(format!("be9c0000-0000-4000-8000-{seed:012}.jsonl"));
    let session = ClaudeSession::new(seed).approx_bytes(bytes).rewinds(rewinds);
    scratch::write(&path, |output| session.write_to(output).map(drop))?;
    Ok(path)
}

/// Writes a folder of made-up sessions, about so many bytes in all, and returns the files.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn session_files(folder: &Path, bytes: u64) -> anyhow::Result<Vec<PathBuf>> {
    let count = bytes.div_ceil(SESSION_BYTES).max(1);
    (0..count).map(|seed| session_file(folder, 100 + seed, bytes / count)).collect()
}

/// Returns the folder with recorded sessions of the client that this version reads, none without a corpus.
pub(crate) fn recorded_sessions(corpus: Option<&Path>) -> Option<PathBuf> {
    corpus.map(|corpus| corpus.join(CLAUDE)).filter(|folder| folder.is_dir())
}

/// Returns the bytes of files.
///
/// # Errors
/// When one cannot be looked at.
pub(crate) fn total_bytes(files: &[PathBuf]) -> anyhow::Result<u64> {
    files.iter().try_fold(0, |total, file| Ok(total + std::fs::metadata(file)?.len()))
}

/// Returns deltas of about `bytes` each, whole lines of made-up sessions.
///
/// # Errors
/// None that is known: they are written to memory.
pub(crate) fn deltas(seed: u64, count: usize, bytes: usize) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut deltas = Vec::with_capacity(count);
    let mut open = Vec::new();
    let mut session = ClaudeSession::new(seed).approx_bytes(u64::MAX).lines();
    while deltas.len() < count {
        let line = session.next().context("an endless session ended")?;
        // Lines longer than the delta that is to be measured would make it another measure.
        if line.len() <= bytes {
            open.extend_from_slice(line.as_bytes());
            open.push(b'\n');
        }
        if open.len() >= bytes {
            deltas.push(std::mem::take(&mut open));
        }
        drop(session.take_side_files());
    }
    Ok(deltas)
}

/// Returns a length in bytes.
pub(crate) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn lines_that_come_again_differ_and_stay_json() {
        let line = b"{\"a\":1}\n";
        assert_eq!(again(line, 0), line);
        let second = again(line, 1);
        assert_ne!(second, again(line, 2));
        let text = String::from_utf8(second).expect("text");
        assert!(text.starts_with("{\"a\":1,\"again\":\"") && text.ends_with("\"}\n"), "{text}");
    }

    #[test]
    fn a_longer_conversation_than_there_is_has_no_line_twice() {
        let conversation = Conversation::load(None, 4000).expect("made up");
        let distinct: HashSet<&[u8]> = conversation.lines.iter().map(Vec::as_slice).collect();
        assert!(distinct.len() > 3990, "{}", distinct.len());
        assert_eq!(conversation.bytes(), length(&conversation.text()));
    }

    #[test]
    fn deltas_have_about_the_length() {
        let deltas = deltas(1, 50, 2048).expect("made up");
        assert_eq!(deltas.len(), 50);
        assert!(deltas.iter().all(|delta| (2048..=4097).contains(&delta.len())));
    }
}
