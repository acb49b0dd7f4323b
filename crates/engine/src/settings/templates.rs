//! `[templates.NAME]` and `[profiles.NAME]`: kinds of agents, as the configuration file describes them.
//!
//! Read only where one is asked for, so that a mistake in one stops nothing else. What a client is told of a template is
//! `verbs/launch`'s.

use std::path::{Path, PathBuf};

use stemmata_model::Template;
use stemmata_prompt::profile::Profile;
use stemmata_prompt::strategy::{DocumentFormat, SHIPPED, Strategy, parse};
use stemmata_runtimes::clients::{self, Launch};

use super::SettingError;
use crate::verbs::launch::AgentTemplate;

/// Bytes of a text or a name in a template at most.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Words of a command, or tools, at most.
const WORDS_MAX: usize = 256;

/// The fields, and what each means, for messages and the generated page.
pub fn template_fields() -> [(&'static str, String); 8] {
    let launched = |told: fn(&Launch) -> Option<String>| {
        clients::launched()
            .filter_map(move |client| Some(format!("{}{}", client.shown, told(client.launch?)?)))
    };
    let prompted = launched(|launch| Some(launch.system_prompt?.as_setting().unwrap_or_default()));
    let limited = launched(|launch| launch.tools_flag.map(|_| String::new()));
    let joined = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    let ids = clients::listed(clients::launched().map(|client| format!("`{}`", client.id)), "or");
    [
        ("client", format!("The client: {ids}. `stemma start` needs it; a loop of your own does not.")),
        ("runtime", "Another name of `client`.".to_owned()),
        (
            "command",
            "Its program and arguments, as a list of words or as one word; default: the client as it is usually called."
                .to_owned(),
        ),
        ("model", "The model, by the client's name for it.".to_owned()),
        (
            "profile",
            "Who the agent is: the name of a `[profiles.NAME]` table, or a file of one, relative to this file. `start` \
             adds its instructions to the client's system prompt where `system_prompt` is missing."
                .to_owned(),
        ),
        (
            "strategy",
            "What its prompts are made of: `planner`, `worker`, `validator`, `live`, or a file, relative to this one."
                .to_owned(),
        ),
        (
            "system_prompt",
            format!("Text that is added to the client's own system prompt ({}).", joined(&mut { prompted })),
        ),
        (
            "tools",
            format!("A list: the only tools that the agent has, by the client's names ({}).", joined(&mut { limited })),
        ),
    ]
}

/// Reads a file of a profile or a strategy: its text, or why there is none.
pub type ReadFile<'a> = dyn Fn(&Path) -> Result<String, String> + 'a;

/// A value of the configuration with the text that it was read from, which is what a request to a service carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured<T> {
    /// The value.
    pub value: T,
    /// Its text: JSON or TOML.
    pub text: String,
}

/// A kind of agent with all that its template names. `start`, `assemble` and programs that embed the engine read it here,
/// so that a client and a loop of one's own get the same agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Its name.
    pub name: Template,
    /// What its client is told.
    pub template: AgentTemplate,
    /// Who it is.
    pub profile: Option<Configured<Profile>>,
    /// What its prompts are made of.
    pub strategy: Option<Configured<Strategy>>,
}

/// The templates and profiles of a configuration, unread.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    kinds: toml::Table,
    profiles: toml::Table,
    /// Where paths in them begin.
    folder: PathBuf,
}

impl Templates {
    pub(super) fn of(templates: toml::Table, profiles: toml::Table) -> Self {
        Self { kinds: templates, profiles, folder: PathBuf::new() }
    }

    /// Says where the file is that they stand in: its folder is where paths in them begin.
    #[must_use]
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..self }
    }

    /// Returns the names of all templates.
    pub fn names(&self) -> Vec<String> {
        self.kinds.keys().cloned().collect()
    }

    /// Reads one template, and nothing that it names.
    ///
    /// # Errors
    /// Where there is none of that name, and which field is wrong.
    pub fn parse(&self, name: &str) -> Result<(Template, AgentTemplate), SettingError> {
        self.try_parse(name).map_err(|reason| self.error(name, reason))
    }

    /// Reads one template with its profile and its strategy.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and where a profile or a strategy does not exist or is wrong, with line and column.
    pub fn resolve(&self, name: &str, read: &ReadFile<'_>) -> Result<AgentConfig, SettingError> {
        let (alias, template) = self.parse(name)?;
        let named =
            |field: &str, reason: String| self.error(name, format!("`templates.{name}.{field}`: {reason}"));
        let profile = template.profile.as_deref().map(|profile| self.profile(profile, read)).transpose();
        let strategy = template.strategy.as_deref().map(|strategy| self.strategy(strategy, read)).transpose();
        Ok(AgentConfig {
            name: alias,
            profile: profile.map_err(|reason| named("profile", reason))?,
            strategy: strategy.map_err(|reason| named("strategy", reason))?,
            template,
        })
    }

    /// Returns a profile: a table of the configuration, or a file.
    ///
    /// # Errors
    /// Where there is none of that name, and what is wrong with it.
    pub fn profile(&self, name: &str, read: &ReadFile<'_>) -> Result<Configured<Profile>, String> {
        let text = match self.profiles.get(name) {
            Some(toml::Value::Table(fields)) => {
                let mut fields = fields.clone();
                fields.entry("id").or_insert_with(|| toml::Value::from(name));
                fields.to_string()
            }
            Some(_) => return Err(format!("`profiles.{name}` is not a table of fields")),
            None if is_path(name) => read(&self.folder.join(name))?,
            None => {
                let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
                return Err(missing("profile", name, &known, "[profiles."));
            }
        };
        let value = Profile::parse(&text, DocumentFormat::of(&text));
        let value = value.map_err(|error| format!("profile `{name}`, {error}"))?;
        Ok(Configured { value, text })
    }

    /// Returns a strategy: one that comes with Stemmata, or a file.
    ///
    /// # Errors
    /// Where there is none of that name, and what is wrong with it.
    pub fn strategy(&self, name: &str, read: &ReadFile<'_>) -> Result<Configured<Strategy>, String> {
        let text = match SHIPPED.iter().find(|shipped| shipped.name == name) {
            Some(shipped) => shipped.text.to_owned(),
            None if is_path(name) => read(&self.folder.join(name))?,
            None => {
                let known: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
                return Err(missing("strategy", name, &known, ""));
            }
        };
        let value = parse(&text, DocumentFormat::of(&text));
        let value = value.map_err(|error| format!("strategy `{name}`, {error}"))?;
        Ok(Configured { value, text })
    }

    fn error(&self, name: &str, reason: String) -> SettingError {
        SettingError {
            key: format!("templates.{name}"),
            value: self.kinds.get(name).map(ToString::to_string).unwrap_or_default(),
            reason,
        }
    }

    fn try_parse(&self, name: &str) -> Result<(Template, AgentTemplate), String> {
        let alias =
            Template::new(name).map_err(|error| format!("`templates.{name}` is not a name: {error}"))?;
        let Some(value) = self.kinds.get(name) else {
            let mut known = self.names();
            known.sort();
            return Err(if known.is_empty() {
                format!("there is no template `{name}`, nor any other; `[templates.{name}]` defines one")
            } else {
                format!("there is no template `{name}`; there are {}", known.join(", "))
            });
        };
        let fields =
            value.as_table().ok_or_else(|| format!("`templates.{name}` is not a table of fields"))?;
        if fields.contains_key("client") && fields.contains_key("runtime") {
            return Err(format!("`templates.{name}` has both `client` and `runtime`, which mean the same"));
        }
        let mut template = AgentTemplate::default();
        for (field, value) in fields {
            set(&mut template, field, value)
                .map_err(|what| format!("`templates.{name}.{field}` is not {what}"))?;
        }
        Ok((alias, template))
    }
}

/// Says whether a name is that of a file: no profile and no strategy has a dot or a slash in its name.
fn is_path(name: &str) -> bool {
    name.contains(['/', '.'])
}

fn missing(what: &str, name: &str, known: &[&str], begin: &str) -> String {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let begin = if begin.is_empty() { String::new() } else { format!("; `{begin}{name}]` begins one") };
    format!("there is no {what} `{name}` (there are: {known}){begin}; a file is named with its ending")
}

/// Sets one field, or returns what its value should be.
fn set(template: &mut AgentTemplate, field: &str, value: &toml::Value) -> Result<(), String> {
    let named = || text(value).filter(|text| !text.is_empty()).ok_or("a name");
    match field {
        "client" | "runtime" => template.runtime = text(value).ok_or("text")?,
        "command" => {
            let words = text(value).map(|word| vec![word]).or_else(|| list(value));
            let words = words.filter(|words| words.first().is_some_and(|word| !word.is_empty()));
            template.command = words.ok_or("a program or a list of words")?;
        }
        "model" => template.model = Some(named()?),
        "profile" => template.profile = Some(named()?),
        "strategy" => template.strategy = Some(named()?),
        "system_prompt" => template.system_prompt = Some(text(value).ok_or("text")?),
        "tools" => template.tools = Some(list(value).ok_or("a list of names")?),
        _ => {
            let known = template_fields().map(|(name, _)| name);
            return Err(format!("a field of a template; these are: {}", known.join(", ")));
        }
    }
    Ok(())
}

fn text(value: &toml::Value) -> Option<String> {
    value.as_str().filter(|text| text.len() <= TEXT_BYTES_MAX && !text.contains('\0')).map(str::to_owned)
}

fn list(value: &toml::Value) -> Option<Vec<String>> {
    let words = value.as_array().filter(|words| words.len() <= WORDS_MAX)?;
    words.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ConfigText;

    fn templates(text: &str) -> Templates {
        ConfigText::parse(text).unwrap().templates
    }

    fn parsed(text: &str) -> Result<(Template, AgentTemplate), SettingError> {
        templates(text).parse("reviewer")
    }

    fn resolved(text: &str) -> Result<AgentConfig, SettingError> {
        let read = |path: &Path| match path.to_str() {
            Some("/etc/s.json") => Ok("{\"sources\":[{\"topic\":\"PLAN_READY\"}]}".to_owned()),
            Some("/etc/bad.json") => Ok("{\"sources\":[{\"topc\":\"PLAN_READY\"}]}".to_owned()),
            _ => Err(format!("{} is not there", path.display())),
        };
        templates(text).in_folder("/etc").resolve("reviewer", &read)
    }

    #[test]
    fn a_template_is_what_its_fields_say() {
        let (alias, template) = parsed(
            "[templates.reviewer]\nruntime = \"claude-code\"\ncommand = [\"claude\", \"--verbose\"]\n\
             model = \"opus\"\nsystem_prompt = \"Review.\"\ntools = [\"Read\"]\n",
        )
        .unwrap();
        assert_eq!(alias.as_str(), "reviewer");
        assert_eq!(template.command, ["claude", "--verbose"]);
        assert_eq!(template.model.as_deref(), Some("opus"));
        assert_eq!(template.tools.as_deref(), Some(&["Read".to_owned()][..]));
        let (_, short) = parsed("[templates.reviewer]\nclient = \"pi\"\ncommand = \"pi\"\n").unwrap();
        assert_eq!((short.runtime.as_str(), short.command), ("pi", vec!["pi".to_owned()]));
    }

    #[test]
    fn a_template_names_a_profile_and_a_strategy() {
        let agent = resolved(
            "[profiles.careful]\nrole = \"validator\"\ninstructions = \"Doubt it.\"\n\n\
             [templates.reviewer]\nprofile = \"careful\"\nstrategy = \"s.json\"\n",
        )
        .unwrap();
        let profile = agent.profile.unwrap();
        assert_eq!((profile.value.id.as_str(), &*profile.value.role), ("careful", "validator"));
        assert_eq!(
            Profile::parse(&profile.text, DocumentFormat::of(&profile.text)).unwrap(),
            profile.value,
            "the text that a request carries says the same"
        );
        assert_eq!(agent.strategy.unwrap().value.sources.len(), 1);
        let shipped = resolved("[templates.reviewer]\nstrategy = \"worker\"\n").unwrap();
        assert!(shipped.strategy.unwrap().value.sources.len() > 1);
    }

    #[test]
    fn errors_name_the_template_and_the_field() {
        for (text, reason) in [
            ("", "no template `reviewer`, nor any other"),
            ("[templates.author]\nruntime = \"pi\"\n", "there are author"),
            ("[templates]\nreviewer = 1\n", "`templates.reviewer` is not a table"),
            ("[templates.reviewer]\nruntime = 1\n", "`templates.reviewer.runtime` is not text"),
            (
                "[templates.reviewer]\nruntime = \"pi\"\ncommand = []\n",
                "`templates.reviewer.command` is not a program",
            ),
            (
                "[templates.reviewer]\nruntime = \"pi\"\ntools = [1]\n",
                "`templates.reviewer.tools` is not a list",
            ),
            ("[templates.reviewer]\nmodle = \"x\"\n", "`templates.reviewer.modle` is not a field"),
            ("[templates.reviewer]\nmodel = \"\"\n", "`templates.reviewer.model` is not a name"),
            ("[templates.reviewer]\nruntime = \"pi\"\nclient = \"pi\"\n", "both `client` and `runtime`"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.reason.contains(reason), "{error}");
        }
        assert!(Templates::default().parse("a b\n").unwrap_err().reason.contains("is not a name"));
    }

    #[test]
    fn what_a_template_names_and_is_not_there_is_named() {
        for (text, reasons) in [
            ("profile = \"ghost\"", ["`templates.reviewer.profile`", "no profile `ghost` (there are: bare)"]),
            ("profile = \"bare\"", ["profile `bare`, line", "`role`"]),
            ("profile = \"ghost.toml\"", ["`templates.reviewer.profile`", "/etc/ghost.toml is not there"]),
            ("strategy = \"wroker\"", ["`templates.reviewer.strategy`", "planner, worker, validator, live"]),
            ("strategy = \"bad.json\"", ["strategy `bad.json`, line 1, column 14", "topic"]),
        ] {
            let text = format!("[profiles.bare]\n\n[templates.reviewer]\n{text}\n");
            let error = resolved(&text).unwrap_err();
            for reason in reasons {
                assert!(error.reason.contains(reason), "{error}");
            }
        }
    }
}
