//! What a test wants of a store that fails.

use std::collections::BTreeSet;

use stemmata_model::ArtifactId;

use super::Fault;

/// Which batch fails, and who acts before which batch or read.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) packs: bool,
    pub(super) calls: u64,
    pub(super) looks: u64,
    pub(super) fault: Option<(u64, Fault)>,
    pub(super) lost: BTreeSet<ArtifactId>,
    pub(super) meddler: Option<(u64, BeforeBatch)>,
    pub(super) at_read: Option<(u64, BeforeBatch)>,
}

/// What becomes of reading pages of events.
pub(super) struct Pages<S> {
    pub(super) bytes_max: usize,
    pub(super) meddler: Option<AfterPage<S>>,
}

type BeforeBatch = Box<dyn FnOnce() + Send>;
type AfterPage<S> = Box<dyn FnMut(&S) + Send>;
