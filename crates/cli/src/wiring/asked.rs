//! Which service a command asks: the one over this machine's store, or one behind an address.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stemmata_api::v1::{BundleExportRequest, BundleImportRequest, Found};
use stemmata_api::{Answer, Chains as _, Control, GiveBack as _, Service};
use stemmata_client::{Address, Remote};
use stemmata_service::{FileBytes, Hearing, Lending, Local, problem_of};

use super::{App, Home};
use crate::args::asked::Asks;
use crate::config::{self, Config};
use crate::environment::Environment;
use crate::errors::CliError;
use crate::{file_events, model, socket};

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
        let local = self.make_local()(Arc::clone(self.home()?))?;
        Ok(Arc::clone(self.local.get_or_init(|| Arc::new(local))))
    }

    /// Returns what makes the service over a data directory.
    fn make_local(&self) -> impl Fn(Arc<Home>) -> Answer<Local> + Send + use<> {
        let (rules, environment) = (self.settings.llm.clone(), self.environment.clone());
        move |home| {
            // Who asks for changes on the command line.
            let by = home.identity().and_then(|identity| identity.principal("stemma"));
            let by = by.map_err(|error| Box::new(problem_of(&error)))?;
            let (rules, environment) = (rules.clone(), environment.clone());
            let model = move |scrubber| model::summarizer(&rules, &|name| environment.text(name), scrubber);
            Ok(Local::new(home, by).with_model(Box::new(model)))
        }
    }

    /// Returns the service over this store as one that lives long: it closes the store where another process needs it alone. Before, a
    /// command's opening takes up what others left.
    pub(crate) fn lending(&self) -> Result<Lending, CliError> {
        self.open_for_a_moment()?;
        let (home, local) = (self.make_home()?, self.make_local());
        let make = move || local(Arc::new(home().map_err(|error| Box::new(problem_of(&error)))?));
        Ok(Lending::start(Box::new(make), file_events::hear())?)
    }

    /// Has subscriptions hear of what other processes append, for as long as the value is kept; a service elsewhere does so itself.
    pub(crate) fn hear_others(&self) -> Result<Option<Hearing>, CliError> {
        if self.is_remote() {
            return Ok(None);
        }
        Ok(Some(self.local()?.hear_others(&file_events::hear())?))
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

/// Returns the service that is named, unless the command asks none: capture goes on whatever variable and setting say.
pub(super) fn remote(
    config: &Config,
    environment: &Environment,
    asks: Asks,
) -> Result<Option<Remote>, CliError> {
    let named = config.get(&config::SERVER).filter(|text| !text.is_empty());
    let Some(text) = named.filter(|_| !matches!(asks, Asks::Nobody(_))) else { return Ok(None) };
    let address = match text.parse::<Address>().map_err(|error| CliError::Usage(error.to_string()))? {
        Address::Socket(wanted) => {
            let path = socket::place(environment, &wanted);
            if path != wanted && !socket::is_own(&path) {
                let folder = path.parent().unwrap_or(&path).display();
                return Err(CliError::Usage(format!(
                    "{folder}, where its socket would be, is not yours alone"
                )));
            }
            Address::Socket(path)
        }
        address @ Address::Http(_) => address,
    };
    Ok(Some(Remote::new(address)))
}
