//! Flags of `serve`.
//!
//! Only shapes, as everything below `args`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// `serve`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma serve
  stemma serve --listen 127.0.0.1:7777
  stemma --server http://127.0.0.1:7777 list

Answers every operation over HTTP until it is interrupted (Ctrl-C) or terminated; docs/guide/service.md begins with curl. Other \
commands and hooks may use the same store meanwhile. Only its owner can connect to the socket.")]
pub(crate) struct Serve {
    /// The Unix socket [default: run/serve.sock in the data directory]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// Also answer on this TCP address of the loopback interface
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
}
