//! What the command line says.

use std::path::PathBuf;

use crate::Result;

pub const USAGE: &str = "\
usage: agent [options]

Reads a line at a time: what you want done, or a command (/help lists them).
A session that was interrupted goes on where it was.

  --endpoint URL   an OpenAI-compatible server        [http://127.0.0.1:11434/v1]
  --model NAME     the model, as the server calls it  [qwen3]
  --key-env NAME   the environment variable that holds the API key; local servers need none
  --window N       tokens that the model takes        [32768]
  --dir DIR        the agent's folder: `work` is what its tools see, `data` what it remembers  [agent]
  --profile FILE   who the agent is: a profile as TOML";

#[derive(Debug)]
pub struct Options {
    pub endpoint: String,
    pub model: String,
    pub key_env: Option<String>,
    pub window_tokens: u64,
    pub dir: PathBuf,
    pub profile: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments. `None` asks for the usage.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let mut options = Self {
            endpoint: "http://127.0.0.1:11434/v1".to_owned(),
            model: "qwen3".to_owned(),
            key_env: None,
            window_tokens: 32_768,
            dir: PathBuf::from("agent"),
            profile: None,
        };
        while let Some(name) = arguments.next() {
            if matches!(name.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let mut value = || arguments.next().ok_or_else(|| format!("`{name}` needs a value"));
            match name.as_str() {
                "--endpoint" => options.endpoint = value()?,
                "--model" => options.model = value()?,
                "--key-env" => options.key_env = Some(value()?),
                "--window" => {
                    let tokens = value()?;
                    let bad = |_| format!("`--window` takes a number of tokens, not `{tokens}`");
                    options.window_tokens = tokens.parse().map_err(bad)?;
                }
                "--dir" => options.dir = value()?.into(),
                "--profile" => options.profile = Some(value()?.into()),
                other => return Err(format!("unknown option `{other}`\n\n{USAGE}").into()),
            }
        }
        Ok(Some(options))
    }

    /// Tokens of an answer at most: an eighth of the window, which is left free for it.
    pub const fn answer_tokens(&self) -> u64 {
        self.window_tokens / 8
    }
}
