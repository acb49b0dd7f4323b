//! Builders, fakes and made-up sessions for Stemmata's own tests and examples.
//!
//! Nothing here is recorded from anybody, reads a clock, or draws true randomness: the same seed gives the
//! same bytes on every machine.

pub mod children;
pub mod claude;
pub mod clock;
pub mod disk;
pub mod faulty;
pub mod files;
pub mod home;
pub mod json;
pub mod ledger;
pub mod memory;
pub mod model_server;
pub mod mount;
pub mod rng;
pub mod sample;
pub mod state;
pub mod text;
