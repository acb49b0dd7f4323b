//! Which files beside transcripts are captured, as `capture.sidecars` says.

use stemmata_runtimes::clients::SidecarKind;

/// Which files beside transcripts are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum KeptSidecars {
    /// All, backups of the user's files too.
    All,
    /// What transcripts name and do not hold: long outputs of tools, what is known of subagents.
    #[default]
    Results,
    /// None.
    None,
}

impl KeptSidecars {
    /// Returns whether files of a kind are captured.
    pub(crate) fn wants(self, kind: SidecarKind) -> bool {
        match self {
            Self::All => true,
            Self::Results => kind == SidecarKind::Result,
            Self::None => false,
        }
    }
}
