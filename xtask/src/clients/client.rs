//! The clients that are tried: where they come from, how they are set up and how they are asked something.
//! Facts about them, as data; how they are run is in `bench.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::json;

use crate::process::{available, execute};

/// The model that the clients are told to ask for.
const MODEL: &str = "made-up-model";

/// The key that they are given. Nobody takes it.
const KEY: &str = "made-up-key";

/// A coding client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    Claude,
    Codex,
    Pi,
    Gemini,
    Opencode,
}

impl Client {
    /// All of them, in the order in which they are played.
    pub(crate) const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Pi, Self::Gemini, Self::Opencode];

    /// Returns the name on the command line of this program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Pi => "pi",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// Returns the runtime as `stemma` names it.
    pub(crate) fn runtime(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            _ => self.name(),
        }
    }

    /// Returns the package with the version that the facts about its loader were tried with.
    fn package(self) -> &'static str {
        match self {
            Self::Claude => "@anthropic-ai/claude-code@2.1.330",
            Self::Codex => "@openai/codex@0.169.0",
            Self::Pi => "@mariozechner/pi-coding-agent@0.73.1",
            Self::Gemini => "@google/gemini-cli@0.61.0",
            Self::Opencode => "opencode-ai@1.18.33",
        }
    }

    /// Finds the client's program below a folder, or below the folder of its name there.
    pub(crate) fn find(self, folder: &Path) -> Option<PathBuf> {
        let modules =
            [folder.join(self.name()), folder.to_path_buf()].map(|place| place.join("node_modules"));
        let below = |vendor: &'static str, program: &'static str| {
            let entries = modules.iter().filter_map(move |place| fs::read_dir(place.join(vendor)).ok());
            entries.flatten().flatten().map(move |entry| entry.path().join(program)).collect::<Vec<_>>()
        };
        let mut programs = match self {
            // Each platform has a package of its own; the one that starts is this machine's.
            Self::Claude => below("@anthropic-ai", "claude"),
            Self::Opencode => below("", "bin/opencode"),
            _ => modules.iter().map(|place| place.join(".bin").join(self.name())).collect(),
        }
        .into_iter();
        programs.find(|program| {
            program.is_file()
                && available(
                    Command::new(program)
                        .arg("--version")
                        .env_clear()
                        .env("PATH", PATH)
                        .env("HOME", std::env::temp_dir()),
                )
        })
    }

    /// Installs the client once, privately, without running anything of the packages.
    ///
    /// # Errors
    /// When npm is missing or fails.
    pub(crate) fn install(self, folder: &Path) -> anyhow::Result<PathBuf> {
        if let Some(client) = self.find(folder) {
            return Ok(client);
        }
        let own = folder.join(self.name());
        fs::create_dir_all(&own).with_context(|| format!("creating {}", own.display()))?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]).arg(&own);
        execute(npm.arg(self.package())).context("installing a client needs node and npm")?;
        self.find(folder).with_context(|| format!("npm installed no program below {}", own.display()))
    }

    /// Returns the settings that the client needs to ask the model at `url`, as files below its home.
    pub(crate) fn settings(self, url: &str) -> Option<(&'static str, String)> {
        let base = format!("{url}/v1");
        match self {
            Self::Claude => None,
            Self::Codex => Some((
                ".codex/config.toml",
                format!(
                    "model = \"{MODEL}\"\nmodel_provider = \"made-up\"\ncheck_for_update_on_startup = false\n\
                     [model_providers.made-up]\nname = \"made-up\"\nbase_url = \"{base}\"\nenv_key = \"MADE_UP_KEY\"\n\
                     wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\
                     [analytics]\nenabled = false\n[feedback]\nenabled = false\n[otel]\nexporter = \"none\"\n"
                ),
            )),
            Self::Pi => {
                let model = json!({ "id": MODEL, "name": MODEL, "reasoning": false, "input": ["text"],
                    "contextWindow": 100_000, "maxTokens": 4096,
                    "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 } });
                let provider =
                    json!({ "baseUrl": base, "api": "openai-completions", "apiKey": KEY, "models": [model] });
                Some((".pi/agent/models.json", json!({ "providers": { "made-up": provider } }).to_string()))
            }
            // By default it deletes sessions as it starts, those among them that share eight characters with another.
            Self::Gemini => Some((
                ".gemini/settings.json",
                json!({ "security": { "auth": { "selectedType": "gemini-api-key" } },
                    "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
                    "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false,
                        "sessionRetention": { "enabled": false } } })
                .to_string(),
            )),
            Self::Opencode => {
                let model = json!({ "name": MODEL, "limit": { "context": 100_000, "output": 4096 }, "tool_call": true });
                let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "made-up",
                    "options": { "baseURL": base, "apiKey": KEY }, "models": { MODEL: model } });
                let asked = format!("made-up/{MODEL}");
                Some((
                    ".config/opencode/opencode.json",
                    json!({ "autoupdate": false, "share": "disabled", "model": asked, "small_model": asked,
                        "provider": { "made-up": provider }, "permission": { "*": "allow" } })
                    .to_string(),
                ))
            }
        }
    }

    /// Returns the variables that it gets besides a path and a home.
    pub(crate) fn environment(self, url: &str) -> Vec<(&'static str, String)> {
        let on =
            |names: &[&'static str]| names.iter().map(|name| (*name, "1".to_owned())).collect::<Vec<_>>();
        let mut all = match self {
            Self::Claude => on(&[
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                "DISABLE_TELEMETRY",
                "DISABLE_ERROR_REPORTING",
                "DISABLE_AUTOUPDATER",
            ]),
            Self::Codex => Vec::new(),
            Self::Pi => on(&["PI_OFFLINE", "PI_SKIP_VERSION_CHECK"]),
            Self::Gemini => vec![("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned())],
            Self::Opencode => on(&[
                "OPENCODE_DISABLE_AUTOUPDATE",
                "OPENCODE_DISABLE_MODELS_FETCH",
                "OPENCODE_DISABLE_LSP_DOWNLOAD",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            ]),
        };
        let key = |name| (name, KEY.to_owned());
        match self {
            Self::Claude => all.extend([("ANTHROPIC_BASE_URL", url.to_owned()), key("ANTHROPIC_API_KEY")]),
            Self::Gemini => all.extend([("GOOGLE_GEMINI_BASE_URL", url.to_owned()), key("GEMINI_API_KEY")]),
            _ => all.push(key("MADE_UP_KEY")),
        }
        all
    }

    /// Returns the arguments that ask something without a terminal; `resume` are those of the client's own command
    /// that resumes a session, none to begin one.
    pub(crate) fn asks(self, resume: &[String], prompt: &str) -> Vec<String> {
        let rest: &[&str] = match self {
            Self::Claude => &["-p", prompt, "--model", "claude-sonnet-4-5", "--allowedTools", "Bash"],
            Self::Codex => &["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
            Self::Pi => &["-p", "--provider", "made-up", "--model", MODEL, prompt],
            Self::Gemini => &["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", prompt],
            // Else it asks the model of the session, whose provider is not there.
            Self::Opencode => &["--model", "made-up/made-up-model", prompt],
        };
        let first: &[&str] = match self {
            Self::Codex => &["exec"],
            Self::Opencode => &["run"],
            _ => &[],
        };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        [owned(first), resume.to_vec(), owned(rest)].concat()
    }

    /// Returns the words by which it goes on with a session of its own.
    pub(crate) fn resumes(self, session: &str) -> Vec<String> {
        let words = match self {
            Self::Claude | Self::Gemini => ["--resume", session],
            Self::Codex => ["resume", session],
            Self::Pi | Self::Opencode => ["--session", session],
        };
        words.map(str::to_owned).to_vec()
    }

    /// Returns words of its command with those besides that let it run hooks which nobody was asked about.
    pub(crate) fn hooked(self, words: &[String]) -> Vec<String> {
        let mut words = words.to_vec();
        if self == Self::Codex {
            // A person is asked once instead.
            words.push("--dangerously-bypass-hook-trust".to_owned());
        }
        words
    }

    /// Returns what stands in a prompt to have the model run `echo WORD` with this client's own tool.
    pub(crate) fn echo(self, word: &str) -> String {
        let (tool, key) = match self {
            Self::Claude => ("Bash", "command"),
            Self::Codex => ("exec_command", "cmd"),
            Self::Pi | Self::Opencode => ("bash", "command"),
            Self::Gemini => ("run_shell_command", "command"),
        };
        let mut input = json!({ key: format!("echo {word}") });
        if matches!(self, Self::Claude | Self::Opencode) {
            input["description"] = json!("says a word");
        }
        format!("[[call {tool} {input}]]")
    }

    /// Returns the database below its home that its sessions are in, for a client that has one.
    pub(crate) fn database(self) -> Option<&'static str> {
        (self == Self::Opencode).then_some(".local/share/opencode/opencode.db")
    }

    /// Returns the folder below its home where it keeps sessions.
    pub(crate) fn sessions(self) -> &'static str {
        match self {
            Self::Claude => ".claude/projects",
            Self::Codex => ".codex/sessions",
            Self::Pi => ".pi/agent/sessions",
            Self::Gemini => ".gemini/tmp",
            Self::Opencode => ".local/share/opencode",
        }
    }
}

/// Where programs are looked for: nothing of this machine's environment.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
