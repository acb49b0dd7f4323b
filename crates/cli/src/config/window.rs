//! The limits of a context window, as they are configured.

use stemmata_api::v1::{WindowLimit, WindowLimits};
use stemmata_engine::WindowRules;
use stemmata_engine::model::Tokens;
use stemmata_engine::prompt::tool_output::OutputLimits;
use stemmata_engine::prompt::window::{CompactSettings, WindowConfig, WindowConfigSettings};
use stemmata_engine::tokens;

use crate::errors::CliError;

/// Returns every limit of a window in the order in which they act: of so many tokens, of a model's, or of the configured one.
pub(crate) fn limits(
    rules: &WindowRules,
    tokens: Option<u64>,
    model: Option<&str>,
) -> Result<WindowLimits, CliError> {
    let of_model = model.and_then(|name| Some((name, tokens::model(name)?.window?)));
    let (limit, limit_from) = match (tokens, of_model, rules.tokens) {
        (Some(tokens), ..) => (tokens, "`--window`".to_owned()),
        (None, Some((name, (tokens, source))), _) => (tokens, format!("{name}: {source}")),
        (None, None, Some(tokens)) if model.is_none() => (tokens, "`window.tokens`".to_owned()),
        (None, None, _) => {
            return Err(CliError::Usage(
                "the window is not known: say how many tokens it takes with `--window`".to_owned(),
            ));
        }
    };
    let settings = WindowConfigSettings {
        window: rules.limits(Tokens(limit)),
        compact: CompactSettings::default(),
        output: OutputLimits::default(),
    };
    let config = WindowConfig::new(settings).map_err(|error| CliError::Usage(error.to_string()))?;
    let rows = config.explain().into_iter().map(|row| WindowLimit {
        name: row.name.to_owned(),
        value: row.value,
        unit: row.unit.to_owned(),
        acts: row.acts.to_owned(),
    });
    Ok(WindowLimits { limit, limit_from, limits: rows.collect() })
}
