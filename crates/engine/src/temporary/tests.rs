//! What temporary files leave, and what a sweep takes.

use std::process::Command;

use super::*;

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
    Leftovers { data: Some(root.join("data")), temp: vec![root.to_owned()], files }
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
        let folder = TempFolder::create(root.path()).unwrap();
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
            let folder = TempFolder::create(root).unwrap();
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
    put(root.path().join("data/.stemma-1-0.tmp"), WORDS).unwrap();
    leftovers(root.path()).sweep().unwrap();
    assert_eq!(names(root.path()), [".stemma-1", "notes.tmp", "stemma-1.tmp"]);
    assert_eq!(names(&root.path().join("data")), Vec::<String>::new());
}
