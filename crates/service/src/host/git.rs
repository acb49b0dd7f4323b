//! Git: the hook that adds a trailer to commits, the trailer itself, and whose commits lines of a file are.
//!
//! It runs the `git` program and reads no file of a repository itself: git alone knows its configuration, its hooks' folder and
//! who wrote a line.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use stemmata_api::{Answer, Code, Problem, v1};
use stemmata_engine::{
    CONTEXT_TRAILER, CommentMarks, EngineError, GIT_HOOK_BYTES_MAX, GIT_HOOKS, GitAnswer, GitHook,
    GitQuestion, Refusal, TempFiles, with_git_hook, with_trailer, without_git_hook,
};
use stemmata_model::Timestamp;
use stemmata_store::read_bounded;

use super::Host;
use super::blame::BlamedCommit;
use super::caller::{Caller, Process, Reach};
use crate::fault::{Fault, io_failed};

/// Bytes of what git prints that are read at most.
const GIT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Filters of a repository that are switched off at most; more than any has. Nobody is asked who wrote a line where there are more.
const FILTERS_MAX: usize = 1_000;

/// Microseconds for which the last activity of a session makes it the one that a commit is of.
const CURRENT_MICROS_MAX: i64 = 6 * 3_600 * 1_000_000;

/// Asks to change the hook of a repository.
#[derive(Debug, Clone)]
pub struct GitHookRequest {
    /// A directory of the repository.
    pub dir: PathBuf,
    /// The program that the hook is to call, at a path that lasts.
    pub program: Option<PathBuf>,
    /// Whether our lines are taken out instead.
    pub removes: bool,
    /// Change nothing.
    pub dry_run: bool,
}

/// What became of a repository's hooks.
#[derive(Debug, Clone)]
pub struct GitHookChange {
    /// The hooks.
    pub hook: v1::GitHook,
    /// The text of each before and after, by its path.
    pub texts: Vec<(PathBuf, String, String)>,
}

/// Asks to name the context in the message of a commit that is being made.
#[derive(Debug, Clone)]
pub struct TrailerRequest {
    /// The file with the message, absolute.
    pub message: PathBuf,
    /// The directory in which git was called.
    pub dir: PathBuf,
    /// The process that asks.
    pub process: Process,
    /// When git asks.
    pub stage: TrailerStage,
}

/// When git asks for a trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrailerStage {
    /// Before the message is final, with one that was given.
    Given,
    /// Before an editor opens for a message that nobody wrote yet.
    Editor,
    /// The message is git's own, another commit's, or still its template: it gets none, whatever becomes of it.
    NotOurs,
    /// With the message that will be committed.
    Written,
}

/// Stands beside a message that an editor is open for: when it is written, it is new and gets a trailer. Without it nobody would know
/// then that it is no amended one, no merge's, and not the template that git takes for an empty one.
const EDITOR_MARK: &str = "stemma-editor";

impl Host {
    /// Lets commits of a repository name their context, or does so no longer.
    ///
    /// # Errors
    /// `git_no_repository`, `git_shared_hooks`, `git_hook_not_ours` with what is in the way; `io_failed`.
    pub fn git_hook(&self, request: &GitHookRequest) -> Answer<GitHookChange> {
        let change = || {
            let _alone = self.alone_unless(request.dry_run)?;
            changed(&self.home.temp_files(), request)
        };
        change().map_err(|fault: Fault| fault.0)
    }

    /// Adds the trailer to a message, where a session works that the commit is of. Returns whether it did.
    ///
    /// # Errors
    /// `io_failed`, and those of [`current`](Self::current). None is a reason to stop the commit.
    pub fn trailer(&self, request: &TrailerRequest) -> Answer<bool> {
        self.try_trailer(request).map_err(|fault| fault.0)
    }

    fn try_trailer(&self, request: &TrailerRequest) -> Result<bool, Fault> {
        let path = request.message.as_path();
        if path.parent().is_some_and(is_replaying) {
            return Ok(false);
        }
        let files = self.home.temp_files();
        if !is_turn_of(&files, request)? {
            return Ok(false);
        }
        // A message in another encoding would not come back as it was.
        let Some(before) = read_bytes(path)?.and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return Ok(false);
        };
        // Before the store is asked: most often there is nothing to add.
        let comments = comment_marks(&request.dir);
        if with_trailer(&before, "", &comments).is_none() {
            return Ok(false);
        }
        let found = Caller::new(self, &request.dir, Reach::Hook)?.session(&request.process)?;
        let now = self.home.options().clock.now();
        let is_recent = |at: Timestamp| now.as_micros() - at.as_micros() <= CURRENT_MICROS_MAX;
        // The agent itself commits, however long it was silent before; somebody else in its directory may have come later.
        if !found.is_own && !found.session.last_at.is_some_and(is_recent) {
            return Ok(false);
        }
        let Some(ctx) = found.session.tip else { return Ok(false) };
        let Some(after) = with_trailer(&before, &ctx.to_string(), &comments) else { return Ok(false) };
        write_text(&files, path, &after)?;
        Ok(true)
    }
}

fn changed(files: &TempFiles, request: &GitHookRequest) -> Result<GitHookChange, Fault> {
    let here = &request.dir;
    let repository = Repository::of(here).ok_or_else(|| {
        let reason = format!("{} is not inside a git repository, or git is not installed", here.display());
        Fault::from(Problem::new(Code::GitNoRepository, reason))
    })?;
    let folder =
        repository.hooks().ok_or_else(|| refused("git does not say where its hooks are".to_owned()))?;
    if !repository.owns(&folder) {
        let reason =
            format!("`core.hooksPath` says {}, which other repositories may use too", folder.display());
        return Err(Problem::new(Code::GitSharedHooks, reason).into());
    }
    // Both are read before one is written: what stands in the way of one stops both.
    let texts: Vec<(PathBuf, String, String)> =
        GIT_HOOKS.iter().map(|hook| planned(request, hook, &folder)).collect::<Result<_, Fault>>()?;
    let mut hooks = Vec::new();
    for (path, before, after) in &texts {
        let changed = after != before;
        let written = changed && !request.dry_run;
        if written {
            put(files, path, after)?;
        }
        hooks.push(v1::GitHook {
            path: path.to_string_lossy().into_owned(),
            changed,
            written,
            others: Vec::new(),
        });
    }
    let mut hooks = hooks.into_iter();
    let hook = hooks.next().map(|first| v1::GitHook { others: hooks.collect(), ..first });
    Ok(GitHookChange { hook: hook.expect("there is a hook that we are called in"), texts })
}

/// Returns a hook's path, its text, and what it is to be.
fn planned(
    request: &GitHookRequest,
    hook: &GitHook,
    folder: &Path,
) -> Result<(PathBuf, String, String), Fault> {
    let path = folder.join(hook.name);
    let before = String::from_utf8(read_bytes(&path)?.unwrap_or_default()).map_err(|_| {
        refused(format!("{} is not text: call `stemma {}` from it yourself", path.display(), hook.call))
    })?;
    let after = if request.removes {
        without_git_hook(&before)
    } else {
        let program = request.program.as_deref().and_then(Path::to_str);
        let program =
            program.ok_or_else(|| refused("where this program is cannot be said in a script".to_owned()))?;
        with_git_hook(&before, program, hook.call).ok_or_else(|| {
            let call = format!("{program} {} \"$@\"", hook.call);
            refused(format!("{} is not a shell script: let it call `{call}` itself", path.display()))
        })?
    };
    Ok((path, before, after))
}

/// Says whether a message gets its trailer now: one that was given before it is edited, one of an editor behind it.
fn is_turn_of(files: &TempFiles, request: &TrailerRequest) -> Result<bool, Fault> {
    let folder = request.message.parent().unwrap_or(Path::new(""));
    let mark = folder.join(EDITOR_MARK);
    let is_marked = mark.exists();
    if is_marked {
        std::fs::remove_file(&mark).map_err(|source| io_failed("remove", &mark, &source))?;
    }
    match request.stage {
        TrailerStage::Given => Ok(true),
        TrailerStage::NotOurs => Ok(false),
        TrailerStage::Written => Ok(is_marked),
        TrailerStage::Editor => {
            // Only in git's own folder: nobody else is to find files of ours.
            if folder.join("HEAD").exists() {
                write_text(files, &mark, "")?;
            }
            Ok(false)
        }
    }
}

/// Returns what begins a comment in messages of a repository.
fn comment_marks(dir: &Path) -> CommentMarks {
    // Of several the last one counts.
    let told = ask(dir, &["config", "--get-regexp", "^core\\.comment(char|string)$"]);
    let last = told
        .as_deref()
        .and_then(|told| told.lines().last()?.split_once(' ').map(|(_, mark)| mark.to_owned()));
    CommentMarks::of(last.as_deref())
}

fn refused(reason: String) -> Fault {
    EngineError::Refused { what: Refusal::GitHook, reasons: vec![reason] }.into()
}

fn write_text(files: &TempFiles, path: &Path, text: &str) -> Result<(), Fault> {
    let failed = |source: io::Error| io_failed("write", path, &source);
    files.write_whole(path, failed, |out| out.write_all(text.as_bytes()).map_err(failed))
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    let bytes = read_bounded(path, GIT_HOOK_BYTES_MAX + 1);
    let bytes = bytes.map_err(|source: io::Error| io_failed("read", path, &source))?;
    // What was read is written back: a part of it would be all that is left.
    let is_long =
        |bytes: &Vec<u8>| u64::try_from(bytes.len()).is_ok_and(|length| length > GIT_HOOK_BYTES_MAX);
    if bytes.as_ref().is_some_and(is_long) {
        let reason = format!("{} has more than {GIT_HOOK_BYTES_MAX} bytes", path.display());
        return Err(refused(reason));
    }
    Ok(bytes)
}

/// Writes the hook so that git runs it, or takes it away where nothing is left of it.
fn put(files: &TempFiles, path: &Path, text: &str) -> Result<(), Fault> {
    let failed = |source: io::Error| io_failed("write", path, &source);
    // The file that a link leads to is replaced, so that the link stays.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if text.is_empty() {
        return std::fs::remove_file(path).map_err(failed);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let before = std::fs::metadata(path).ok();
    write_text(files, path, text)?;
    make_startable(path, before.as_ref()).map_err(failed)
}

/// Lets a file be started, for those who may read it.
#[cfg(unix)]
fn make_startable(path: &Path, before: Option<&std::fs::Metadata>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = before.map_or(0o755, |metadata| metadata.permissions().mode() | 0o111);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Elsewhere git starts it by its first line.
#[cfg(not(unix))]
fn make_startable(_: &Path, _: Option<&std::fs::Metadata>) -> io::Result<()> {
    Ok(())
}

/// Says whether git makes commits anew that were made before: the present context did not write them, as it does write one
/// that takes another back. A message that a hook is given lies in git's own folder.
fn is_replaying(git: &Path) -> bool {
    const SIGNS: [&str; 3] = ["rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD"];
    SIGNS.iter().any(|sign| git.join(sign).exists())
}

/// A repository, as git tells it.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    /// The directory that its files are below.
    pub(super) top: PathBuf,
}

/// Asks git, and returns what it prints; none where it fails, or is not there.
fn ask(folder: &Path, args: &[&str]) -> Option<String> {
    match question(folder, &[]).ask(args) {
        GitAnswer::Yes(text) => Some(text),
        GitAnswer::No(_) | GitAnswer::Silent(_) => None,
    }
}

fn question<'a>(folder: &'a Path, emptied: &'a [String]) -> GitQuestion<'a> {
    GitQuestion { program: Path::new("git"), folder, bytes_max: GIT_BYTES_MAX, emptied }
}

impl Repository {
    /// Finds the repository that a folder is in.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let top = ask(folder, &["rev-parse", "--show-toplevel"])?;
        let top = top.strip_suffix('\n').unwrap_or(&top);
        (!top.is_empty()).then(|| Self { top: PathBuf::from(top) })
    }

    /// Says for lines of a file, counted from 0, which commit they are of.
    pub(super) fn blame(&self, file: &Path, wanted: &Range<usize>) -> BTreeMap<usize, BlamedCommit> {
        let range = format!("{},{}", wanted.start + 1, wanted.end);
        let Some(name) = file.to_str() else { return BTreeMap::new() };
        let args = ["blame", "--no-textconv", "--porcelain", "-L", &range, "--", name];
        let Some(filters) = self.filters() else { return BTreeMap::new() };
        let GitAnswer::Yes(told) = question(&self.top, &filters).ask(&args) else { return BTreeMap::new() };
        let mut lines = BTreeMap::new();
        let mut commits: BTreeMap<String, BlamedCommit> = BTreeMap::new();
        let mut current = String::new();
        for row in told.lines() {
            if let Some((id, number)) = header(row) {
                commits.entry(id.clone()).or_insert_with(|| BlamedCommit {
                    context: self.context_of(&id),
                    id: id.clone(),
                    summary: String::new(),
                });
                lines.insert(number - 1, id.clone());
                current = id;
            } else if let (Some(summary), Some(commit)) =
                (row.strip_prefix("summary "), commits.get_mut(&current))
            {
                summary.clone_into(&mut commit.summary);
            }
        }
        lines.into_iter().filter_map(|(line, id)| Some((line, commits.get(&id)?.clone()))).collect()
    }

    /// Returns the settings without which git runs no filter over a file, and waits for no list of commits to pass over; `None` where
    /// not all of them are known, since git would run the others. What only a filter makes of a file is not known to be committed then.
    fn filters(&self) -> Option<Vec<String>> {
        let args = ["config", "-z", "--name-only", "--get-regexp", "^filter[.]"];
        let known = match question(&self.top, &[]).ask(&args) {
            GitAnswer::Yes(known) => known,
            // No setting is called so.
            GitAnswer::No(Some(1)) => String::new(),
            GitAnswer::No(_) | GitAnswer::Silent(_) => return None,
        };
        let filters: BTreeSet<&str> =
            known.split('\0').filter_map(|name| Some(name.rsplit_once('.')?.0)).collect();
        // A name that is not UTF-8 came with other characters than it has.
        if filters.len() > FILTERS_MAX || known.contains(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        let of = |filter: &&str| ["clean", "process", "required"].map(|key| format!("{filter}.{key}"));
        Some(filters.iter().flat_map(of).chain(["blame.ignoreRevsFile".to_owned()]).collect())
    }

    fn context_of(&self, id: &str) -> Option<String> {
        let is_committed = id.bytes().any(|byte| byte != b'0');
        let format = format!("--format=%(trailers:key={CONTEXT_TRAILER},valueonly)");
        let told = is_committed.then(|| ask(&self.top, &["show", "-s", &format, id]))??;
        told.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }

    /// Returns the folder of the repository's hooks, wherever that is.
    fn hooks(&self) -> Option<PathBuf> {
        let folder = ask(&self.top, &["rev-parse", "--git-path", "hooks"])?;
        Some(self.top.join(folder.strip_suffix('\n').unwrap_or(&folder)))
    }

    /// Says whether the hooks' folder is the repository's own. Other repositories have the hooks of a folder elsewhere, too,
    /// and `..` or a link leads there as well.
    fn owns(&self, hooks: &Path) -> bool {
        let git = ask(&self.top, &["rev-parse", "--git-common-dir"]).unwrap_or_default();
        let git = self.top.join(git.strip_suffix('\n').unwrap_or(&git));
        let folder = real(hooks);
        folder.starts_with(real(&self.top)) || folder.starts_with(real(&git))
    }
}

/// Returns where a path leads. What is not there yet is below the part that is.
fn real(path: &Path) -> PathBuf {
    let found =
        path.ancestors().find_map(|part| Some((part.canonicalize().ok()?, path.strip_prefix(part).ok()?)));
    let Some((part, rest)) = found else { return path.to_owned() };
    // `..` behind a part that is not there leads nowhere.
    if rest.components().any(|word| word == Component::ParentDir) { PathBuf::new() } else { part.join(rest) }
}

/// Reads the line that begins a line's report: hash, line then, line now.
fn header(row: &str) -> Option<(String, usize)> {
    let mut words = row.split(' ');
    let id = words.next().filter(|id| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    words.next()?.parse::<usize>().ok()?;
    let number = words.next()?.parse::<usize>().ok().filter(|number| *number > 0)?;
    Some((id.to_owned(), number))
}
