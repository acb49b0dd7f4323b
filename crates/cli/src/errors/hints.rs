//! The next step after an error, where one is known: what stands behind `hint:`.
//!
//! What went wrong is the parent's.

use std::io;

use stemmata_engine::{Absent, BundleError, EngineError, FormatUse, HeldBack, Refusal, VaultError, Wanted};
use stemmata_store::StoreError;

/// Returns the next step after an engine's error, where one is known.
pub(crate) fn hint_of(error: &EngineError) -> Option<String> {
    let hint = match error {
        EngineError::Io { source, .. } => return hint_of_io(source),
        EngineError::Store(StoreError::Io { source, .. } | StoreError::Sink(source)) => {
            return hint_of_io(source);
        }
        EngineError::NothingThere { what: Absent::Compaction, .. } => {
            "nothing on this chain was compacted; `stemma tree REF` shows where compactions are (◆)"
        }
        EngineError::NothingThere { what: Absent::SessionBelow, .. } => {
            "`stemma list` shows all sessions; `resume` and `handoff` take the latest of all with `--last`"
        }
        EngineError::NothingThere { what: Absent::Session, .. } => {
            "`stemma import` reads the sessions of this machine, `stemma import PATH` any other"
        }
        EngineError::NothingThere { what: Absent::ProjectRules, .. } => {
            "a project's rules stand in `.stemmata/secrets.toml`: write them first, or name the folder of a project that has \
             some; `stemma status` names those that nobody trusts"
        }
        EngineError::NothingThere { .. } => "`stemma log` shows what there is and from when",
        EngineError::NotFound { what: Wanted::Entry, .. } => {
            "`stemma show REF --entries` lists the entries of a commit with their ids"
        }
        EngineError::NotFound { what: Wanted::EventWithText, .. } => {
            "`stemma events query --topic SESSION_STARTED` lists the sessions that the ledger knows (of another one: with \
             `--ledger`); `stemma events query` shows its events"
        }
        EngineError::NotFound { what: Wanted::EventOfTranscript, text } => {
            return Some(format!(
                "`stemma forget {text}` forgets the transcript; `stemma events query --topic SESSION_STARTED` lists the sessions \
                 that the ledger knows"
            ));
        }
        EngineError::NotFound { what: Wanted::Session, .. } => "`stemma list` shows all sessions",
        EngineError::NotFound { .. } => {
            "`stemma list` shows all sessions, `stemma log REF` the commits of one"
        }
        EngineError::Ambiguous { .. } => "give more characters, or one of these ids",
        EngineError::NotATranscript { .. } => {
            "docs/reference/runtimes.md says what is read of each client, and where that is"
        }
        EngineError::DocumentTooLong { .. } => "nothing of it was stored; split it, or export a part of it",
        EngineError::Torn { .. } => {
            "its client may be writing it: import it again; `stemma doctor FILE` says where it breaks"
        }
        EngineError::Busy { .. } => "if it stays so, end the client that holds it",
        EngineError::LineTooLong { .. } => "nothing of this line was stored; everything before it was",
        EngineError::Shrank { .. } => "run the import again: it reads the file from where the two agree",
        EngineError::NoAncestor { .. } => "`stemma history REF` lists the ancestors of a commit",
        EngineError::Format { operation: FormatUse::Write, .. } => {
            "leave `--format` out to keep the stored one"
        }
        EngineError::Format { .. } => "`stemma native REF` gives back the bytes of any format",
        EngineError::Bundle(error) => return hint_of_bundle(error),
        EngineError::Vault(error) => return hint_of_vault(error),
        EngineError::HeldBack { reason: HeldBack::Excluded(_), .. } => {
            "`stemma exclude --list` shows what is excluded, `stemma exclude PATH --remove` takes one back"
        }
        EngineError::HeldBack { reason: HeldBack::Paused(_), .. } => "`stemma unpause` goes on",
        EngineError::HeldBack { reason: HeldBack::Unknown(_), .. } => {
            "nothing is captured until it can be read: mend the file, or move it away to capture everything"
        }
        EngineError::Rules(_) | EngineError::Scrub(_) => {
            "mend the rule; until then that a session is there is kept, and nothing of what it says"
        }
        EngineError::Refused { what: Refusal::Forget, .. } => {
            "`stemma forget … --even-pinned` forgets it all the same"
        }
        EngineError::MachineFile { path, .. } => {
            return Some(format!(
                "restore it from a backup; or move {} away, and a new identity is made (stored commits stay as they are)",
                path.display()
            ));
        }
        EngineError::CaptureFile { path, .. } => {
            return Some(format!(
                "nothing is captured until it can be read: mend it, or move {} away to capture everything",
                path.display()
            ));
        }
        EngineError::Setting(_) => "`stemma config` shows every key, its value and where it comes from",
        EngineError::QuotaReached { .. } => {
            "`stemma gc` makes room, `stemma config set store.quota_mib N` allows more"
        }
        EngineError::Refused { .. } | EngineError::Name(_) | EngineError::Policy { .. } => return None,
        EngineError::Store(error) | EngineError::OpenStore { source: error, .. } => {
            return hint_of_store(error);
        }
    };
    Some(hint.to_owned())
}

fn hint_of_bundle(error: &BundleError) -> Option<String> {
    let hint = match error {
        BundleError::NotABundle { .. } => {
            "`stemma bundle export` writes bundles; transcripts go to `stemma import`"
        }
        BundleError::Newer { .. } => "update `stemma`; nothing was stored",
        BundleError::Truncated { .. } | BundleError::Damaged { .. } => {
            "fetch or export it again; nothing was stored"
        }
        BundleError::Missing { .. } => {
            "export it without `--have`, or with what `stemma bundle have --all` says here; nothing was stored"
        }
        BundleError::Bound { flag: Some(flag), value, .. } => {
            return Some(format!(
                "if you trust where it comes from: `{flag}` (at least {value}); nothing was stored"
            ));
        }
        BundleError::Bound { flag: None, .. } => "nothing was stored",
        BundleError::Have { .. } => "`stemma bundle have` on the receiving machine writes such a list",
        BundleError::Io { source, .. } => return hint_of_io(source),
    };
    Some(hint.to_owned())
}

fn hint_of_store(error: &StoreError) -> Option<String> {
    let hint = match error {
        StoreError::Corrupt { .. } | StoreError::Conflict(_) => {
            "`stemma verify` lists everything that is damaged; importing the same transcripts into a new \
             `STEMMATA_HOME` gives the same commits"
        }
        StoreError::Locked { .. } => "wait until the other `stemma` is done, and run the command again",
        StoreError::InUse { .. } => {
            "end what runs there, a `stemma watch` for example, and run the command again; nothing was changed"
        }
        StoreError::Unclean { .. } => {
            "forget it again when nothing else reads the store; the next `stemma` that opens it alone ends it, too"
        }
        StoreError::CursorMoved { .. } => "run the command again: it goes on where the other one stopped",
        StoreError::EpochMoved { .. } => "run the command again: it makes it anew without what was forgotten",
        StoreError::SequenceMoved { .. } => {
            "`stemma events tail` shows what is there; `--expect` takes the number of the last event"
        }
        StoreError::LedgerMissing(_) => "`stemma ledger list` lists all ledgers",
        StoreError::MarkTaken { .. } => "`stemma ledger list` says which projects there are, and where",
        StoreError::Full { .. } => {
            "make room and run the command again: it goes on where it stopped, nothing acknowledged is lost"
        }
        StoreError::TooNew { .. } => "update `stemma`; the store was not touched",
        StoreError::NeedsMigration { .. } => {
            "`stemma migrate` makes a backup and brings the store up to date; `--dry-run` shows what it would do"
        }
        StoreError::Network { .. } => {
            "set `STEMMATA_HOME` to a folder on a disk of this machine; where nothing else ever opens this store, \
             `STEMMATA_ALLOW_NETWORK_STORE=1` takes it as it is"
        }
        StoreError::NotAStore { .. } => {
            "`stemma status` says which store is used; `STEMMATA_HOME` names another one"
        }
        StoreError::ReadOnly { .. } => "check who owns the data directory; `stemma status` says where it is",
        StoreError::CommitMissing(_) | StoreError::ContentMissing(_) => {
            "`stemma list` shows all sessions, `stemma verify` whether something is gone that should be there"
        }
        StoreError::Forgotten(_) | StoreError::ContentForgotten(_) => {
            "somebody forgot it on purpose; `stemma show REF` says what is left of a commit"
        }
        StoreError::Backend { .. } => "`stemma verify` says whether the store is sound",
        StoreError::NoRoom { .. } => "make room there, or name a folder on another disk; nothing was changed",
        StoreError::LedgerDamaged { .. } => {
            "`stemma restore` says what is wrong with the ledger, `stemma restore --repair` sets damaged lines aside; of another \
             project's: with `--ledger`, which its folder is named after"
        }
        StoreError::Damaged { .. } => {
            "`stemma verify --repair --from BACKUP` mends a store from a sound copy"
        }
        StoreError::Refused { .. }
        | StoreError::ParentMissing { .. }
        | StoreError::Bound { .. }
        | StoreError::Empty { .. }
        | StoreError::Closed { .. } => return None,
        StoreError::Sink(source) | StoreError::Io { source, .. } => return hint_of_io(source),
    };
    Some(hint.to_owned())
}

pub(super) fn hint_of_io(source: &io::Error) -> Option<String> {
    let hint = match source.kind() {
        io::ErrorKind::PermissionDenied => "check who may read and write it",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room and run the command again: nothing acknowledged is lost"
        }
        io::ErrorKind::NotFound => "check the path",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn hint_of_vault(error: &VaultError) -> Option<String> {
    Some(match error {
        VaultError::Io { source, .. } => return hint_of_io(source),
        VaultError::Exposed { path, .. } => format!("`chmod go-rwx {}`", path.display()),
        VaultError::WrongKey { .. } | VaultError::NoVault { .. } => {
            "`stemma vault purge --all` removes it; what is stored does not need it".to_owned()
        }
        VaultError::Full { .. } => "`stemma vault purge --older-than 30d` makes room".to_owned(),
        VaultError::Locked { .. } => "try again when the other process is done".to_owned(),
        VaultError::Unfinished { .. } => "any `stemma` command that captures ends it".to_owned(),
        VaultError::Random { .. } => return None,
    })
}
