//! The limits of a context window, as they are configured. Asks no store.

use stemmata_api::v1::WindowLimits;
use stemmata_api::{Answer, Code, Problem};
use stemmata_engine::prompt::guard::Window;
use stemmata_engine::prompt::window::{WindowConfig, WindowConfigSettings};
use stemmata_engine::{Settings, tokens};
use stemmata_model::Tokens;

/// Checks that the configured limits fit each other, whatever window they are of.
///
/// # Errors
/// `window_bad` for limits that contradict each other.
pub fn check_window(settings: &Settings) -> Answer<()> {
    let rules = &settings.window;
    let window = Window::new(rules.limits(Tokens(rules.tokens.unwrap_or(1))));
    window.map(|_| ()).map_err(|error| Box::new(Problem::new(Code::WindowBad, error.to_string())))
}

/// Returns every limit of a window in the order in which they act: of so many tokens, of a model's, or of the configured one.
///
/// # Errors
/// `window_bad` for a window that is not known, and for limits that contradict each other.
pub fn window_limits(settings: &Settings, tokens: Option<u64>, model: Option<&str>) -> Answer<WindowLimits> {
    let rules = &settings.window;
    let bad = |detail: String| Box::new(Problem::new(Code::WindowBad, detail));
    let of_model = model.and_then(|name| Some((name, tokens::window(name)?)));
    let assumed = tokens.is_none() && of_model.is_some_and(|(_, known)| known.is_assumed);
    let (limit, limit_from) = match (tokens, of_model, rules.tokens) {
        (Some(tokens), ..) => (tokens, "`--window`".to_owned()),
        (None, Some((name, known)), _) => (known.tokens, known.told(name)),
        (None, None, Some(tokens)) if model.is_none() => (tokens, "`window.tokens`".to_owned()),
        (None, None, _) => {
            let what = model.map_or_else(String::new, |name| format!(" of the model `{name}`"));
            let ways = "`--window N` gives its tokens, `--model NAME` names a model whose window is known";
            return Err(bad(format!("the window{what} is not known: {ways}")));
        }
    };
    let config = WindowConfig::new(WindowConfigSettings {
        window: rules.limits(Tokens(limit)),
        compact: rules.compact,
        output: settings.tools.limits,
    })
    .map_err(|error| bad(error.to_string()))?;
    Ok(WindowLimits { limit, limit_from, assumed, limits: config.explain() })
}
