//! What completes a command line: commands, flags, values, and sessions and tags with their titles.
//!
//! A shell asks while somebody types, so nothing here waits, writes or complains. Each line is a value, a tab, and what it is.
//! Where no line is printed, the shell completes files.

use clap::{Arg, Command, CommandFactory};
use stemmata_api::v1::{Session, SessionsRequest, TagsRequest};

use crate::args::Cli;
use crate::args::maintain::Complete;
use crate::commands::list;
use crate::errors::{CliError, Exit};
use crate::output::session;
use crate::output::style::tame;
use crate::output::table::fit;
use crate::wiring::App;

/// Sessions that are offered: the newest ones, and more than a person reads.
const SESSIONS_MAX: usize = 200;

/// Columns of a title beside a value.
const TITLE_COLUMNS: usize = 60;

/// Names of values that are a session or a commit.
const REFERENCES: &[&str] = &["REF", "OTHER", "SESSION", "FILE|SESSION", "SESSION|FILE"];

/// A value, and what it is.
type Offer = (String, String);

/// Runs the command.
pub(crate) fn run(app: &App, args: &Complete) -> Exit {
    let offers = offers(app, &args.words).unwrap_or_default();
    let lines = offers.iter().map(|(value, about)| format!("{value}\t{about}\n"));
    let _closed = app.console.text(&lines.collect::<String>());
    Exit::Done
}

fn offers(app: &App, words: &[String]) -> Result<Vec<Offer>, CliError> {
    let (typed, before) = words.split_last().map_or(("", words), |(last, before)| (last.as_str(), before));
    let root = Cli::command();
    let place = Place::of(&root, before);
    let mut offers = match place.wanted(typed) {
        Wanted::Commands(command) => commands(command),
        Wanted::Flags(command) => flags(&root, command),
        Wanted::Value(arg) => values(app, arg)?,
        Wanted::Nothing => Vec::new(),
    };
    offers.retain(|(value, _)| value.starts_with(typed));
    Ok(offers)
}

/// Where in a command line the next word stands.
struct Place<'c> {
    command: &'c Command,
    /// Values without a flag that stand before it.
    positionals: usize,
    /// The flag whose value it is.
    flag: Option<&'c Arg>,
}

/// What the next word may be.
enum Wanted<'c> {
    Commands(&'c Command),
    Flags(&'c Command),
    Value(&'c Arg),
    Nothing,
}

impl<'c> Place<'c> {
    fn of(root: &'c Command, before: &[String]) -> Self {
        let mut place = Self { command: root, positionals: 0, flag: None };
        for word in before {
            if place.flag.take().is_some() {
                continue;
            }
            if let Some(name) = word.strip_prefix("--") {
                let takes = |arg: &&Arg| arg.get_long() == Some(name) && arg.get_action().takes_values();
                place.flag = place.command.get_arguments().chain(root.get_arguments()).find(takes);
            } else if let Some(letter) = word.strip_prefix('-').filter(|letter| !letter.is_empty()) {
                let takes = |arg: &&Arg| {
                    arg.get_short().is_some_and(|short| letter == short.to_string())
                        && arg.get_action().takes_values()
                };
                place.flag = place.command.get_arguments().find(takes);
            } else if let Some(sub) = place.command.find_subcommand(word) {
                place.command = sub;
            } else {
                place.positionals += 1;
            }
        }
        place
    }

    fn wanted(&self, typed: &str) -> Wanted<'c> {
        if let Some(flag) = self.flag {
            return Wanted::Value(flag);
        }
        if typed.starts_with('-') {
            return Wanted::Flags(self.command);
        }
        if self.positionals == 0 && self.command.has_subcommands() {
            return Wanted::Commands(self.command);
        }
        let mut positionals = self.command.get_positionals();
        let last = || {
            self.command
                .get_positionals()
                .last()
                .filter(|arg| arg.get_num_args().is_some_and(|num| num.max_values() > 1))
        };
        positionals.nth(self.positionals).or_else(last).map_or(Wanted::Nothing, Wanted::Value)
    }
}

fn commands(of: &Command) -> Vec<Offer> {
    let shown = of.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown
        .map(|sub| (sub.get_name().to_owned(), sub.get_about().map(ToString::to_string).unwrap_or_default()))
        .collect()
}

fn flags(root: &Command, of: &Command) -> Vec<Offer> {
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    let shown = of.get_arguments().chain(global).filter(|arg| !arg.is_hide_set());
    let mut flags: Vec<Offer> = shown
        .filter_map(|arg| {
            Some((
                format!("--{}", arg.get_long()?),
                arg.get_help().map(ToString::to_string).unwrap_or_default(),
            ))
        })
        .collect();
    flags.dedup();
    flags
}

fn values(app: &App, arg: &Arg) -> Result<Vec<Offer>, CliError> {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return Ok(shown
            .map(|value| {
                (value.get_name().to_owned(), value.get_help().map(ToString::to_string).unwrap_or_default())
            })
            .collect());
    }
    let name = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
    let is_client = matches!(name.as_str(), "CLIENT" | "RUNTIME") || arg.get_id() == "client";
    if is_client {
        return Ok(App::clients().map(|client| (client.to_owned(), String::new())).collect());
    }
    if !app.has_store() || !REFERENCES.contains(&name.as_str()) {
        return Ok(Vec::new());
    }
    let mut offers: Vec<Offer> = sessions(app)?;
    let tags = app.service()?.tags(&TagsRequest { prefix: String::new() })?;
    offers.extend(tags.tags.into_iter().map(|tag| (tag.name, "tag".to_owned())));
    offers.retain(|(value, _)| !value.contains(char::is_whitespace));
    Ok(offers)
}

/// Returns the newest sessions of this directory, then those of all.
fn sessions(app: &App) -> Result<Vec<Offer>, CliError> {
    let here = app.environment.current_dir.to_string_lossy().into_owned();
    let all = SessionsRequest { folded: true, ..SessionsRequest::all() };
    let near = list::sessions(app, &SessionsRequest { project: Some(here), ..all.clone() }, SESSIONS_MAX)?;
    let mut offers: Vec<Offer> = near.sessions.iter().map(|session| offer(app, session)).collect();
    for session in &list::sessions(app, &all, SESSIONS_MAX)?.sessions {
        let offer = offer(app, session);
        if !offers.contains(&offer) {
            offers.push(offer);
        }
    }
    Ok(offers)
}

fn offer(app: &App, session: &Session) -> Offer {
    let when = app.moment(session.last_at);
    let about =
        format!("{}  {}  {when}", fit(&session::title(session), TITLE_COLUMNS), tame(&session.client));
    (session::short(session), about)
}
