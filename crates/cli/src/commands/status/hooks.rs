//! The hooks of each client: whether they are there, call this program, and were heard when the client was used.
//!
//! What is put into clients is the engine's to know; here it is compared with what is there.

use std::collections::BTreeMap;
use std::path::Path;

use stemmata_api::v1;
use stemmata_engine::{
    FileState, HOOK_PLACES, HookPlace, HookWish, Marker, SurveyedFile, installed_hooks, modified, with_hooks,
};
use stemmata_model::Timestamp;
use stemmata_service::read_settings;

use crate::environment::is_program;
use crate::errors::CliError;
use crate::output::put;
use crate::output::style::Style;
use crate::output::time;
use crate::wiring::App;

/// Microseconds by which a transcript may be newer than the last call: within a turn a client writes and calls nobody.
const TURN_MICROS_MAX: i64 = 3_600 * 1_000_000;

/// Microseconds for which a transcript has to be silent before its client counts as one that calls nobody: a turn may last
/// for hours, and writes all the while.
const SILENT_MICROS_MIN: i64 = 15 * 60 * 1_000_000;

/// Transcripts of a client that are looked at for the one that it wrote last: others were placed there by us.
const LATEST_MAX: usize = 64;

/// When each client wrote a transcript last.
#[derive(Debug, Default)]
pub(super) struct Used(BTreeMap<&'static str, Timestamp>);

impl Used {
    /// Looks at a client's transcripts. What we placed for a client, and it never wrote to, is no use of it.
    pub(super) fn see(
        &mut self,
        app: &App,
        runtime: &'static str,
        files: &[&SurveyedFile],
    ) -> Result<(), CliError> {
        let mut written: Vec<(Timestamp, &SurveyedFile)> =
            files.iter().filter_map(|file| Some((written_at(file)?, *file))).collect();
        written.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let engine = app.engine()?;
        for (at, file) in written.into_iter().take(LATEST_MAX) {
            let machine = &engine.identity().machine;
            let placed = engine.store().placement(machine, &file.path.to_string_lossy())?.is_some();
            if !(placed && file.state == FileState::Unchanged) {
                let known = self.0.entry(runtime).or_insert(at);
                *known = at.max(*known);
                break;
            }
        }
        Ok(())
    }
}

fn written_at(file: &SurveyedFile) -> Option<Timestamp> {
    let in_database = file.modified_ns.and_then(|ns| i64::try_from(ns / 1_000).ok());
    in_database.map(Timestamp::from_micros).or_else(|| modified(&file.path))
}

/// What is in a client's file.
enum State {
    /// Nothing of ours.
    None,
    /// What `install` would write.
    Current(String),
    /// Something else of ours.
    Changed(String),
    /// It calls a program that is not there.
    Broken(String),
    /// Why it cannot be read.
    Unreadable(String),
}

impl State {
    fn of(app: &App, place: &HookPlace, path: &Path) -> Self {
        let text = match read_settings(path) {
            Ok(None) => return Self::None,
            Ok(Some(text)) => text,
            Err(problem) => return Self::Unreadable(crate::errors::with_causes(&problem.into())),
        };
        let found = match installed_hooks(&text, place) {
            Ok(None) => return Self::None,
            Ok(Some(found)) => found,
            Err(error) => return Self::Unreadable(error.to_string()),
        };
        // Another version wrote a command that this one does not read.
        if found.program.is_empty() {
            return Self::Changed(found.program);
        }
        let called = Path::new(&found.program);
        if !is_program(called) {
            return Self::Broken(found.program);
        }
        // Which of several installed ones this call is says nothing about the hooks: another `PATH` leads to another.
        let own = app.environment.lasting_program().unwrap_or_default();
        let program = if called.file_name() == own.file_name() { called } else { &own };
        let provisional = app.settings.provisional;
        let wish = HookWish { program: &program.to_string_lossy(), provisional, inject: found.inject };
        let is_current = with_hooks(Some(&text), place, &wish).is_ok_and(|wanted| wanted == text);
        if is_current { Self::Current(found.program) } else { Self::Changed(found.program) }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Current(_) => "current",
            Self::Changed(_) => "changed",
            Self::Broken(_) => "broken",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

/// Returns what is to be told of each client's hooks. A client that has none and never had any is left out.
pub(super) fn all(app: &App, used: &Used) -> Result<Vec<v1::Hooks>, CliError> {
    let (home, host) = (app.home()?, app.host()?);
    let calls = home.calls();
    let troubles = calls.troubles();
    let mut found = Vec::new();
    for place in HOOK_PLACES {
        let Ok(path) = host.settings_of(place.runtime) else { continue };
        let state = State::of(app, place, &path);
        let heard_at = calls.last(place.runtime);
        let trouble = troubles.iter().find(|(source, _)| source == place.runtime).map(|(_, trouble)| trouble);
        if matches!(state, State::None | State::Unreadable(_)) && heard_at.is_none() && trouble.is_none() {
            continue;
        }
        let used_at = used.0.get(place.runtime).copied();
        // A client that was never heard may not have been started since its hooks were put in.
        let since = heard_at.or_else(|| modified(&path));
        let between = |from: Timestamp, to: Timestamp| to.as_micros().saturating_sub(from.as_micros());
        let is_unheard = used_at.zip(since).is_some_and(|(used, since)| {
            between(since, used) > TURN_MICROS_MAX && between(used, app.now()) > SILENT_MICROS_MIN
        });
        let (program, reason) = match &state {
            State::Current(program) | State::Changed(program) | State::Broken(program) => {
                (Some(program.clone()).filter(|program| !program.is_empty()), None)
            }
            State::Unreadable(reason) => (None, Some(reason.clone())),
            State::None => (None, None),
        };
        found.push(v1::Hooks {
            runtime: place.runtime.to_owned(),
            path: path.to_string_lossy().into_owned(),
            state: state.name().to_owned(),
            program,
            reason,
            heard_at: heard_at.map(|at| at.to_string()),
            used_at: used_at.map(|at| at.to_string()),
            unheard: is_unheard,
            trouble: trouble.map(|trouble| trouble.reason.clone()),
            trouble_at: trouble.map(|trouble| Timestamp::from_micros(trouble.at).to_string()),
        });
    }
    Ok(found)
}

/// Returns the last trouble of all hooks and of `run`.
pub(super) fn last_trouble(app: &App) -> Result<Option<Marker>, CliError> {
    let troubles = app.home()?.calls().troubles().into_iter().map(|(_, trouble)| trouble);
    Ok(troubles.max_by_key(|trouble| trouble.at))
}

/// Describes one client's hooks for people, in a few words.
pub(super) fn described(app: &App, hooks: &v1::Hooks) -> String {
    let state = match hooks.state.as_str() {
        "current" => "installed",
        "none" => "not there any more",
        "unreadable" => "cannot be read",
        _ => "installed, not as it should be",
    };
    let heard = ago(app, hooks.heard_at.as_deref());
    let heard = heard.map_or_else(|| "never heard".to_owned(), |ago| format!("last heard {ago}"));
    format!("{}: {state}; {heard}", hooks.runtime)
}

fn ago(app: &App, at: Option<&str>) -> Option<String> {
    let at = Timestamp::parse(at?).ok()?;
    Some(time::ago(at, app.now()))
}

/// Returns a line for each thing that keeps a client's hooks from capturing, with what to do about it.
pub(super) fn warnings(app: &App, hooks: &[v1::Hooks]) -> String {
    let mut text = String::new();
    for client in hooks {
        let runtime = &client.runtime;
        let program = client.program.as_deref().map(|path| app.environment.shown(Path::new(path)));
        let program = program.unwrap_or_default();
        let reason = client.reason.as_deref().unwrap_or_default();
        let wrong = match client.state.as_str() {
            "none" => Some("are not in its settings any more".to_owned()),
            "broken" => Some(format!("call {program}, which is not there")),
            "changed" if program.is_empty() => Some("are not as this version wants them".to_owned()),
            "changed" => Some(format!("are not as this version wants them (they call {program})")),
            "unreadable" => Some(format!("cannot be read: {reason}")),
            _ => None,
        };
        let warning = Style::Warning.paint("warning");
        if let Some(wrong) = wrong {
            let next = format!("`stemma install {runtime}` puts them in again");
            put!(text, "{warning}: the hooks of {runtime} {wrong}; {next}\n");
        } else if let Some(ago) = ago(app, client.used_at.as_deref()).filter(|_| client.unheard) {
            let next = "start it anew, since clients read their hooks when they start";
            put!(
                text,
                "{warning}: {runtime} wrote a transcript {ago} and its hooks were not heard; {next}\n"
            );
        }
    }
    text
}
