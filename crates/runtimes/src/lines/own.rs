//! What lines of `stemmata-v1`, and condensations of `openhands-v1`, say beyond what lines of every format do.

use stemmata_model::EntryId;

use crate::captured::visibility::Shown;

/// What a line says of other entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Own {
    /// What becomes of entries before it, or `None` if it is no visibility line.
    pub(crate) shows: Option<Vec<Shown>>,
    /// For a summary: the first entry that it stands for.
    pub(crate) covers_from: Option<EntryId>,
    /// For a summary: the first entry that stays behind it.
    pub(crate) keeps_from: Option<EntryId>,
    /// For a summary: the entries that it stands for, where it names each.
    pub(crate) covers: Vec<EntryId>,
    /// Whether it is of a version of the format that this program does not know.
    pub(crate) is_newer: bool,
}
