//! Conversations that a client keeps as a folder of events, each in a file of its own: read as the lines that they would
//! be in one file.
//!
//! The folder is the transcript, so its path is the transcript's path. An event that spans several lines becomes one line;
//! nothing else changes.

use std::path::{Path, PathBuf};
use stemmata_model::to_u64;

use stemmata_runtimes::clients;
use stemmata_runtimes::registry;

use crate::capture::cursor::{FileStamp, WrittenTogether};
use crate::capture::source::UNPACKED_BYTES_MAX;
use crate::error::{EngineError, Refusal, Result};

/// Events of one conversation at most.
const EVENTS_MAX: usize = 1_000_000;

/// Files of a folder that are looked at to say what it is.
const LOOKED_AT_MAX: usize = 8;

/// Returns the folder that is the transcript of an event, where a file is named like one.
pub(crate) fn folder_of(file: &Path) -> Option<&Path> {
    let folder = file.parent()?;
    number_of(folder, file).map(|_| folder)
}

/// Returns the number of an event, as its file's name has it.
fn number_of(folder: &Path, file: &Path) -> Option<u64> {
    let file = file.file_name()?.to_str()?;
    let folder = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    clients::event_folders().find_map(|events| events.number_of(folder, file))
}

/// Returns whether a folder holds the events of a conversation.
pub(crate) fn is_folder(folder: &Path) -> bool {
    let Ok(files) = files(folder) else { return false };
    // The one being written may not be whole.
    files.iter().take(LOOKED_AT_MAX).any(|(_, path)| {
        let bytes = read_file(path, UNPACKED_BYTES_MAX).unwrap_or_default();
        registry::detect(&line_of(&bytes)).is_some_and(|(adapter, _)| {
            let format = adapter.format();
            clients::event_folders().any(|events| events.format == format.as_str())
        })
    })
}

/// Returns the folder of events in the folder of a conversation, which has other files of the conversation, too.
pub(crate) fn folder_in(folder: &Path) -> Option<PathBuf> {
    // Most paths are files, and nothing is looked for below them.
    if !folder.is_dir() {
        return None;
    }
    let names = clients::event_folders().map(|events| events.plain);
    names.map(|name| folder.join(name)).find(|folder| folder.is_dir() && is_folder(folder))
}

/// Returns the files of events, in the order of their numbers.
fn files(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(EngineError::io("list", folder))? {
        let path = entry.map_err(EngineError::io("list", folder))?.path();
        if let Some(number) = number_of(folder, &path) {
            files.push((number, path));
        }
        if files.len() > EVENTS_MAX {
            let reason = format!("{} holds more than {EVENTS_MAX} events", folder.display());
            return Err(EngineError::Refused { what: Refusal::ReadEvents, reasons: vec![reason] });
        }
    }
    files.sort();
    Ok(files)
}

/// Returns when something of a conversation was last written, as its stamp has it; none where it cannot be looked at.
pub(crate) fn stamp(folder: &Path, length: u64) -> Result<FileStamp> {
    stamp_of(folder, &files(folder)?, length)
}

fn stamp_of(folder: &Path, files: &[(u64, PathBuf)], length: u64) -> Result<FileStamp> {
    let metadata = std::fs::metadata(folder).map_err(EngineError::io("read", folder))?;
    let own = FileStamp { length, ..FileStamp::of(&metadata) };
    let mut written = WrittenTogether::new();
    written.add(folder, &metadata);
    for (_, path) in files {
        written.add(path, &std::fs::metadata(path).map_err(EngineError::io("read", path))?);
    }
    Ok(FileStamp { modified_ns: written.modified_ns(), ..own })
}

/// Reads a conversation as lines. Where it is as it was `known`, nothing is read of it. A last event that is not whole is
/// being written, and left for the next time.
pub(crate) fn read(folder: &Path, known: Option<&FileStamp>) -> Result<(Vec<u8>, FileStamp)> {
    let files = files(folder)?;
    let stamp = stamp_of(folder, &files, known.map_or(0, |known| known.length))?;
    if known == Some(&stamp) {
        return Ok((Vec::new(), stamp));
    }
    let mut lines = Vec::new();
    for (index, (_, path)) in files.iter().enumerate() {
        let room = UNPACKED_BYTES_MAX.saturating_sub(to_u64(lines.len()));
        let line = line_of(&read_file(path, room)?);
        let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok();
        if is_whole || index + 1 < files.len() {
            lines.extend(line);
        }
    }
    let length = to_u64(lines.len());
    Ok((lines, FileStamp { length, ..stamp }))
}

/// An event that is missing among the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The first number that no event has.
    pub(crate) number: u64,
    /// Events before it: the client loads these.
    pub(crate) before: u64,
    /// Events behind it: the client loads none of them.
    pub(crate) behind: u64,
}

impl Gap {
    /// Says what it is to the client.
    pub(crate) fn message(&self) -> String {
        let behind = stemmata_model::plural(self.behind, "event");
        format!("event {} is missing: the client loads none of the {behind} behind it", self.number)
    }
}

/// An event whose file is not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damaged {
    pub(crate) number: u64,
    /// Whether there is nothing in the file.
    pub(crate) is_empty: bool,
}

impl Damaged {
    /// Says what it is to the client.
    pub(crate) fn message(&self) -> String {
        let number = self.number;
        if self.is_empty {
            return format!("the file of event {number} is empty: the client passes over it");
        }
        format!(
            "event {number} is not whole: unless it is being written, the client fails on it and loads nothing"
        )
    }
}

/// Returns the events of a conversation that are not whole, of those that the client reads.
pub(crate) fn damaged(folder: &Path) -> Vec<Damaged> {
    let before = gap(folder).map_or(u64::MAX, |gap| gap.number);
    let files = files(folder).unwrap_or_default().into_iter().filter(|(number, _)| *number < before);
    let damaged = files.filter_map(|(number, path)| {
        let event = read_file(&path, UNPACKED_BYTES_MAX).ok()?;
        let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(&event).is_ok();
        (!is_whole).then_some(Damaged { number, is_empty: event.is_empty() })
    });
    damaged.collect()
}

/// Returns the first number, counted from 0, for which a conversation has no event. Events whose files are named by the number
/// alone have no gaps: their client skips a missing one.
pub(crate) fn gap(folder: &Path) -> Option<Gap> {
    let files = files(folder).ok()?;
    let has_prefix = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        clients::event_folders().any(|events| name.starts_with(events.prefix))
    };
    if !files.iter().all(|(_, path)| has_prefix(path)) {
        return None;
    }
    gap_in(&files.iter().map(|(number, _)| *number).collect::<Vec<_>>())
}

/// Returns the first gap in ascending numbers.
fn gap_in(numbers: &[u64]) -> Option<Gap> {
    let mut next = 0;
    for (at, number) in numbers.iter().enumerate() {
        if *number > next {
            let (before, behind) = (count(at), count(numbers.len() - at));
            return Some(Gap { number: next, before, behind });
        }
        // Two events with one number leave no gap.
        next = number.saturating_add(1);
    }
    None
}

fn count(count: usize) -> u64 {
    to_u64(count)
}

fn read_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    use std::io::Read as _;
    let metadata = std::fs::metadata(path).map_err(EngineError::io("read", path))?;
    crate::capture::transcript_file::check_regular(path, &metadata)?;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(EngineError::io("open", path))?;
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(EngineError::io("read", path))?;
    if to_u64(bytes.len()) <= bytes_max {
        return Ok(bytes);
    }
    let reason =
        format!("{} and the events before it hold more than {UNPACKED_BYTES_MAX} bytes", path.display());
    Err(EngineError::Refused { what: Refusal::ReadEvents, reasons: vec![reason] })
}

/// Returns an event as a line: a line break inside of JSON is white space.
fn line_of(event: &[u8]) -> Vec<u8> {
    let mut line = event.trim_ascii().to_vec();
    line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_by_its_name_which_event_it_is() {
        for (path, number) in [
            ("/c/events/event-00012-3f2a.json", Some(12)),
            ("/c/any/event-00012-3f2a.json", Some(12)),
            ("/c/events/event-7.json", Some(7)),
            ("/c/events/7.json", Some(7)),
            ("/c/any/7.json", None),
            ("/c/events/event-x.json", None),
            ("/c/events/event-00012-3f2a.json.tmp", None),
            ("/c/events/base_state.json", None),
        ] {
            let path = Path::new(path);
            assert_eq!(number_of(path.parent().expect("a folder"), path), number, "{path:?}");
            assert_eq!(folder_of(path).is_some(), number.is_some(), "{path:?}");
        }
    }

    #[test]
    fn the_first_number_that_is_missing_ends_what_the_client_loads() {
        let gap = |number, before, behind| Some(Gap { number, before, behind });
        for (numbers, wanted) in [
            (&[][..], None),
            (&[0, 1, 2], None),
            (&[0, 1, 1, 2], None),
            (&[0, 1, 3, 4], gap(2, 2, 2)),
            (&[0, 2, 4], gap(1, 1, 2)),
            (&[5, 6], gap(0, 0, 2)),
        ] {
            assert_eq!(gap_in(numbers), wanted, "{numbers:?}");
        }
    }

    #[test]
    fn an_event_is_one_line_whatever_it_was() {
        assert_eq!(line_of(b" {\n  \"a\": \"x\\n\"\r\n}\n\n"), b"{   \"a\": \"x\\n\"  }\n");
        assert_eq!(line_of(b"{}"), b"{}\n");
    }
}
