//! What a store answers, wherever it is: on this machine, or behind a server.
//!
//! Seven facets, each a trait of its own, so that a backend or a test can stand in for one of them. All methods block. What
//! only this machine can do (clients, hooks, files) is no part of it.

mod chains;
mod give_back;
mod ledgers;
mod maintain;
mod prompts;
mod registry;
mod search;

use crate::problem::Problem;

pub use chains::Chains;
pub use give_back::GiveBack;
pub use ledgers::Ledgers;
pub use maintain::Maintain;
pub use prompts::Prompts;
pub use registry::Registry;
pub use search::Search;

/// The operations of the facets, by the names of their methods.
pub mod rows {
    pub use super::chains::rows as chains;
    pub use super::give_back::rows as give_back;
    pub use super::ledgers::rows as ledgers;
    pub use super::maintain::rows as maintain;
    pub use super::prompts::rows as prompts;
    pub use super::registry::rows as registry;
    pub use super::search::rows as search;
}

/// An answer of the service. Boxed, because a problem is several times larger than most answers.
pub type Answer<T> = std::result::Result<T, Box<Problem>>;

/// Everything that a store can answer.
///
/// Concurrent: every method may be called from any thread at any time. What a method has answered is durable, except where it
/// says otherwise. A problem means that nothing was changed, except where its text says what was. A request
/// that a store does not know fails with `not_supported`.
pub trait Service: Chains + GiveBack + Ledgers + Maintain + Prompts + Registry + Search {}

impl<T: Chains + GiveBack + Ledgers + Maintain + Prompts + Registry + Search + ?Sized> Service for T {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_may_be_an_object_that_threads_share() {
        // It compiles: no method is generic or gives itself away.
        fn shared<T: Send + Sync + ?Sized>() {}
        shared::<dyn Service>();
    }
}
