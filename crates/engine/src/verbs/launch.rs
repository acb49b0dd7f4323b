//! What starts an agent: a template, a context or none, and the client's own way to be told both.
//!
//! Pure: words come in, the words of a command come out. Placing the context and running the command are elsewhere.

use stemmata_runtimes::clients::{client_named, launched};

/// What kind of agent: which client runs it, and what that is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentTemplate {
    /// The runtime.
    pub runtime: String,
    /// The client's program and arguments; none: the client as it is usually called.
    pub command: Vec<String>,
    /// The model, by the client's name for it; none: the client's default.
    pub model: Option<String>,
    /// Who the agent is: the name of a profile, or its file.
    pub profile: Option<String>,
    /// What its prompts are made of: the name of a strategy, or its file.
    pub strategy: Option<String>,
    /// Text that is added to the client's own system prompt.
    pub system_prompt: Option<String>,
    /// The only tools that the agent has; none: all.
    pub tools: Option<Vec<String>>,
}

/// A field of a template that cannot be meant so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {reason}")]
pub struct TemplateError {
    /// The field.
    pub field: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

/// Which of the three ways to start it is: one operation with different contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartMode {
    /// Without a context: a new chain begins.
    Fresh,
    /// From a tip.
    Resume,
    /// From a commit that others already follow.
    Fork,
}

impl StartMode {
    /// Returns its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Resume => "resume",
            Self::Fork => "fork",
        }
    }
}

impl AgentTemplate {
    /// Returns the words of the command that starts such an agent. `resume` is the client's own command that goes on with
    /// what was placed, none for a fresh start; `extra` comes last.
    ///
    /// # Errors
    /// Where a field cannot be meant so, or its client cannot be told it.
    pub fn command_line(
        &self,
        resume: Option<&[String]>,
        extra: &[String],
    ) -> std::result::Result<Vec<String>, TemplateError> {
        let named = client_named(&self.runtime).ok();
        let (client, launch) = named.and_then(|client| Some((client, client.launch?))).ok_or_else(|| {
            let known: Vec<String> = launched().map(|client| format!("`{}`", client.id)).collect();
            let known = known.join(", ");
            let reason = if self.runtime.is_empty() {
                format!("is missing: it says which client runs the agent, and is one of {known}")
            } else {
                format!("is `{}`, and is one of {known}", self.runtime)
            };
            TemplateError { field: "client", reason }
        })?;
        let cannot = |field, what: &str| TemplateError {
            field,
            reason: format!("is set, but {} has no command-line flag for {what}", client.program),
        };
        let mut words = self.command.clone();
        if words.is_empty() {
            words.push(client.program.to_owned());
        }
        words.extend(resume.into_iter().flatten().skip(1).cloned());
        if let Some(model) = &self.model {
            words.extend([launch.model_flag.to_owned(), model.clone()]);
        }
        if let Some(text) = &self.system_prompt {
            let prompt = launch.system_prompt.ok_or_else(|| cannot("system_prompt", "a system prompt"))?;
            words.extend(prompt.words(text));
        }
        if let Some(tools) = &self.tools {
            let flag = launch.tools_flag.ok_or_else(|| cannot("tools", "the list of tools"))?;
            words.extend([flag.to_owned(), tools.join(",")]);
        }
        words.extend_from_slice(extra);
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn template(runtime: &str, command: &str) -> AgentTemplate {
        AgentTemplate {
            runtime: runtime.to_owned(),
            command: words(command),
            system_prompt: Some("Be \"brief\".".to_owned()),
            tools: (runtime != "codex").then(|| words("Read Bash")),
            model: None,
            profile: None,
            strategy: None,
        }
    }

    #[test]
    fn fresh_resumed_and_forked_agents_differ_in_the_context_alone() {
        for (runtime, command, resume, wanted) in [
            (
                "claude-code",
                "",
                "claude --resume s1",
                "claude --resume s1 --append-system-prompt P --tools Read,Bash -p hi",
            ),
            ("claude-code", "", "", "claude --append-system-prompt P --tools Read,Bash -p hi"),
            (
                "codex",
                "nice codex exec",
                "codex resume s1",
                "nice codex exec resume s1 -c developer_instructions=P -p hi",
            ),
            (
                "pi",
                "pi --model m",
                "pi --session x.jsonl",
                "pi --model m --session x.jsonl --append-system-prompt P --tools Read,Bash -p hi",
            ),
        ] {
            let resume = words(resume);
            let resume = (!resume.is_empty()).then_some(resume.as_slice());
            let found = template(runtime, command).command_line(resume, &words("-p hi")).expect("a command");
            let quoted = r#""Be \"brief\".""#;
            let found: Vec<String> = found
                .into_iter()
                .map(|word| word.replace("Be \"brief\".", "P").replace(quoted, "P"))
                .collect();
            assert_eq!(found, words(wanted));
        }
    }

    #[test]
    fn what_a_client_cannot_be_told_is_refused_by_name() {
        let error =
            |template: AgentTemplate| template.command_line(None, &[]).expect_err("refused").to_string();
        assert!(error(template("abacus", "")).starts_with("`client` is `abacus`"));
        assert!(error(template("gemini", "")).starts_with("`system_prompt` is set, but gemini has no"));
        let tools = AgentTemplate { tools: Some(words("a")), ..template("codex", "") };
        assert!(error(tools).starts_with("`tools` is set, but codex has no"));
    }
}
