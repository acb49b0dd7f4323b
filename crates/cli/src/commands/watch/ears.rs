//! What is heard of changes: the system's notices of files, on a queue of bounded length.
//!
//! Hears and passes on; what to do about it is not decided here. Where the system gives no notices, it says why.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use stemmata_service::WatchedPlace;

/// Notices that wait at most; where there are more, everything is looked at.
const NOTICES_MAX: usize = 1_024;

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// A file or a folder changed.
    Changed(PathBuf),
    /// Something changed, and nobody knows what.
    Missed,
    /// It is time to end.
    Stop,
}

/// Two marks that hold where the queue is full.
#[derive(Debug, Default)]
struct Marks {
    missed: AtomicBool,
    stop: AtomicBool,
}

/// Asks for the end, from another thread.
#[derive(Debug, Clone)]
pub(super) struct Stop {
    queue: SyncSender<Heard>,
    marks: Arc<Marks>,
}

impl Stop {
    pub(super) fn ask(&self) {
        self.marks.stop.store(true, Ordering::Relaxed);
        // Where the queue is full somebody is about to take from it, and sees the mark.
        let _full = self.queue.try_send(Heard::Stop);
    }
}

/// Which folder was there when it was listened to: another one of the same name has to be listened to anew.
type Identity = (u64, u64);

/// Listens to folders.
pub(super) struct Ears {
    queue: SyncSender<Heard>,
    marks: Arc<Marks>,
    watcher: Option<RecommendedWatcher>,
    trouble: Option<String>,
    /// What is watched, where that is listened to.
    heard: BTreeMap<PathBuf, (Identity, PathBuf)>,
}

impl Ears {
    /// Returns ears and the queue of what they hear; deaf ones hear only when it is time to end.
    pub(super) fn new(is_deaf: bool) -> (Self, Receiver<Heard>) {
        let (queue, heard) = sync_channel(NOTICES_MAX);
        let marks = Arc::new(Marks::default());
        let mut ears = Self { queue, marks, watcher: None, trouble: None, heard: BTreeMap::new() };
        if !is_deaf {
            let (queue, marks) = (ears.queue.clone(), Arc::clone(&ears.marks));
            match notify::recommended_watcher(move |event| pass_on(event, &queue, &marks)) {
                Ok(watcher) => ears.watcher = Some(watcher),
                Err(error) => ears.trouble = Some(error.to_string()),
            }
        }
        (ears, heard)
    }

    /// Returns what asks for the end.
    pub(super) fn stop(&self) -> Stop {
        Stop { queue: self.queue.clone(), marks: Arc::clone(&self.marks) }
    }

    pub(super) fn is_asked_to_stop(&self) -> bool {
        self.marks.stop.load(Ordering::Relaxed)
    }

    /// Returns, once, whether notices were lost.
    pub(super) fn has_missed(&self) -> bool {
        self.marks.missed.swap(false, Ordering::Relaxed)
    }

    /// Returns why changes are not heard of, if so.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Listens to these and to nothing else.
    pub(super) fn listen_to(&mut self, places: &[WatchedPlace]) {
        let Some(watcher) = &mut self.watcher else { return };
        self.heard.retain(|root, (identity, folder)| {
            let is_wanted = places.iter().any(|place| place.root == *root && place.folder == *folder);
            let stays = is_wanted && identity_of(root) == Some(*identity);
            if !stays {
                // It is gone, and its notices with it.
                let _gone = watcher.unwatch(folder);
            }
            stays
        });
        self.trouble = None;
        for WatchedPlace { root, folder, is_deep } in places {
            let Some(identity) = identity_of(root).filter(|_| !self.heard.contains_key(root)) else {
                continue;
            };
            let mode = if *is_deep { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            match watcher.watch(folder, mode) {
                Ok(()) => {
                    self.heard.insert(root.clone(), (identity, folder.clone()));
                }
                Err(error) => self.trouble = Some(error.to_string()),
            }
        }
    }
}

fn identity_of(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn pass_on(event: notify::Result<notify::Event>, queue: &SyncSender<Heard>, marks: &Marks) {
    for heard in read(event) {
        if queue.try_send(heard).is_err() {
            marks.missed.store(true, Ordering::Relaxed);
        }
    }
}

/// Reads a notice of the system's. That somebody read a file, or opened one, is none.
fn read(event: notify::Result<notify::Event>) -> Vec<Heard> {
    match event {
        Ok(event) if event.need_rescan() => vec![Heard::Missed],
        Ok(event) => match event.kind {
            EventKind::Access(_) | EventKind::Remove(_) => Vec::new(),
            EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Other => {
                event.paths.into_iter().map(Heard::Changed).collect()
            }
        },
        Err(_) => vec![Heard::Missed],
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, Flag, ModifyKind, RemoveKind};

    use super::*;

    fn event(kind: EventKind) -> notify::Event {
        notify::Event::new(kind).add_path(PathBuf::from("/a"))
    }

    #[test]
    fn notices_say_what_to_look_at() {
        let changed = vec![Heard::Changed(PathBuf::from("/a"))];
        for (kind, wanted) in [
            (EventKind::Create(CreateKind::File), changed.clone()),
            (EventKind::Modify(ModifyKind::Any), changed),
            (EventKind::Access(AccessKind::Any), Vec::new()),
            (EventKind::Remove(RemoveKind::File), Vec::new()),
        ] {
            assert_eq!(read(Ok(event(kind))), wanted, "{kind:?}");
        }
        let lost = event(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(read(Ok(lost)), [Heard::Missed]);
        assert_eq!(read(Err(notify::Error::generic("gone"))), [Heard::Missed]);
    }

    #[test]
    fn a_full_queue_is_told_by_marks() {
        let (ears, heard) = Ears::new(true);
        for _ in 0..=NOTICES_MAX {
            pass_on(Ok(event(EventKind::Any)), &ears.queue, &ears.marks);
        }
        assert!(ears.has_missed() && !ears.has_missed());
        ears.stop().ask();
        assert!(ears.is_asked_to_stop());
        assert_eq!(heard.try_iter().count(), NOTICES_MAX);
    }
}
