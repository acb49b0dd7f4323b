//! Retrieval: what of all that is known fits a task. Candidates are scored, chosen within a budget, and written as quoted data.
//!
//! Pure: where candidates come from is the engine's to know. Every score is the sum of its reasons.

mod candidate;
mod choose;
mod dense;
mod known;
#[cfg(test)]
mod laws_tests;
mod relevance;
mod render;
mod score;
mod weights;

pub use candidate::{Beside, Candidate, CandidateKind, Provenance, Shares, Standing};
pub use choose::{Chosen, Form, Pack, PackSkipped, choose};
pub use dense::{DenseVector, Embedder, NoVectors, set_nearness};
pub use known::{TURNS_MAX, known, mark_superseded};
pub use relevance::{TaskTerm, TaskWords};
pub use render::said;
pub use score::{PointsFor, RecallReason, Scored, score};
pub use weights::RetrieveWeights;
