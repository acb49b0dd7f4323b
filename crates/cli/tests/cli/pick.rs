//! The picker of `search`, on a terminal, as a person uses it.

use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;

use crate::screen::{Scene, is_obeyed};
use crate::stage::Stage;
use crate::story::{self, Story};
use crate::terminal::Terminal;

const SIZE: (u16, u16) = (90, 24);

/// A stage with a session of its directory, and an older one of another.
fn stage() -> Stage {
    let stage = Stage::new();
    let here = stage.home.project();
    let mut near = Story::new("5e55104e-0000-4000-8000-000000000002", here.to_str().unwrap());
    near.user("Drop the retries")
        .assistant("They\nare\ngone: we drop the retries.")
        .user("Good")
        .assistant("Yes.");
    for (name, story) in [("a", story::retry("/home/ann/shop")), ("b", near)] {
        stage.import(&stage.home.write(&format!("{name}.jsonl"), story.text().as_bytes()));
    }
    stage
}

fn started(stage: &Stage, args: &[&str]) -> Terminal {
    Terminal::start(stage.command(args), SIZE)
}

#[test]
fn typing_narrows_the_list_and_enter_shows_what_is_selected() {
    let stage = stage();
    let mut terminal = started(&stage, &["search"]);
    let first = terminal.until(|screen| screen.says("1 session") && screen.says("@4"));
    assert!(first.says("Drop the retries") && !first.says("Fix the retry loop"), "{first:#?}");
    terminal.press("gone");
    let found = terminal.until(|screen| screen.says("searched") && screen.says("→ @2"));
    assert!(found.says("gone: we drop the retries."), "{found:#?}");
    terminal.press("\u{15}\t");
    terminal.until_says("Fix the retry loop");
    terminal.press("retry");
    let found = terminal.until(|screen| screen.says("hits") && screen.says("→ @"));
    assert!(found.lines[0].starts_with("> retry") && found.lines[0].ends_with("everywhere"), "{found:#?}");
    terminal.press("\u{1b}[B");
    terminal.until(|screen| screen.lines[3].starts_with('▸') && screen.says("→ @"));
    terminal.press("\r");
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(0));
    assert!(screen.printed.contains("→ @") && screen.printed.contains(" entries"), "{screen:#?}");
}

#[test]
fn resume_and_fork_go_on_from_what_is_selected() {
    let stage = stage();
    let mut terminal = started(&stage, &["search", "--pick", "--print", "drop", "retries"]);
    // Whether the list is there or not.
    terminal.until_says("> drop retries");
    terminal.press("\u{12}");
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{screen:#?}");
    assert!(screen.printed.contains("claude --resume "), "{screen:#?}");
    let client = stage.home.write("bin/claude", b"#!/bin/sh\necho \"client $*\"\nexit 7\n");
    std::fs::set_permissions(&client, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut command = stage.command(&["search", "--resume", "--cwd", "."]);
    command.env("PATH", format!("{}:/usr/bin:/bin", client.parent().unwrap().display()));
    let mut terminal = Terminal::start(command, SIZE);
    let seen = terminal.until_says("newest first");
    assert!(seen.says("Enter resume"), "{seen:#?}");
    terminal.press("\r");
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(7), "{screen:#?}");
    assert!(screen.printed.contains("client --resume "), "{screen:#?}");
    let mut terminal = started(&stage, &["search", "-i", "retries"]);
    terminal.until_says("searched");
    terminal.press("\u{6}");
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{screen:#?}");
    assert!(screen.printed.contains("Forked"), "{screen:#?}");
}

#[test]
fn the_terminal_is_given_back_however_it_ends() {
    let stage = stage();
    for keys in ["\u{1b}", "\u{3}", "x\u{1b}\u{1b}"] {
        let mut terminal = started(&stage, &["search"]);
        terminal.until_says("1 session");
        terminal.press(keys);
        let (status, screen) = terminal.end();
        assert_eq!((status.code(), screen.printed.as_str()), (Some(0), ""), "{keys:?}");
    }
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = started(&stage, &["search"]);
        terminal.until_says("1 session");
        terminal.signal(signal);
        let (status, _) = terminal.end();
        assert_eq!(status.signal(), Some(signal.as_raw()));
    }
}

#[test]
fn an_id_is_copied_and_printed() {
    let stage = stage();
    let mut terminal = started(&stage, &["search"]);
    terminal.until_says("1 session");
    terminal.press("\u{19}");
    terminal.until_says("copied 0002");
    terminal.press("\u{1b}");
    let (_, screen) = terminal.end();
    let id = screen.printed.trim().to_owned();
    assert!(id == "0002" && screen.copied.len() == 1, "{screen:#?}");
    stage.run(&["show", &id]).ok();
}

#[test]
fn a_word_that_is_half_typed_finds_what_it_will() {
    let stage = stage();
    let mut terminal = started(&stage, &["search"]);
    terminal.press("chang");
    terminal.until_says("nothing found here");
    terminal.press("\t");
    terminal.until_says("Write it into the changelog");
    terminal.press("\u{1b}");
    terminal.end();
}

#[test]
fn foreign_text_and_small_screens_do_no_harm() {
    let scene = Scene::new();
    for size in [(1, 1), (2, 3), (20, 5), (80, 24)] {
        let mut terminal = Terminal::start(scene.stage.command(&["search", "-i", "--literal", "Evil"]), size);
        let bad =
            |screen: &crate::terminal::Screen| screen.lines.iter().any(|line| line.chars().any(is_obeyed));
        terminal.until(|screen| {
            screen.is_alternate && (size.0 < 80 || (screen.says("hit") && screen.says("→ @")))
        });
        terminal.press("\u{1b}[B\t\u{15}");
        let seen = terminal.until(|screen| size.0 < 80 || screen.says("newest first"));
        assert!(!bad(&seen), "{seen:#?}");
        terminal.resize((30, 8));
        terminal.press("\u{1b}");
        let (status, screen) = terminal.end();
        assert_eq!(status.code(), Some(0), "{size:?} {screen:#?}");
    }
}

#[test]
fn of_sessions_of_one_id_the_best_is_read_and_resumed() {
    let stage = Stage::new();
    let here = stage.home.project();
    for (name, said) in [("a", "Bake a pot"), ("b", "Fire a kiln")] {
        let mut story = Story::new(story::SESSION, here.to_str().unwrap());
        story.user(said).assistant("Yes.");
        stage.import(&stage.home.write(&format!("{name}/{name}.jsonl"), story.text().as_bytes()));
    }
    stage.run(&["show", story::SESSION]).ok();
    let mut terminal = started(&stage, &["search", "--print"]);
    terminal.until(|screen| screen.says("1 session") && screen.says("@2 assistant"));
    terminal.press("\u{12}");
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{screen:#?}");
    assert!(screen.printed.contains("claude --resume "), "{screen:#?}");
}

/// Where no key can be read, the words are missing; and a list is for people.
#[test]
fn without_a_terminal_there_is_no_picker() {
    let stage = stage();
    stage.run(&["search"]).code(2).complains(&["nothing to search for", "`stemma search WORDS`"]);
    stage.run(&["search", "--pick", "x"]).code(2).complains(&["`--pick` needs a terminal"]);
    let mut command = stage.command(&["search", "--json"]);
    let (_terminal, own) = crate::terminal::open();
    crate::terminal::give(&mut command, &own);
    let output = command.env("TERM", "xterm").stderr(std::process::Stdio::piped()).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("query_empty"));
}
