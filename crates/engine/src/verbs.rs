//! The use cases, one file a verb.

pub(crate) mod annotate;
pub(crate) mod at;
pub(crate) mod checkpoint;
pub(crate) mod collect;
pub(crate) mod compact;
pub(crate) mod copies;
pub(crate) mod costs;
pub(crate) mod count;
pub(crate) mod current;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod entries;
pub(crate) mod find;
pub(crate) mod forget;
pub(crate) mod history;
pub(crate) mod launch;
pub(crate) mod materialize;
pub(crate) mod mend;
pub(crate) mod native;
pub(crate) mod place;
pub(crate) mod repair;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod summary;
pub(crate) mod translate;
pub(crate) mod tree;
