//! `setup`: finds clients, imports, adds hooks, completions and git's trailer: a question for each, and none where there is nothing
//! to do.
//!
//! Each step is a command of its own too; here they are only asked for in one go.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use stemmata_api::v1::{Setup as Done, SetupStep};
use stemmata_api::{Code, Control};
use stemmata_service::GitHookRequest;

use crate::args::capture::Import;
use crate::args::live::Setup;
use crate::commands::install::Manner;
use crate::commands::{completions, git, home, import, install};
use crate::errors::{CliError, Exit};
use crate::output::left_out;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Setup) -> Result<Exit, CliError> {
    let is_asked =
        app.environment.stdin_is_terminal && app.environment.stderr_is_terminal && !app.console.json;
    if !args.yes && !args.dry_run && !is_asked {
        let why = "setup asks before each step: run it on a terminal, or with `--yes` (`--dry-run` lists the steps)";
        return Err(CliError::Usage(why.to_owned()));
    }
    // A dry run must not create the store.
    let _nowhere = if args.dry_run { app.rehearse()? } else { None };
    let mut walk = Walk { app, args, steps: Vec::new() };
    walk.clients()?;
    walk.import()?;
    walk.hooks()?;
    walk.completions()?;
    walk.git()?;
    let Walk { steps, .. } = walk;
    if app.console.json {
        app.console.json(&Done { dry_run: args.dry_run, steps })?;
        return Ok(Exit::Done);
    }
    let hint = Style::Hint.paint("hint");
    app.console.say(&if args.dry_run {
        "Nothing was done (`--dry-run`)".to_owned()
    } else {
        format!("{hint}: `stemma list` shows your sessions, `stemma search WORDS` finds in them")
    });
    Ok(Exit::Done)
}

/// The steps, as far as they were taken.
struct Walk<'a> {
    app: &'a App,
    args: &'a Setup,
    steps: Vec<SetupStep>,
}

impl Walk<'_> {
    /// Records a step, and says it in one line.
    fn note(&mut self, (step, state): (&str, &str), what: String) -> Result<(), CliError> {
        if !self.app.console.json {
            let name = Style::Faint.paint(&format!("{step:<12}"));
            self.app.console.text(&format!("{name} {what}\n"))?;
        }
        self.steps.push(SetupStep { step: step.to_owned(), state: state.to_owned(), what });
        Ok(())
    }

    /// Says whether a step is wanted; records it where it is not.
    fn is_wanted(&mut self, step: &str, question: &str) -> Result<bool, CliError> {
        if self.args.dry_run {
            self.note((step, "due"), question.to_owned())?;
            return Ok(false);
        }
        if self.args.yes {
            return Ok(true);
        }
        self.app
            .console
            .ask(&format!("{} {question}? [Y/n] ", Style::Faint.paint(&format!("{step:<12}"))))?;
        let mut answer = String::new();
        // The end of the input is no answer: nobody agreed.
        if std::io::stdin().lock().read_line(&mut answer).map_err(CliError::Output)? == 0 {
            return Err(CliError::Usage(
                "setup stopped: nobody answered; `--yes` takes every step".to_owned(),
            ));
        }
        let is_wanted = matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes");
        if !is_wanted {
            let what = question.to_owned();
            self.steps.push(SetupStep { step: step.to_owned(), state: "declined".to_owned(), what });
        }
        Ok(is_wanted)
    }

    fn clients(&mut self) -> Result<(), CliError> {
        let clients = self.app.host()?.hook_clients();
        let what = match clients.as_slice() {
            [] => "none found on this machine".to_owned(),
            clients => clients.join(", "),
        };
        let state = if clients.is_empty() { "nothing" } else { "done" };
        self.note(("clients", state), what)
    }

    fn import(&mut self) -> Result<(), CliError> {
        // Opened by a command, the store takes up what others left: a dry run leaves that alone.
        let host = if self.args.dry_run { self.app.host()? } else { self.app.opened_host()? };
        let found = host.survey(&host.clients_folders())?;
        left_out::warn(self.app, &found.unread);
        let due = found.new + found.changed;
        if due == 0 {
            let doubtful = left_out::counted(&found.unread);
            let what = match found.transcripts {
                _ if !doubtful.is_empty() => {
                    format!("{doubtful}; imported: {}", home::all_sessions(self.app)?)
                }
                0 => "no sessions yet".to_owned(),
                _ => {
                    let others = left_out::others(&found.unread, |one| one.count);
                    let beside = others
                        .map(|others| format!("; {others} beside them: no transcripts"))
                        .unwrap_or_default();
                    format!("everything is imported: {}{beside}", home::all_sessions(self.app)?)
                }
            };
            return self.note(("import", "nothing"), what);
        }
        let question = format!("Import {} ({} in all)", many(due, "transcript"), size::bytes(found.bytes));
        if !self.is_wanted("import", &question)? {
            return Ok(());
        }
        let all = Import {
            paths: Vec::new(),
            or: None,
            full: false,
            granularity: None,
            threads: None,
            brief: false,
        };
        let exit = import::quietly(self.app, &all)?;
        let state = if exit == Exit::Done { "done" } else { "failed" };
        // An import indexes within a share of its time; the first search should not wait for the rest.
        let index = self.app.service()?.settle_index(&Control::none())?;
        let indexed = if index.notes.is_empty() { ", indexed for search" } else { "" };
        let sessions = home::all_sessions(self.app)?;
        self.note(("import", state), format!("{} imported{indexed}: {sessions}", many(due, "transcript")))
    }

    fn hooks(&mut self) -> Result<(), CliError> {
        let app = self.app;
        let plan = Manner { removes: false, inject: false, diff: false, dry_run: true };
        let mut due = Vec::new();
        for client in app.host()?.hook_clients() {
            match install::change(app, client, plan) {
                Ok(change) if change.installed.changed => due.push(client),
                Ok(_) => {}
                Err(error) => app.console.warn(&error.problem().detail),
            }
        }
        if due.is_empty() {
            return self.note(("hooks", "nothing"), "nothing to add".to_owned());
        }
        let manner = Manner { dry_run: false, ..plan };
        for client in due {
            if !self.is_wanted("hooks", &format!("Capture each turn as it ends, by hooks in {client}"))? {
                continue;
            }
            let change = install::change(app, client, manner)?;
            self.note(("hooks", "done"), install::told(app, &change, manner).trim_end().replace('\n', "; "))?;
        }
        Ok(())
    }

    fn completions(&mut self) -> Result<(), CliError> {
        let app = self.app;
        let Some((shell, path)) = completion_file(app) else {
            return self
                .note(("completions", "nothing"), "no known shell; see `stemma completions`".to_owned());
        };
        let script = completions::script(shell);
        let shown = app.environment.shown(&path);
        if std::fs::read(&path).is_ok_and(|known| known == script.as_bytes()) {
            return self.note(("completions", "nothing"), format!("{shown} is up to date"));
        }
        if !self.is_wanted("completions", &format!("Complete commands in {shell} ({shown})"))? {
            return Ok(());
        }
        app.host()?.write_completions(&path, &script)?;
        let more = if shell == Shell::Zsh { "; add its folder to `fpath` in ~/.zshrc" } else { "" };
        self.note(("completions", "done"), format!("Wrote {shown}{more}"))
    }

    fn git(&mut self) -> Result<(), CliError> {
        let app = self.app;
        let dir = app.environment.current_dir.clone();
        let program = app.environment.lasting_program();
        let request = GitHookRequest { dir, program, removes: false, dry_run: true };
        let plan = match app.host()?.git_hook(&request) {
            Ok(plan) => plan,
            Err(problem) if problem.is(Code::GitNoRepository) => {
                return self.note(("git", "nothing"), "no repository here".to_owned());
            }
            Err(problem) => return self.note(("git", "nothing"), problem.detail.clone()),
        };
        let shown = app.environment.shown(Path::new(&plan.hook.path));
        if !plan.hook.changed {
            return self.note(("git", "nothing"), "commits here name their session already".to_owned());
        }
        if !self.is_wanted("git", &format!("Let commits here name their session ({shown})"))? {
            return Ok(());
        }
        let done = app.host()?.git_hook(&GitHookRequest { dry_run: false, ..request })?;
        self.note(("git", "done"), git::changes(app, &done, false).join("; "))
    }
}

/// Returns the user's shell and where it looks for completions.
fn completion_file(app: &App) -> Option<(Shell, PathBuf)> {
    let environment = &app.environment;
    let shell = environment.path("SHELL")?;
    let base = |variable: &str, below: &str| environment.base(variable, below);
    match shell.file_name()?.to_str()? {
        "bash" => Some((
            Shell::Bash,
            base("XDG_DATA_HOME", ".local/share")?.join("bash-completion/completions/stemma"),
        )),
        "zsh" => {
            Some((Shell::Zsh, base("XDG_DATA_HOME", ".local/share")?.join("zsh/site-functions/_stemma")))
        }
        "fish" => {
            Some((Shell::Fish, base("XDG_CONFIG_HOME", ".config")?.join("fish/completions/stemma.fish")))
        }
        _ => None,
    }
}
