//! Every row is complete, and none contradicts another.

use std::collections::HashSet;
use std::fmt::Write as _;

use stemmata_acts::tools::of_runtime;

use super::*;
use crate::registry::{adapters, by_runtime};
use crate::translate::runtime_of;

/// Runtimes of formats that no client writes: what programs of one's own have, our own forms, and a source document's.
const NO_CLIENT: &[&str] = &[
    "generic",
    "stemmata",
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    "bureau-agent",
    "bureau-events",
];

fn compacting() -> impl Iterator<Item = (&'static Client, &'static Compaction)> {
    ALL.iter().filter_map(|client| Some((*client, client.compaction?)))
}

#[test]
fn no_two_clients_share_a_name_or_a_variable() {
    let mut names = HashSet::new();
    let mut variables = HashSet::new();
    for client in ALL {
        assert_eq!(by_id(client.id), Some(*client));
        for name in names::names(client) {
            assert_eq!(
                name,
                names::plain(&name),
                "an alias is in small letters, without what stands between words"
            );
            assert!(names.insert(name.clone()), "`{name}` names two clients");
        }
        for variable in client.session_variables {
            assert!(variables.insert(*variable), "`{variable}` is two clients'");
        }
        assert!(!client.shown.is_empty() && !client.program.is_empty(), "{client:?}");
    }
}

#[test]
fn every_adapter_is_one_clients_or_said_to_be_nobodys() {
    let mut of_clients = HashSet::new();
    for client in ALL {
        assert!(!client.formats.is_empty(), "{client:?}");
        for registered in client.formats {
            let format = registered.adapter.format();
            let is_own = runtime_of(&format) == client.id || client.printed == Some(format.as_str());
            assert!(is_own && of_clients.insert(format.clone()), "{format} of {client:?}");
        }
    }
    for adapter in adapters() {
        let format = adapter.format();
        let is_nobodys = NO_CLIENT.contains(&runtime_of(&format));
        assert!(of_clients.contains(&format) != is_nobodys, "{format} has no row, or two");
    }
}

#[test]
fn what_a_client_has_at_home_is_all_there() {
    for client in at_home() {
        let home = client.home.expect("a home");
        assert!(
            !home.transcripts.is_empty() && !home.variable.is_empty() && !home.below_home.is_empty(),
            "{client:?}"
        );
        assert!(!home.below_home.starts_with('/'), "{client:?}");
        let resume = client.resume.expect("what has a home is continued");
        assert_eq!(resume.command.first(), Some(&client.program), "{client:?}");
        assert!(resume.import.is_none_or(|words| words.first() == Some(&client.program)), "{client:?}");
        let placed = by_runtime(client.id).expect("a format that it loads").format();
        assert!(client.formats.iter().any(|format| format.adapter.format() == placed), "{client:?}");
        if let Some(database) = home.database {
            assert!(
                home.transcripts.contains(&database.file) && home.transcripts.contains(&database.records)
            );
        }
    }
    for client in ALL {
        let needs_home = client.hooks.is_some() || client.launch.is_some() || client.expiry.is_some();
        assert!(client.home.is_some() || !needs_home, "{client:?} is nowhere");
    }
    assert_eq!(at_home().filter_map(|client| client.home?.database).collect::<Vec<_>>(), [DATABASE]);
}

#[test]
fn tools_and_hooks_fit_each_other() {
    for client in ALL {
        if let Some(tools) = client.tools {
            assert_eq!(of_runtime(client.id), Some(tools), "{client:?}");
        }
        let Some(hooks) = client.hooks else { continue };
        assert!(!hooks.file.starts_with('/') && !hooks.brief.is_empty(), "{client:?}");
        match hooks.kind {
            HookKind::Settings(events) => {
                assert!(events.turns.contains(&"SessionStart") && events.timeout > 0, "{client:?}");
                let asks = events.significant.iter().any(|(_, asked)| *asked == AskedFor::DecidingTools);
                let has_deciding = client.tools.is_some_and(|tools| !tools.deciding.is_empty());
                assert!(!asks || has_deciding, "{client:?} would be asked for no tool");
            }
            HookKind::Extension(template) => {
                assert!(template.starts_with(&format!("// Written by `stemma install {}`;", client.id)));
            }
        }
    }
}

#[test]
fn a_threshold_is_a_part_of_the_window_or_what_is_left_free() {
    let tokens = |id: &str, window| by_id(id).and_then(|client| client.compaction?.at.tokens(window));
    assert_eq!(tokens("codex", 258_400), Some(232_560));
    assert_eq!(tokens("pi", 100_000), Some(83_616));
    assert_eq!(tokens("pi", 10), Some(0));
    assert_eq!(tokens("claude-code", 200_000), None);
    assert_eq!(tokens("aider", 200_000), None);
    assert_eq!(CompactsAt::Permille(900).tokens(u64::MAX), Some(u64::MAX / 10 * 9 + 4));
    assert!(compacting().all(|(_, row)| !row.source.is_empty() && !row.makers.is_empty()));
}

#[test]
fn the_page_of_models_shows_every_client() {
    let page = include_str!("../../../../docs/reference/models.md");
    let mut wanted = "| client | compacts at | window | sources |\n|---|---|---|---|\n".to_owned();
    for (client, row) in compacting() {
        let at = match row.at {
            CompactsAt::Permille(part) => format!("{}.{} % of the window", part / 10, part % 10),
            CompactsAt::Free(tokens) => format!("{tokens} tokens from the end"),
            CompactsAt::OnlyAsSet => "what the user sets".to_owned(),
        };
        let (window, source) =
            row.window.map_or(("the model's".to_owned(), String::new()), |(tokens, source)| {
                (tokens.to_string(), format!("; window: {source}"))
            });
        writeln!(wanted, "| {} | {at} | {window} | {}{source} |", client.id, row.source).unwrap();
    }
    assert!(page.contains(&wanted), "docs/reference/models.md is stale; it should hold:\n\n{wanted}");
}

#[test]
fn names_are_listed_for_people() {
    let of = |names: &[&str]| listed(names.iter().copied(), "or");
    assert_eq!((of(&[]), of(&["a"]), of(&["a", "b"])), (String::new(), "a".to_owned(), "a or b".to_owned()));
    assert_eq!(of(&["a", "b", "c"]), "a, b or c");
}

#[test]
fn an_event_of_a_name_means_the_same_for_every_client() {
    let mut known = std::collections::HashMap::new();
    for hooks in hooked().filter_map(|client| client.hooks) {
        let mut own = HashSet::new();
        for (event, meaning) in hooks.meanings {
            assert!(own.insert(*event), "`{event}` twice");
            assert_eq!(known.insert(*event, *meaning).unwrap_or(*meaning), *meaning, "`{event}`");
            assert_eq!(meaning_of(event), *meaning, "`{event}`");
        }
        if let HookKind::Settings(events) = hooks.kind {
            let asked = events.significant.iter().map(|(event, _)| *event);
            for event in asked.chain(events.tools.iter().copied()) {
                assert!(matches!(meaning_of(event), Meaning::Tool | Meaning::ToolFailed), "`{event}`");
            }
        }
    }
    assert_eq!(meaning_of("Stop"), Meaning::Turn);
}
