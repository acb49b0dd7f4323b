//! Hints where something is damaged: each command that one names leads somewhere else, and one of them back to work.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::{Said, Stage};

/// A stage with a session and a backup.
struct Ruins {
    stage: Stage,
    backup: PathBuf,
    bundle: PathBuf,
}

impl Ruins {
    fn new() -> Self {
        let stage = Stage::new();
        let cwd = stage.home.project();
        let session = ClaudeSession::new(7).turns(12).cwd(cwd.to_str().unwrap());
        stage.home.write_session(&session.build());
        stage.run(&["import", "--quiet"]).ok();
        stage.run(&["decision", "add", "One file for each day"]).ok();
        stage.run(&["search", "file"]).ok();
        let (backup, bundle) =
            (stage.home.path().join("backup"), stage.home.path().join("all.stemma-bundle"));
        stage.run(&["backup", backup.to_str().unwrap()]).ok();
        stage.run(&["bundle", "export", "--all", "--out", bundle.to_str().unwrap()]).ok();
        Self { stage, backup, bundle }
    }

    fn store(&self) -> PathBuf {
        self.stage.home.stemmata_home().join("store")
    }

    /// Runs what a hint names, with what people would put in the place of its words in capitals.
    fn follow(&self, named: &str) -> Said {
        let with = |word: &str| match word {
            "BACKUP" | "DIR" => self.backup.display().to_string(),
            "REF" | "SESSION" => "@".to_owned(),
            "PATH" => self.stage.home.claude_config().display().to_string(),
            word => word.to_owned(),
        };
        let mut words: Vec<String> = named.split(' ').skip(1).map(with).collect();
        if words.first().is_some_and(|word| word == "restore") {
            words.push("--yes".to_owned());
        }
        self.stage.run(&words)
    }

    /// Runs commands, and follows the hints of those that fail. Returns the commands that were named and went well.
    fn walk(&self, what: &str, restored: &dyn Fn()) -> BTreeSet<String> {
        let backup = self.stage.home.path().join("second");
        let commands: &[&[&str]] = &[
            &["list"],
            &["show", "@"],
            &["status"],
            &[],
            &["search", "file"],
            &["state"],
            &["import"],
            &["verify"],
            &["verify", "--repair"],
            &["verify", "--repair", "--from", self.bundle.to_str().unwrap()],
            &["backup", backup.to_str().unwrap()],
            &["gc", "--dry-run"],
            &["resume", "@", "--dry-run"],
            &["doctor", "--all"],
            &["index", "rebuild"],
        ];
        let (mut well, mut followed) = (BTreeSet::new(), BTreeSet::new());
        for command in commands {
            restored();
            let said = self.stage.run(command);
            let failure = failure(&said);
            if said.code == 0 {
                continue;
            }
            let text = said.text() + &said.stderr;
            let hint = text.lines().find_map(|line| line.trim_start().strip_prefix("hint: "));
            let hint = hint.unwrap_or_else(|| panic!("{what}: {command:?} has no hint: {text}"));
            for (position, named) in hint.split('`').enumerate() {
                let is_command = position % 2 == 1 && named.starts_with("stemma ");
                if !is_command || !followed.insert((named.to_owned(), failure.clone())) {
                    continue;
                }
                restored();
                let before = hint.split(named).next().unwrap_or_default();
                if let Some((_, moved)) = before.split_once("move the folder `") {
                    let folder = self.stage.home.stemmata_home().join(moved.split('`').next().unwrap());
                    std::fs::rename(&folder, folder.with_extension("away")).unwrap();
                }
                let next = self.follow(named);
                assert!(
                    next.code == 0 || self::failure(&next) != failure,
                    "{what}: {command:?} says `{named}`, which fails alike: {}",
                    next.stderr
                );
                assert_ne!(next.code, 2, "{what}: `{named}` is no command line: {}", next.stderr);
                if next.code == 0 {
                    well.insert(named.to_owned());
                }
            }
        }
        well
    }
}

/// Returns what a command failed with: the innermost cause, since the operation differs.
fn failure(said: &Said) -> Option<String> {
    let mut causes =
        said.stderr.lines().filter(|line| line.starts_with("error: ") || line.starts_with("  caused by: "));
    causes.next_back().map(str::to_owned)
}

/// What is done to something.
type Deed<'a> = Box<dyn Fn() + 'a>;

/// What is done to a database.
type Damage<'a> = Box<dyn Fn(&Path) + 'a>;

fn overwrite(path: &Path, at: usize, bytes: &[u8]) {
    let mut all = std::fs::read(path).unwrap();
    all.resize(all.len().max(at + bytes.len()), 0);
    all[at..at + bytes.len()].copy_from_slice(bytes);
    std::fs::write(path, all).unwrap();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            let _bytes = std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// A newcomer's database was overwritten: the hint named `stemma status`, which failed with the same words.
#[test]
fn no_hint_of_a_damaged_store_names_a_command_that_fails_alike() {
    let ruins = Ruins::new();
    let data = ruins.stage.home.stemmata_home();
    let good = ruins.stage.home.path().join("good");
    copy(&data, &good);
    let garbage: Vec<u8> =
        (0..8192_u32).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let database = rusqlite::Connection::open(good.join("store/stemmata.db")).unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    database.close().unwrap();
    let pages = std::fs::metadata(good.join("store/stemmata.db")).unwrap().len() / 4096;
    let at = |page: u64| usize::try_from(page * 4096).unwrap();
    let mut damages: Vec<(String, Damage<'_>)> = vec![
        (
            "overwritten".to_owned(),
            Box::new(|db: &Path| std::fs::write(db, b"not a database at all\n".repeat(500)).unwrap()),
        ),
        (
            "a folder".to_owned(),
            Box::new(|db: &Path| {
                std::fs::remove_file(db).unwrap();
                std::fs::create_dir(db).unwrap();
            }),
        ),
        (
            "another database".to_owned(),
            Box::new(|db: &Path| {
                std::fs::remove_file(db).unwrap();
                rusqlite::Connection::open(db).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
            }),
        ),
        ("header".to_owned(), Box::new(|db: &Path| overwrite(db, 40, &[7; 60]))),
    ];
    for page in [0, 6, pages / 2] {
        let garbage = garbage.clone();
        damages.push((
            format!("page {page}"),
            Box::new(move |db: &Path| overwrite(db, at(page) + 100, &garbage[..8000])),
        ));
    }
    for (what, damage) in &damages {
        let restored = || {
            std::fs::remove_dir_all(&data).unwrap();
            copy(&good, &data);
            for beside in ["stemmata.db-wal", "stemmata.db-shm"] {
                let _none = std::fs::remove_file(ruins.store().join(beside));
            }
            damage(&ruins.stage.database());
        };
        restored();
        let listed = ruins.stage.run(&["list"]);
        let well = ruins.walk(what, &restored);
        if listed.code != 0 {
            assert!(well.contains("stemma restore BACKUP"), "{what}: {well:?}: {}", listed.stderr);
            restored();
            std::fs::rename(ruins.store(), data.join("away")).unwrap();
            ruins.stage.run(&["import"]).ok();
            assert!(ruins.stage.run(&["list"]).ok().text().contains("claude-code"), "{what}");
            assert!(ruins.stage.run(&["search", "file"]).ok().text().contains("file"), "{what}");
        }
    }
}

/// The same where it is not the store: the index, a ledger's files, settings, a backup.
#[test]
fn no_hint_of_another_damage_names_a_command_that_fails_alike() {
    let ruins = Ruins::new();
    let data = ruins.stage.home.stemmata_home();
    let good = ruins.stage.home.path().join("good");
    copy(&data, &good);
    let config = ruins.stage.home.path().join("home/.config/stemmata/config.toml");
    let all = |folder: &str| {
        let files = std::fs::read_dir(data.join(folder)).into_iter().flatten().flatten();
        files.map(|file| file.path()).filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let damages: Vec<(&str, Deed<'_>)> = vec![
        (
            "index",
            Box::new(|| all("index").iter().for_each(|file| std::fs::write(file, "x".repeat(5000)).unwrap())),
        ),
        (
            "index folder",
            Box::new(|| {
                std::fs::remove_dir_all(data.join("index")).unwrap();
                std::fs::write(data.join("index"), "x").unwrap();
            }),
        ),
        ("machine", Box::new(|| std::fs::write(data.join("machine.json"), "{").unwrap())),
        ("capture", Box::new(|| std::fs::write(data.join("capture.json"), "{").unwrap())),
        ("secrets", Box::new(|| std::fs::write(data.join("secrets.toml"), "rules = 7").unwrap())),
        (
            "config",
            Box::new(|| {
                std::fs::create_dir_all(config.parent().unwrap()).unwrap();
                std::fs::write(&config, "[capture\n").unwrap();
            }),
        ),
        ("backup", Box::new(|| {})),
    ];
    for (what, damage) in &damages {
        let restored = || {
            let _none = std::fs::remove_file(&config);
            std::fs::remove_dir_all(&data).unwrap();
            copy(&good, &data);
            damage();
        };
        ruins.walk(what, &restored);
    }
    let _none = std::fs::remove_file(&config);
    std::fs::remove_dir_all(&data).unwrap();
    copy(&good, &data);
    let bad = ruins.stage.home.path().join("bad");
    copy(&ruins.backup, &bad);
    let database = bad.join("stemmata.db");
    for bytes in [b"nothing".to_vec(), Vec::new()] {
        std::fs::write(&database, bytes).unwrap();
        let said = ruins.stage.run(&["restore", bad.to_str().unwrap(), "--yes"]);
        assert_ne!(said.code, 0);
        assert!(said.stderr.contains("hint: ") && !said.stderr.contains("stemma status"), "{}", said.stderr);
    }
}
