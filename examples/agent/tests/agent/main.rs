//! The agent, driven as a user drives it: lines go in, and a scripted server is its model.

mod model;
mod process;
mod stories;
