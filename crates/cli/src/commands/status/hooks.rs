//! The hooks of each client in words: whether they are there, and what to do where they capture nothing.

use std::path::Path;

use stemmata_api::v1;
use stemmata_model::Timestamp;

use crate::output::put;
use crate::output::style::Style;
use crate::output::time;
use crate::wiring::App;

/// Describes one client's hooks for people, in a few words.
pub(super) fn described(app: &App, hooks: &v1::Hooks) -> String {
    let heard = ago(app, hooks.heard_at);
    let heard = heard.map_or_else(|| "no event yet".to_owned(), |ago| format!("last event {ago}"));
    let state = match hooks.state.as_str() {
        "off" => format!("off (`stemma install {}`)", hooks.runtime),
        "current" => format!("on; {heard}"),
        "none" => format!("no longer there; {heard}"),
        "unreadable" => format!("cannot be read; {heard}"),
        _ => format!("on, not as they should be; {heard}"),
    };
    format!("{}: {state}", hooks.runtime)
}

fn ago(app: &App, at: Option<Timestamp>) -> Option<String> {
    Some(time::ago(at?, app.now()))
}

/// Returns a line for each thing that keeps a client's hooks from capturing, with what to do about it.
pub(super) fn warnings(app: &App, hooks: &[v1::Hooks]) -> String {
    let mut text = String::new();
    for client in hooks {
        let runtime = &client.runtime;
        let program = client.program.as_deref().map(|path| app.environment.shown(Path::new(path)));
        let program = program.unwrap_or_default();
        let reason = client.reason.as_deref().unwrap_or_default();
        let wrong = match client.state.as_str() {
            "none" => Some("are no longer in its settings".to_owned()),
            "broken" => Some(format!("call {program}, which is not there")),
            "changed" if program.is_empty() => Some("are not as this version wants them".to_owned()),
            "changed" => Some(format!("are not as this version wants them (they call {program})")),
            "unreadable" => Some(format!("cannot be read: {reason}")),
            _ => None,
        };
        let warning = Style::Warning.paint("warning");
        if let Some(wrong) = wrong {
            let next = format!("`stemma install {runtime}` puts them in again");
            put!(text, "{warning}: the hooks of {runtime} {wrong}; {next}\n");
        } else if let Some(ago) = ago(app, client.used_at).filter(|_| client.unheard) {
            let next = "restart it: clients read their hooks when they start";
            put!(
                text,
                "{warning}: {runtime} wrote a transcript {ago} and its hooks were not heard; {next}\n"
            );
        }
    }
    text
}
