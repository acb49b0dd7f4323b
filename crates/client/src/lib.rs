//! A service on the other side of a connection: `Remote` answers like `Local`, by asking a server.
//!
//! What there is to ask is the table of operations; how a request becomes a URL is `stemmata_api::Parts`.

mod address;
mod facets;
mod remote;
#[cfg(unix)]
mod unix;

pub use address::{Address, AddressError};
pub use remote::Remote;
