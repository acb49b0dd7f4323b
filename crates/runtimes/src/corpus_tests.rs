//! The corpus of real transcripts, for the tests of all formats.

/// Name and bytes of every file of one runtime's folder with this ending; says so where there is no corpus.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    files_below(&[folder], |name| name.ends_with(ending))
}

/// Name and bytes of every wanted file below some folders of the corpus; says so where there is none.
pub(crate) fn files_below(folders: &[&str], is_wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the corpus is no part of the project: tests may run without"
    )]
    let Some(root) = std::env::var_os("STEMMATA_CORPUS").map(std::path::PathBuf::from) else {
        println!("skipped: STEMMATA_CORPUS is not set");
        return Vec::new();
    };
    let mut folders: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the corpus") {
            let path = entry.expect("an entry of the corpus").path();
            let name = path.strip_prefix(&root).expect("below the root").display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if is_wanted(&name) {
                files.push((name, std::fs::read(&path).expect("a file of the corpus")));
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "no session below {}", root.display());
    files
}
