//! What a person has here: sessions in a few numbers, hooks, and sessions that only the store still has.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_api::{Answer, v1};
use stemmata_engine::{Engine, clients, runtime_of};
use stemmata_model::Timestamp;
use stemmata_store::Session;

use super::status::days_kept;
use super::{Host, StatusRequest, hooks};
use crate::wire;

/// Sessions that only the store still has which are named.
const NAMED_MAX: usize = 3;

impl Host {
    /// Returns what there is of the newest `sessions_max` sessions, and of every client's hooks. Reads no transcript.
    ///
    /// # Errors
    /// Those of the store.
    pub fn inventory(&self, request: &StatusRequest, sessions_max: usize) -> Answer<v1::Inventory> {
        self.with_engine(|engine| {
            let mut counted = Counted::default();
            let totals = engine.session_totals(sessions_max, &mut |session| {
                if session.parent_session.is_none() {
                    counted.count(engine, session);
                }
            })?;
            let folders = counted.folders.iter().map(|(machine, cwd)| (machine.as_str(), cwd.as_str()));
            let projects = engine.project_folders(folders)?.into_values().collect::<BTreeSet<_>>().len();
            let homes = self.machine.clients.existing();
            let days = |client: &str| {
                let home = homes.iter().find(|home| home.runtime == client);
                days_kept(client, home.map(|home| home.config_dir.as_path()))
            };
            let mut clients: Vec<v1::ClientSessions> = counted
                .clients
                .iter()
                .map(|(client, sessions)| v1::ClientSessions {
                    client: client.clone(),
                    sessions: *sessions,
                    days_kept: days(client),
                })
                .collect();
            clients.sort_by_key(|client| std::cmp::Reverse(client.sessions));
            let named = counted.only_here_newest.iter().map(|session| wire::session::named(engine, session));
            Ok(v1::Inventory {
                sessions: totals.listed,
                subagents: totals.subagents,
                copies: totals.copies,
                is_cut: totals.is_cut,
                projects: projects as u64,
                clients,
                first_at: counted.first_at,
                last_at: counted.last_at,
                only_here: counted.only_here,
                only_here_newest: named.collect::<Result<_, _>>()?,
                hooks: self.client_hooks(request),
            })
        })
    }

    /// Returns for each client that is here whether its hooks call us.
    fn client_hooks(&self, request: &StatusRequest) -> Vec<v1::ClientHooks> {
        let known = hooks::all(self, request, &hooks::Used::default());
        let homes = self.machine.clients.existing();
        let is_here = |client: &str| homes.iter().any(|home| home.runtime == client);
        let of = |client: &str| {
            let found = known.iter().find(|hooks| hooks.runtime == client);
            let state = match found.map(|hooks| hooks.state.as_str()) {
                Some("current") => "on",
                None | Some("none" | "off") => "off",
                Some(_) => "trouble",
            };
            v1::ClientHooks { client: client.to_owned(), state: state.to_owned() }
        };
        clients::hooked().map(|client| client.id).filter(|client| is_here(client)).map(of).collect()
    }
}

/// What was counted.
#[derive(Default)]
struct Counted {
    /// Machines and folders that sessions worked in.
    folders: BTreeSet<(String, String)>,
    clients: BTreeMap<String, u64>,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    only_here: u64,
    only_here_newest: Vec<Session>,
}

impl Counted {
    fn count(&mut self, engine: &Engine, session: Session) {
        *self.clients.entry(runtime_of(&session.format).to_owned()).or_default() += 1;
        let folder = |cwd| (session.key.machine.to_string(), cwd);
        self.folders.extend(session.cwd.clone().map(folder));
        let began_at = session.started_at.or(session.last_at);
        self.first_at = self.first_at.into_iter().chain(began_at).min();
        self.last_at = self.last_at.max(session.last_at);
        if engine.is_only_here(&session) {
            self.only_here += 1;
            if self.only_here_newest.len() < NAMED_MAX {
                self.only_here_newest.push(session);
            }
        }
    }
}
