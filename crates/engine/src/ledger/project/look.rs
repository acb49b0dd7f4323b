//! What is found of a folder: the repository around it, its remote, its first commit, the id that is stored in it.
//!
//! Reads files of a few known names and asks the `git` program two questions. Decides nothing.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use stemmata_model::{MachineId, Note, NoteCode};
use stemmata_store::{Files, MARK_BYTES_MAX, SystemFiles};

use crate::error::{EngineError, Result};
use crate::git::{GitAnswer, GitQuestion};
use crate::temporary::TempFiles;

use super::folder::is_home;
use super::plan::{place_mark, remote_mark, root_commits, stored_mark};
use super::remote::remote_of;

/// Folders above a folder that are looked into at most.
const FOLDERS_MAX: usize = 64;

/// Worktrees of one repository that are looked at, at most.
const WORKTREES_MAX: usize = 64;

/// Bytes of a configuration that are read at most; git's own have a few hundred.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Bytes of a stored id at most, and of what a `.git` file says.
const LINE_BYTES_MAX: u64 = 8 * 1024;

/// Bytes that git prints at most: one hash and a newline.
const GIT_BYTES_MAX: u64 = 1024;

/// Files that git opens whatever it is asked.
const GIT_FILES: [&str; 9] = [
    "commondir",
    "config",
    "config.worktree",
    "HEAD",
    "packed-refs",
    "shallow",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
];

/// The folder of ours in a project, and in a repository's own directory.
const FOLDER: &str = ".stemmata";
const GIT_FOLDER: &str = "stemmata";

/// The file with the id.
const FILE: &str = "project";

/// The id that is stored in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stored {
    Id(String),
    Nothing,
    /// None can be read, and none can be stored.
    Refused,
}

/// What was found of a folder.
#[derive(Debug)]
pub(super) struct Found {
    /// The folder that the project's files are below.
    pub(super) root: PathBuf,
    /// The folder that all worktrees of it have in common; else the same.
    pub(super) home: PathBuf,
    pub(super) remote: Option<String>,
    pub(super) root_commit: Option<String>,
    pub(super) stored: Stored,
    /// Whether something is there that could not be looked at.
    pub(super) is_blind: bool,
    pub(super) shares_history: bool,
    pub(super) notes: Vec<Note>,
    /// The directory that its repository's worktrees share.
    common: Option<PathBuf>,
    /// Whether git was asked for the first commit.
    is_asked: bool,
    /// Why git does not answer. It is not waited for twice.
    silent: Option<String>,
    program: PathBuf,
}

/// What is at a folder itself.
enum Here {
    Repository {
        /// What its worktrees share.
        common: PathBuf,
        is_worktree: bool,
    },
    /// A `.git` file that leads to nothing.
    Lost {
        to: PathBuf,
    },
    StoredId,
    Nothing,
}

/// Looks at the project that a folder is in: the nearest repository or stored id from there upwards, else the folder.
///
/// # Errors
/// `Io` where the folder is not there.
pub(super) fn find(dir: &Path, program: impl AsRef<OsStr>) -> Result<Found> {
    let dir = fs::canonicalize(dir).map_err(EngineError::io("look up", dir))?;
    let ancestors = dir.ancestors().take(FOLDERS_MAX).map(|folder| (folder, look_at(folder)));
    let around = ancestors.into_iter().find(|(_, here)| !matches!(here, Here::Nothing));
    let (root, here) = around.unwrap_or((&dir, Here::Nothing));
    let mut found = Found {
        root: root.to_owned(),
        home: root.to_owned(),
        remote: None,
        root_commit: None,
        stored: Stored::Nothing,
        is_blind: false,
        shares_history: false,
        notes: Vec::new(),
        common: None,
        is_asked: false,
        silent: None,
        program: PathBuf::from(program.as_ref()),
    };
    match here {
        Here::Repository { common, is_worktree } => found.look_into(common, is_worktree),
        Here::Lost { to } => {
            found.blind(&format!("the repository that {} leads to is not there", to.display()));
        }
        Here::StoredId | Here::Nothing => {}
    }
    found.read_stored();
    Ok(found)
}

/// What lies around a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Around {
    /// The folder is there, in this repository.
    Here(Tree),
    /// The folder is gone, and what is left of its path lies in this one.
    Above(Tree),
    /// The folder is there, in no repository.
    Nothing,
    /// The folder is gone.
    Gone,
}

/// A worktree as files say it: a repository's own, or another one of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// Its top.
    pub(super) top: String,
    /// The folder that its worktrees have in common.
    pub(super) home: String,
    pub(super) remote: Option<String>,
}

/// Returns the repository around a folder, or a stored id's folder. One in a home directory or a root is none: it would be around
/// everything. Asks no program.
pub(super) fn around(folder: &Path) -> Around {
    let is_there = fs::metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    let nearest = folder.ancestors().take(FOLDERS_MAX).find(|folder| folder.is_dir());
    let found = nearest.and_then(|nearest| find(nearest, "git").ok());
    let top = found.and_then(|found| {
        let is_repository = found.common.is_some() || matches!(found.stored, Stored::Id(_));
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let (top, home) = (text(&found.root)?, text(&found.home)?);
        (is_repository && !is_home(&top) && !is_home(&home)).then_some(Tree {
            top,
            home,
            remote: found.remote,
        })
    });
    match (top, is_there) {
        (Some(top), true) => Around::Here(top),
        (Some(top), false) => Around::Above(top),
        (None, true) => Around::Nothing,
        (None, false) => Around::Gone,
    }
}

/// Returns the top of the repository or the worktree that a folder below it is in. None for the top itself, and outside.
pub fn repository_top(folder: &Path) -> Option<PathBuf> {
    let Around::Here(found) = around(folder) else { return None };
    let top = PathBuf::from(found.top);
    fs::canonicalize(folder).is_ok_and(|real| real != top).then_some(top)
}

/// Says whether what lies in a place now is what has these marks. Asks no program: a first commit is believed.
pub(super) fn is_at(place: &Path, marks: &[String]) -> bool {
    match look_at(place) {
        Here::Repository { common, .. } => {
            let config = read(&common.join("config"), CONFIG_BYTES_MAX);
            let remote = config.ok().and_then(|config| remote_of(&config));
            remote.is_none_or(|remote| marks.contains(&remote_mark(&remote)))
        }
        Here::StoredId => {
            let id = read(&place.join(FOLDER).join(FILE), LINE_BYTES_MAX);
            id.is_ok_and(|id| marks.contains(&stored_mark(id.trim())))
        }
        Here::Lost { .. } | Here::Nothing => false,
    }
}

/// Returns the folders of the other worktrees of the repository in a place, as git keeps them: also of those that are
/// gone, until git has cleared them away. Where something else is by now, that is none.
pub(super) fn worktrees(place: &Path) -> Vec<PathBuf> {
    let Here::Repository { common, .. } = look_at(place) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(common.join("worktrees")) else { return Vec::new() };
    let kept = entries.flatten().take(WORKTREES_MAX).filter_map(|entry| {
        let own = read(&entry.path().join("gitdir"), LINE_BYTES_MAX).ok()?;
        let folder = entry.path().join(own.trim()).parent()?.to_owned();
        let folder = fs::canonicalize(&folder).unwrap_or(folder);
        let is_plain = folder.components().all(|part| part != Component::ParentDir);
        let is_own = match look_at(&folder) {
            Here::Repository { common: of, .. } => of == common,
            Here::Lost { .. } => true,
            // A folder that is something else by now, or that a foreign repository names, would bring in all that is below.
            Here::Nothing => fs::symlink_metadata(&folder).is_err(),
            Here::StoredId => false,
        };
        (is_plain && is_own && folder.is_absolute()).then_some(folder)
    });
    let mut folders: Vec<PathBuf> = kept.collect();
    folders.sort();
    folders
}

fn look_at(folder: &Path) -> Here {
    let own = folder.join(".git");
    if is_git_directory(&own) {
        return repository(&own);
    }
    if fs::metadata(&own).is_ok_and(|metadata| metadata.is_file()) {
        // Of a worktree and of a submodule it is a file that says where the directory is.
        let to = read(&own, LINE_BYTES_MAX).ok();
        let to = to
            .as_deref()
            .and_then(|text| text.trim().strip_prefix("gitdir:"))
            .map(|to| folder.join(to.trim()));
        return match to {
            Some(to) if is_git_directory(&to) => repository(&to),
            _ => Here::Lost { to: own },
        };
    }
    // Hooks run in such a directory, and bare repositories are one.
    if is_git_directory(folder) {
        return repository(folder);
    }
    if folder.join(FOLDER).join(FILE).symlink_metadata().is_ok() { Here::StoredId } else { Here::Nothing }
}

/// As git tells such a directory: one without these is an ordinary folder. One that may not be looked into is one.
fn is_git_directory(folder: &Path) -> bool {
    let is_there = |name: &str| match fs::symlink_metadata(folder.join(name)) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::PermissionDenied && folder.ends_with(".git"),
    };
    is_there("HEAD") && (is_there("commondir") || (is_there("objects") && is_there("refs")))
}

/// Follows a worktree's directory to the one that it shares with the others, which holds configuration and history.
fn repository(git: &Path) -> Here {
    let common = read(&git.join("commondir"), LINE_BYTES_MAX).ok().map(|text| git.join(text.trim()));
    let is_worktree = common.is_some();
    let common = common.unwrap_or_else(|| git.to_owned());
    Here::Repository { common: fs::canonicalize(&common).unwrap_or(common), is_worktree }
}

impl Found {
    /// Returns the mark of the place, where it is short enough for one.
    pub(super) fn place(&self, machine: &MachineId) -> Option<String> {
        let mark = place_mark(machine.as_str(), &self.home.to_string_lossy());
        (mark.len() <= MARK_BYTES_MAX).then_some(mark)
    }

    fn blind(&mut self, reason: &str) {
        self.is_blind = true;
        let message = format!("{} is known by less than usual: {reason}", self.root.display());
        self.notes.push(Note::new(NoteCode::Degraded, message));
    }

    fn look_into(&mut self, common: PathBuf, is_worktree: bool) {
        let files = common.parent().filter(|_| common.ends_with(".git")).unwrap_or(&common);
        if self.root.starts_with(&common) {
            files.clone_into(&mut self.root);
        }
        self.home = if is_worktree { files.to_owned() } else { self.root.clone() };
        let config = common.join("config");
        match read(&config, CONFIG_BYTES_MAX) {
            Ok(text) => self.remote = remote_of(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.blind(&format!("{} cannot be read: {error}", config.display())),
        }
        self.common = Some(common);
    }

    /// The files that may hold an id: the folder's own counts before that of its repository.
    fn places_of_id(&self) -> Vec<PathBuf> {
        let own = self.root.join(FOLDER).join(FILE);
        let common = self.common.iter().map(|common| common.join(GIT_FOLDER).join(FILE));
        std::iter::once(own).chain(common).collect()
    }

    fn read_stored(&mut self) {
        for path in self.places_of_id() {
            match read(&path, LINE_BYTES_MAX) {
                Ok(text) if is_id(text.trim()) => {
                    self.stored = Stored::Id(text.trim().to_owned());
                    return;
                }
                Ok(_) => {
                    self.blind(&format!(
                        "{} does not hold an id: remove it, or restore its old content",
                        path.display()
                    ));
                    self.stored = Stored::Refused;
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => {
                    self.blind(&format!("{} cannot be read: {error}", path.display()));
                    self.stored = Stored::Refused;
                }
            }
        }
    }

    /// Stores an id, unless somebody else was faster: then that one counts.
    pub(super) fn store(&mut self, id: &str) -> io::Result<()> {
        let Some(path) = self.places_of_id().pop() else { return Err(ErrorKind::NotFound.into()) };
        let folder = path.parent().ok_or(ErrorKind::NotFound)?;
        SystemFiles.make_directory(folder)?;
        // Whole or not at all, and never in the place of another.
        TempFiles::default().write_new(&path, |error| error, |out| writeln!(out, "{id}"))?;
        let kept = read(&path, LINE_BYTES_MAX)?;
        if !is_id(kept.trim()) {
            return Err(io::Error::new(ErrorKind::InvalidData, format!("{} holds no id", path.display())));
        }
        self.stored = Stored::Id(kept.trim().to_owned());
        Ok(())
    }

    /// Asks git for the first commit of the history, once. A history that was fetched in part has none.
    pub(super) fn ask_root_commit(&mut self) {
        let Some(common) = self.common.as_deref().filter(|_| !self.is_asked) else { return };
        let is_shallow = common.join("shallow").exists();
        self.is_asked = true;
        if is_shallow {
            return;
        }
        let args = ["rev-list", "--first-parent", "--max-parents=0", "HEAD", "--"];
        match self.ask(&args) {
            GitAnswer::Yes(text) => {
                self.root_commit = text.lines().map(str::trim).rfind(|line| is_hash(line)).map(str::to_owned);
            }
            // A branch without commits hides nothing: asked for it in this way, git says so by this number.
            GitAnswer::No(_)
                if self.ask(&["rev-parse", "--verify", "--quiet", "HEAD"]) == GitAnswer::No(Some(1)) => {}
            GitAnswer::No(_) => self.blind("git cannot read its history"),
            GitAnswer::Silent(reason) => self.blind(&reason),
        }
    }

    /// Asks git whether the repository has one of the first commits that are among some marks.
    pub(super) fn ask_history(&mut self, marks: &[String]) {
        let is_own = |commit: &str| self.root_commit.as_deref() == Some(commit);
        if self.common.is_none() || self.shares_history || root_commits(marks).any(is_own) {
            return;
        }
        let commits: Vec<&str> = root_commits(marks).filter(|commit| is_hash(commit)).collect();
        self.shares_history = commits.into_iter().any(|commit| {
            let name = format!("{commit}^{{commit}}");
            matches!(self.ask(&["cat-file", "-e", &name]), GitAnswer::Yes(_))
        });
    }
}

impl Found {
    /// Asks git, unless it was silent before.
    fn ask(&mut self, args: &[&str]) -> GitAnswer {
        if let Some(reason) = &self.silent {
            return GitAnswer::Silent(reason.clone());
        }
        let (program, folder) = (self.program.as_path(), self.root.as_path());
        let answer = GitQuestion { program, folder, bytes_max: GIT_BYTES_MAX, emptied: &[] }.ask(args);
        if let GitAnswer::Silent(reason) = &answer {
            self.silent = Some(reason.clone());
        }
        answer
    }
}

/// Returns a file of the repository around a folder that is none, such as a pipe: git would wait for who writes into it.
pub(crate) fn git_would_wait_for(folder: &Path) -> Option<PathBuf> {
    let around = folder.ancestors().take(FOLDERS_MAX).find_map(|folder| match look_at(folder) {
        Here::Repository { common, .. } => Some(common),
        Here::Lost { .. } | Here::StoredId | Here::Nothing => None,
    })?;
    let files = GIT_FILES.iter().map(|name| around.join(name));
    files.into_iter().find(|path| fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()))
}

fn is_id(text: &str) -> bool {
    (8..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads a small file. A pipe would keep its reader waiting without end.
fn read(path: &Path, bytes_max: u64) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut text = Vec::new();
    fs::File::open(path)?.take(bytes_max + 1).read_to_end(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > bytes_max) {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("it has more than {bytes_max} bytes")));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
