//! `git install` and `git uninstall`, the trailer that the hook adds, and what is asked of git itself.
//!
//! Git is called as a program: its configuration, its hooks' folder and its blame are its own to know.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use stemmata_api::v1;
use stemmata_engine::{
    CONTEXT_TRAILER, EngineError, GIT_HOOK, GIT_HOOK_BYTES_MAX, Refusal, with_git_hook, with_trailer,
    without_git_hook,
};
use stemmata_store::{SystemFiles, read_bounded, write_whole};

use crate::args::git::{Git, GitCommand, GitInstall, GitTrailer};
use crate::caller::{Caller, Reach};
use crate::commands::install::diff;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Bytes of what git prints that are read at most.
const GIT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Microseconds for which the last activity of a session makes it the one that a commit is of.
const CURRENT_MICROS_MAX: i64 = 6 * 3_600 * 1_000_000;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Git) -> Result<Exit, CliError> {
    match &args.command {
        GitCommand::Install(args) => change(app, args, true),
        GitCommand::Uninstall(args) => change(app, args, false),
        GitCommand::Trailer(args) => Ok(trailer(app, args)),
    }
}

/// A repository, as git tells it.
pub(crate) struct Repository {
    /// The directory that its files are below.
    pub(crate) top: PathBuf,
}

/// The commit of git that a line is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlamedCommit {
    /// Its hash; zeros where the line is not committed.
    pub(crate) id: String,
    /// The first line of its message.
    pub(crate) summary: String,
    /// The context that its trailer names.
    pub(crate) context: Option<String>,
}

impl BlamedCommit {
    pub(crate) fn is_committed(&self) -> bool {
        self.id.bytes().any(|byte| byte != b'0')
    }
}

/// Asks git, and returns what it prints; none where it fails, or is not there.
fn ask(folder: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args).stdin(Stdio::null()).stderr(Stdio::null());
    // The hook runs within a command of git, whose variables would point to its index.
    command.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE").env_remove("GIT_WORK_TREE");
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let mut out = Vec::new();
    let read = child.stdout.take()?.take(GIT_BYTES_MAX).read_to_end(&mut out);
    let is_done = child.wait().ok()?.success();
    read.ok().filter(|_| is_done)?;
    Some(String::from_utf8_lossy(&out).into_owned())
}

impl Repository {
    /// Finds the repository that a folder is in.
    pub(crate) fn of(_app: &App, folder: &Path) -> Option<Self> {
        let top = ask(folder, &["rev-parse", "--show-toplevel"])?;
        let top = top.strip_suffix('\n').unwrap_or(&top);
        (!top.is_empty()).then(|| Self { top: PathBuf::from(top) })
    }

    /// Says for lines of a file, counted from 0, which commit they are of.
    pub(crate) fn blame(&self, file: &Path, wanted: &Range<usize>) -> BTreeMap<usize, BlamedCommit> {
        let range = format!("{},{}", wanted.start + 1, wanted.end);
        let Some(name) = file.to_str() else { return BTreeMap::new() };
        let args = ["blame", "--porcelain", "-L", &range, "--", name];
        let Some(told) = ask(&self.top, &args) else { return BTreeMap::new() };
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

    fn context_of(&self, id: &str) -> Option<String> {
        let is_committed = id.bytes().any(|byte| byte != b'0');
        let format = format!("--format=%(trailers:key={CONTEXT_TRAILER},valueonly)");
        let told = is_committed.then(|| ask(&self.top, &["show", "-s", &format, id]))??;
        told.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }

    /// Returns the hook's file, wherever the repository's hooks are.
    fn hook(&self) -> Option<PathBuf> {
        let folder = ask(&self.top, &["rev-parse", "--git-path", "hooks"])?;
        let folder = folder.strip_suffix('\n').unwrap_or(&folder);
        Some(self.top.join(folder).join(GIT_HOOK))
    }

    /// Returns whether a path is the repository's own: hooks elsewhere are those of other repositories too.
    fn owns(&self, path: &Path) -> bool {
        let git = ask(&self.top, &["rev-parse", "--git-common-dir"]).unwrap_or_default();
        let git = self.top.join(git.strip_suffix('\n').unwrap_or(&git));
        path.starts_with(&self.top) || path.starts_with(git)
    }
}

/// Reads the line that begins a line's report: hash, line then, line now.
fn header(row: &str) -> Option<(String, usize)> {
    let mut words = row.split(' ');
    let id = words.next().filter(|id| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    words.next()?.parse::<usize>().ok()?;
    let number = words.next()?.parse::<usize>().ok().filter(|number| *number > 0)?;
    Some((id.to_owned(), number))
}

fn refused(reason: String) -> CliError {
    EngineError::Refused { what: Refusal::GitHook, reasons: vec![reason] }.into()
}

fn change(app: &App, args: &GitInstall, puts_in: bool) -> Result<Exit, CliError> {
    let here = &app.environment.current_dir;
    let repository = Repository::of(app, here).ok_or_else(|| {
        refused(format!("{} is in no repository of git, or git is not there", here.display()))
    })?;
    let path = repository.hook().ok_or_else(|| refused("git does not say where its hooks are".to_owned()))?;
    if !repository.owns(&path) {
        let reason =
            format!("`core.hooksPath` says {}, whose hooks other repositories have too", path.display());
        return Err(refused(reason));
    }
    let text = String::from_utf8(read(&path)?.unwrap_or_default()).map_err(|_| {
        refused(format!("{} is no text: call `stemma git trailer` from it yourself", path.display()))
    })?;
    let after = if puts_in {
        let program = app.environment.lasting_program();
        let program = program.as_deref().and_then(Path::to_str);
        let program =
            program.ok_or_else(|| refused("where this program is cannot be said in a script".to_owned()))?;
        with_git_hook(&text, program).ok_or_else(|| {
            let call = format!("{program} git trailer \"$@\"");
            refused(format!("{} is no shell script: let it call `{call}` itself", path.display()))
        })?
    } else {
        without_git_hook(&text)
    };
    let is_changed = after != text;
    if is_changed && !args.dry_run {
        put(&path, &after)?;
    }
    if app.console.json {
        app.console.json(&v1::GitHook {
            path: path.to_string_lossy().into_owned(),
            changed: is_changed,
            written: is_changed && !args.dry_run,
        })?;
        return Ok(Exit::Done);
    }
    let shown = app.environment.shown(&path);
    if is_changed {
        app.console.text(&diff(&shown, &text, &after))?;
    }
    app.console.say(&match (is_changed, args.dry_run) {
        (false, _) => format!("{shown}: nothing to change"),
        (true, true) => "Nothing was written (`--dry-run`)".to_owned(),
        (true, false) => format!("{shown} written"),
    });
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, CliError> {
    let bytes = read_bounded(path, GIT_HOOK_BYTES_MAX + 1);
    let bytes = bytes.map_err(|source| CliError::io("read", path, source))?;
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
fn put(path: &Path, text: &str) -> Result<(), CliError> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |source| CliError::io("write", path, source);
    // A link keeps pointing where it points.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if text.is_empty() {
        return std::fs::remove_file(path).map_err(failed);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mode = std::fs::metadata(path).map_or(0o755, |metadata| metadata.permissions().mode() | 0o111);
    write_whole(&SystemFiles, path, failed, |out| out.write_all(text.as_bytes()).map_err(failed))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Adds the trailer. Whatever goes wrong, the commit goes on.
fn trailer(app: &App, args: &GitTrailer) -> Exit {
    // The message of a merge or a squash is git's own, an amended one has what it had, and of one that is still its
    // template git sees that nobody wrote it only while nothing is added.
    let is_new = !matches!(args.source.as_deref(), Some("merge" | "squash" | "commit" | "template"));
    if is_new && let Err(error) = try_trailer(app, &args.message) {
        tracing::warn!(error = ?error.exit(), "no trailer was added");
    }
    Exit::Done
}

fn try_trailer(app: &App, message: &Path) -> Result<(), CliError> {
    let path = app.environment.absolute(message);
    if path.parent().is_some_and(is_replaying) {
        return Ok(());
    }
    // A message in another encoding would not come back as it was.
    let Some(before) = read(&path)?.and_then(|bytes| String::from_utf8(bytes).ok()) else { return Ok(()) };
    // Before the store is asked: most often there is nothing to add.
    if with_trailer(&before, "").is_none() {
        return Ok(());
    }
    let engine = app.engine()?;
    let found = Caller { app, engine, reach: Reach::Hook }.session()?;
    let is_recent =
        |at: stemmata_model::Timestamp| app.now().as_micros() - at.as_micros() <= CURRENT_MICROS_MAX;
    // The agent itself commits, however long it was silent before; somebody else in its directory may have come later.
    if !found.is_own && !found.session.last_at.is_some_and(is_recent) {
        return Ok(());
    }
    let Some(ctx) = found.session.tip else { return Ok(()) };
    let Some(after) = with_trailer(&before, &ctx.to_string()) else { return Ok(()) };
    let failed = |source| CliError::io("write", &path, source);
    write_whole(&SystemFiles, &path, failed, |out: &mut dyn Write| {
        out.write_all(after.as_bytes()).map_err(failed)
    })
}

/// Says whether git makes commits anew that were made before: the present context did not write them, as it does write one
/// that takes another back. A message that a hook is given lies in git's own folder.
fn is_replaying(git: &Path) -> bool {
    const SIGNS: [&str; 3] = ["rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD"];
    SIGNS.iter().any(|sign| git.join(sign).exists())
}
