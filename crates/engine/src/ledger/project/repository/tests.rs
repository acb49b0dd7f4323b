//! What is decided of made-up folders and ledgers.

use proptest::prelude::*;

use super::*;
use crate::ledger::project::plan::{place_mark, remote_mark, root_commit_mark};

const HERE: &str = "m1";

fn ledger(name: &str, root: &str, marks: &[String]) -> Ledger {
    super::super::tests::ledger(name, marks, root)
}

/// A folder, and its repository's home, the worktree's top and the remote; `-` is none.
fn folders(rows: &[(&str, &str, &str, &str)]) -> Folders {
    let known = |text: &str| (text != "-").then(|| text.to_owned());
    let facts = |home, top, remote| FolderFacts { home: known(home), top: known(top), remote: known(remote) };
    rows.iter().map(|(folder, home, top, remote)| ((*folder).to_owned(), facts(home, top, remote))).collect()
}

/// Says of a folder what it is of, in a word.
fn told(all: &Repositories, machine: &str, folder: &str) -> String {
    match all.of_folder(machine, folder, Elsewhere::Marked) {
        RepositoryKey::Ledger(ledger) => ledger.to_string(),
        RepositoryKey::Remote(remote) => remote,
        RepositoryKey::Home(home) => format!("home {home}"),
        RepositoryKey::Folder(folder) => format!("folder {folder}"),
    }
}

#[test]
fn folders_of_one_repository_are_one_wherever_they_were() {
    let app = ledger("app", "/src/app", &[remote_mark("h/ada/app"), place_mark("m2", "/there/app")]);
    let fork = ledger("fork", "/src/fork", &[remote_mark("h/eve/app")]);
    let plain = ledger("plain", "/notes", &[place_mark(HERE, "/notes")]);
    let adopting = ledger("adopting", "/src/old", &[place_mark(ANY_MACHINE, "/adopted")]);
    let all = Repositories::of(
        HERE,
        &[app, fork, plain, adopting],
        folders(&[
            ("/src/app", "/src/app", "/src/app", "h/ada/app"),
            ("/src/beside", "/src/app", "/src/beside", "-"),
            ("/codex/1/app", "-", "-", "h/ada/app"),
            ("/src/clone/sub", "/src/clone", "/src/clone", "h/ada/app"),
            ("/src/app/vendor/lib", "/src/app/vendor/lib", "/src/app/vendor/lib", "h/lib"),
            ("/src/app/nested", "/src/app/nested", "/src/app/nested", "-"),
            ("/gone/fork", "-", "-", "h/eve/app"),
            ("/adopted/own", "/adopted/own", "/adopted/own", "h/own"),
            ("/adopted/old", "-", "-", "h/renamed"),
        ]),
    );
    for (machine, folder, wanted) in [
        (HERE, "/src/app", "app"),
        (HERE, "/src/app/src/deep", "app"),
        (HERE, "/src/beside", "app"),
        (HERE, "/src/beside/sub", "app"),
        (HERE, "/codex/1/app", "app"),
        (HERE, "/src/clone/sub", "app"),
        (HERE, "/src/clone/other", "app"),
        (HERE, "/src/app/vendor/lib", "h/lib"),
        (HERE, "/src/app/vendor/lib/src", "h/lib"),
        (HERE, "/src/app/nested", "home /src/app/nested"),
        (HERE, "/src/app2", "folder /src/app2"),
        (HERE, "/gone/fork", "fork"),
        (HERE, "/notes/today", "plain"),
        (HERE, "/adopted/any/sub", "adopting"),
        (HERE, "/adopted/old", "adopting"),
        (HERE, "/adopted/own", "h/own"),
        // What is known of this machine's folders says nothing of another's.
        ("m2", "/there/app/src", "app"),
        ("m2", "/src/app", "folder /src/app"),
        ("m2", "/codex/1/app", "folder /codex/1/app"),
        ("m2", "/adopted/any", "adopting"),
    ] {
        assert_eq!(told(&all, machine, folder), wanted, "{folder} on {machine}");
    }
    assert_eq!(
        all.of_folder("m2", "/src/app/src", Elsewhere::SamePath),
        all.of_folder(HERE, "/src/app", Elsewhere::Marked)
    );
}

#[test]
fn a_home_directory_and_a_root_hold_nothing_but_themselves() {
    for home in ["/home/ada", "/Users/ada", "/root", "/home"] {
        let dotfiles = ledger("dotfiles", home, &[remote_mark("h/dotfiles")]);
        let all = Repositories::of(HERE, &[dotfiles], Folders::new());
        assert_eq!(told(&all, HERE, home), "dotfiles");
        let below = format!("{home}/x/y");
        assert_eq!(told(&all, HERE, &below), format!("folder {below}"));
    }
    let root = ledger("root", "/", &[]);
    assert_eq!(told(&Repositories::of(HERE, &[root], Folders::new()), HERE, "/srv"), "folder /srv");
}

#[test]
fn a_ledger_without_a_remote_is_of_the_repository_that_is_there_now() {
    let remote = remote_mark("h/app");
    let app = ledger("app", "/src/app", std::slice::from_ref(&remote));
    let known = folders(&[
        ("/wt/1", "/src/app", "/wt/1", "-"),
        ("/codex/1/app", "-", "-", "h/app"),
        ("/src/later", "/src/later", "/src/later", "h/app"),
    ]);
    for (root, marks, is_one) in [
        ("/wt/1", vec![], true),
        ("/codex/1/app", vec![], true),
        ("/src/app", vec!["stored:x".to_owned()], true),
        ("/src/later", vec!["stored:x".to_owned()], true),
        ("/src/app/.worktrees/2", vec![], true),
        ("/src/app/.claude/worktrees/a", vec![], true),
        ("/src/app/sub", vec!["stored:x".to_owned()], false),
        ("/src/other", vec![], false),
        ("/src/app", vec![remote_mark("h/old")], false),
    ] {
        let other = ledger("other", root, &marks);
        let all = Repositories::of(HERE, &[app.clone(), other.clone()], known.clone());
        assert_eq!(all.of_ledger(&other.id) == all.of_ledger(&app.id), is_one, "{root} {marks:?}");
    }
    // Each began with a commit of its own: one took the other's place.
    let begun = |name: &str, marks: &[String]| ledger(name, "/src/app", marks);
    let now = begun("now", &[remote, root_commit_mark("1")]);
    let old = begun("old", &[root_commit_mark("2")]);
    let all = Repositories::of(HERE, &[old.clone(), now.clone()], Folders::new());
    assert_ne!(all.of_ledger(&old.id), all.of_ledger(&now.id));
    assert_eq!(told(&all, HERE, "/src/app/src"), "now");
    // One that was made in a worktree, of a repository that has none.
    let made = ledger("made", "/src/new/.worktrees/1", &[]);
    let all = Repositories::of(
        HERE,
        &[made],
        folders(&[("/src/new/.worktrees/2", "/src/new", "/src/new/.worktrees/2", "-")]),
    );
    assert_eq!(told(&all, HERE, "/src/new/.worktrees/2"), "made");
    // One that has not seen yet that there is a remote.
    let alone = ledger("alone", "/codex/1/app", &[]);
    let all = Repositories::of(HERE, &[alone], known);
    assert_eq!(told(&all, HERE, "/src/later"), "alone");
}

#[test]
fn a_folder_is_called_after_its_repository() {
    for (folder, home, top, remote, name) in [
        ("/src/app", "/src/app", "/src/app", "h/x", "app"),
        ("/src/app/deep/er", "/src/app", "/src/app", "-", "app"),
        ("/src/app-2", "/src/app", "/src/app-2", "-", "app/app-2"),
        ("/src/app/.worktrees/2/sub", "/src/app", "/src/app/.worktrees/2", "-", "app/2"),
        ("/u/.codex/worktrees/ab12/app", "/src/app", "/u/.codex/worktrees/ab12/app", "h/app", "app/ab12"),
        ("/u/.codex/worktrees/ab12/app", "-", "-", "h/ada/app", "app/ab12"),
        ("/u/.codex/worktrees/ab12/app/sub", "-", "-", "h/ada/app", "app/ab12"),
        ("/gone/app", "-", "-", "h/ada/app", "app"),
        ("/notes", "-", "-", "-", "notes"),
        ("/", "-", "-", "-", "/"),
    ] {
        let facts = folders(&[(folder, home, top, remote)]).remove(folder).expect("one");
        assert_eq!(facts.name(folder), name, "{folder}");
    }
    for (folder, name) in [
        ("/src/app/.worktrees/2", Some("app/2")),
        ("/src/app/.worktrees/2/sub", Some("app/2")),
        ("/src/app/.claude/worktrees/blue/x", Some("app/blue")),
        ("/src/app/.worktrees", None),
        ("/home/ada/.worktrees/x", None),
        ("/u/.codex/worktrees/ab12/app", None),
        ("", None),
        ("/", None),
    ] {
        let facts = FolderFacts::of_path(folder);
        assert_eq!(facts.map(|facts| facts.name(folder)).as_deref(), name, "{folder}");
    }
}

proptest! {
    /// Whatever is known: the order of what is known changes nothing, no name panics, and a fork's remote is never another's.
    #[test]
    fn what_is_decided_depends_on_no_order(
        rows in proptest::collection::btree_map("/[ab/.w]{0,6}", ("/[ab]", "/[ab]{1,2}", 0..4_usize), 0..6),
        roots in proptest::collection::vec(("/[ab/]{1,4}", 0..4_usize), 0..5),
        asked in "/[ab/.wé]{0,8}",
    ) {
        let remotes = ["-", "h/1", "h/2", "h/3"];
        let rows: Vec<_> = rows.iter().map(|(folder, (home, top, remote))| (folder.as_str(), home.as_str(), top.as_str(), remotes[*remote])).collect();
        let mut ledgers: Vec<Ledger> = Vec::new();
        for (number, (root, remote)) in roots.iter().enumerate() {
            let mark = remote_mark(remotes[*remote]);
            let is_free = *remote > 0 && ledgers.iter().all(|known| !known.marks.contains(&mark));
            let marks: Vec<String> = is_free.then_some(mark).into_iter().collect();
            ledgers.push(ledger(&format!("l{number}"), root, &marks));
        }
        let all = Repositories::of(HERE, &ledgers, folders(&rows));
        for (folder, ..) in &rows {
            all.folders[*folder].name(folder);
        }
        let named: Vec<_> = ledgers.iter().filter(|ledger| !ledger.marks.is_empty()).collect();
        for (at, one) in named.iter().enumerate() {
            for other in &named[at + 1..] {
                prop_assert_ne!(all.of_ledger(&one.id), all.of_ledger(&other.id));
            }
        }
        let key = all.of_folder(HERE, &asked, Elsewhere::Marked);
        ledgers.reverse();
        prop_assert_eq!(Repositories::of(HERE, &ledgers, folders(&rows)).of_folder(HERE, &asked, Elsewhere::Marked), key);
        FolderFacts::of_path(&asked);
    }
}
