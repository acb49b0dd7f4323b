//! Connections: accepted up to a bound, each with a time for its head, and ended in good order.
//!
//! A loop of our own, because that of `axum` gives a slow head all the time in the world and has no bound of connections.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::{host, reply};

/// How long to wait after the system refused a connection, for example because there are no more file descriptors.
const REFUSED_WAIT: Duration = Duration::from_millis(100);

/// The way a request came.
#[derive(Debug, Clone, Copy)]
enum Door {
    Unix,
    Tcp,
}

/// Bytes of a head that the parser insists on.
const HEADER_BYTES_MIN: usize = 8 * 1024;

/// What all connections of one listener share.
#[derive(Clone)]
pub(crate) struct Connections {
    router: Router,
    limits: Arc<Limits>,
    free: Arc<Semaphore>,
    stopped: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
}

impl Connections {
    pub(crate) fn new(
        router: Router,
        limits: Arc<Limits>,
        stopped: watch::Receiver<bool>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let free = Arc::new(Semaphore::new(limits.connections_max));
        Self { router, limits, free, stopped, metrics }
    }

    /// Answers on a Unix socket, to its owner alone.
    pub(crate) async fn accept_unix(self, listener: UnixListener, owner: u32) {
        self.accept(Door::Unix, || async {
            let (stream, _) = listener.accept().await?;
            // The folder keeps others out already; root passes every folder and is let in.
            let is_owner = stream.peer_cred().is_ok_and(|peer| peer.uid() == owner || peer.uid() == 0);
            Ok(is_owner.then_some(stream))
        })
        .await;
    }

    /// Answers on a TCP address.
    pub(crate) async fn accept_tcp(self, listener: TcpListener) {
        self.accept(Door::Tcp, || async {
            let (stream, _) = listener.accept().await?;
            // An answer is written in one piece: waiting for more to send only costs time.
            Ok(stream.set_nodelay(true).is_ok().then_some(stream))
        })
        .await;
    }

    async fn accept<S, F>(self, door: Door, next: impl Fn() -> F)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Future<Output = io::Result<Option<S>>>,
    {
        let graceful = GracefulShutdown::new();
        let mut stopped = self.stopped.clone();
        loop {
            let permit = tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => break,
                permit = Arc::clone(&self.free).acquire_owned() => permit.expect("it is never closed"),
            };
            let stream = tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => break,
                stream = next() => stream,
            };
            match stream {
                Ok(None) => tracing::warn!("a connection of somebody else was refused"),
                Ok(Some(stream)) => self.serve(stream, door, permit, &graceful),
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(REFUSED_WAIT).await;
                }
            }
        }
        let _in_time = tokio::time::timeout(self.limits.end_wait, graceful.shutdown()).await;
    }

    fn serve<S>(&self, stream: S, door: Door, permit: OwnedSemaphorePermit, graceful: &GracefulShutdown)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = self.router.clone();
        let service = tower_service(router, door, self.limits.header_bytes_max);
        // A client that reads nothing would hold what it was to get for ever.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.write_wait));
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_wait)
            .max_buf_size(self.limits.header_bytes_max.max(HEADER_BYTES_MIN))
            .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(service));
        let watched = graceful.watch(connection);
        let connected = self.metrics.connected(match door {
            Door::Unix => "unix",
            Door::Tcp => "tcp",
        });
        tokio::spawn(async move {
            let _connected = connected;
            if let Err(error) = watched.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(permit);
        });
    }
}

/// Returns the router as a service of hyper's bodies.
fn tower_service(
    router: Router,
    door: Door,
    header_bytes_max: usize,
) -> impl tower_service::Service<
    Request<Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future: Send,
> + Clone {
    tower::service_fn(move |request: Request<Incoming>| {
        let mut router = router.clone();
        let refused = match door {
            _ if head_bytes(&request) > header_bytes_max => Some(reply::head_too_large(header_bytes_max)),
            Door::Tcp => host::check(&request).err().map(|problem| reply::problem(&problem)),
            Door::Unix => None,
        };
        async move {
            match refused {
                Some(response) => Ok(response),
                None => tower_service::Service::call(&mut router, request.map(Body::new)).await,
            }
        }
    })
}

/// Returns the bytes of a request's head. The parser's own bound is where it stops to read, which is some way behind it.
fn head_bytes<B>(request: &Request<B>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    target + headers.sum::<usize>()
}
