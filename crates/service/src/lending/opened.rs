//! A store that is open, and what else is as long as it is.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use stemmata_api::{Answer, Code, Problem};
use stemmata_engine::{IndexKeeper, Lease, Listening};

use super::MakeLocal;
use crate::background::Background;
use crate::fault::problem_of;
use crate::hearing::{Bell, Changed, Hear, HeardFolder};
use crate::local::Local;

/// Dropped in the order of the fields: the lease says that nothing is open any more.
pub(super) struct Opened {
    heard: Option<(Vec<HeardFolder>, Box<dyn Any + Send>)>,
    index: IndexKeeper,
    listening: Listening,
    _background: Option<Background>,
    pub(super) local: Arc<Local>,
    _lease: Lease,
}

impl Opened {
    /// Opens the store; nothing where another process has it for itself.
    pub(super) fn open(make: &MakeLocal, hear: &Hear, bell: &Arc<Bell>) -> Answer<Option<Self>> {
        let failed = |error| Box::new(problem_of(&error));
        let unlocked = make()?.lent();
        let Some(lease) = unlocked.home().try_lease().map_err(failed)? else { return Ok(None) };
        // In this order, so that a failure below gives the lease up last.
        let local = unlocked;
        let engine = local.home().engine().map_err(failed)?;
        let listening = engine.listen();
        let no_thread = |error: std::io::Error| Box::new(Problem::new(Code::IoFailed, error.to_string()));
        let index = engine.keep_settled().map_err(no_thread)?;
        // What it records may be damaged; the store can still be asked.
        let background = local.background(|problem| tracing::warn!(%problem, "a background job failed"));
        let background =
            background.inspect_err(|problem| tracing::warn!(%problem, "nothing is done in the background"));
        let (local, background) = (Arc::new(local), background.ok());
        let mut opened =
            Self { heard: None, index, listening, _background: background, local, _lease: lease };
        opened.hear(hear, bell);
        Ok(Some(opened))
    }

    /// Says whether another process needs the store. Where that cannot be known, nobody does.
    pub(super) fn is_recalled(&self) -> bool {
        self.local.home().is_recalled().unwrap_or(false)
    }

    /// Tells subscriptions and the index of what was stored.
    pub(super) fn tell(&mut self, hear: &Hear, bell: &Arc<Bell>) {
        self.hear(hear, bell);
        if let Err(error) = self.listening.check() {
            tracing::warn!(%error, "events of other processes could not be read");
        }
        self.index.request();
    }

    /// Listens to the folders that there are now.
    fn hear(&mut self, hear: &Hear, bell: &Arc<Bell>) {
        let home = self.local.home();
        let mut folders = home.changing_folders();
        let recall = home.recall_file();
        let run: PathBuf = home.run_dir();
        folders.push((run.clone(), false));
        if self.heard.as_ref().is_some_and(|(heard, _)| *heard == folders) {
            return;
        }
        let bell = Arc::clone(bell);
        let changed: Changed = Arc::new(move |path| {
            // Hooks and other commands leave files there, too.
            if path.is_none_or(|path| path == recall || path.parent() != Some(run.as_path())) {
                bell.ring();
            }
        });
        // First the old ones: some systems have one listener a folder.
        self.heard = None;
        let heard = hear(&folders, changed);
        self.heard = Some((folders, heard));
    }
}
