//! What every backend of the store decides and encodes alike: pure functions over facts that the backend gathers.
//!
//! How rows are found and written is each backend's own.

pub mod bounds;
pub mod checks;
pub mod events;
pub mod project;
