//! What programs do with a store, told over the facets alone: each story holds for whatever answers it.
//!
//! Here a service over a store in files of this machine does; the tests of the command tell them to one behind a socket.

mod chains;
mod door;
mod give_back;
mod given;
mod maintain;
mod prompts;
mod provider;
mod refused;
mod registry;
mod rows;
mod stage;
mod tests;
mod turns;

use stage::{MISSING, Stage, code};
