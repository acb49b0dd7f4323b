//! What temporary files leave, and what a sweep takes.

use std::process::Command;

use super::private::check_private;
use super::*;
use crate::system::user;

const WORDS: &[u8] = b"the password of the garden gate";

fn put(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    File::create(path)?.write_all(bytes)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = SystemFiles.list(folder).unwrap_or_default();
    names.retain(|name| name != "registry" && name != "data");
    names.sort();
    names
}

fn leftovers(root: &Path) -> Leftovers {
    let files = TempFiles::at(root.join("registry"));
    Leftovers { data: Some(root.join("data")), temp: Some(root.to_owned()), files }
}

#[test]
fn a_file_has_its_name_when_it_is_whole_and_none_before() {
    let root = tempfile::tempdir().unwrap();
    let files = TempFiles::at(root.path().join("registry"));
    let target = root.path().join("target");
    let begun = || {
        let mut file = files.create(root.path()).unwrap();
        file.write_all(WORDS).unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), WORDS);
        file
    };
    let file = begun();
    #[cfg(target_os = "linux")]
    assert_eq!(names(root.path()), Vec::<String>::new());
    drop(file);
    assert_eq!(names(root.path()), Vec::<String>::new());
    begun().name_new(&target).unwrap();
    assert_eq!(begun().name_new(&target).unwrap_err().kind(), ErrorKind::AlreadyExists);
    put(&target, b"older").unwrap();
    begun().name_over(&target).unwrap();
    assert_eq!(
        (names(root.path()), std::fs::read(&target).unwrap()),
        (vec!["target".to_owned()], WORDS.to_owned())
    );
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&target.metadata().unwrap()) & 0o777, 0o600);
}

/// What the child of the next test does before it dies, as if killed: nothing is dropped.
#[cfg(target_os = "linux")]
const MOMENTS: [&str; 7] = ["begun", "written", "named", "named-written", "linked", "folder", "beside"];

#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_process_leaves_is_swept_wherever_it_was() {
    #[expect(clippy::disallowed_methods, reason = "a child is told by its environment what it is")]
    let own = (std::env::var("STEMMA_TEST_DIES_AT"), std::env::var_os("STEMMA_TEST_ROOT"));
    if let (Ok(moment), Some(root)) = own {
        dies_at(&moment, Path::new(&root));
    }
    let own = "temporary::tests::what_a_killed_process_leaves_is_swept_wherever_it_was";
    for moment in MOMENTS {
        let root = tempfile::tempdir().unwrap();
        for folder in ["data/run/pending", "data/ledgers/one", "user"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([own, "--exact"]).env("STEMMA_TEST_DIES_AT", moment).env("STEMMA_TEST_ROOT", root.path());
        assert_eq!(child.output().unwrap().status.code(), None, "{moment}: it died");
        let user = root.path().join("user");
        let has_left = has_words(root.path());
        assert_eq!(has_left, !matches!(moment, "begun" | "written" | "named"), "{moment}");
        // A living process's stays, beside it and below.
        let live = TempFiles::at(root.path().join("registry")).create_named(&user).unwrap();
        let folder = TempFolder::in_temp(root.path()).unwrap();
        put(folder.path().join("copy"), b"live").unwrap();
        leftovers(root.path()).sweep().unwrap();
        assert!(!has_words(root.path()), "{moment}");
        assert!(live.path().exists() && folder.path().join("copy").exists(), "{moment}");
        drop((live, folder));
        leftovers(root.path()).sweep().unwrap();
        assert_eq!(
            names(&root.path().join("registry")),
            Vec::<String>::new(),
            "{moment}: nothing to remember"
        );
    }
}

#[cfg(target_os = "linux")]
fn has_words(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() { has_words(&path) } else { std::fs::read(path).unwrap() == WORDS }
    })
}

#[cfg(target_os = "linux")]
fn dies_at(moment: &str, root: &Path) -> ! {
    let files = TempFiles::at(root.join("registry"));
    let user = root.join("user");
    let mut file = files.create(&user).unwrap();
    match moment {
        "begun" => {}
        "written" => file.write_all(WORDS).unwrap(),
        "named" => std::mem::forget(files.create_named(&user).unwrap()),
        "named-written" => {
            let mut named = files.create_named(&user).unwrap();
            named.write_all(WORDS).unwrap();
            std::mem::forget(named);
        }
        "linked" => {
            file.write_all(WORDS).unwrap();
            files.register(&user).unwrap();
            std::mem::forget(named().make_in(&user, |name| link(file.as_file(), name)).unwrap());
        }
        "folder" => {
            let folder = TempFolder::in_temp(root).unwrap();
            put(folder.path().join("copy"), WORDS).unwrap();
            std::mem::forget(folder);
        }
        _ => {
            for folder in ["data", "data/run/pending", "data/ledgers/one"] {
                let path = root.join(folder).join("file");
                let _never: io::Result<()> = stemmata_store::write_whole(
                    &SystemFiles,
                    &path,
                    |error| error,
                    |out| {
                        out.write_all(WORDS)?;
                        out.flush()?;
                        put(root.join(folder).join(".stemma-0-1.tmp"), WORDS)
                    },
                );
                std::fs::rename(&path, root.join(folder).join(".stemma-0-2.tmp")).unwrap();
            }
        }
    }
    std::process::abort()
}

#[test]
fn what_is_not_ours_stays() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("data")).unwrap();
    for name in ["stemma-1.tmp", ".stemma-1", "notes.tmp"] {
        put(root.path().join(name), WORDS).unwrap();
    }
    // In a folder that users share, and in one that another program made there.
    std::fs::create_dir(root.path().join("other")).unwrap();
    for name in [".stemma-1-0.tmp", "other/.stemma-1-0.tmp"] {
        put(root.path().join(name), WORDS).unwrap();
    }
    put(root.path().join("data/.stemma-1-0.tmp"), WORDS).unwrap();
    leftovers(root.path()).sweep().unwrap();
    assert_eq!(names(root.path()), [".stemma-1", ".stemma-1-0.tmp", "notes.tmp", "other", "stemma-1.tmp"]);
    assert!(root.path().join("other/.stemma-1-0.tmp").exists());
    assert_eq!(names(&root.path().join("data")), Vec::<String>::new());
}

/// A start costs as much as there is of ours, whatever lies in the folders of others: those are left to `forget`, `scrub` and `gc`.
#[test]
fn the_start_of_a_command_looks_into_our_own_folders_only() {
    let root = tempfile::tempdir().unwrap();
    let left = |folder: &str| {
        std::fs::create_dir_all(root.path().join(folder)).unwrap();
        put(root.path().join(folder).join(".stemma-1-0.tmp"), WORDS).unwrap();
    };
    for folder in ["user", "data", "data/cache", "data/run/pending", "data/ledgers/one"] {
        left(folder);
    }
    let in_temp = TempFolder::in_temp(root.path()).unwrap();
    let own =
        in_temp.path().parent().unwrap().strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned();
    left(&own);
    let leftovers = leftovers(root.path());
    leftovers.files.register(&root.path().join("user")).unwrap();
    leftovers.sweep_at_start();
    let has = |folder: &str| root.path().join(folder).join(".stemma-1-0.tmp").exists();
    assert_eq!(["data", "data/cache", "data/run/pending", own.as_str()].map(has), [false; 4]);
    assert_eq!(["user", "data/ledgers/one"].map(has), [true; 2]);
    leftovers.sweep().unwrap();
    assert!(!["user", "data/ledgers/one"].map(has).contains(&true) && in_temp.path().exists());
}

/// A copy of a client's database lies there for a moment: nobody else may list the folder or read it.
#[cfg(unix)]
#[test]
fn a_temporary_folder_is_its_owners_alone_and_goes_into_no_folder_of_others() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let root = tempfile::tempdir().unwrap();
    let folder = TempFolder::in_temp(root.path()).unwrap();
    let own = folder.path().parent().unwrap().to_owned();
    for path in [folder.path(), own.as_path()] {
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700, "{}", path.display());
    }
    assert_eq!(TempFolder::create(root.path()).unwrap().path().metadata().unwrap().mode() & 0o777, 0o700);
    drop(folder);
    assert!(!own.exists(), "nothing is left of it");
    drop(TempFolder::in_temp(root.path()).map(std::mem::forget));
    let refused = |said: &str| {
        let error = TempFolder::in_temp(root.path()).unwrap_err();
        assert!(
            error.to_string().contains(said) && error.to_string().contains(own.to_str().unwrap()),
            "{error}"
        );
    };
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    refused("chmod 700");
    std::fs::remove_dir_all(&own).unwrap();
    // What is behind a link is not swept either.
    let elsewhere = root.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    put(elsewhere.join(".stemma-1-0.tmp"), WORDS).unwrap();
    symlink(&elsewhere, &own).unwrap();
    refused("not a folder");
    leftovers(root.path()).sweep().unwrap();
    assert_eq!(names(&elsewhere), [".stemma-1-0.tmp"]);
    let refused = check_private(&elsewhere, user() + 1).unwrap_err();
    assert!(refused.to_string().contains("another user's"), "{refused}");
}

/// Found in review: a folder that could not be listed counted as clean, and its record was removed with what was left there.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_said_and_stays_on_the_register() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = tempfile::tempdir().unwrap();
    let leftovers = leftovers(root.path());
    let registry = root.path().join("registry");
    // A name that is no text is swept like others.
    let bytes = root.path().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&bytes).unwrap();
    put(bytes.join(".stemma-1-0.tmp"), WORDS).unwrap();
    leftovers.files.register(&bytes).unwrap();
    leftovers.sweep().unwrap();
    assert_eq!((names(&bytes), names(&registry)), (Vec::new(), Vec::new()));
    // A link to itself can be read by nobody.
    let looped = root.path().join("loop");
    std::os::unix::fs::symlink("loop", &looped).unwrap();
    leftovers.files.register(&looped).unwrap();
    put(registry.join("bad"), b"no folder").unwrap();
    // One whose disk is gone holds nothing.
    leftovers.files.register(&root.path().join("gone")).unwrap();
    assert!(leftovers.sweep().unwrap_err().to_string().contains(root.path().to_str().unwrap()));
    assert_eq!(names(&registry).len(), 2);
    std::fs::remove_file(registry.join("bad")).unwrap();
    let said = leftovers.sweep().unwrap_err().to_string();
    assert!(said.contains(looped.to_str().unwrap()), "{said}");
    std::fs::remove_file(&looped).unwrap();
    leftovers.sweep().unwrap();
    assert_eq!(names(&registry), Vec::<String>::new());
}

/// Found in review: a file that a sweep had locked and would remove next counted as one on a file system without locks.
#[test]
fn a_sweep_takes_no_file_and_no_folder_from_who_begins_it() {
    let root = tempfile::tempdir().unwrap();
    let (run, own) = (root.path().join("data/run"), root.path().join("data/run/streams"));
    std::fs::create_dir_all(&own).unwrap();
    let (files, leftovers) = (TempFiles::at(root.path().join("registry")), leftovers(root.path()));
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                    leftovers.sweep().unwrap();
                }
            });
        }
        for number in 0..60 {
            let name = number.to_string();
            write_file(&run.join("marker"), WORDS).unwrap();
            files.create_named(&run).unwrap().persist(run.join("named")).unwrap();
            files.write_whole(&run.join("whole"), |error| error, |out| out.write_all(WORDS)).unwrap();
            put(TempFolder::create(&run).unwrap().path().join("copy"), WORDS).unwrap();
            let streams = crate::home::Streams::in_run(&run);
            drop(streams.open(&name, Path::new("/kiln"), None).unwrap());
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(crate::home::Streams::in_run(&run).left().len(), 60);
}
