//! `[templates.NAME]`: kinds of agents, as the configuration file describes them.
//!
//! Read only where one is asked for, so that a mistake in one stops nothing else. What a client is told of a template is
//! `verbs/launch`'s.

use stemmata_model::Template;

use super::SettingError;
use crate::verbs::launch::AgentTemplate;

/// Bytes of a text or a name in a template at most.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Words of a command, or tools, at most.
const WORDS_MAX: usize = 256;

/// The fields, and what each means, for messages and the generated page.
pub const TEMPLATE_FIELDS: &[(&str, &str)] = &[
    ("runtime", "The client: `claude-code`, `codex`, `gemini` or `pi`. The only field that must be there."),
    (
        "command",
        "Its program and arguments, as a list of words or as one word; default: the client as it is usually called.",
    ),
    (
        "system_prompt",
        "Text that is added to the client's own system prompt (Claude Code, Codex as `developer_instructions`, pi).",
    ),
    ("tools", "A list: the only tools that the agent has, by the client's names (Claude Code, pi)."),
];

/// The templates of a configuration, unread.
#[derive(Debug, Clone, Default)]
pub struct Templates(toml::Table);

impl Templates {
    pub(super) const fn of(table: toml::Table) -> Self {
        Self(table)
    }

    /// Returns the names of all templates.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// Reads one template.
    ///
    /// # Errors
    /// Where there is none of that name, and which field is wrong.
    pub fn parse(&self, name: &str) -> Result<(Template, AgentTemplate), SettingError> {
        let parsed = self.try_parse(name);
        parsed.map_err(|reason| SettingError {
            key: format!("templates.{name}"),
            value: self.0.get(name).map(ToString::to_string).unwrap_or_default(),
            reason,
        })
    }

    fn try_parse(&self, name: &str) -> Result<(Template, AgentTemplate), String> {
        let alias = Template::new(name).map_err(|error| format!("`templates.{name}` is no name: {error}"))?;
        let Some(value) = self.0.get(name) else {
            let mut known = self.names();
            known.sort();
            return Err(if known.is_empty() {
                format!("there is no template `{name}`, nor any other; `[templates.{name}]` begins one")
            } else {
                format!("there is no template `{name}`; there are {}", known.join(", "))
            });
        };
        let fields = value.as_table().ok_or_else(|| format!("`templates.{name}` is no table of fields"))?;
        let mut template = AgentTemplate::default();
        for (field, value) in fields {
            set(&mut template, field, value)
                .map_err(|what| format!("`templates.{name}.{field}` is no {what}"))?;
        }
        if template.runtime.is_empty() {
            return Err(format!(
                "`templates.{name}.runtime` is missing: it says which client runs the agent"
            ));
        }
        Ok((alias, template))
    }
}

/// Sets one field, or returns what its value should be.
fn set(template: &mut AgentTemplate, field: &str, value: &toml::Value) -> Result<(), String> {
    match field {
        "runtime" => template.runtime = text(value).ok_or("text")?,
        "command" => {
            let words = text(value).map(|word| vec![word]).or_else(|| list(value));
            let words = words.filter(|words| words.first().is_some_and(|word| !word.is_empty()));
            template.command = words.ok_or("program or list of words")?;
        }
        "system_prompt" => template.system_prompt = Some(text(value).ok_or("text")?),
        "tools" => template.tools = Some(list(value).ok_or("list of names")?),
        _ => {
            let known: Vec<&str> = TEMPLATE_FIELDS.iter().map(|(name, _)| *name).collect();
            return Err(format!("field of a template; these are: {}", known.join(", ")));
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

    fn parsed(text: &str) -> Result<(Template, AgentTemplate), SettingError> {
        Templates::of(text.parse().unwrap()).parse("reviewer")
    }

    #[test]
    fn a_template_is_what_its_fields_say() {
        let (alias, template) = parsed(
            "[reviewer]\nruntime = \"claude-code\"\ncommand = [\"claude\", \"--model\", \"opus\"]\n\
             system_prompt = \"Review.\"\ntools = [\"Read\"]\n",
        )
        .unwrap();
        assert_eq!(alias.as_str(), "reviewer");
        assert_eq!(template.command, ["claude", "--model", "opus"]);
        assert_eq!(template.tools.as_deref(), Some(&["Read".to_owned()][..]));
        let (_, short) = parsed("[reviewer]\nruntime = \"pi\"\ncommand = \"pi\"\n").unwrap();
        assert_eq!(short.command, ["pi"]);
    }

    #[test]
    fn errors_name_the_template_and_the_field() {
        for (text, reason) in [
            ("", "no template `reviewer`, nor any other"),
            ("[author]\nruntime = \"pi\"\n", "there are author"),
            ("reviewer = 1\n", "`templates.reviewer` is no table"),
            ("[reviewer]\ncommand = \"x\"\n", "`templates.reviewer.runtime` is missing"),
            ("[reviewer]\nruntime = 1\n", "`templates.reviewer.runtime` is no text"),
            ("[reviewer]\nruntime = \"pi\"\ncommand = []\n", "`templates.reviewer.command` is no program"),
            ("[reviewer]\nruntime = \"pi\"\ntools = [1]\n", "`templates.reviewer.tools` is no list"),
            ("[reviewer]\nruntime = \"pi\"\nmodel = \"x\"\n", "`templates.reviewer.model` is no field"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.reason.contains(reason), "{error}");
        }
        assert!(Templates::default().parse("a b\n").unwrap_err().reason.contains("is no name"));
    }
}
