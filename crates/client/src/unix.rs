//! HTTP over a Unix socket, for `ureq`, which knows TCP alone.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, ShutdownHandle, Transport,
};
use ureq::{Error, Timeout};

/// Connects to a Unix socket, whatever the URL says.
#[derive(Debug)]
pub(crate) struct UnixConnector(pub(crate) PathBuf);

impl Connector for UnixConnector {
    type Out = UnixTransport;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<UnixTransport>, Error> {
        let socket = Arc::new(Socket(UnixStream::connect(&self.0)?));
        let handle: Weak<dyn ShutdownHandle> =
            Arc::downgrade(&(Arc::clone(&socket) as Arc<dyn ShutdownHandle>));
        (details.register_shutdown)(handle)?;
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(UnixTransport { socket, buffers }))
    }
}

/// A socket that another thread may close.
#[derive(Debug)]
struct Socket(UnixStream);

impl ShutdownHandle for Socket {
    fn shutdown(&self) {
        // It is closed already where this fails.
        let _closed = self.0.shutdown(Shutdown::Both);
    }
}

/// A connection over a Unix socket.
pub(crate) struct UnixTransport {
    socket: Arc<Socket>,
    buffers: LazyBuffers,
}

impl fmt::Debug for UnixTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnixTransport").field("socket", &self.socket).finish_non_exhaustive()
    }
}

fn in_time(error: std::io::Error, reason: Timeout) -> Error {
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => Error::Timeout(reason),
        _ => error.into(),
    }
}

impl Transport for UnixTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.socket.0.set_write_timeout(timeout.not_zero().map(|time| *time))?;
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        (&self.socket.0).write_all(output).map_err(|error| in_time(error, timeout.reason))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.socket.0.set_read_timeout(timeout.not_zero().map(|time| *time))?;
        let into = self.buffers.input_append_buf();
        let amount = loop {
            match (&self.socket.0).read(into) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| in_time(error, timeout.reason))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // An idle connection has nothing to read; an end or an error means that the server closed it.
        let mut one = [0];
        let is_idle = self.socket.0.set_nonblocking(true).is_ok()
            && matches!((&self.socket.0).read(&mut one), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
        is_idle && self.socket.0.set_nonblocking(false).is_ok()
    }
}

/// Knows no names: a Unix socket has none.
#[derive(Debug)]
pub(crate) struct NoNames;

impl Resolver for NoNames {
    fn resolve(
        &self,
        _: &ureq::http::Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}
