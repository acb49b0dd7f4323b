//! A small agent on Stemmata: a model that speaks OpenAI's chat completions, four tools, and a memory that outlives the process
//! and never outgrows the window.

mod agent;
mod commands;
mod memory;
mod messages;
mod options;
mod tools;

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use stemmata_engine::model::{Estimate, Party, TokenCounter as _, Tokens};
use stemmata_engine::prompt::guard::WindowSettings;
use stemmata_engine::prompt::profile::Profile;
use stemmata_engine::prompt::strategy::DocumentFormat;
use stemmata_engine::prompt::tool_output::OutputLimits;
use stemmata_engine::prompt::window::{CompactSettings, WindowConfig, WindowConfigSettings};
use stemmata_engine::{Home, HomeOptions, MachineFacts, OpenFor, RandomIds, Settings, SystemClock};
use stemmata_llm::{Api, Client, Endpoint, Key, Limits, Sleeps};

use crate::agent::Agent;
use crate::commands::Next;
use crate::memory::Memory;
use crate::options::{Options, USAGE};
use crate::tools::Tools;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const INSTRUCTIONS: &str = "You are an agent that works in a folder with a shell and file tools. Do what the user asks, check what you \
did, and say briefly what came of it.";

/// Opens the folder's data directory, which `stemma --data-dir` reads too.
fn open(options: &Options) -> Result<Home> {
    let home = HomeOptions {
        settings: Settings::of_texts("[identity]\nuser = \"agent\"\n", &|_| None)?,
        machine: MachineFacts { mark: None, host_name: "agent".to_owned(), user_id: 0 },
        // An output that is too large is cut, not stored apart.
        temp: None,
        open_for: OpenFor::Command,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
    };
    Ok(Home::open(&options.dir.join("data"), home)?)
}

fn profile(options: &Options) -> Result<Profile> {
    match &options.profile {
        Some(path) => Ok(Profile::parse(&fs::read_to_string(path)?, DocumentFormat::Toml)?),
        None => {
            let instructions = INSTRUCTIONS.to_owned();
            Ok(Profile { instructions, ..Profile::new(Party::new("agent")?, "worker") })
        }
    }
}

fn endpoint(options: &Options) -> Result<Endpoint> {
    let key = match &options.key_env {
        Some(name) => {
            let value = std::env::var(name).map_err(|_| format!("the environment has no `{name}`"))?;
            Some(Key::new(&value)?)
        }
        None => None,
    };
    let (base_url, model) = (options.endpoint.clone(), options.model.clone());
    Ok(Endpoint { api: Api::OpenAi, base_url, model, key, limits: Limits::default() })
}

/// Returns the limits of the window, and what system prompt and tools take of it.
fn window(options: &Options, system: &str) -> Result<(WindowConfig, Tokens)> {
    let tools: String =
        Tools::described().iter().map(|tool| format!("{}{}", tool.description, tool.parameters)).collect();
    let config = WindowConfig::new(WindowConfigSettings {
        window: WindowSettings::of(Tokens(options.window_tokens)),
        compact: CompactSettings {
            reserve_tokens: Tokens(options.answer_tokens()),
            // What is kept comes back with every request: a quarter of the window leaves most of it for what is new.
            keep_recent_tokens: Tokens(options.window_tokens / 4),
            // Archiving one result at each call would change the beginning of every request, which the provider's cache holds.
            tool_call_cutoff: 0,
            ..CompactSettings::default()
        },
        // An output that is too large is cut, not stored apart.
        output: OutputLimits { spill_chars: 0, ..OutputLimits::default() },
    })?;
    Ok((config, Estimate.count(&format!("{system}{tools}"))))
}

fn run(options: &Options) -> Result<()> {
    let work = options.dir.join("work");
    fs::create_dir_all(&work)?;
    let lock = File::create(options.dir.join("lock"))?;
    lock.try_lock().map_err(|_| format!("another agent works in `{}`", options.dir.display()))?;
    let home = open(options)?;
    let engine = home.engine()?;
    let model = Client::new(endpoint(options)?, engine.scrubber()?.clone(), Box::new(Sleeps))?;
    let system = profile(options)?.instructions;
    let mut agent = Agent {
        memory: Memory::open(engine, options.dir.join("session.json"), window(options, &system)?)?,
        model,
        tools: Tools::new(work.canonicalize()?, options.key_env.clone()),
        system,
        answer_tokens_max: u32::try_from(options.answer_tokens())?,
    };
    if let Some(answer) = agent.resume()? {
        println!("[went on with the turn that was interrupted]\n{answer}");
    }
    prompt()?;
    for line in std::io::stdin().lock().lines() {
        match commands::run(&mut agent, line?.trim()) {
            Ok(Next::Said(text)) => println!("{text}"),
            Ok(Next::Quit) => break,
            // What was stored stays stored: the user decides what comes next.
            Err(error) => eprintln!("error: {error}"),
        }
        prompt()?;
    }
    Ok(())
}

fn prompt() -> Result<()> {
    print!("> ");
    Ok(std::io::stdout().flush()?)
}

fn main() -> ExitCode {
    let run = |options: Option<Options>| match options {
        Some(options) => run(&options),
        None => {
            println!("{USAGE}");
            Ok(())
        }
    };
    match Options::parse(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
