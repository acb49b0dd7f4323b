//! What is done to a store in the background: it changes where bytes are, never what is stored.

pub(crate) mod pack;
