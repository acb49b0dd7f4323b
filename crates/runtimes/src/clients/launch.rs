//! How a client is told what a template of an agent says, in words of its command line.

/// A client's own way to be told what an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The flag of the model.
    pub model_flag: &'static str,
    /// How text is added to its system prompt; `None` where it takes none.
    pub system_prompt: Option<SystemPrompt>,
    /// The flag of the only tools that the agent has, as a list with commas; `None` where it takes none.
    pub tools_flag: Option<&'static str>,
}

/// How text is added to a client's own system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemPrompt {
    /// A flag with the text.
    Flag(&'static str),
    /// A flag that sets a value of its configuration, and the name of the value.
    Setting {
        /// The flag.
        flag: &'static str,
        /// The name.
        key: &'static str,
    },
}

impl SystemPrompt {
    /// Says which value of its configuration it is, for people; `None` for a flag.
    pub fn as_setting(self) -> Option<String> {
        match self {
            Self::Flag(_) => None,
            Self::Setting { key, .. } => Some(format!(" as `{key}`")),
        }
    }

    /// Returns the words that say a text.
    pub fn words(self, text: &str) -> [String; 2] {
        match self {
            Self::Flag(flag) => [flag.to_owned(), text.to_owned()],
            // A string of TOML, which JSON's are too.
            Self::Setting { flag, key } => {
                [flag.to_owned(), format!("{key}={}", serde_json::Value::from(text))]
            }
        }
    }
}
