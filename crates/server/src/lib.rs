//! A service over HTTP: decode, ask, encode. What there is to ask is the table of operations; a route is made from its row.
//!
//! What an operation does is not known here, nor who may ask for it on another machine.

mod accept;
mod body;
mod by_hand;
mod coding;
mod events;
mod host;
mod key;
mod limits;
mod metrics;
mod native;
mod out;
mod pool;
mod reply;
mod routes;
mod socket;
mod validators;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stemmata_api::{Lender, Service};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

pub use limits::Limits;
pub use socket::SocketError;

/// Where a server listens.
#[derive(Debug, Clone, Default)]
pub struct Listen {
    /// A Unix socket in a folder of its owner's alone.
    pub socket: Option<PathBuf>,
    /// A TCP address.
    pub tcp: Option<SocketAddr>,
}

/// A server that answers until it is dropped.
#[derive(Debug)]
pub struct Server {
    runtime: Option<Runtime>,
    stop: watch::Sender<bool>,
    accepting: Vec<tokio::task::JoinHandle<()>>,
    socket: Option<socket::Socket>,
    tcp: Option<SocketAddr>,
    end_wait: Duration,
}

impl Server {
    /// Begins to answer. It returns when connections are accepted.
    ///
    /// # Errors
    /// `Live` where another server answers on the socket, `Path` where the socket cannot be made, `Bind` where the TCP address cannot
    /// be had, `Start` where the system gives no threads.
    pub fn start(service: &Arc<dyn Service>, listen: &Listen, limits: Limits) -> Result<Self, SocketError> {
        Self::start_lent(&(Arc::new(Arc::clone(service)) as Arc<dyn Lender>), listen, limits)
    }

    /// As [`Server::start`], with a service that each operation borrows.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_lent(
        lender: &Arc<dyn Lender>,
        listen: &Listen,
        limits: Limits,
    ) -> Result<Self, SocketError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(limits.workers_max + limits.streams_max + 1)
            .thread_name("stemma-serve")
            .enable_all()
            .build()
            .map_err(SocketError::Start)?;
        let (end_wait, limits) = (limits.end_wait, Arc::new(limits));
        let (stop, stopped) = watch::channel(false);
        let metrics = metrics::Metrics::new();
        let router = routes::router(lender, &limits, &stopped, &metrics);
        let within = runtime.enter();
        let (mut accepting, mut tcp) = (Vec::new(), None);
        let connections = || {
            let (limits, metrics) = (Arc::clone(&limits), Arc::clone(&metrics));
            accept::Connections::new(router.clone(), limits, stopped.clone(), metrics)
        };
        if let Some(address) = listen.tcp {
            let bind = |error: io::Error| SocketError::Bind(address, error);
            let listener = std::net::TcpListener::bind(address).map_err(bind)?;
            listener.set_nonblocking(true).map_err(bind)?;
            tcp = Some(listener.local_addr().map_err(bind)?);
            let listener = tokio::net::TcpListener::from_std(listener).map_err(bind)?;
            accepting.push(runtime.spawn(connections().accept_tcp(listener)));
        }
        let mut socket = None;
        if let Some(path) = &listen.socket {
            let (own, listener) = socket::Socket::bind(path)?;
            let listener = tokio::net::UnixListener::from_std(listener)
                .map_err(|error| SocketError::Path(path.clone(), error))?;
            accepting.push(runtime.spawn(connections().accept_unix(listener, own.user)));
            socket = Some(own);
        }
        drop(within);
        Ok(Self { runtime: Some(runtime), stop, accepting, socket, tcp, end_wait })
    }

    /// Returns where the Unix socket is.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_ref().map(socket::Socket::path)
    }

    /// Returns the TCP address, with the port that the system chose.
    pub const fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }
}

impl Drop for Server {
    /// Accepts nothing more, lets what runs end for a bounded time, and then cancels it.
    fn drop(&mut self) {
        let _nobody_listens = self.stop.send(true);
        self.socket.take();
        let Some(runtime) = self.runtime.take() else { return };
        let accepting = std::mem::take(&mut self.accepting);
        let began = Instant::now();
        runtime.block_on(async {
            for one in accepting {
                let _ended = one.await;
            }
        });
        runtime.shutdown_timeout(self.end_wait.saturating_sub(began.elapsed()));
    }
}
