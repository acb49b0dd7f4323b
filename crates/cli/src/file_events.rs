//! What the system reports of changes of files, for services that wait for what other processes do.
//!
//! `watch` has ears of its own, which say what to look at; here it is enough that something changed.

use std::any::Any;
use std::sync::Arc;

use notify::{EventKind, RecursiveMode, Watcher};
use stemmata_service::{Changed, Hear, HeardFolder};

/// Returns what reports changes in folders.
pub(crate) fn hear() -> Hear {
    Arc::new(|folders: &[HeardFolder], changed: Changed| -> Box<dyn Any + Send> {
        let mut watcher = match notify::recommended_watcher(move |event| tell(event, &changed)) {
            Ok(watcher) => watcher,
            Err(error) => {
                tracing::warn!(%error, "the system reports no changes of files; they are checked every few seconds");
                return Box::new(());
            }
        };
        for (folder, is_deep) in folders {
            let mode = if *is_deep { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            if let Err(error) = watcher.watch(folder, mode) {
                tracing::warn!(%error, "changes of files are not reported here; they are checked every few seconds");
            }
        }
        Box::new(watcher)
    })
}

/// Tells of an event. That somebody read a file, or opened one, is none: who was told would read, and be told again.
fn tell(event: notify::Result<notify::Event>, changed: &Changed) {
    match event {
        Ok(event) if event.need_rescan() || event.paths.is_empty() => changed(None),
        Ok(event) => match event.kind {
            EventKind::Access(_) => {}
            EventKind::Any
            | EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Other => {
                for path in &event.paths {
                    changed(Some(path));
                }
            }
        },
        // Whatever it is, something may have changed that nobody was told of.
        Err(_) => changed(None),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::Mutex;

    use notify::event::{AccessKind, CreateKind, Flag, ModifyKind};

    use super::*;

    #[test]
    fn what_changes_a_file_is_told_and_what_reads_it_is_not() {
        let told: Arc<Mutex<Vec<Option<PathBuf>>>> = Arc::default();
        let kept = Arc::clone(&told);
        let changed: Changed = Arc::new(move |path| kept.lock().unwrap().push(path.map(Path::to_owned)));
        let event = |kind| notify::Event::new(kind).add_path(PathBuf::from("/a"));
        for kind in [EventKind::Create(CreateKind::File), EventKind::Modify(ModifyKind::Any)] {
            tell(Ok(event(kind)), &changed);
        }
        tell(Ok(event(EventKind::Access(AccessKind::Any))), &changed);
        tell(Ok(event(EventKind::Other).set_flag(Flag::Rescan)), &changed);
        tell(Err(notify::Error::generic("gone")), &changed);
        assert_eq!(*told.lock().unwrap(), [Some("/a".into()), Some("/a".into()), None, None]);
    }
}
