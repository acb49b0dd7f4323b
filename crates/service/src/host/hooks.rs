//! The hooks of each client: whether they are there, call this program, and were heard when the client was used.
//!
//! What is put into clients is the engine's to know; here it is compared with what is there.

use std::collections::BTreeMap;
use std::path::Path;

use stemmata_api::v1;
use stemmata_engine::{
    Engine, FileState, Home, HookWish, Marker, SurveyedFile, calls_exports,
    clients::{self, Client},
    installed_hooks, modified, with_hooks,
};
use stemmata_model::Timestamp;

use super::{Host, StatusRequest, read_settings};
use crate::fault::Fault;

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
        engine: &Engine,
        runtime: &'static str,
        files: &[&SurveyedFile],
    ) -> Result<(), Fault> {
        let mut written: Vec<(Timestamp, &SurveyedFile)> =
            files.iter().filter_map(|file| Some((written_at(file)?, *file))).collect();
        written.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
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
    fn of(host: &Host, request: &StatusRequest, client: &Client, path: &Path) -> Self {
        let text = match read_settings(path) {
            Ok(None) => return Self::None,
            Ok(Some(text)) => text,
            Err(problem) => {
                let causes = problem.causes.iter().map(|cause| format!(": {cause}"));
                return Self::Unreadable(format!("{}{}", problem.detail, causes.collect::<String>()));
            }
        };
        let found = match installed_hooks(&text, client) {
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
        let own = request.program.clone().unwrap_or_default();
        let program = if called.file_name() == own.file_name() { called } else { &own };
        let provisional = host.home.options().settings.provisional;
        let folder = host.machine.clients.config_dir(client);
        let wish = HookWish {
            program: &program.to_string_lossy(),
            provisional,
            inject: found.inject,
            calls_exports: calls_exports(client, folder.as_deref()),
        };
        let is_current = with_hooks(Some(&text), client, &wish).is_ok_and(|wanted| wanted == text);
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

/// Returns what is to be told of each client's hooks. A client that is not here, has none and never had any is left
/// out.
pub(super) fn all(host: &Host, request: &StatusRequest, used: &Used) -> Vec<v1::Hooks> {
    let home = &*host.home;
    let now = home.options().clock.now();
    let calls = home.calls();
    let troubles = calls.troubles();
    let here = host.hook_clients();
    let mut found = Vec::new();
    for client in clients::hooked() {
        let Ok(path) = host.settings_of(client.id) else { continue };
        let state = State::of(host, request, client, &path);
        let heard_at = calls.last(client.id);
        let trouble = troubles.iter().find(|(source, _)| source == client.id).map(|(_, trouble)| trouble);
        let is_new = heard_at.is_none() && trouble.is_none();
        if is_new && matches!(state, State::None | State::Unreadable(_)) && !here.contains(&client.id) {
            continue;
        }
        let used_at = used.0.get(client.id).copied();
        // A client that was never heard may not have been started since its hooks were put in.
        let since = heard_at.or_else(|| modified(&path));
        let between = |from: Timestamp, to: Timestamp| to.as_micros().saturating_sub(from.as_micros());
        let is_unheard = used_at.zip(since).is_some_and(|(used, since)| {
            between(since, used) > TURN_MICROS_MAX && between(used, now) > SILENT_MICROS_MIN
        });
        let (program, reason) = match &state {
            State::Current(program) | State::Changed(program) | State::Broken(program) => {
                (Some(program.clone()).filter(|program| !program.is_empty()), None)
            }
            State::Unreadable(reason) => (None, Some(reason.clone())),
            State::None => (None, None),
        };
        found.push(v1::Hooks {
            runtime: client.id.to_owned(),
            path: path.to_string_lossy().into_owned(),
            state: if is_new && matches!(state, State::None) { "off" } else { state.name() }.to_owned(),
            program,
            reason,
            heard_at,
            used_at,
            unheard: is_unheard,
            trouble: trouble.map(|trouble| trouble.reason.clone()),
            trouble_at: trouble.map(|trouble| Timestamp::from_micros(trouble.at)),
        });
    }
    found
}

/// Returns the last trouble of all hooks and of `run`.
pub(super) fn last_trouble(home: &Home) -> Option<Marker> {
    let troubles = home.calls().troubles().into_iter().map(|(_, trouble)| trouble);
    troubles.max_by_key(|trouble| trouble.at)
}

/// Says whether a file is there that can be started.
pub fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        path.is_file()
    }
}
