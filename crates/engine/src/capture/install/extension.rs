//! A file of our own that a runtime loads as code.
//!
//! All of it is ours, so it is written and removed whole; a file of that name that is not ours is left alone.

use super::{HookWish, InstalledHooks, SettingsError};
use crate::capture::leaf::Provisional;

/// What a template exports for versions of opencode that load an object: one function for those of 1.x, one for those of 2.x.
const OBJECT: &str = "export default { id: \"stemma\", server, setup };";

/// What stands for it where the client calls whatever is exported.
const FUNCTION: &str = "export const StemmaPlugin = server;";

/// Returns the file. `place` is its template and the runtime.
///
/// # Errors
/// `Foreign` where somebody else's file stands in its place.
pub(super) fn with_hooks(
    text: Option<&str>,
    (template, runtime): (&str, &str),
    wish: &HookWish<'_>,
) -> Result<String, SettingsError> {
    check(text.unwrap_or_default(), runtime)?;
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let tools = match wish.provisional {
        Provisional::End | Provisional::Turn => "none",
        Provisional::Significant => "failures",
        Provisional::Tool => "all",
    };
    let exports = if wish.calls_exports { FUNCTION } else { OBJECT };
    Ok(template
        .replace(OBJECT, exports)
        .replace("\"@PROGRAM@\"", &quoted(wish.program))
        .replace("\"@TOOLS@\"", &quoted(tools))
        .replace("\"@INJECT@\"", if wish.inject { "true" } else { "false" }))
}

/// Says whether the file may go.
///
/// # Errors
/// `Foreign`, as [`with_hooks`].
pub(super) fn without_hooks(text: &str, runtime: &str) -> Result<(), SettingsError> {
    check(text, runtime)
}

/// Returns what the file calls; none where there is none.
///
/// # Errors
/// `Foreign`, as [`with_hooks`].
pub(super) fn installed(text: &str, runtime: &str) -> Result<Option<InstalledHooks>, SettingsError> {
    check(text, runtime)?;
    let value = |name: &str| {
        let start = format!("const {name} = ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix(';'));
        line.and_then(|value| serde_json::from_str::<serde_json::Value>(value).ok())
    };
    let program = value("program").and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
    let inject = value("inject").and_then(|value| value.as_bool()).unwrap_or_default();
    Ok((!text.trim().is_empty()).then_some(InstalledHooks { program, inject }))
}

fn check(text: &str, runtime: &str) -> Result<(), SettingsError> {
    let is_ours = text.starts_with(&format!("// Written by `stemma install {runtime}`;"));
    if is_ours || text.trim().is_empty() { Ok(()) } else { Err(SettingsError::Foreign) }
}

#[cfg(test)]
mod tests {
    use stemmata_runtimes::clients::{HookKind, hooked};

    use super::*;

    #[test]
    fn a_file_of_ours_is_written_whole_and_one_of_somebody_elses_is_left_alone() {
        for client in hooked() {
            let Some(HookKind::Extension(template)) = client.hooks.map(|hooks| hooks.kind) else { continue };
            let wish = HookWish {
                program: "/o\"dd/stemma",
                provisional: Provisional::Tool,
                inject: true,
                calls_exports: false,
            };
            let text = with_hooks(None, (template, client.id), &wish).expect("a file");
            assert!(text.contains(r#"const program = "/o\"dd/stemma";"#), "{text}");
            assert!(!text.contains("@PROGRAM@") && !text.contains("@TOOLS@") && !text.contains("@INJECT@"));
            let again = with_hooks(Some(&text), (template, client.id), &wish);
            assert_eq!(again.as_deref(), Ok(text.as_str()));
            assert_eq!(without_hooks(&text, client.id), Ok(()));
            let foreign = Some("export default () => {};");
            assert_eq!(with_hooks(foreign, (template, client.id), &wish), Err(SettingsError::Foreign));
            assert_eq!(without_hooks("// mine", client.id), Err(SettingsError::Foreign));
        }
    }
}
