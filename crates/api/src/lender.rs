//! Who lends a service to a program that answers others, for each operation anew.
//!
//! A store may be needed by another process alone for a moment; whoever kept the service for good would be in its way.

use std::ops::Deref;
use std::sync::Arc;

use crate::control::CancelToken;
use crate::problem::{Code, Problem};
use crate::service::{Answer, Service};

/// What a service is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// An operation that ends by itself: it is given time before it is cancelled.
    Operation,
    /// Something that goes on for as long as somebody listens, and can be interrupted and go on at any time.
    Subscription,
}

/// Lends a service, and may ask for it back.
///
/// Concurrent: it may be called from any thread, and blocks for a short, bounded time where the service is away.
pub trait Lender: Send + Sync {
    /// Returns the service for one operation. It stays open until the value is dropped, so drop it as soon as the operation is
    /// done. To get it back, `cancel` is cancelled; [`Borrowed::is_recalled`] says that this was the reason.
    ///
    /// # Errors
    /// `store_away` where another process has the store for itself; those of opening it.
    fn lend(&self, wanted: Use, cancel: &CancelToken) -> Answer<Borrowed>;
}

/// A service that is always there.
impl Lender for Arc<dyn Service> {
    fn lend(&self, _: Use, _: &CancelToken) -> Answer<Borrowed> {
        Ok(Borrowed { service: Self::clone(self), loan: None })
    }
}

/// A service for one operation.
pub struct Borrowed {
    service: Arc<dyn Service>,
    loan: Option<Box<dyn Loan>>,
}

/// What is given back when a [`Borrowed`] service is dropped.
pub trait Loan: Send + Sync {
    /// Says whether the service was asked back.
    fn is_recalled(&self) -> bool;
}

impl Borrowed {
    /// Returns a service with what is given back after it.
    pub fn new(service: Arc<dyn Service>, loan: Box<dyn Loan>) -> Self {
        Self { service, loan: Some(loan) }
    }

    /// Says whether it was asked back, so that what failed as cancelled may be asked again.
    pub fn is_recalled(&self) -> bool {
        self.loan.as_ref().is_some_and(|loan| loan.is_recalled())
    }

    /// Says why an operation was cancelled, where its caller did not ask for that.
    ///
    /// # Errors
    /// The operation's, `store_away` in the place of `cancelled` where the service was asked back.
    pub fn explained<T>(&self, answer: Answer<T>) -> Answer<T> {
        answer.map_err(|problem| {
            if !problem.is(Code::Cancelled) || !self.is_recalled() {
                return problem;
            }
            let detail = "another process needs the store alone, and this did not end in time";
            Box::new(Problem::new(Code::StoreAway, detail))
        })
    }
}

impl Deref for Borrowed {
    type Target = dyn Service;

    fn deref(&self) -> &Self::Target {
        self.service.as_ref()
    }
}

impl std::fmt::Debug for Borrowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Borrowed").finish_non_exhaustive()
    }
}
