//! The client of the configured model. Its key is read from the environment at the moment when somebody asks, and kept nowhere.

use std::time::Duration;

use stemmata_api::{Answer, Code, Problem};
use stemmata_engine::{ModelApi, ModelRules, Scrubber, Summarizer};
use stemmata_llm::{Api, Client, Endpoint, Key, Limits, LlmError, ModelSummarizer, Sleeps};

/// Makes the client that the configuration names. `variable` reads the environment.
pub(crate) fn summarizer(
    rules: &ModelRules,
    variable: &dyn Fn(&str) -> Option<String>,
    scrubber: Scrubber,
) -> Answer<Box<dyn Summarizer>> {
    let none = |reason: &str| Box::new(Problem::new(Code::NoModel, reason));
    let api = rules.api.ok_or_else(|| none("`llm.provider` is not configured"))?;
    let model = rules.model.clone().ok_or_else(|| none("`llm.model` is not configured"))?;
    let key = key(rules, api, variable).map_err(|reason| none(&reason))?;
    let limits = Limits {
        attempt_timeout: Duration::from_secs(rules.timeout_s),
        attempts_max: rules.attempts_max,
        ..Limits::default()
    };
    let (api, own) = match api {
        ModelApi::Anthropic => (Api::Anthropic, "https://api.anthropic.com"),
        ModelApi::OpenAi => (Api::OpenAi, "https://api.openai.com/v1"),
    };
    let base_url = rules.endpoint.clone().unwrap_or_else(|| own.to_owned());
    let endpoint = Endpoint { api, base_url, model, key, limits };
    let client = Client::new(endpoint, scrubber, Box::new(Sleeps)).map_err(|error| {
        // Wrong, and not only missing: who does without a model says so.
        Box::new(Problem::new(Code::NoModel, error.to_string()).with("setting", "llm.endpoint"))
    })?;
    let summarizer = ModelSummarizer::new(client, rules.window_tokens);
    Ok(Box::new(summarizer.with_output_tokens_max(rules.output_tokens_max)))
}

/// Reads the key. A server that was named by its address may want none, and gets the provider's own only where it is the provider's:
/// another one is sent the key of the variable that the configuration names, and none else.
fn key(
    rules: &ModelRules,
    api: ModelApi,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Key>, String> {
    let (usual, host) = match api {
        ModelApi::Anthropic => ("ANTHROPIC_API_KEY", "api.anthropic.com"),
        ModelApi::OpenAi => ("OPENAI_API_KEY", "api.openai.com"),
    };
    let is_own = rules.endpoint.as_deref().is_none_or(|endpoint| is_at(endpoint, host));
    let Some(name) = rules.key_variable.as_deref().or(is_own.then_some(usual)) else { return Ok(None) };
    let is_needed = rules.key_variable.is_some() || rules.endpoint.is_none();
    match variable(name).filter(|key| !key.trim().is_empty()) {
        Some(key) => {
            Key::new(&key).map(Some).map_err(|error: LlmError| format!("the variable `{name}`: {error}"))
        }
        None if is_needed => Err(format!("the API key is missing: the environment has no `{name}`")),
        None => Ok(None),
    }
}

/// Returns whether an address is one of a host, at whatever port.
fn is_at(endpoint: &str, host: &str) -> bool {
    let authority = endpoint.trim().split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or_default();
    authority.split(':').next().is_some_and(|named| named.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> ModelRules {
        ModelRules {
            api: Some(ModelApi::OpenAi),
            endpoint: None,
            model: Some("m".to_owned()),
            key_variable: None,
            timeout_s: 1,
            attempts_max: 1,
            window_tokens: None,
            output_tokens_max: 64,
        }
    }

    fn key_of(rules: &ModelRules, known: &str) -> Result<bool, String> {
        let variable = |name: &str| (name == known).then(|| "k-123".to_owned());
        key(rules, ModelApi::OpenAi, &variable).map(|key| key.is_some())
    }

    #[test]
    fn the_key_comes_from_the_variable_that_is_named_and_a_server_of_one_s_own_may_want_none() {
        let own = ModelRules { endpoint: Some("http://127.0.0.1:1".to_owned()), ..rules() };
        let named = ModelRules { key_variable: Some("MINE".to_owned()), ..own.clone() };
        assert_eq!(key_of(&rules(), "OPENAI_API_KEY"), Ok(true));
        assert_eq!(key_of(&named, "MINE"), Ok(true));
        assert_eq!(key_of(&own, "NONE"), Ok(false));
        // Whoever names another server has not said that it may have the provider's key.
        for (endpoint, has_key) in [
            ("https://api.openai.com/v1", true),
            ("https://API.OpenAI.com:443", true),
            ("https://api.openai.com.example.org/v1", false),
            ("https://example.org/api.openai.com", false),
            ("https://api.openai.com@example.org/v1", false),
            ("http://127.0.0.1:1", false),
        ] {
            let rules = ModelRules { endpoint: Some(endpoint.to_owned()), ..rules() };
            assert_eq!(key_of(&rules, "OPENAI_API_KEY"), Ok(has_key), "{endpoint}");
        }
        for (rules, name) in [(rules(), "OPENAI_API_KEY"), (named, "MINE")] {
            assert!(key_of(&rules, "NONE").expect_err("no key").contains(name));
        }
    }
}
