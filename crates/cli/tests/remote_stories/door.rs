//! The way to the service: a server on a Unix socket, and the client that the command uses.

use std::path::Path;
use std::sync::Arc;

use stemmata_api::Service;
use stemmata_client::{Address, Remote};
use stemmata_server::{Limits, Listen, Server};
use stemmata_service::Local;

/// Returns what answers the stories.
pub(crate) fn open(local: Local, folder: &Path) -> Box<dyn Service> {
    let server = serve(&(Arc::new(local) as Arc<dyn Service>), folder, Limits::default());
    let address = Address::Socket(server.socket().expect("a socket").to_owned());
    // It answers until the test's process ends.
    Box::leak(Box::new(server));
    Box::new(Remote::new(address))
}

/// Starts a server on a socket in a folder.
pub(crate) fn serve(service: &Arc<dyn Service>, folder: &Path, limits: Limits) -> Server {
    let listen = Listen { socket: Some(folder.join("s")), tcp: None };
    Server::start(service, &listen, limits).expect("a server")
}
