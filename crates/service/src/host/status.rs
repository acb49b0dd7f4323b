//! Where things are, what is stored, and what is not yet imported.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use stemmata_api::{Answer, v1};
use stemmata_engine::{Engine, FileState, Home, SETTINGS_BYTES_MAX, Survey, SurveyedFile, clients};
use stemmata_model::Timestamp;
use stemmata_store::read_bounded;

use super::{Host, hooks};
use crate::fault::Fault;
use crate::wire;

const SECONDS_PER_DAY: u64 = 86_400;

/// Days before a client deletes a transcript in which that counts as soon.
const SOON_DAYS: u64 = 7;

/// What the program says of itself where its status is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRequest {
    /// Its version.
    pub version: String,
    /// Its configuration file, whether it exists or not.
    pub config: Option<PathBuf>,
    /// How it is called so that this lasts: what hooks are to call.
    pub program: Option<PathBuf>,
}

impl Host {
    /// Returns where things are, how much there is, and what is not yet imported.
    ///
    /// # Errors
    /// Those of the store and of the system.
    pub fn status(&self, request: &StatusRequest) -> Answer<v1::Status> {
        self.with(|home| status(self, home, request))
    }
}

fn status(host: &Host, home: &Home, request: &StatusRequest) -> Result<v1::Status, Fault> {
    let (engine, now) = (home.engine()?, host.now());
    let (mut homes, mut pending, mut surveyed) = (Vec::new(), Vec::new(), Survey::default());
    let mut unread_names = HashSet::new();
    let (mut held_back, mut used) = (0, hooks::Used::default());
    for found in host.machine.clients.existing() {
        let survey = engine.survey_all(std::slice::from_ref(&found.transcripts))?;
        let transcripts: Vec<&SurveyedFile> =
            survey.files.iter().filter(|file| file.state.is_transcript()).collect();
        used.see(engine, found.runtime, &transcripts)?;
        held_back += transcripts.iter().filter(|file| file.state == FileState::HeldBack).count();
        let days = days_kept(found.runtime, Some(&found.config_dir));
        let is_due = |file: &&&SurveyedFile| {
            days.and_then(|days| days_left(now, &file.path, days)).is_some_and(|left| left <= SOON_DAYS)
        };
        homes.push(v1::Home {
            runtime: found.runtime.to_owned(),
            path: found.config_dir.to_string_lossy().into_owned(),
            transcripts: u64::try_from(transcripts.len()).unwrap_or(u64::MAX),
            bytes: transcripts.iter().map(|file| file.bytes).sum(),
            deletes_after_days: days,
            deletes_soon: u64::try_from(transcripts.iter().filter(is_due).count()).unwrap_or(u64::MAX),
        });
        let unread = transcripts.iter().filter(|file| file.state == FileState::New);
        unread_names.extend(unread.filter_map(|file| file.path.file_name().map(OsStr::to_owned)));
        for file in transcripts {
            pending.extend(waiting(engine, now, file, days)?);
        }
        surveyed.add(survey);
    }
    let rules = match engine.rules() {
        Ok((_, version)) => version.to_owned(),
        Err(error) => format!("cannot be used, so that nothing is captured: {error}"),
    };
    let usage = engine.store().usage()?;
    let totals = engine.session_totals(usize::MAX, &mut drop)?;
    let (only_here_sessions, only_here_bytes) = only_here(engine, &unread_names)?;
    let condemned = engine.store().condemned()?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let trouble = hooks::last_trouble(home);
    Ok(v1::Status {
        version: request.version.clone(),
        home: home.dir().to_string_lossy().into_owned(),
        store: home.store_dir().to_string_lossy().into_owned(),
        config: request.config.as_deref().map(text),
        machine: engine.identity().machine.to_string(),
        machine_label: engine.identity().machine_label.clone(),
        rules,
        usage: Some(wire::maintain::usage(usage, engine.index_bytes())),
        sessions: Some(v1::SessionTotals {
            listed: totals.listed,
            subagents: totals.subagents,
            copies: totals.copies,
        }),
        quota: home.quota_of(&usage).and_then(wire::quota::warning),
        hook_trouble_at: trouble.as_ref().map(|trouble| Timestamp::from_micros(trouble.at)),
        hook_trouble: trouble.map(|trouble| trouble.reason),
        hooks: hooks::all(host, request, &used),
        left_by_hooks: u64::try_from(home.markers().count()).unwrap_or(u64::MAX),
        set_aside: home.streams().aside().iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        untrusted_rules: home.untrusted_rules()?,
        condemned_commits: condemned.commits,
        condemned_contents: condemned.contents,
        only_here_sessions,
        only_here_bytes,
        homes,
        pending,
        unread: wire::import::unread(&surveyed),
        held_back: u64::try_from(held_back).unwrap_or(u64::MAX),
        paused: paused(engine, now),
    })
}

/// Says why nothing at all is captured.
fn paused(engine: &Engine, now: Timestamp) -> Option<String> {
    let policy = engine.policy();
    policy.unknown.clone().or_else(|| policy.paused(now).map(ToString::to_string))
}

/// Counts the sessions that only the store has, and their bytes. A transcript that was moved is read at its new place by the next import.
fn only_here(engine: &Engine, unread_names: &HashSet<OsString>) -> Result<(u64, u64), Fault> {
    let (mut sessions, mut bytes) = (0, 0);
    engine.only_here(&mut |session| {
        let name = Path::new(&session.key.path).file_name();
        if name.is_none_or(|name| !unread_names.contains(name)) {
            sessions += 1;
            bytes += session.bytes;
        }
    })?;
    Ok((sessions, bytes))
}

/// Returns after how many days a client deletes a transcript, by its settings; `None` where it keeps them.
pub(super) fn days_kept(client: &str, config_dir: Option<&Path>) -> Option<u64> {
    let expiry = clients::by_id(client)?.expiry?;
    let settings = |folder: &Path| {
        let bytes = read_bounded(&folder.join(expiry.settings), SETTINGS_BYTES_MAX).ok()??;
        String::from_utf8(bytes).ok()
    };
    expiry.days_kept(config_dir.and_then(settings).as_deref())
}

/// Returns the days until a file that nobody writes to any more is deleted.
fn days_left(now: Timestamp, path: &Path, days: u64) -> Option<u64> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    let now = u64::try_from(now.as_micros() / 1_000_000).ok()?;
    Some(days.saturating_sub(now.saturating_sub(since) / SECONDS_PER_DAY))
}

fn waiting(
    engine: &Engine,
    now: Timestamp,
    file: &SurveyedFile,
    days: Option<u64>,
) -> Result<Option<v1::Pending>, Fault> {
    let state = match file.state {
        FileState::New => "new",
        FileState::Changed => "changed",
        FileState::Unchanged | FileState::HeldBack | FileState::Unknown | FileState::Other => {
            return Ok(None);
        }
    };
    Ok(Some(v1::Pending {
        path: file.path.to_string_lossy().into_owned(),
        state: state.to_owned(),
        bytes: file.bytes,
        days_left: days.and_then(|days| days_left(now, &file.path, days)),
        stopped: engine.stopped_reading_of(&file.path)?.as_ref().map(wire::session::stopped),
    }))
}
