//! `serve`: answers programs over HTTP until it is asked to end.

use std::path::Path;
use std::sync::{Arc, mpsc};

use stemmata_api::{Code, Problem, Service};
use stemmata_server::{Limits, Listen, Server, SocketError};
use stemmata_service::with_causes;

use crate::args::serve::Serve;
use crate::errors::{CliError, Exit};
use crate::signals;
use crate::wiring::App;

/// The socket's name in the data directory.
const SOCKET: &str = "serve.sock";

/// Runs the command, until it is asked to end.
pub(crate) fn run(app: &App, args: &Serve) -> Result<Exit, CliError> {
    if let Some(address) = args.listen.filter(|address| !address.ip().is_loopback()) {
        return Err(CliError::Usage(format!(
            "{address} can be reached from other machines, and nothing asks who they are; use an address of 127.0.0.1"
        )));
    }
    let (asked, stop) = mpsc::channel();
    let _listening = signals::listen(move || {
        let _ended = asked.send(());
    })
    .map_err(|source| CliError::io("listen for signals in", Path::new("this process"), source))?;
    let local = app.local()?;
    // It ends after the server: what it serves may still write.
    let background = local.background(|trouble| {
        tracing::warn!(error = trouble.code, "a background job failed");
    });
    if let Err(problem) = &background {
        app.console.warn(&format!("nothing is done in the background: {}", with_causes(problem)));
    }
    let service: Arc<dyn Service> = local;
    let socket = match &args.socket {
        Some(path) => app.environment.absolute(path),
        None => app.run_dir()?.join(SOCKET),
    };
    let limits = Limits { spool: Some(app.run_dir()?), ..Limits::default() };
    let listen = Listen { socket: Some(socket), tcp: args.listen };
    let server = Server::start(&service, &listen, limits).map_err(|error| problem(&error))?;
    for address in server
        .socket()
        .map(|path| format!("unix:{}", path.display()))
        .into_iter()
        .chain(server.tcp().map(|address| format!("http://{address}")))
    {
        app.console.say(&format!("Answering on {address}"));
    }
    let _asked = stop.recv();
    drop(server);
    drop(background);
    app.console.say("Stopped");
    Ok(Exit::Done)
}

/// Returns why nothing is answered, and what to do.
fn problem(error: &SocketError) -> CliError {
    let code = match error {
        SocketError::Live(_) => Code::ServiceRuns,
        SocketError::Open(_) | SocketError::Path(..) | SocketError::Bind(..) | SocketError::Start(_) => {
            Code::NotListening
        }
    };
    CliError::Problem(Box::new(Problem::new(code, error.to_string())))
}
