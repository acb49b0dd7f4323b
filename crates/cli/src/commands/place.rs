//! What `resume`, `fork` and `start` share: placing a commit where the client looks, and telling how to go on.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use stemmata_api::Control;
use stemmata_api::v1::{Found, LatestSessionRequest, Losses, Placed, Session};
use stemmata_model::{CommitId, FormatId, LossAction};
use stemmata_service::PlaceRequest;

use crate::args::give::Placement;
use crate::errors::CliError;
use crate::output::session;
use crate::output::size::{self, grouped, many};
use crate::output::table::fit;
use crate::wiring::{App, runtime_of};

/// Kinds of losses, and tools, that are told to a person.
const LOSS_REASONS_MAX: usize = 8;

/// What is placed: a commit, and the session that was named or chosen.
pub(crate) struct Target {
    /// The commit.
    pub(crate) ctx: CommitId,
    /// The entry that it ends with, or before it where a person said it.
    pub(crate) at: Option<String>,
    /// The session.
    pub(crate) session: Option<String>,
}

impl Target {
    /// Returns what a reference means: where it names a prompt (`4a36:3`), everything before that.
    pub(crate) fn of(app: &App, found: Found, at: Option<&str>) -> Self {
        match found.prompt {
            Some(prompt) if at.is_none() => {
                app.say_cut(found.cut.as_ref());
                Self { ctx: prompt.of, at: Some(prompt.entry), session: None }
            }
            _ => {
                let session = found.session_id.as_ref().map(ToString::to_string);
                Self { ctx: app.told(&found), at: at.map(str::to_owned), session }
            }
        }
    }
}

/// How `resume` and `fork` differ.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    /// Whether the client's own session may be resumed in place of a copy.
    pub(crate) reuses: bool,
    /// Whether the client is started here.
    pub(crate) starts: bool,
}

/// Places a commit as a new session, or finds the client's own; none where the user was asked and declined.
pub(crate) fn place(
    app: &App,
    target: Target,
    manner: Manner,
    args: &Placement,
) -> Result<Option<Placed>, CliError> {
    let service = app.service()?;
    let mut request = PlaceRequest {
        ctx: target.ctx,
        session: target.session,
        runtime: args.runtime.clone(),
        cwd: None,
        stop: app.stop(&args.stop)?,
        at: target.at,
        client_version: args.client_version.clone(),
        reuses: manner.reuses,
        // Also where nothing is written: what `--dry-run` announces must be what would happen.
        starts: manner.starts,
        dry_run: args.dry_run,
    };
    let named = args.here.then_some(Path::new("")).or(args.cwd.as_deref());
    request.cwd = match named {
        Some(_) => Some(cwd(app, named)),
        None => match directory(
            app,
            app.host()?.own_directory(service, &request)?,
            request.starts && !args.dry_run,
        )? {
            Directory::Own => None,
            Directory::Current => Some(app.environment.current_dir.clone()),
            Directory::None => return Ok(None),
        },
    };
    let placed = app.host()?.place(service, &request, &Control::none())?;
    say_losses(app, placed.losses.as_ref(), placed.messages);
    Ok(Some(placed))
}

/// Returns what the client is started with: what was placed, or a copy where somebody opened the client's own session since it was
/// found to be free. From then on this process counts as the one that has it open.
pub(crate) fn settled(app: &App, placed: Placed, args: &Placement) -> Result<Placed, CliError> {
    if !placed.own_session {
        return Ok(placed);
    }
    let Some(reason) = app.host()?.claim(&placed)? else { return Ok(placed) };
    let request = PlaceRequest {
        ctx: placed.ctx,
        session: None,
        runtime: args.runtime.clone(),
        cwd: Some(PathBuf::from(placed.cwd)),
        stop: app.stop(&args.stop)?,
        at: None,
        client_version: args.client_version.clone(),
        reuses: false,
        starts: true,
        dry_run: false,
    };
    let copy = app.host()?.place(app.service()?, &request, &Control::none())?;
    Ok(Placed { copied_because: Some(reason), ..copy })
}

/// Where to work.
enum Directory {
    /// In the session's own; the host refuses one that is gone, and names the next step.
    Own,
    /// In the current one.
    Current,
    /// Nowhere: the user declined.
    None,
}

/// Chooses the directory: the session's own, which a person is asked about where it is not the current one.
fn directory(app: &App, own: Option<PathBuf>, asks: bool) -> Result<Directory, CliError> {
    let environment = &app.environment;
    let Some(own) = own else {
        app.console.say("The session does not say which directory it worked in; using the current one");
        return Ok(Directory::Current);
    };
    let shown = environment.shown(&own);
    if !own.is_dir() {
        app.console.say(&format!(
            "The session's directory {shown} is gone; using the current one (`--cwd DIR` for another one)"
        ));
        return Ok(Directory::Current);
    }
    let real = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    if app.console.json || real(&own) == real(&environment.current_dir) {
        return Ok(Directory::Own);
    }
    if !asks || !environment.stdin_is_terminal || !environment.stderr_is_terminal {
        app.console.say(&format!("Directory: {shown} (the session's own; `--here` for the current one)"));
        return Ok(Directory::Own);
    }
    app.console.ask(&format!("Resume in {shown} (its directory)? [Y/n/here] "))?;
    let mut answer = String::new();
    let is_answered = std::io::stdin().lock().read_line(&mut answer).map_err(CliError::Output)? > 0;
    Ok(match answer.trim().to_lowercase().as_str() {
        "" | "y" | "yes" if is_answered => Directory::Own,
        "here" | "h" => Directory::Current,
        _ => {
            app.console.say("Nothing was started");
            Directory::None
        }
    })
}

/// Says what a dry run found.
pub(crate) fn say_plan(app: &App, placed: &Placed, command: &str) -> Result<(), CliError> {
    let path = app.environment.shown(Path::new(&placed.path));
    let what = if placed.own_session {
        format!("Would resume the client's own session {path}")
    } else {
        format!("Would write {path}")
    };
    let sizes = format!("{}, {}", many(placed.messages, "message"), size::bytes(placed.bytes));
    let why = placed.copied_because.as_ref().map(|why| format!(" (a copy: {why})")).unwrap_or_default();
    app.console.text(&format!("{what}{why}: {sizes}\n  {command}\n"))?;
    app.console.say("Nothing was written (`--dry-run`)");
    Ok(())
}

/// Returns the directory to work in: the one that was named, else the current one.
pub(crate) fn cwd(app: &App, named: Option<&Path>) -> PathBuf {
    named.map_or_else(|| app.environment.current_dir.clone(), |cwd| app.environment.absolute(cwd))
}

/// Finds the commit that the user means. A session means its newest one, brought up to date first.
pub(crate) fn newest(app: &App, reference: &str) -> Result<String, CliError> {
    Ok(app.told(&found_newest(app, reference)?).to_string())
}

/// Refuses `--dry-run` with `--server`: the session would have to be copied into this store before placing it can be planned.
pub(crate) fn refuse_plan(app: &App, placement: &Placement) -> Result<(), CliError> {
    if app.is_remote() && placement.dry_run {
        let reason = "a session of a service is brought here before it is placed: leave `--dry-run` out";
        return Err(CliError::Usage(reason.to_owned()));
    }
    Ok(())
}

/// Finds what the user means, and brings it here where a service has it.
pub(crate) fn found_here(app: &App, reference: &str, placement: &Placement) -> Result<Found, CliError> {
    refuse_plan(app, placement)?;
    match app.bring_here(reference)? {
        Some(found) => Ok(found),
        None => found_newest(app, reference),
    }
}

/// Finds what the user means as [`newest`] does, with the prompt that was named where one was.
pub(crate) fn found_newest(app: &App, reference: &str) -> Result<Found, CliError> {
    let service = app.service()?;
    if app.is_remote() {
        return Ok(service.find(&app.reference(reference))?);
    }
    let newest = app.host()?.newest(service, &app.reference(reference))?;
    newest.unread.iter().for_each(|unread| app.console.warn(unread));
    Ok(newest.found)
}

/// Finds the latest session of the current directory, or of all, brought up to date; with `is_loadable` one that its client can
/// go on with.
pub(crate) fn latest(
    app: &App,
    of_all: bool,
    is_loadable: bool,
) -> Result<stemmata_service::Latest, CliError> {
    let here = (!of_all).then_some(app.environment.current_dir.as_path());
    if app.is_remote() {
        let project = here.map(|folder| folder.to_string_lossy().into_owned());
        let session = app.service()?.latest_session(&LatestSessionRequest { project, or_any: false })?;
        let ctx = app.commit(session.session_id.as_str())?;
        return Ok(stemmata_service::Latest { session, ctx, skipped: Vec::new(), unread: Vec::new() });
    }
    let latest = app.opened_host()?.latest(here, is_loadable)?;
    latest.unread.iter().for_each(|unread| app.console.warn(unread));
    say_skipped(app, &latest.skipped);
    Ok(latest)
}

/// Says which newer sessions no client can continue.
fn say_skipped(app: &App, skipped: &[Session]) {
    let Some(first) = skipped.first().filter(|_| !app.console.json) else { return };
    let title = fit(&session::title_of(first.title.as_deref().unwrap_or_default()), 40);
    let more = match skipped.len() {
        1 => String::new(),
        several => format!(" and {} more", several - 1),
    };
    app.console
        .say(&format!("Skipped «{title}» ({}){more}: no installed client can resume it", first.format));
}

/// Returns the client of a format, as people call it.
fn client_of(format: &str) -> String {
    FormatId::new(format).map_or_else(|_| format.to_owned(), |format| runtime_of(&format).to_owned())
}

/// Says what a translation converted, into how many messages, and what it did not.
pub(crate) fn say_losses(app: &App, losses: Option<&Losses>, made: u64) {
    if let Some(losses) = losses {
        for line in told_losses(losses, made) {
            app.console.say(&line);
        }
    }
}

fn told_losses(losses: &Losses, made: u64) -> Vec<String> {
    let of = |action: LossAction| losses.entries.iter().filter(move |loss| loss.action == action);
    let is_all = losses.unlisted == 0 && of(LossAction::Dropped).all(|loss| loss.part == "thinking");
    let all = if is_all && losses.kept > 1 { "All " } else { "" };
    // Clients divide one conversation into messages of their own.
    let there =
        if made == losses.kept { String::new() } else { format!(", where they are {}", grouped(made)) };
    let mut lines = vec![format!(
        "{all}{} converted, from {} to {}{there}",
        many(losses.kept, "message"),
        client_of(&losses.from),
        client_of(&losses.to)
    )];
    for (action, what) in [(LossAction::Dropped, "Left out"), (LossAction::Changed, "Changed")] {
        let told = counted(of(action).map(|loss| loss.reason.as_str()), &numbered);
        lines.extend((!told.is_empty()).then(|| format!("{what}: {}", told.join("; "))));
    }
    let calls = |count: u64, tool: &str| format!("`{tool}` ({})", many(count, "call"));
    let tools = counted(of(LossAction::Kept).filter_map(|loss| loss.tool.as_deref()), &calls);
    if !tools.is_empty() {
        lines.push(format!("Kept as they are, though the client has no such tools: {}", tools.join(", ")));
    }
    if losses.unlisted > 0 {
        lines.push(format!("and {} more", grouped(losses.unlisted)));
    }
    lines
}

/// Counts what is alike, the most frequent first, and tells each with its number.
fn counted<'a>(all: impl Iterator<Item = &'a str>, told: &dyn Fn(u64, &str) -> String) -> Vec<String> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest = counts.len().saturating_sub(LOSS_REASONS_MAX);
    let more = (rest > 0).then(|| format!("{rest} other kinds (`--json` has all)"));
    counts.into_iter().take(LOSS_REASONS_MAX).map(|(one, count)| told(count, one)).chain(more).collect()
}

/// Puts a number before what begins with `a` or `an` and a noun: `2 files of type …`.
fn numbered(count: u64, what: &str) -> String {
    let noun = what.strip_prefix("a ").or_else(|| what.strip_prefix("an "));
    let Some(noun) = noun else { return format!("{count} × {what}") };
    let end = noun.find([' ', ',', ':', ';']).unwrap_or(noun.len());
    let (noun, rest) = noun.split_at(end);
    format!("{}{rest}", many(count, noun))
}

/// Says which prompt was cut off, so that it can be edited and sent again.
pub(crate) fn say_prompt(app: &App, placed: &Placed) {
    if let Some(prompt) = &placed.prompt {
        app.console.say("The fork ends before this prompt; edit it and send it again:");
        app.console.say(&format!("  {}", prompt.replace('\n', "\n  ")));
    }
}
