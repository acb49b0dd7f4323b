//! One call of the command, from arguments to exit code.
//!
//! What commands do is theirs; here they are told apart, timed for the log, and their errors shown.

use std::ffi::OsString;
use std::io::Write as _;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use stemmata_api::{Code, Problem};

use crate::advice::{advice, is_near};
use crate::args::asked::{Asks, asks};
use crate::args::ledger::EventsCommand;
use crate::args::memory::MemoryCommand;
use crate::args::prompts::PromptCommand;
use crate::args::registry::ServiceCommand;
use crate::args::window::WindowCommand;
use crate::args::{Cli, Command, groups};
use crate::commands;
use crate::config::Config;
use crate::environment::Environment;
use crate::errors::{self, CliError, Exit};
use crate::output::style::Style;
use crate::output::{Console, Stream};
use crate::wiring::{App, takes_color};

/// Runs one command and returns how it ended.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>, environment: &Environment) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parse =
        |arguments: &[OsString]| groups::command(false, environment.columns).try_get_matches_from(arguments);
    let mut matches = parse(&arguments);
    if matches.as_ref().is_err_and(names_no_command) {
        // Of `stemma events`, which lacks a verb, this makes no command: its own error stays.
        let with_home = [&arguments[..], &[HOME.into()]].concat();
        matches = parse(&with_home).or(matches);
    }
    let name = matches.as_ref().ok().and_then(|matches| Some(matches.subcommand_name()?.to_owned()));
    let name = name.unwrap_or_default();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // Nor because it was called as another version of this program wants it; help is for a person.
        Err(error)
            if error.kind() != ErrorKind::DisplayHelp
                && arguments.get(1).is_some_and(|word| word == "hook") =>
        {
            return commands::hook::pass_over(environment);
        }
        Err(_) if matches!(arguments.get(1..), Some([help, all]) if help == "help" && all == "--all") => {
            return everything(environment);
        }
        Err(error) => {
            return explained(&arguments, environment)
                .unwrap_or_else(|| usage(&error, &arguments, environment));
        }
    };
    let asks = asks(&name);
    if let (Asks::Nobody(reason), Some(_)) = (asks, &cli.global.server) {
        let reason = format!("`stemma {name}` asks no service, because {reason}: leave `--server` out");
        return failed(&CliError::Usage(reason).problem(), cli.global.json, plain(environment));
    }
    let mut app = match App::new(environment.clone(), &cli, asks) {
        Ok(app) => app,
        // A client must not fail because a configuration is wrong: `status` will say so.
        Err(_) if is_hook(&cli.command) => return commands::hook::pass_over(environment),
        // A shell asks while somebody types.
        Err(_) if matches!(cli.command, Command::Complete(_)) => return Exit::Done,
        Err(error) => {
            return failed(&error.problem(), cli.global.json, plain(environment));
        }
    };
    if is_endless(&cli.command) {
        app.console.hold_nothing();
    }
    let began = app.now();
    // What a command under `run` says on standard error is not mixed with ours.
    let may_tell = !is_hook(&cli.command) && !matches!(cli.command, Command::Run(_));
    let result = command(&app, cli.command);
    app.ledger_findings().iter().for_each(|finding| app.console.warn(finding));
    app.tell_of_untrusted_rules(may_tell);
    let exit = ended(&app, &name, &result);
    let took_ms = app.now().as_micros().saturating_sub(began.as_micros()) / 1000;
    tracing::info!(command = name, exit = exit.code(), took_ms, "ended");
    exit
}

/// What the standard library says of a text that is no number, and the same for people.
const NO_NUMBER: [(&str, &str); 5] = [
    ("invalid digit found in string", "it is not a whole number"),
    ("cannot parse integer from empty string", "it is not a whole number"),
    ("number too large to fit in target type", "it is too large"),
    ("number too small to fit in target type", "it is too small"),
    ("invalid float literal", "it is not a number"),
];

/// The command that runs where none is named.
const HOME: &str = "home";

fn names_no_command(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand)
}

const fn is_hook(command: &Command) -> bool {
    matches!(command, Command::Hook(_))
}

/// Says whether a command goes on until it is stopped: nobody waits for its end to read what it says.
const fn is_endless(command: &Command) -> bool {
    match command {
        Command::Watch(_) | Command::Run(_) | Command::Service(ServiceCommand::Serve(_)) => true,
        Command::Events(events) => matches!(events.command, EventsCommand::Follow(_)),
        _ => false,
    }
}

/// Shows how a command ended, and what was held back until then.
fn ended(app: &App, command: &str, result: &Result<Exit, CliError>) -> Exit {
    let console = &app.console;
    match result {
        Err(error) if !error.is_closed_pipe() => {
            let mut problem = error.problem();
            if let Some(hint) = commands::bundle::hint_of_file(app, &problem) {
                problem.hint = Some(hint);
            }
            if problem.is(Code::BadRequest) {
                problem.hint = Some(format!("`stemma {command} --help` shows what it takes"));
            }
            if console.json {
                problem.notes = console.take_held();
            } else {
                console.say_held();
            }
            failed(&problem, console.json, console.err)
        }
        Ok(exit) if *exit != Exit::Done || !console.quiet => {
            console.say_held();
            *exit
        }
        Ok(_) | Err(_) => Exit::Done,
    }
}

fn command(app: &App, command: Command) -> Result<Exit, CliError> {
    match command {
        Command::Home(_) => commands::home::run(app),
        Command::Complete(args) => Ok(commands::complete::run(app, &args)),
        Command::Import(args) => commands::import::run(app, &args),
        Command::Start(args) => commands::start::run(app, &args),
        Command::Run(args) => commands::run::run(app, &args),
        Command::Watch(args) => commands::watch::run(app, &args),
        Command::Search(args) => commands::search::run(app, &args),
        Command::List(args) => commands::list::run(app, &args, None),
        Command::Stats(args) => commands::stats::run(app, &args),
        Command::Log(args) => commands::log::run(app, &args),
        Command::Tree(args) => commands::tree::run(app, &args),
        Command::Show(args) => commands::choose::show(app, args),
        Command::History(args) => commands::history::run(app, &args),
        Command::Children(args) => commands::children::run(app, &args),
        Command::Sidecars(args) => commands::sidecars::run(app, &args),
        Command::Tips(args) => commands::tips::run(app, &args),
        Command::Blame(args) => commands::blame::run(app, &args),
        Command::Diff(args) => commands::diff::run(app, &args),
        Command::Resolve(args) => commands::resolve::run(app, &args),
        Command::Native(args) => commands::native::run(app, &args),
        Command::Materialize(args) => commands::materialize::run(app, &args),
        Command::Export(args) => commands::export::run(app, &args),
        Command::Resume(args) => commands::choose::resume(app, args),
        Command::Fork(args) => commands::choose::fork(app, args),
        Command::Handoff(args) => commands::handoff::run(app, &args),
        Command::Window(command) => window(app, command),
        Command::Checkpoint(args) => commands::checkpoint::run(app, &args),
        Command::Snapshot(args) => commands::snapshot::run(app, &args),
        Command::Current(args) => commands::current::run(app, &args),
        Command::Update(args) => commands::update::run(app, args),
        Command::Tag(args) => commands::update::tag(app, &args),
        Command::Pin(args) => commands::update::pin(app, &args, true),
        Command::Unpin(args) => commands::update::pin(app, &args, false),
        Command::Forget(args) => commands::forget::run(app, &args),
        Command::Undo(args) => commands::undo::run(app, &args),
        Command::Scan(args) => commands::scan::run(app, &args),
        Command::Scrub(args) => commands::scrub::run(app, &args),
        Command::Secrets(args) => commands::secrets::run(app, &args),
        Command::Gc(args) => commands::gc::run(app, &args),
        Command::Bundle(args) => commands::bundle::run(app, &args),
        Command::Prompts(command) => prompts(app, &command),
        Command::Memory(command) => memory(app, &command),
        Command::Events(args) => commands::events::run(app, args),
        Command::Ledger(args) => commands::ledger::run(app, &args),
        Command::Replay(args) => commands::state::replay(app, &args),
        Command::Verify(args) => commands::verify::run(app, &args),
        Command::Doctor(args) => commands::doctor::run(app, &args),
        Command::Recover(args) => commands::recover::run(app, &args),
        Command::Repair(args) => commands::repair::run(app, &args),
        Command::Index(args) => commands::index::run(app, &args),
        Command::Du(args) => commands::du::run(app, &args),
        Command::Pack(args) => commands::pack::run(app, &args),
        Command::Backup(args) => commands::backup::run(app, &args),
        Command::Restore(args) => commands::backup::restore(app, &args),
        Command::Migrate(args) => commands::migrate::run(app, &args),
        Command::Setup(args) => commands::setup::run(app, &args),
        Command::Install(args) => commands::install::run(app, &args),
        Command::Uninstall(args) => commands::install::remove(app, &args),
        Command::Service(command) => service(app, &command),
        Command::Git(args) => commands::git::run(app, &args),
        Command::Hook(args) => Ok(commands::hook::run(app, &args)),
        Command::Exclude(args) => commands::exclude::run(app, &args),
        Command::Pause(args) => commands::exclude::pause(app, &args),
        Command::Unpause(args) => commands::exclude::unpause(app, &args),
        Command::Status(_) => commands::status::run(app),
        Command::Config(args) => commands::config::run(app, args.command.as_ref()),
        Command::Completions(args) => commands::completions::run(app, &args),
        Command::GenerateReference(args) => commands::generate_reference::run(&args),
    }
}

fn prompts(app: &App, command: &PromptCommand) -> Result<Exit, CliError> {
    match command {
        PromptCommand::Assemble(args) => commands::assemble::run(app, args),
        PromptCommand::Context(args) => commands::context::run(app, args),
        PromptCommand::Strategy(args) => commands::strategy::run(app, args),
        PromptCommand::Recall(args) => commands::recall::run(app, args),
        PromptCommand::Turn(args) => commands::turn::run(app, args),
    }
}

fn service(app: &App, command: &ServiceCommand) -> Result<Exit, CliError> {
    match command {
        ServiceCommand::Serve(args) => commands::serve::run(app, args),
        ServiceCommand::Pointer(args) => commands::pointer::run(app, args),
        ServiceCommand::Jobs(args) => commands::jobs::run(app, args),
        ServiceCommand::Audit(args) => commands::audit::run(app, args),
    }
}

fn memory(app: &App, command: &MemoryCommand) -> Result<Exit, CliError> {
    match command {
        MemoryCommand::State(args) => commands::state::run(app, args),
        MemoryCommand::Decision(args) => commands::decide::run(app, args),
        MemoryCommand::Decide(args) => commands::decide::decide(app, args),
        MemoryCommand::Task(args) => commands::decide::task(app, args),
    }
}

fn window(app: &App, command: WindowCommand) -> Result<Exit, CliError> {
    match command {
        WindowCommand::Compact(args) => commands::compact::run(app, &args),
        WindowCommand::Uncompact(args) => commands::uncompact::run(app, &args),
        WindowCommand::Guard(args) => commands::guard::run(app, &args),
        WindowCommand::Artifact(args) => commands::artifact::run(app, &args.command),
    }
}

/// Shows a topic of the help, where one was asked for.
fn explained(arguments: &[OsString], environment: &Environment) -> Option<Exit> {
    let [help, name] = arguments.get(1..)? else { return None };
    let text = groups::topic(name.to_str().filter(|_| help == "help")?)?;
    Some(written(write!(std::io::stdout(), "{text}"), environment))
}

/// Shows the help with all commands.
fn everything(environment: &Environment) -> Exit {
    let help = groups::command(true, environment.columns).render_help();
    written(writeln!(std::io::stdout(), "{help}"), environment)
}

/// Says how a command ended that only printed a text. A reader that went away is no failure.
fn written(result: std::io::Result<()>, environment: &Environment) -> Exit {
    match result.map_err(CliError::Output) {
        Err(error) if !error.is_closed_pipe() => failed(&error.problem(), false, plain(environment)),
        _ => Exit::Done,
    }
}

/// Returns standard error before the configuration is read.
fn plain(environment: &Environment) -> Stream {
    let columns = environment.stderr_is_terminal.then_some(environment.columns);
    Stream::new(columns, environment.stderr_is_terminal)
}

/// Shows what clap says: help on standard output, errors on standard error, where they repeat what somebody typed or a
/// script took from elsewhere.
fn usage(error: &clap::Error, arguments: &[OsString], environment: &Environment) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return written(error.print(), environment),
        kind if arguments.iter().any(|argument| argument == "--json") => {
            let text = error.render().to_string();
            let detail = match kind {
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                    no_verb(arguments)
                }
                _ => text.trim().strip_prefix("error: ").unwrap_or(&text).to_owned(),
            };
            let problem = Problem::new(Code::BadRequest, detail);
            let hint = advice(error, arguments).or_else(|| problem.hint.clone());
            Console::json_error(&Problem { hint, ..problem });
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _closed = error.print();
        }
        _ => {
            let color = Config::load(environment)
                .is_ok_and(|config| takes_color(environment, &config, environment.stderr_is_terminal));
            let mut text = error.render().to_string().replacen("error", &Style::Error.paint("error"), 1);
            for (meant_for_programmers, plain) in NO_NUMBER {
                text = text.replace(meant_for_programmers, plain);
            }
            let advice = advice(error, arguments);
            // What the parser proposes is a guess by letters.
            if advice.is_some() || !is_near(error) {
                let mut kept: Vec<&str> =
                    text.lines().filter(|line| !line.trim_start().starts_with("tip:")).collect();
                kept.dedup_by(|line, before| line.trim().is_empty() && before.trim().is_empty());
                text = kept.join("\n");
            }
            if let Some(advice) = advice {
                text = format!("{}\n{}: {advice}", text.trim_end(), Style::Hint.paint("hint"));
            }
            Console::plain_error(text.trim_end(), Stream { color, ..plain(environment) });
        }
    }
    Exit::Usage
}

/// Says which command needs another one behind it, and which there are.
fn no_verb(arguments: &[OsString]) -> String {
    let whole = Cli::command();
    let mut command = &whole;
    let mut name = command.get_name().to_owned();
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(sub) = command.find_subcommand(word) {
            command = sub;
            name = format!("{name} {}", sub.get_name());
        }
    }
    let verbs = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(clap::Command::get_name);
    format!("`{name}` needs a command: {}", verbs.collect::<Vec<_>>().join(", "))
}

fn failed(problem: &Problem, as_json: bool, stream: Stream) -> Exit {
    // Neither what the user wrote nor what a transcript holds goes into the log.
    tracing::error!(error = problem.code, "failed");
    if as_json {
        Console::json_error(problem);
    } else {
        Console::plain_error(errors::render(problem).trim_end(), stream);
    }
    Exit::of(problem.kind)
}
