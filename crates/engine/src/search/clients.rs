//! The clients that a filter names.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use stemmata_runtimes::clients;
use stemmata_runtimes::registry::adapters;
use stemmata_runtimes::translate::runtime_of;

use super::filter::{LEDGER_CLIENT, no_such_name};
use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Returns the name of a client as sessions have it: however it is written, and of one that is known the beginning is enough.
    ///
    /// # Errors
    /// `Search` where no client has the name.
    pub fn client_named(&self, text: &str) -> Result<String> {
        // `claude` begins two names, and a person means the client.
        if let Ok(client) = clients::client_named(text) {
            return Ok(client.id.to_owned());
        }
        let lower = text.to_lowercase();
        let read = adapters().iter().map(|adapter| runtime_of(&adapter.format()).to_owned());
        let known: BTreeSet<String> = read.collect();
        let mut begun = known.iter().filter(|name| name.starts_with(&lower));
        match (known.get(&lower), begun.next(), begun.next()) {
            (Some(name), ..) | (None, Some(name), None) => Ok(name.clone()),
            _ => self.check_client(&lower).map(|()| lower),
        }
    }

    /// Refuses a client that no transcripts are read of, and that no session is of either.
    pub(super) fn check_client(&self, client: &str) -> Result<()> {
        let read = adapters().iter().map(|adapter| runtime_of(&adapter.format()).to_owned());
        let known: BTreeSet<String> = read.chain([LEDGER_CLIENT.to_owned()]).collect();
        let mut is_known = known.contains(client);
        if !is_known {
            self.each_stored_session(&mut |session| {
                is_known = runtime_of(&session.format) == client;
                if is_known { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        if is_known {
            return Ok(());
        }
        // Those that people have; formats that programs write are known, too, and nobody would look for one by a slip.
        Err(no_such_name("client", client, clients::at_home().map(|client| client.id)).into())
    }
}
