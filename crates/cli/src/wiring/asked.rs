//! Which service a command asks: the one over this machine's store, or one behind an address.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stemmata_api::v1::{BundleExportRequest, BundleImportRequest, Found};
use stemmata_api::{Chains as _, Control, GiveBack as _, Service};
use stemmata_service::{FileBytes, Local};

use super::App;
use crate::errors::CliError;
use crate::model;

impl App {
    /// Returns the service that is asked: the one behind `--server`, else the one over this store.
    pub(crate) fn service(&self) -> Result<&dyn Service, CliError> {
        if let Some(remote) = self.remote.as_ref().filter(|_| !self.is_here.get()) {
            return Ok(remote);
        }
        self.local()?;
        Ok(self.local.get().expect("it was made").as_ref())
    }

    /// Returns the service over this store; the first time it is opened, and a command takes up what others left. A hook and
    /// `run`, for which a program waits, leave that to commands.
    pub(crate) fn local(&self) -> Result<Arc<Local>, CliError> {
        if let Some(local) = self.local.get() {
            return Ok(Arc::clone(local));
        }
        self.open()?;
        let home = self.home()?;
        // Who asks for changes on the command line.
        let by = home.identity()?.principal("stemma")?;
        let (rules, environment) = (self.settings.llm.clone(), self.environment.clone());
        let model = move |scrubber| model::summarizer(&rules, &|name| environment.text(name), scrubber);
        let local = Local::new(Arc::clone(home), by).with_model(Box::new(model));
        Ok(Arc::clone(self.local.get_or_init(|| Arc::new(local))))
    }

    /// Says whether a service is asked that may be on another machine.
    pub(crate) fn is_remote(&self) -> bool {
        self.remote.is_some() && !self.is_here.get()
    }

    /// Returns the folder of sockets.
    pub(crate) fn run_dir(&self) -> Result<PathBuf, CliError> {
        Ok(self.home()?.run_dir())
    }

    /// Brings a commit and all before it from the service behind `--server` into this store, so that what a client adds has its
    /// parent here, and returns what the reference means there. From now on this store is asked. Nothing without a service.
    pub(crate) fn bring_here(&self, reference: &str) -> Result<Option<Found>, CliError> {
        let Some(remote) = self.remote.as_ref().filter(|_| !self.is_here.get()) else { return Ok(None) };
        let found = remote.find(&self.reference(reference))?;
        let commits = vec![found.prompt.as_ref().map_or(found.ctx, |prompt| prompt.of).to_string()];
        let local = self.local()?;
        let mut bundle = tempfile::tempfile_in(self.run_dir()?)
            .map_err(|source| CliError::io("write in", Path::new("the data directory"), source))?;
        let wanted = BundleExportRequest { commits, project: None, all: false, have: Vec::new() };
        remote.export_bundle(&wanted, &mut bundle, &Control::none())?;
        let request = BundleImportRequest { commits_max: None, content_bytes_max: None, dry_run: false };
        local.import_bundle(&request, &FileBytes(bundle), &Control::none())?;
        self.is_here.set(true);
        Ok(Some(found))
    }
}
