//! Which ledger is the memory of a folder, with real repositories: moved, cloned, forked, nested, or none at all.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};

use stemmata_engine::{Adopt, Engine, EngineError, Project, adopted_folders};
use stemmata_model::{LedgerId, NoteCode, Timestamp};
use stemmata_store::{FileLog, FileLogOptions, Ledger, LedgerChange};

use crate::support::{Folder, answer, engine, engine_on, import, new_store, user};

/// Runs git with a configuration of its own, and no home.
fn git(at: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(at)
        .args(["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"])
        .args(args);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", at);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        command.env(format!("GIT_{who}_DATE"), "2026-03-02T09:00:00Z");
    }
    let done = command.stdin(Stdio::null()).output().expect("git is there");
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

fn make(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(&path).expect("a folder");
    std::fs::canonicalize(path).expect("there")
}

/// Makes a repository without commits.
fn unborn(folder: &Folder, name: &str) -> PathBuf {
    let path = make(folder, name);
    git(&path, &["init", "-q"]);
    path
}

/// Makes a repository with a history of its own.
fn repository(folder: &Folder, name: &str) -> PathBuf {
    let path = unborn(folder, name);
    commit(&path, &format!("begin {name}"));
    commit(&path, "go on");
    path
}

fn commit(at: &Path, message: &str) {
    git(at, &["commit", "-q", "--allow-empty", "-m", message]);
}

fn clone(from: &Path, folder: &Folder, name: &str) -> PathBuf {
    let to = folder.path().join(name);
    git(folder.path(), &["clone", "-q", from.to_str().expect("text"), to.to_str().expect("text")]);
    std::fs::canonicalize(to).expect("there")
}

fn set_remote(at: &Path, url: &str) {
    git(at, &["config", "remote.origin.url", url]);
}

fn of(engine: &Engine, at: &Path) -> Project {
    engine.project_at(at).expect("a project")
}

fn id(engine: &Engine, at: &Path) -> LedgerId {
    of(engine, at).ledger
}

fn ledger(engine: &Engine, id: &LedgerId) -> Ledger {
    engine.log().ledger(id).expect("a look").expect("there")
}

fn ledgers(engine: &Engine) -> usize {
    engine.log().ledgers(None, 100).expect("a look").len()
}

fn codes(project: &Project) -> Vec<NoteCode> {
    project.notes.iter().map(|note| note.code.clone()).collect()
}

#[test]
fn a_repository_is_one_project_from_all_of_its_folders_and_is_made_once() {
    let (folder, engine) = (Folder::new(), engine());
    let path = repository(&folder, "a");
    let inner = make(&folder, "a/src/deep");
    assert_eq!(engine.known_project_at(&inner).expect("a look"), None);
    let first = of(&engine, &inner);
    assert_eq!((first.root.as_path(), first.made, codes(&first)), (path.as_path(), true, vec![]));
    let again = of(&engine, &path);
    assert_eq!(again, Project { made: false, ..first.clone() });
    assert_eq!(of(&engine, &path.join(".git/hooks")), again, "hooks run there");
    assert_eq!(engine.known_project_at(&inner).expect("a look"), Some(again));
    let root = git(&path, &["rev-list", "--max-parents=0", "HEAD"]);
    let known = ledger(&engine, &first.ledger);
    assert_eq!(known.root.as_deref(), path.to_str());
    let marks = [format!("place:m1:{}", path.display()), format!("root-commit:{}", root.trim())];
    assert_eq!(known.marks, marks);
    assert!(
        !path.join(".stemmata").exists() && !path.join(".git/stemmata").exists(),
        "nothing was written there"
    );
    assert!(engine.project_at(&path.join("not there")).is_err());
}

#[test]
fn a_moved_project_keeps_its_memory_and_its_place_follows() {
    let (folder, engine) = (Folder::new(), engine());
    for name in ["history", "plain", "unborn", "remote"] {
        let path = match name {
            "plain" => make(&folder, name),
            "unborn" => unborn(&folder, name),
            _ => repository(&folder, name),
        };
        if name == "remote" {
            set_remote(&path, "https://example.org/ada/remote.git");
        }
        let before = of(&engine, &path);
        let to = path.with_file_name(format!("{name}-moved"));
        std::fs::rename(&path, &to).expect("moved");
        let after = of(&engine, &to);
        assert_eq!(
            (after.ledger.clone(), after.made, codes(&after)),
            (before.ledger.clone(), false, vec![]),
            "{name}"
        );
        assert_eq!(ledger(&engine, &after.ledger).root.as_deref(), to.to_str(), "{name}");
        // Whatever comes to the old place is another project.
        let other =
            if name == "plain" { make(&folder, name) } else { repository(&folder, &format!("new/{name}")) };
        if name != "plain" {
            std::fs::rename(&other, &path).expect("moved");
        }
        assert_ne!(id(&engine, &path), before.ledger, "{name}");
        assert_eq!(id(&engine, &to), before.ledger, "{name}");
    }
}

#[test]
fn one_memory_grows_with_what_a_project_is_known_by() {
    let (folder, engine) = (Folder::new(), engine());
    let path = make(&folder, "a");
    let plain = of(&engine, &path);
    git(&path, &["init", "-q"]);
    assert_eq!(id(&engine, &path), plain.ledger, "a repository now");
    commit(&path, "begin");
    assert_eq!(id(&engine, &path), plain.ledger, "with a history");
    set_remote(&path, "https://ada:hunter2@example.org/ada/a.git");
    assert_eq!(id(&engine, &path), plain.ledger, "and a remote");
    set_remote(&path, "git@Example.org:ada/a");
    assert_eq!(id(&engine, &path), plain.ledger, "spelled otherwise");
    set_remote(&path, "git@example.org:ada/renamed");
    assert_eq!(id(&engine, &path), plain.ledger, "renamed");
    let marks = ledger(&engine, &plain.ledger).marks;
    let kinds: Vec<&str> = marks.iter().filter_map(|mark| mark.split(':').next()).collect();
    assert_eq!(kinds, ["place", "remote", "remote", "root-commit", "stored"]);
    assert!(marks.contains(&"remote:example.org/ada/a".to_owned()), "{marks:?}");
    assert!(!marks.iter().any(|mark| mark.contains("hunter2")), "{marks:?}");
    // Each of them leads here from somewhere else.
    let elsewhere = repository(&folder, "b");
    set_remote(&elsewhere, "https://example.org/ada/a");
    assert_eq!(id(&engine, &elsewhere), plain.ledger);
    assert_eq!(ledgers(&engine), 1);
}

#[test]
fn worktrees_and_clones_share_a_memory_and_forks_do_not() {
    let (folder, engine) = (Folder::new(), engine());
    let path = repository(&folder, "a");
    let own = id(&engine, &path);
    let tree = folder.path().join("tree");
    git(&path, &["worktree", "add", "-q", "--detach", tree.to_str().expect("text")]);
    let tree = std::fs::canonicalize(tree).expect("there");
    let there = of(&engine, &tree);
    assert_eq!((&there.ledger, there.root.as_path(), there.made), (&own, tree.as_path(), false));
    let copy = clone(&path, &folder, "copy");
    assert_eq!(id(&engine, &copy), own, "a path of this machine is not a remote");
    assert_eq!(ledger(&engine, &own).root.as_deref(), path.to_str(), "a clone is not a move");

    set_remote(&path, "https://example.org/ada/a.git");
    assert_eq!(id(&engine, &path), own);
    let fork = clone(&path, &folder, "fork");
    set_remote(&fork, "https://example.org/bob/a.git");
    let forked = of(&engine, &fork);
    assert_ne!(forked.ledger, own);
    assert_eq!((forked.made, codes(&forked)), (true, vec![]));
    assert_eq!((id(&engine, &fork), id(&engine, &path)), (forked.ledger.clone(), own));
    git(&fork, &["config", "--unset", "remote.origin.url"]);
    assert_eq!(id(&engine, &fork), forked.ledger, "a fork that lost its remote");
    assert_eq!(ledgers(&engine), 2);
}

#[test]
fn a_session_in_a_worktree_beside_the_repository_is_the_project_s_also_when_that_is_gone() {
    let folder = Folder::new();
    let engine = engine();
    let main = repository(&folder, "main");
    let beside = folder.path().canonicalize().expect("there").join("feature");
    git(&main, &["worktree", "add", "-q", beside.to_str().expect("text")]);
    let session = |name: &str, cwd: &Path| {
        let lines = user(1, None, "Let's use the gas kiln.") + &answer(2, 1, "It is lit.");
        let lines =
            lines.replace("/old", cwd.to_str().expect("text")).replace("\"s\"", &format!("\"{name}\""));
        import(&engine, &folder.write(&format!("{name}.jsonl"), lines.as_bytes()));
    };
    session("inside", &beside.join("src"));
    session("elsewhere", &folder.path().join("feature-2"));
    let id = id(&engine, &main);
    let told = || engine.remember(&id).expect("remembered").transcripts;
    assert_eq!(told(), 1);
    git(&main, &["worktree", "remove", beside.to_str().expect("text")]);
    assert_eq!(told(), 1, "its place is remembered");
    let before = ledger(&engine, &id);
    assert_eq!((told(), ledger(&engine, &id).marks), (1, before.marks), "reading writes nothing");
    // What was another project's place is the repository's, which is there now.
    let second = folder.path().canonicalize().expect("there").join("second");
    git(&main, &["worktree", "add", "-q", second.to_str().expect("text")]);
    let other = LedgerId::new("other").expect("a name");
    let mark = format!("place:m1:{}", second.display());
    let (now, marks) = (Timestamp::from_micros(1), vec![mark]);
    let change = LedgerChange { marks, ..LedgerChange::new(other, now) };
    engine.log().change_ledger(change).expect("made");
    session("other", &second);
    assert_eq!(told(), 2);
    // A folder that is no worktree is none, whatever the repository says of it.
    let plain = folder.path().canonicalize().expect("there").join("plain");
    std::fs::create_dir(&plain).expect("made");
    let kept = main.join(".git").join("worktrees").join("crafted");
    std::fs::create_dir_all(&kept).expect("made");
    put(&kept.join("gitdir"), plain.join(".git").to_str().expect("text"));
    session("plain", &plain);
    assert_eq!(told(), 2);
}

fn adopt(folder: &str) -> Adopt<'_> {
    Adopt { folder, homes: &[], anyway: false }
}

#[test]
fn a_folder_that_holds_projects_is_adopted_only_when_that_is_meant() {
    let (folder, engine) = (Folder::new(), engine());
    let above = std::fs::canonicalize(folder.path()).expect("there");
    let [one, gone] = ["code/one", "code/gone"].map(|name| repository(&folder, name));
    let (own, old) = (id(&engine, &one), id(&engine, &gone));
    let adopted = || adopted_folders(&ledger(&engine, &own)).map(str::to_owned).collect::<Vec<_>>();
    for refused in [above.join("code"), above.clone()] {
        let refused = refused.to_str().expect("text");
        let error = engine.adopt_folder(&own, adopt(refused)).expect_err("refused");
        let EngineError::Refused { reasons, .. } = error else { panic!("{error}") };
        let named = |path: &Path| reasons[0].contains(path.to_str().expect("text"));
        assert!(named(&one) && named(&gone), "{reasons:?}");
    }
    // What is one project's, as of one that went away, is that.
    let gone = gone.to_str().expect("text");
    engine.adopt_folder(&own, adopt(gone)).expect("adopted");
    let code = above.join("code").to_str().expect("text").to_owned();
    engine.adopt_folder(&own, Adopt { anyway: true, ..adopt(&code) }).expect("adopted");
    assert_eq!(adopted(), [&code, gone].map(str::to_owned));
    assert!(engine.disown_folder(&own, &format!("{code}/")).expect("a look"));
    assert!(!engine.disown_folder(&own, &code).expect("a look"), "once");
    assert!(!engine.disown_folder(&old, gone).expect("a look"), "another one's");
    assert_eq!(adopted(), [gone.to_owned()]);
    assert!(!engine.disown_folder(&own, one.to_str().expect("text")).expect("a look"), "its own place");
}

#[test]
fn a_project_that_moves_for_ever_stays_one_and_is_known_by_its_newest_places() {
    let (folder, engine) = (Folder::new(), engine());
    for name in ["plain", "history"] {
        let mut path = if name == "plain" { make(&folder, name) } else { repository(&folder, name) };
        let first = of(&engine, &path).ledger;
        engine.adopt_folder(&first, adopt(&format!("/adopted/{name}"))).expect("adopted");
        for number in 0..100 {
            // Something was captured where it was fifth: that is let go of after all where nothing was.
            if number == 5 {
                let lines = user(1, None, "Look.") + &answer(2, 1, "Done.");
                let lines = lines.replace("/old", path.to_str().expect("text"));
                import(&engine, &folder.write(&format!("{name}.jsonl"), lines.as_bytes()));
            }
            let to = folder.path().join(format!("{name}-{number}"));
            std::fs::rename(&path, &to).expect("moved");
            path = std::fs::canonicalize(to).expect("there");
            let moved = of(&engine, &path);
            assert_eq!(
                (&moved.ledger, moved.made, codes(&moved)),
                (&first, false, vec![]),
                "{name} {number}"
            );
            let known = ledger(&engine, &first);
            let places = known.marks.iter().filter(|mark| mark.starts_with("place:")).count();
            assert!(places <= 48 && known.marks.len() <= 64, "{name} {number}: {places}");
            assert_eq!(known.root.as_deref(), path.to_str(), "{name} {number}");
            let mark = format!("place:m1:{}", path.display());
            assert_eq!(
                engine.log().ledger_marked(&mark).expect("a look"),
                Some(first.clone()),
                "{name} {number}"
            );
        }
        let known = ledger(&engine, &first);
        for kept in [format!("{name}-4"), format!("any:/adopted/{name}")] {
            assert!(known.marks.iter().any(|mark| mark.ends_with(&kept)), "{kept}: {:?}", known.marks);
        }
        assert!(!known.marks.iter().any(|mark| mark.ends_with(&format!("{name}-10"))), "{:?}", known.marks);
    }
}

fn put(path: &Path, text: &str) {
    let mut file = std::fs::File::create(path).expect("a file");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
}

#[test]
fn clones_on_two_machines_have_one_project_id() {
    let folder = Folder::new();
    let path = repository(&folder, "a");
    set_remote(&path, "https://example.org/ada/a.git");
    let copy = clone(&path, &folder, "copy");
    set_remote(&copy, "ssh://git@example.org/ada/a");
    assert_eq!(id(&engine_on("m1", new_store()), &path), id(&engine_on("m2", new_store()), &copy));
}

#[test]
fn nested_repositories_submodules_and_stored_ids_are_projects_of_their_own() {
    let (folder, engine) = (Folder::new(), engine());
    let outer = repository(&folder, "outer");
    let nested = repository(&folder, "outer/vendor/nested");
    let library = repository(&folder, "library");
    git(&outer, &["submodule", "add", "-q", library.to_str().expect("text"), "sub"]);
    let sub = outer.join("sub");
    let ids = [&outer, &nested, &sub].map(|path| id(&engine, path));
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
    assert_eq!(of(&engine, &sub).root, sub);
    assert_eq!(id(&engine, &library), ids[2], "a submodule is a clone");
    let notes = make(&folder, "outer/notes");
    assert_eq!(id(&engine, &notes), ids[0]);
    make(&folder, "outer/notes/.stemmata");
    folder.write(
        "outer/notes/.stemmata/project",
        b"own-id-1
",
    );
    let asked = of(&engine, &make(&folder, "outer/notes/below"));
    assert_eq!((asked.root.as_path(), asked.made), (notes.as_path(), true));
    assert!(!ids.contains(&asked.ledger));
}

#[test]
fn folders_without_git_stay_apart_and_keep_their_ids() {
    let (folder, engine) = (Folder::new(), engine());
    let (left, right) = (make(&folder, "home/left"), make(&folder, "home/right"));
    let (first, second) = (of(&engine, &left), of(&engine, &right));
    assert!(first.made && second.made && first.ledger != second.ledger);
    assert_eq!(first.root, left);
    assert_ne!(id(&engine, &make(&folder, "home")), first.ledger, "nothing of what is below");
    assert_eq!(id(&engine, &make(&folder, "home/left/below")), first.ledger);
    // The project brings its id to another machine.
    let other = engine_on("m2", new_store());
    assert_eq!(id(&other, &left), first.ledger);
}

#[test]
fn two_memories_that_meet_stay_two_and_that_is_said_once() {
    let (folder, engine) = (Folder::new(), engine());
    let known = repository(&folder, "known");
    set_remote(&known, "https://example.org/ada/a");
    let wanted = id(&engine, &known);
    let path = repository(&folder, "later");
    let before = id(&engine, &path);
    assert_ne!(before, wanted);
    set_remote(&path, "https://example.org/ada/a");
    let met = of(&engine, &path);
    assert_eq!((&met.ledger, codes(&met)), (&wanted, vec![NoteCode::Conflict]));
    assert!(met.notes[0].message.contains(before.as_str()), "{:?}", met.notes);
    assert!(codes(&of(&engine, &path)).is_empty(), "said once");
    assert!(ledger(&engine, &wanted).marks.contains(&format!("apart:{wanted}:{before}")));
    assert_eq!(ledgers(&engine), 2, "nothing is merged");
}

#[test]
fn a_branch_with_another_beginning_and_a_shallow_clone_are_no_other_project() {
    let (folder, engine) = (Folder::new(), engine());
    let path = repository(&folder, "a");
    let own = id(&engine, &path);
    git(&path, &["checkout", "-q", "--orphan", "pages"]);
    assert_eq!(id(&engine, &path), own, "unborn branch of a repository with a history");
    commit(&path, "pages");
    assert_eq!(id(&engine, &path), own);
    git(&path, &["checkout", "-q", "main"]);
    set_remote(&path, "https://example.org/ada/a");
    assert_eq!(id(&engine, &path), own);
    let shallow = folder.path().join("shallow");
    let from = format!("file://{}", path.display());
    git(folder.path(), &["clone", "-q", "--depth", "1", &from, shallow.to_str().expect("text")]);
    let apart = of(&engine, &shallow);
    assert_ne!(apart.ledger, own, "what of it is here says nothing");
    assert!(!ledger(&engine, &apart.ledger).marks.iter().any(|mark| mark.starts_with("root-commit:")));
    set_remote(&shallow, "https://example.org/ada/a");
    let met = of(&engine, &shallow);
    assert_eq!((codes(&met), met.ledger), (vec![NoteCode::Conflict], own));
}

#[test]
fn what_cannot_be_read_leaves_the_place_and_says_so() {
    let (folder, engine) = (Folder::new(), engine());
    let path = repository(&folder, "a");
    set_remote(&path, "https://example.org/ada/a");
    let own = id(&engine, &path);
    let (config, aside) = (path.join(".git/config"), path.join(".git/aside"));
    std::fs::rename(&config, &aside).expect("moved");
    std::fs::create_dir(&config).expect("made");
    let blind = of(&engine, &path);
    assert_eq!(blind.ledger, own);
    assert!(codes(&blind).contains(&NoteCode::Degraded), "{:?}", blind.notes);
    std::fs::remove_dir(&config).and_then(|()| std::fs::rename(&aside, &config)).expect("put back");
    assert!(codes(&of(&engine, &path)).is_empty());

    // A file where the folder of ours should be: nothing can be stored.
    let closed = make(&folder, "closed");
    std::fs::File::create(closed.join(".stemmata")).expect("made");
    let first = of(&engine, &closed);
    assert_eq!((first.made, codes(&first)), (true, vec![NoteCode::Degraded]));
    assert_eq!(of(&engine, &closed), Project { made: false, notes: vec![], ..first.clone() });
    std::fs::remove_file(closed.join(".stemmata")).expect("removed");
    assert_eq!(id(&engine, &closed), first.ledger);

    // What is no id is neither believed nor replaced.
    let odd = make(&folder, "odd/.stemmata");
    folder.write(
        "odd/.stemmata/project",
        b"../../x
",
    );
    let project = of(&engine, odd.parent().expect("above"));
    assert!(project.made && codes(&project).contains(&NoteCode::Degraded));
    assert_eq!(std::fs::read(odd.join("project")).expect("there"), b"../../x\n");

    // A worktree whose repository is gone.
    let tree = make(&folder, "tree");
    folder.write(
        "tree/.git",
        b"gitdir: /nowhere/.git/worktrees/tree
",
    );
    let lost = of(&engine, &tree);
    assert!(lost.made && codes(&lost).contains(&NoteCode::Degraded));
    assert_eq!(id(&engine, &tree), lost.ledger);
}

#[test]
fn a_ledger_that_cannot_be_read_stops_no_other_project_and_is_never_made_twice() {
    let (folder, home) = (Folder::new(), tempfile::tempdir().expect("a folder"));
    let log = || Arc::new(FileLog::open(home.path(), FileLogOptions::default()).expect("a log"));
    let on_files = || engine().with_log(log());
    let engine = on_files();
    let [bad, plain, remote, fresh] =
        ["bad", "plain", "remote", "fresh"].map(|name| repository(&folder, name));
    set_remote(&remote, "https://example.org/ada/remote");
    let [own, plain_id, remote_id] = [&bad, &plain, &remote].map(|path| id(&engine, path));
    let meta = home.path().join("contexts-v2").join(own.as_str()).join("meta.json");
    folder.write("damaged", b"{");
    std::fs::copy(folder.path().join("damaged"), &meta).expect("damaged");

    let engine = on_files();
    assert_eq!([&plain, &remote].map(|path| id(&engine, path)), [plain_id, remote_id.clone()]);
    let cloned = clone(&remote, &folder, "cloned");
    set_remote(&cloned, "https://example.org/ada/remote");
    assert_eq!(id(&engine, &cloned), remote_id, "the remote says whose it is");
    assert_eq!(ledgers(&engine), 3, "that it is there is told");
    for (path, why) in [(&bad, "its own"), (&fresh, "it may have been known by the other one")] {
        let error = engine.project_at(path).expect_err(why).to_string();
        assert!(error.contains(own.as_str()) && error.contains("restoring"), "{error}");
    }
    assert_eq!(ledgers(&engine), 3);
    assert_eq!(engine.marked_ledger_at(&bad).expect("a look"), Some(own.clone()), "to be restored");

    log().restore(&own, Timestamp::EPOCH).expect("restored");
    let engine = on_files();
    assert_eq!((id(&engine, &bad), of(&engine, &fresh).made), (own, true));
}

#[test]
fn whoever_comes_at_the_same_time_gets_one_project() {
    for name in ["plain", "unborn", "history", "remote", "closed"] {
        let (folder, engine) = (Folder::new(), engine());
        let path = match name {
            "plain" | "closed" => make(&folder, name),
            "unborn" => unborn(&folder, name),
            _ => repository(&folder, name),
        };
        match name {
            "remote" => set_remote(&path, "https://example.org/ada/a"),
            "closed" => drop(std::fs::File::create(path.join(".stemmata")).expect("made")),
            _ => {}
        }
        let start = Arc::new(Barrier::new(6));
        let ids: Vec<LedgerId> = std::thread::scope(|scope| {
            let each = (0..6).map(|_| {
                let (engine, path, start) = (engine.clone(), path.clone(), Arc::clone(&start));
                scope.spawn(move || {
                    start.wait();
                    id(&engine, &path)
                })
            });
            let each: Vec<_> = each.collect();
            each.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{name}: {ids:?}");
        assert_eq!(ledgers(&engine), 1, "{name}");
    }
}
