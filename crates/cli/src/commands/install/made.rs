//! `run/made`: which settings files were not there before `install` made them.
//!
//! What is in them is the client's; this is only whether `uninstall` may remove one that holds nothing any more.

use std::path::{Path, PathBuf};

use stemmata_engine::{HookPlace, Marker, create_private};

use crate::wiring::App;

fn file(app: &App, place: &HookPlace) -> Option<PathBuf> {
    Some(app.home().ok()?.run_dir().join("made").join(format!("{}.json", place.runtime)))
}

/// Keeps in mind that a file was made. Where that fails the file stays when the hooks are taken out, which harms nobody.
pub(super) fn keep(app: &App, place: &HookPlace, path: &Path) {
    let Some(file) = file(app, place) else { return };
    let reason = "made by install".to_owned();
    let made = Marker { path: Some(path.to_owned()), reason, at: app.now().as_micros() };
    let folder = file.parent().unwrap_or(&file);
    if let Err(error) = create_private(folder).and_then(|()| made.write(&file)) {
        tracing::debug!(%error, "nobody will know that the settings were made by us");
    }
}

/// Says whether a file was made by an `install`.
pub(super) fn is_ours(app: &App, place: &HookPlace, path: &Path) -> bool {
    let made = file(app, place).and_then(|file| Marker::read(&file));
    made.is_some_and(|made| made.path.as_deref() == Some(path))
}

/// The hooks were taken out: what is left of the file is the user's.
pub(super) fn forget(app: &App, place: &HookPlace) {
    if let Some(Err(error)) = file(app, place).map(std::fs::remove_file)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::debug!(%error, "what was made is still kept in mind");
    }
}
