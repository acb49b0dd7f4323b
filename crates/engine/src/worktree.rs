//! A working tree as a checkpoint knows it: the commit that it is at, and the checksums of files that the work touched.
//!
//! Only read, within bounds, and never outside of the tree: links that lead out of it are not followed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use stemmata_acts::{Act, Call, FileAct, Reach, acts};
use stemmata_api::v1::CheckpointDrift;
use stemmata_model::{ArtifactId, Entry, Part, WORK_FILES_MAX, is_path_below};
use stemmata_store::read_bounded;

/// Bytes of a file that is read for its checksum at most.
const CHECKSUM_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes of a file of git that is read: packed references of a large repository have some megabytes.
const GIT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Folders above one that are looked into for a repository.
const FOLDERS_MAX: usize = 64;

/// What is at a path.
enum Found {
    File(ArtifactId),
    Nothing,
    Unread,
}

/// Returns the root of the repository that a folder is in, or the folder.
pub fn tree_root(folder: &Path) -> PathBuf {
    let mut above = folder.ancestors().take(FOLDERS_MAX);
    above.find(|folder| folder.join(".git").exists()).unwrap_or(folder).to_owned()
}

/// Returns the commit that a tree's repository is at, as git prints it; `None` where there is none.
pub fn git_head(root: &Path) -> Option<String> {
    let mut git = root.join(".git");
    if git.is_file() {
        // A worktree or a submodule names its own directory.
        let named = text_of(&git)?;
        git = root.join(named.strip_prefix("gitdir:")?.trim());
    }
    let head = text_of(&git.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref:").map(str::trim) else { return hash(head.trim()) };
    // A name that leads elsewhere is none of git's.
    if !is_path_below(name) {
        return None;
    }
    let common = text_of(&git.join("commondir")).map_or_else(|| git.clone(), |dir| git.join(dir.trim()));
    let own = [&git, &common].into_iter().find_map(|git| hash(text_of(&git.join(name))?.trim()));
    own.or_else(|| {
        let packed = text_of(&common.join("packed-refs"))?;
        let of_name = |line: &str| line.strip_suffix(name)?.strip_suffix(' ').and_then(hash);
        packed.lines().find_map(of_name)
    })
}

/// Returns the checksums of the files below a tree that calls of entries changed or read, those of the newest entries first, and
/// whether that is all of them.
pub(crate) fn checksums(root: &Path, entries: &[Entry]) -> (BTreeMap<String, Option<ArtifactId>>, bool) {
    let mut found = BTreeMap::new();
    // A conversation may name the tree by the path of a link that leads to it, or by the place that the link leads to.
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    for entry in entries.iter().rev() {
        for part in &entry.parts {
            let Part::ToolCall { name, arguments, .. } = part else { continue };
            let base = entry.meta.cwd.as_deref().map_or(root, Path::new);
            for file in files(Call { name, arguments }) {
                let named = base.join(&file.path);
                let Some(path) = below(root, &named).or_else(|| below(&real, &named)) else { continue };
                if found.contains_key(&path) {
                    continue;
                }
                if found.len() >= WORK_FILES_MAX {
                    return (found, false);
                }
                match look(root, &path) {
                    Found::File(sum) => drop(found.insert(path, Some(sum))),
                    Found::Nothing => drop(found.insert(path, None)),
                    Found::Unread => {}
                }
            }
        }
    }
    (found, true)
}

/// Compares checksums with a tree.
pub(crate) fn drift(root: &Path, sums: &BTreeMap<String, Option<ArtifactId>>) -> CheckpointDrift {
    let none = Vec::new;
    let mut drift =
        CheckpointDrift { changed: none(), missing: none(), new: none(), unread: none(), same: 0 };
    for (path, then) in sums {
        let list = match (then, look(root, path)) {
            (Some(then), Found::File(now)) if *then == now => {
                drift.same += 1;
                continue;
            }
            (None, Found::Nothing) => {
                drift.same += 1;
                continue;
            }
            (Some(_), Found::File(_)) => &mut drift.changed,
            (Some(_), Found::Nothing) => &mut drift.missing,
            (None, Found::File(_)) => &mut drift.new,
            (_, Found::Unread) => &mut drift.unread,
        };
        list.push(path.clone());
    }
    drift
}

fn files(call: Call<'_>) -> impl Iterator<Item = FileAct> {
    let files = acts(call).into_iter().flat_map(|act| match act {
        Act::File(file) => vec![file],
        Act::Command(command) => command.files(),
        _ => Vec::new(),
    });
    files.filter(|file| file.reach == Reach::File)
}

/// Returns a path from the root of a tree, without asking what is there; `None` where it leads elsewhere.
fn below(root: &Path, path: &Path) -> Option<String> {
    let mut names: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(names.pop()),
            part => names.push(part),
        }
    }
    let plain: PathBuf = names.iter().collect();
    let inside = plain.strip_prefix(root).ok()?;
    let text: Vec<&str> = inside.iter().map(|name| name.to_str()).collect::<Option<_>>()?;
    Some(text.join("/")).filter(|path| is_path_below(path))
}

fn look(root: &Path, path: &str) -> Found {
    let mut place = root.to_owned();
    for name in path.split('/') {
        place.push(name);
        // Looked at first: a link may lead out of the tree, and opening a pipe would wait for a writer.
        match fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) if metadata.is_file() && metadata.len() <= CHECKSUM_BYTES_MAX => {
                return hash_of(&place).map_or(Found::Unread, Found::File);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Found::Nothing,
            Ok(_) | Err(_) => return Found::Unread,
        }
    }
    // A folder stands where a file was.
    Found::Unread
}

fn hash_of(path: &Path) -> Option<ArtifactId> {
    let mut hasher = blake3::Hasher::new();
    let mut file = File::open(path).ok()?.take(CHECKSUM_BYTES_MAX);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer).ok()?;
        if count == 0 {
            return Some(ArtifactId::from_bytes(*hasher.finalize().as_bytes()));
        }
        hasher.update(buffer.get(..count)?);
    }
}

fn hash(text: &str) -> Option<String> {
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}

fn text_of(path: &Path) -> Option<String> {
    // Opening a pipe would wait for a writer.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    String::from_utf8(read_bounded(path, GIT_BYTES_MAX).ok()??).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stemmata_model::artifact_id;
    use stemmata_store::write_file;

    #[test]
    fn drift_names_what_changed_is_missing_and_is_new_and_never_leaves_the_tree() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("tree");
        fs::create_dir_all(root.join("src")).expect("made");
        for (name, text) in [("src/same.rs", "same"), ("src/changed.rs", "now"), ("fresh", "new")] {
            write_file(&root.join(name), text.as_bytes()).expect("written");
        }
        write_file(&folder.path().join("outside"), b"secret").expect("written");
        let mut sums: BTreeMap<String, Option<ArtifactId>> = BTreeMap::new();
        for (name, then) in [
            ("src/same.rs", Some("same")),
            ("src/changed.rs", Some("then")),
            ("gone", Some("x")),
            ("fresh", None),
            ("never", None),
        ] {
            sums.insert(name.to_owned(), then.map(|text| artifact_id(text.as_bytes())));
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path(), root.join("out")).expect("linked");
            sums.insert("out/outside".to_owned(), Some(artifact_id(b"secret")));
        }
        sums.insert("src".to_owned(), Some(artifact_id(b"")));
        let found = drift(&root, &sums);
        assert_eq!(
            (found.changed, found.missing, found.new, found.same),
            (vec!["src/changed.rs".to_owned()], vec!["gone".to_owned()], vec!["fresh".to_owned()], 2)
        );
        let unread: &[&str] = if cfg!(unix) { &["out/outside", "src"] } else { &["src"] };
        assert_eq!(found.unread, unread);
    }

    #[test]
    fn the_head_of_a_repository_is_read_in_each_form() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, git) = (folder.path().to_owned(), folder.path().join(".git"));
        fs::create_dir_all(git.join("refs/heads")).expect("made");
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let write = |name: &str, text: &str| write_file(&git.join(name), text.as_bytes()).expect("written");
        assert_eq!(git_head(&root), None);
        write("HEAD", &format!("{one}\n"));
        assert_eq!(git_head(&root), Some(one.clone()));
        write("HEAD", "ref: refs/heads/main\n");
        assert_eq!(git_head(&root), None);
        write("packed-refs", &format!("# pack-refs\n{two} refs/heads/main\n"));
        assert_eq!(git_head(&root), Some(two));
        write("refs/heads/main", &format!("{one}\n"));
        assert_eq!(git_head(&root), Some(one));
        for bad in ["ref: ../../secret", "no hash", "ref: refs/heads/none"] {
            write("HEAD", bad);
            assert_eq!(git_head(&root), None, "{bad}");
        }
        fs::create_dir_all(root.join("a/b")).expect("made");
        assert_eq!(tree_root(&root.join("a/b")), root);
    }

    #[test]
    fn paths_are_told_from_the_root_of_the_tree() {
        let root = Path::new("/tree");
        for (path, wanted) in [
            ("/tree/a.rs", Some("a.rs")),
            ("/tree/x/../a.rs", Some("a.rs")),
            ("/tree/./b/c", Some("b/c")),
            ("/tree/../etc/passwd", None),
            ("/elsewhere", None),
            ("/tree", None),
        ] {
            assert_eq!(below(root, Path::new(path)).as_deref(), wanted, "{path}");
        }
    }
}
