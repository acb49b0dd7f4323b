//! What is refused, as codes.

use stemmata_api::Code;
use stemmata_engine::Refusal;

/// Returns the code of a refusal.
pub(super) const fn refusal(what: Refusal) -> Code {
    match what {
        Refusal::Backup => Code::NotOnDisk,
        Refusal::WriteBundle => Code::FileExists,
        Refusal::GitHook => Code::GitHookNotOurs,
        Refusal::Repair => Code::NotRepairable,
        Refusal::GiveBack => Code::NotRecoverable,
        Refusal::RepairLedger => Code::LedgerNotInFiles,
        Refusal::CapturedCompaction | Refusal::ReadChain | Refusal::Materialize => Code::PlanOutside,
        Refusal::ReadEvents | Refusal::ReadSession | Refusal::SearchFolder | Refusal::Unpack => {
            Code::TooLarge
        }
        Refusal::ReadText => Code::NotText,
        Refusal::LoadCheckpoint => Code::CheckpointFileBad,
        Refusal::SaveCheckpoint => Code::CheckpointTooLarge,
        Refusal::Subscribe => Code::CursorBeyondEnd,
        Refusal::Acknowledge => Code::CursorUnnamed,
        Refusal::MakeCluster => Code::LedgerIsAProject,
        Refusal::ImportCluster => Code::LedgerHasEvents,
        Refusal::ForgetEverywhere => Code::PartlyForgotten,
        Refusal::FindProject | Refusal::RemoveScrubbed | Refusal::ScrubSession => Code::ChangedMeanwhile,
        Refusal::AdoptFolder => Code::FolderNotAdoptable,
        Refusal::MakeProject => Code::ProjectUnnamed,
        Refusal::Publish | Refusal::StoreDocument => Code::SecretInSyntax,
        Refusal::PackBehind => Code::PackedAlready,
        Refusal::TrustRules => Code::RulesNotTrusted,
        Refusal::BeginTurn => Code::SessionTaken,
        Refusal::EntryTaken => Code::EntryTaken,
        Refusal::RequestTaken => Code::RequestTaken,
        Refusal::TurnForgotten => Code::SessionForgotten,
        Refusal::TurnNotBegun => Code::SessionNotBegun,
        Refusal::TaskCycle => Code::TaskCycle,
        Refusal::ForkBeforeFirst => Code::ForkBeforeFirst,
        Refusal::GuardWindow => Code::TooLarge,
        Refusal::Recover | Refusal::MarkEntries => Code::ContextOverflow,
        Refusal::EmptySummary => Code::SummaryEmpty,
        Refusal::LongSummary => Code::SummaryNotSmaller,
        Refusal::NothingToCompact => Code::NothingToCompact,
        Refusal::CompactRange => Code::RangeNotCompactable,
        Refusal::CompactBusy | Refusal::TurnBusy => Code::SessionBusy,
        Refusal::Forget => Code::Protected,
        Refusal::ForgetWithCopies => Code::CopiesPlaced,
        Refusal::JoinDocuments => Code::NotJoinable,
        Refusal::PlaceFolder => Code::CwdNotText,
        Refusal::PlaceFormat => Code::NoClientLoads,
        Refusal::PlaceClient => Code::UnknownClient,
        Refusal::PlaceInvalid => Code::NotLoadable,
        Refusal::PlaceOutside => Code::OutsideTheHome,
        Refusal::PlaceTaken => Code::PlaceTaken,
        Refusal::PlaceUnnamed => Code::NoFreeSessionId,
        Refusal::Translate => Code::NothingTranslates,
    }
}
