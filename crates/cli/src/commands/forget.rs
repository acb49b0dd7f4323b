//! `forget`: shows what would go and what still needs it, asks, and lets go.

use stemmata_api::v1::{self, UnforgetRequest};
use stemmata_api::{Code, Control, Problem};

use std::path::Path;

use crate::args::keep::Forget;
use crate::commands::confirm::{Final, confirmed, shown, told_stores_left, unasked, warn_unfinished};
use crate::commands::launch::quoted;
use crate::commands::undo;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::session;
use crate::output::size::{self, many, more, plural};
use crate::output::style::{Style, tame};
use crate::wiring::App;
use stemmata_model::{SessionId, to_u64};

/// Lines of one kind that people see; `--json` has all.
const LINES_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Forget) -> Result<Exit, CliError> {
    if let Some(text) = &args.undo {
        return unforget(app, text);
    }
    if args.copies {
        return undo::all(app, (args.dry_run, args.yes));
    }
    if args.vault {
        return forget_vault(app, args);
    }
    let project = args.project.as_ref().map(|project| app.environment.absolute(project));
    let request = v1::ForgetRequest {
        reference: args.reference.clone(),
        path: args.reference.as_ref().map(|reference| app.path_of(reference)),
        project: project.map(|path| path.to_string_lossy().into_owned()),
        everywhere: args.everywhere,
        even_pinned: args.even_pinned,
    };
    let service = app.service()?;
    let plan = || service.plan_forget(&request).map_err(|problem| with_own_hint(&request, problem));
    if args.yes && !args.dry_run {
        let done = unasked(
            plan,
            |plan| plan.digest.as_ref(),
            |digest| service.apply_forget(&request, digest, &Control::none()),
        )?;
        return show(app, &done);
    }
    let plan = match plan() {
        // A dry run shows the plan also where something is protected; the refusal follows, as without `--dry-run`.
        Err(problem) if args.dry_run && problem.is(Code::Protected) => {
            let all = v1::ForgetRequest { even_pinned: true, ..request.clone() };
            show(app, &service.plan_forget(&all)?)?;
            return Err(problem.into());
        }
        plan => plan?,
    };
    if args.dry_run {
        return show(app, &plan);
    }
    let act = Final {
        what: "forgetting deletes for good what is stored",
        plan: &told(app, &plan)?,
        is_nothing: is_nothing(&plan),
        question: "Forget this permanently? [y/N] ",
        declined: "Nothing was forgotten.",
    };
    if !confirmed(app, &act)? {
        return Ok(Exit::Done);
    }
    show(app, &service.apply_forget(&request, &shown(plan.digest.as_ref()), &Control::none())?)
}

fn forget_vault(app: &App, args: &Forget) -> Result<Exit, CliError> {
    let host = app.host()?;
    let plan = host.remove_vault(true)?;
    if args.dry_run || plan.path.is_none() {
        return app.answer(&plan, || Ok(vault_told(app, &plan)));
    }
    if !args.yes {
        let act = Final {
            what: "the secrets that an earlier version kept are overwritten for good",
            plan: &vault_told(app, &plan),
            is_nothing: false,
            question: "Remove them? [y/N] ",
            declined: "Nothing was removed.",
        };
        if !confirmed(app, &act)? {
            return Ok(Exit::Done);
        }
    }
    let done = host.remove_vault(false)?;
    app.answer(&done, || Ok(vault_told(app, &done)))
}

/// Tells what became of the secrets that an earlier version kept.
pub(super) fn vault_told(app: &App, removed: &v1::VaultRemoved) -> String {
    let v1::VaultRemoved { path, files, bytes, dry_run } = removed;
    let Some(path) = path else { return "No secrets of earlier versions are kept here.\n".to_owned() };
    let verb = if *dry_run { "Would overwrite and remove" } else { "Overwrote and removed" };
    let path = app.environment.shown(Path::new(path));
    format!("{} {path}: {}, {}\n", Style::Warning.paint(verb), many(*files, "file"), size::bytes(*bytes))
}

/// Names in the hint what was to be forgotten, so that the command can be copied; of a point of a chain it says what it may be.
fn with_own_hint(request: &v1::ForgetRequest, mut problem: Box<Problem>) -> Box<Problem> {
    let reference = request.reference.as_deref().unwrap_or_default();
    if problem.is(Code::ReferenceNotFound) && reference.contains(['@', ':', '~']) {
        let what = "what is deleted is named itself: by the id of a session or a commit, or by a tag";
        // Of a range, the commit where it begins.
        let point = reference.split("..").next().unwrap_or_default();
        problem.hint = Some(format!("{what}; `stemma show {} --meta` names the commit", quoted(point)));
    }
    if problem.is(Code::Protected) {
        let project = request.project.as_ref().map(|project| format!("--project {}", quoted(project)));
        let what = project.or_else(|| request.reference.as_deref().map(quoted)).unwrap_or_default();
        let everywhere = if request.everywhere { " --everywhere" } else { "" };
        problem.hint =
            Some(format!("`stemma forget {what}{everywhere} --even-pinned` forgets protected commits too"));
    }
    problem
}

fn unforget(app: &App, text: &str) -> Result<Exit, CliError> {
    let undone = app.host()?.unforget(
        app.service()?,
        &UnforgetRequest { reference: text.to_owned() },
        &Control::none(),
    )?;
    app.answer(&undone, || {
        Ok("It may be imported again: `stemma import` imports what its transcript still holds.\n".to_owned())
    })
}

fn show(app: &App, done: &v1::Forget) -> Result<Exit, CliError> {
    if let Some(meant) = &done.meant {
        app.say_redirected(meant);
    }
    let exit = app.answer(done, || told(app, done))?;
    warn_unfinished(app, done.unfinished.as_deref());
    Ok(exit)
}

fn is_nothing(done: &v1::Forget) -> bool {
    done.removed.is_empty()
        && done.cut.is_empty()
        && done.sealed.is_empty()
        && done.sessions.is_empty()
        && done.events == 0
}

fn told(app: &App, done: &v1::Forget) -> Result<String, CliError> {
    let dry_run = done.dry_run;
    let mut text = String::new();
    let ids = app.short_sessions(done.sessions.iter().take(LINES_MAX))?;
    for (id, title) in ids.iter().zip(&done.titles) {
        put!(text, "{}  {}\n", Style::Id.paint(id), session::title_of(title));
    }
    text.push_str(&more(done.sessions.len(), LINES_MAX, "", ""));
    if is_nothing(done) {
        put!(text, "Nothing {} forgotten.\n", if dry_run { "would be" } else { "was" });
    } else {
        let verb = if dry_run { "Would forget" } else { "Forgot" };
        let gone = to_u64(done.removed.len() + done.cut.len() + done.cut_too.len());
        put!(
            text,
            "{}: {}, {} of content",
            Style::Warning.paint(verb),
            many(gone.saturating_sub(done.sidecar_commits), "commit"),
            size::bytes(done.bytes)
        );
        if done.sidecars > 0 {
            put!(text, ", {} beside transcripts", many(done.sidecars, "file"));
        }
        if done.events > 0 {
            put!(text, ", {}", many(done.events, "event"));
        }
        if !done.cut.is_empty() {
            put!(text, "; {}", holes(to_u64(done.cut.len() + done.cut_too.len()), dry_run));
        }
        text.push('\n');
        for ledger in done.ledgers.iter().take(LINES_MAX) {
            put!(text, "{}: all of its events, and everything derived from them\n", tame(ledger));
        }
        if done.ledgers.len() > LINES_MAX {
            put!(text, "… and of {} more ledgers\n", done.ledgers.len() - LINES_MAX);
        }
        if !done.sealed.is_empty() {
            let sealed = plural(done.sealed.len(), "commit");
            put!(
                text,
                "{sealed} came here without content; nothing {} it now\n",
                if dry_run { "would fill" } else { "fills" }
            );
        }
    }
    let keeps = |reason: &str| done.kept.iter().filter(|kept| kept.because == reason).count();
    for (reason, words) in [
        ("child", "needed by what continues from them"),
        ("session", "part of other sessions"),
        ("ticket", "referred to by a ticket or a thread"),
        ("pin", "pinned"),
        ("tag", "tagged"),
    ] {
        if keeps(reason) > 0 {
            put!(text, "Stays: {}, {words}\n", plural(keeps(reason), "commit"));
        }
    }
    text.push_str(&told_others(app, done)?);
    text.push_str(&told_left(app, done));
    let holds_on = !done.kept.is_empty() || (!done.copies.is_empty() && done.cut.is_empty());
    if dry_run && holds_on {
        put!(text, "{}: `--everywhere` cuts it out of branches and copies too\n", Style::Hint.paint("hint"));
    }
    Ok(text)
}

/// Says what a client still has, and how to allow it again.
fn told_left(app: &App, done: &v1::Forget) -> String {
    let mut text = String::new();
    for path in done.transcripts_left.iter().take(LINES_MAX) {
        let verb = if done.dry_run { "Would stay" } else { "Stays" };
        put!(text, "{verb} on disk: {}\n", app.environment.shown(Path::new(path)));
    }
    text.push_str(&more(done.transcripts_left.len(), LINES_MAX, "", " transcripts"));
    text.push_str(&told_stores_left(app, &done.stores_left, done.dry_run));
    let commits = done.removed.iter().chain(&done.cut).map(ToString::to_string);
    let mut ids = done.sessions.iter().map(ToString::to_string).chain(commits);
    if let Some(id) = ids.next().filter(|_| !done.dry_run) {
        let hint = Style::Hint.paint("hint");
        put!(text, "{hint}: `stemma forget --undo {}` lets all of it be imported again\n", tame(&id));
    }
    text
}

fn told_others(app: &App, done: &v1::Forget) -> Result<String, CliError> {
    let mut text = String::new();
    if done.without_outputs > 0 {
        put!(text, "Without their whole outputs, which go: {}\n", many(done.without_outputs, "commit"));
    }
    // A session may go on from one commit in several ways, which say the same to a person.
    let mut branches: Vec<&v1::ForgetBranch> = Vec::new();
    for branch in &done.branches {
        let is_alike = |other: &&v1::ForgetBranch| {
            (&other.from, &other.session_id) == (&branch.from, &branch.session_id)
        };
        if branch.session_id.is_none() || !branches.iter().any(is_alike) {
            branches.push(branch);
        }
    }
    let named = branches.iter().map(|branch| branch.from);
    let ids = app.short_ids(named.take(LINES_MAX))?;
    for branch in branches.iter().take(LINES_MAX) {
        put!(
            text,
            "  branch from {}  {}\n",
            ids.cut(branch.from),
            whose(app, branch.session_id.as_ref(), branch.title.as_deref())?
        );
    }
    text.push_str(&more(branches.len(), LINES_MAX, "  ", " branches"));
    for copy in done.copies.iter().take(LINES_MAX) {
        let shared = plural(copy.commits.len(), "commit");
        put!(
            text,
            "  the same entries in {shared}  {}\n",
            whose(app, copy.session_id.as_ref(), copy.title.as_deref())?
        );
    }
    text.push_str(&more(done.copies.len(), LINES_MAX, "  ", " copies"));
    if !done.spared.is_empty() {
        let spared = plural(done.spared.len(), "commit");
        put!(text, "Spared: {spared} of them, pinned or tagged (`--even-pinned`)\n");
    }
    Ok(text)
}

fn whose(app: &App, session: Option<&SessionId>, title: Option<&str>) -> Result<String, CliError> {
    let Some(id) = session else { return Ok("(no session)".to_owned()) };
    let id = app.short_sessions([id])?.concat();
    Ok(format!("{id}  {}", session::title_of(title.unwrap_or_default())))
}

fn holes(count: u64, dry_run: bool) -> String {
    match (dry_run, count) {
        (true, 1) => "1 would become an empty placeholder".to_owned(),
        (true, _) => format!("{count} would become empty placeholders"),
        (false, 1) => "1 is an empty placeholder now".to_owned(),
        (false, _) => format!("{count} are empty placeholders now"),
    }
}
