//! All tests of the scrubber that see it as its callers do.
//! What a single module promises is tested beside it.

mod corpus;
mod fixtures;
mod laws;
mod support;
