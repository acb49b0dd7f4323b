//! What capture learnt of the folders that sessions worked in: the repository around each. It stays known when the folder is gone.
//!
//! Kept as what the engine remembers of a transcript, a row a folder, so it never travels in a bundle: what another machine says of
//! its folders joins nothing here. What follows from it is `repository`'s.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stemmata_runtimes::clients::{WorktreePath, worktree_of_path};
use stemmata_store::{MARK_BYTES_MAX, Session, SessionKey, Write};

use super::look::{self, Around};
use super::remote::normalised;
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::verbs::count::LineCounter;

/// Bytes of a folder's path at most: a row's key begins with a word of ours, and paths of 4,096 bytes are the longest that are stored.
const FOLDER_BYTES_MAX: usize = 4_000;

/// Says that the folders of what an earlier version captured were looked at: no transcript has such a path.
const LEARNT_PATH: &str = "stemma:folders";

/// What is known of a folder, as it is kept, version 1. A later version may add fields.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct FolderFacts {
    /// Where the repository's own folder is, which all of its worktrees share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) home: Option<String>,
    /// The top of the worktree that the folder is in; the same as `home` in the repository's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top: Option<String>,
    /// Where the repository comes from: `host/path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<String>,
}

impl FolderFacts {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what the path of a folder says by itself: some worktrees lie in the repository.
    pub(super) fn of_path(folder: &str) -> Option<Self> {
        let WorktreePath { top, repository } = worktree_of_path(folder)?;
        let home = repository.filter(|home| !is_home(home))?;
        Some(Self { home: Some(home.to_owned()), top: Some(top.to_owned()), remote: None })
    }

    /// Returns the name that the folder's project is shown with: `repo`, and `repo/2` in a worktree of it.
    pub(super) fn name(&self, folder: &str) -> String {
        let Some(home) = &self.home else {
            let remote = self.remote.as_deref().and_then(last_of);
            return match (remote, worktree_of_path(folder)) {
                (Some(repository), Some(tree)) => beside(repository, tree.top),
                _ => last_of(folder).unwrap_or(folder).to_owned(),
            };
        };
        let repository = last_of(home).unwrap_or(home);
        match &self.top {
            Some(top) if top != home => beside(repository, top),
            _ => repository.to_owned(),
        }
    }
}

/// Returns a worktree's name behind its repository's. Codex calls every worktree as the repository, in a folder with an id.
fn beside(repository: &str, top: &str) -> String {
    let mut parts = top.rsplit(['/', '\\']).filter(|part| !part.is_empty());
    let last = parts.next().unwrap_or(top);
    let name = if last == repository { parts.next().unwrap_or(last) } else { last };
    format!("{repository}/{name}")
}

/// Returns the last part of a path.
pub(super) fn last_of(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\']).find(|part| !part.is_empty())
}

/// Says whether a folder is a root or a home directory by its name. A repository there holds whatever one does, so it says
/// nothing of what is below it.
pub(super) fn is_home(folder: &str) -> bool {
    let parts: Vec<&str> = folder.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let is_drive = matches!(folder.get(1..3), Some(":\\" | ":/"));
    let names = match parts.as_slice() {
        // Where some systems keep the folder of all home directories, and WSL the drives of Windows.
        ["export" | "usr" | "var", rest @ ..] if rest.first() == Some(&"home") => rest,
        ["mnt", drive, rest @ ..] if drive.len() == 1 => rest,
        names => names.get(usize::from(is_drive)..).unwrap_or_default(),
    };
    matches!(names, [] | ["root" | "home" | "Users"] | ["home" | "Users", _])
}

impl Engine {
    /// Returns what is to be written because a session worked in a folder: what is found around it, and where it is gone what the
    /// transcript says of the remote. Nothing where that is known. Asks no program.
    pub(crate) fn learn_folder(&self, folder: &str, said_remote: Option<&str>) -> Result<Option<Write>> {
        let Some(key) = self.folder_key(folder) else { return Ok(None) };
        let known = self.store.cursor(&key)?;
        let before = known.as_deref().map(read).unwrap_or_default();
        let said = said_remote.and_then(normalised).filter(|remote| remote.len() <= MARK_BYTES_MAX);
        let mut now = learnt(before.clone(), look::around(Path::new(folder)), said);
        // What lies above a worktree that is gone does not say that it was one.
        if let Some(by_path) = FolderFacts::of_path(folder).filter(|by_path| by_path.home == now.home) {
            now.top = by_path.top;
        }
        if now == before || now.is_nothing() {
            return Ok(None);
        }
        let value = serde_json::to_vec(&now).expect("texts are written");
        Ok(Some(Write::Cursor { key, value }))
    }

    /// Learns once of the folders of sessions that an earlier version captured. What their transcripts say of the remote is in their
    /// first commits.
    ///
    /// # Errors
    /// Store errors; of a session that cannot be read nothing is learnt.
    pub(crate) fn learn_folders_of_old(&self, was_empty: bool) -> Result<()> {
        let key = SessionKey { machine: self.identity.machine.clone(), path: LEARNT_PATH.to_owned() };
        if self.store.cursor(&key)?.is_some() {
            return Ok(());
        }
        let mut newest: BTreeMap<String, Session> = BTreeMap::new();
        let mut each = |session: Session| {
            if session.key.machine == self.identity.machine
                && let Some(cwd) = session.cwd.clone()
            {
                newest.entry(cwd).or_insert(session);
            }
            ControlFlow::Continue(())
        };
        if !was_empty {
            self.each_stored_session(&mut each)?;
        }
        for (folder, session) in newest {
            let said = if Path::new(&folder).is_dir() { None } else { self.said_remote(&session) };
            if let Some(learnt) = self.learn_folder(&folder, said.as_deref())? {
                self.commit_batch(vec![learnt])?;
            }
        }
        self.commit_batch(vec![Write::Cursor { key, value: vec![1] }])?;
        Ok(())
    }

    /// Returns the remote that a session's first records name.
    fn said_remote(&self, session: &Session) -> Option<String> {
        let adapter = Self::adapter(&session.format, FormatUse::Read).ok()?;
        let root = self.root_of(session.tip?).ok()??;
        let commit = self.store.commit(root).ok()??;
        let bytes = read_whole(self, commit.core.native_artifact()).ok()?;
        let mut counter = LineCounter::new(adapter);
        counter.bytes(&bytes);
        counter.facts().remote.clone()
    }

    /// Returns what is known of a folder that sessions of this machine worked in.
    pub(super) fn folder_facts(&self, folder: &str) -> Result<FolderFacts> {
        let Some(key) = self.folder_key(folder) else { return Ok(FolderFacts::default()) };
        let known = self.store.cursor(&key)?.as_deref().map(read).unwrap_or_default();
        Ok(if known.is_nothing() { FolderFacts::of_path(folder).unwrap_or_default() } else { known })
    }

    /// Returns the name that a session's project is shown with.
    ///
    /// # Errors
    /// Store errors.
    pub fn project_name(&self, session: &Session) -> Result<Option<String>> {
        let Some(cwd) = session.cwd.as_deref() else { return Ok(None) };
        let facts = if session.key.machine == self.identity.machine {
            self.folder_facts(cwd)?
        } else {
            FolderFacts::of_path(cwd).unwrap_or_default()
        };
        Ok(Some(facts.name(cwd)))
    }

    /// Returns the top of the worktree that a session worked in, as far as it is known.
    pub(crate) fn worktree_of(&self, session: &Session) -> Result<Option<String>> {
        let Some(cwd) = session.cwd.as_deref().filter(|_| session.key.machine == self.identity.machine)
        else {
            return Ok(None);
        };
        let facts = self.folder_facts(cwd)?;
        // Clients write the remote down of where they were begun, which is the top most often.
        let begun = facts.remote.is_some().then(|| cwd.to_owned());
        Ok(facts.top.or(begun))
    }

    fn folder_key(&self, folder: &str) -> Option<SessionKey> {
        let path = format!("stemma:folder:{folder}");
        let is_path =
            folder.starts_with('/') || folder.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/");
        (is_path && folder.len() <= FOLDER_BYTES_MAX)
            .then(|| SessionKey { machine: self.identity.machine.clone(), path })
    }
}

/// Reads what is kept; nothing where it is something else.
fn read(value: &[u8]) -> FolderFacts {
    serde_json::from_slice(value).unwrap_or_default()
}

/// Decides what is known of a folder from now on. What is there says it best. Of a folder that is gone a transcript knows more than
/// what lies above it today, and what was found while it was there knows more than either.
fn learnt(before: FolderFacts, around: Around, said: Option<String>) -> FolderFacts {
    let found = |found: look::Tree| FolderFacts {
        home: Some(found.home),
        top: Some(found.top),
        remote: found.remote,
    };
    match around {
        Around::Here(top) => {
            let now = found(top);
            FolderFacts { remote: now.remote.or(said), ..now }
        }
        Around::Above(_) | Around::Gone if before.home.is_some() => before,
        Around::Above(_) | Around::Gone if said.is_some() => FolderFacts { remote: said, ..before },
        Around::Above(top) if before.is_nothing() => found(top),
        // Also where there is a folder without a repository: there was one.
        Around::Above(_) | Around::Gone | Around::Nothing => before,
    }
}

/// The folders that sessions of this machine worked in, with what is known of each.
pub(super) type Folders = BTreeMap<String, FolderFacts>;
