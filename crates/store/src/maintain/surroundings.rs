//! Where a store lies: on a disk of this machine, on a network file system, or in a folder that is synced.
//!
//! Decides from texts and names; only [`look`] asks the system.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::files::Files;

/// Bytes of the mount table that are read at most: thousands of mounts.
const TABLE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Folders above a store that are looked at for marks of synchronisation.
const FOLDERS_MAX: usize = 32;

/// File systems of other machines. There is no shared memory between machines, and what one locks the other may
/// write: SQLite's log breaks.
const NETWORK: [&str; 31] = [
    "nfs",
    "nfs3",
    "nfs4",
    "cifs",
    "smb",
    "smb2",
    "smb3",
    "smbfs",
    "afs",
    "auristorfs",
    "coda",
    "ncp",
    "ncpfs",
    "ceph",
    "glusterfs",
    "lustre",
    "gpfs",
    "beegfs",
    "gfs2",
    "ocfs2",
    "orangefs",
    "pvfs2",
    "davfs",
    "webdav",
    "s3fs",
    "sshfs",
    "gcsfuse",
    "goofys",
    "rclone",
    "curlftpfs",
    "mfs",
];

/// The same by the name of the program that serves them, behind `fuse.`.
const NETWORK_FUSE: [&str; 16] = [
    "sshfs",
    "glusterfs",
    "ceph",
    "ceph-fuse",
    "s3fs",
    "rclone",
    "gcsfuse",
    "goofys",
    "davfs",
    "curlftpfs",
    "mfs",
    "juicefs",
    "seaweedfs",
    "gvfsd-fuse",
    "smbnetfs",
    "blobfuse2",
];

/// Folders of a host that a virtual machine or a container sees: one lock for both, but not always one memory.
const SHARED: [&str; 7] =
    ["9p", "virtiofs", "vboxsf", "vmhgfs", "fuse.vmhgfs-fuse", "fuse.grpcfuse", "drvfs"];

/// Names by which a synced folder is known: in it, or in one above it.
const SYNC_MARKS: [(&str, &str); 9] = [
    (".dropbox", "Dropbox"),
    (".dropbox.cache", "Dropbox"),
    (".stfolder", "Syncthing"),
    (".owncloudsync.log", "ownCloud"),
    (".nextcloudsync.log", "Nextcloud"),
    (".tmp.drivedownload", "Google Drive"),
    (".tmp.driveupload", "Google Drive"),
    (".megaignore", "MEGA"),
    (".sync", "Resilio Sync"),
];

/// Beginnings of folders' names that clients of synchronisation make.
const SYNC_FOLDERS: [(&str, &str); 14] = [
    ("Dropbox", "Dropbox"),
    ("OneDrive", "OneDrive"),
    ("Google Drive", "Google Drive"),
    ("GoogleDrive", "Google Drive"),
    ("My Drive", "Google Drive"),
    ("Mobile Documents", "iCloud Drive"),
    ("iCloudDrive", "iCloud Drive"),
    ("iCloud Drive", "iCloud Drive"),
    ("Nextcloud", "Nextcloud"),
    ("ownCloud", "ownCloud"),
    ("pCloudDrive", "pCloud"),
    ("MEGAsync", "MEGA"),
    ("Syncthing", "Syncthing"),
    ("Proton Drive", "Proton Drive"),
];

/// What was found out about the place of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// The file system that it lies on; none where the system does not say.
    pub mount: Option<Mount>,
    /// The program that syncs a folder it lies in, and the folder.
    pub synced: Option<Synced>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub point: PathBuf,
    /// Its type, as the system names it.
    pub file_system: String,
    /// What that means for a store.
    pub reach: Reach,
}

/// Who else may be at a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This machine alone.
    Local,
    /// The host of this virtual machine or container.
    Host,
    /// Other machines.
    Network,
}

/// A folder that a program keeps the same on several machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// The folder.
    pub folder: PathBuf,
    /// The program.
    pub by: &'static str,
}

impl Surroundings {
    /// Returns what a user should know before trusting this place, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(mount) = self.mount.as_ref().filter(|mount| mount.reach == Reach::Host) {
            warnings.push(format!(
                "the store is in a folder that is shared with a host ({} at {}): let only one of the two open it",
                mount.file_system,
                mount.point.display()
            ));
        }
        if let Some(synced) = &self.synced {
            warnings.push(format!(
                "the store is in a folder that {} syncs ({}): a database that is synced while it is written, or \
                 written on two machines, breaks; keep it elsewhere and sync a `stemma backup`",
                synced.by,
                synced.folder.display()
            ));
        }
        warnings
    }
}

/// Looks where a folder lies, or would lie. Where the system says nothing, nothing is found.
pub fn look(folder: &Path) -> Surroundings {
    let Some(real) = existing(folder) else { return Surroundings::default() };
    let marks = |folder: &Path, name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    Surroundings {
        mount: mount_table().and_then(|table| mount_of(&table, &real)),
        synced: synced(&real, &marks),
    }
}

/// Looks only on which file system a folder lies, or would lie.
pub(crate) fn look_at_mount(folder: &Path) -> Option<Mount> {
    mount_of(&mount_table()?, &existing(folder)?)
}

/// Refuses a directory that other machines may write at the same time.
pub(crate) fn refuse_network(files: &dyn Files, dir: &Path) -> Result<(), StoreError> {
    match files.mount(dir).filter(|mount| mount.reach == Reach::Network) {
        Some(mount) => Err(StoreError::Network {
            path: dir.display().to_string(),
            file_system: mount.file_system,
            mount: mount.point.display().to_string(),
        }),
        None => Ok(()),
    }
}

/// Returns the nearest folder that is there, without links.
fn existing(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(|folder| fs::canonicalize(folder).ok())
}

#[cfg(target_os = "linux")]
fn mount_table() -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut table = Vec::new();
    let file = fs::File::open("/proc/self/mountinfo").ok()?;
    file.take(TABLE_BYTES_MAX).read_to_end(&mut table).ok()?;
    Some(table)
}

#[cfg(not(target_os = "linux"))]
const fn mount_table() -> Option<Vec<u8>> {
    let _bound = TABLE_BYTES_MAX;
    None
}

/// Returns the file system of a path by Linux's table of mounts (`/proc/self/mountinfo`): the longest mount point
/// above it, of two at one point the later one. Lines that are none are left out.
pub fn mount_of(table: &[u8], path: &Path) -> Option<Mount> {
    let mut best: Option<Mount> = None;
    for mount in table.split(|byte| *byte == b'\n').filter_map(parse) {
        let depth = |mount: &Mount| mount.point.components().count();
        if path.starts_with(&mount.point) && best.as_ref().is_none_or(|best| depth(&mount) >= depth(best)) {
            best = Some(mount);
        }
    }
    best
}

/// Reads one line: `id parent device root POINT options… - TYPE source options`.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = path_of(&unescaped(fields.by_ref().nth(4)?))?;
    let file_system = fields.skip_while(|field| *field != b"-").nth(1).filter(|name| !name.is_empty())?;
    let file_system = String::from_utf8_lossy(file_system).into_owned();
    Some(Mount { reach: reach(&file_system), point, file_system })
}

/// Says who else may be at a file system of this type.
pub fn reach(file_system: &str) -> Reach {
    let served = file_system.strip_prefix("fuse.").is_some_and(|name| NETWORK_FUSE.contains(&name));
    if served || NETWORK.contains(&file_system) {
        return Reach::Network;
    }
    if SHARED.contains(&file_system) { Reach::Host } else { Reach::Local }
}

/// Undoes the table's way of writing blanks and backslashes: three octal digits behind a backslash.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        let value = digits.filter(|_| *first == b'\\').and_then(|digits| {
            digits.iter().try_fold(0_u8, |sum, digit| sum.checked_mul(8)?.checked_add(digit - b'0'))
        });
        if let Some(byte) = value {
            plain.push(byte);
            rest = after.get(3..).unwrap_or_default();
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "on other systems not all bytes are a path")]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(|text| PathBuf::from(OsStr::new(text)))
}

/// Returns the synced folder that a path lies in, the nearest one. `has` says whether a folder has an entry of a name.
pub fn synced(path: &Path, has: &dyn Fn(&Path, &str) -> bool) -> Option<Synced> {
    path.ancestors().take(FOLDERS_MAX).find_map(|folder| {
        let marked = SYNC_MARKS.iter().find(|(mark, _)| has(folder, mark)).map(|(_, by)| *by);
        let named = || {
            let name = folder.file_name()?.to_str()?;
            let is_begun = |begin: &str| {
                name.strip_prefix(begin)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '-', '(']))
            };
            SYNC_FOLDERS.iter().find(|(begin, _)| is_begun(begin)).map(|(_, by)| *by)
        };
        marked.or_else(named).map(|by| Synced { folder: folder.to_owned(), by })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLE: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw\n\
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
40 27 0:50 / /home/ann/net rw - nfs4 server:/x rw\n\
41 40 0:51 / /home/ann/net/local rw shared:7 master:1 - ext4 /dev/vdb rw\n\
42 27 0:52 / /mnt/with\\040blank\\134 rw - cifs //server/x rw\n\
43 27 0:53 / /over rw - ext4 /dev/vdc rw\n\
44 43 0:54 / /over rw - fuse.sshfs ann@host: rw\n\
45 27 0:55 / /host rw - 9p hostshare rw\n\
garbage\n\n1 2 3 4\n46 27 0:56 / /cut rw";

    #[test]
    fn the_nearest_mount_counts_and_the_later_of_two() {
        for (path, file_system, reach) in [
            ("/home/ann/.local/share/stemmata", "ext4", Reach::Local),
            ("/home/ann/net", "nfs4", Reach::Network),
            ("/home/ann/net/a/b", "nfs4", Reach::Network),
            ("/home/ann/network", "ext4", Reach::Local),
            ("/home/ann/net/local/a", "ext4", Reach::Local),
            ("/mnt/with blank\\/a", "cifs", Reach::Network),
            ("/over/a", "fuse.sshfs", Reach::Network),
            ("/host/a", "9p", Reach::Host),
        ] {
            let found = mount_of(TABLE.as_bytes(), Path::new(path)).unwrap();
            assert_eq!((found.file_system.as_str(), found.reach), (file_system, reach), "{path}");
        }
        assert_eq!(mount_of(b"", Path::new("/")), None);
        assert_eq!(mount_of(TABLE.as_bytes(), Path::new("relative")), None);
    }

    #[test]
    fn local_file_systems_are_not_refused() {
        for name in [
            "ext4",
            "btrfs",
            "xfs",
            "zfs",
            "tmpfs",
            "overlay",
            "apfs",
            "fuse.mergerfs",
            "fuseblk",
            "ecryptfs",
            "",
        ] {
            assert_eq!(reach(name), Reach::Local, "{name}");
        }
    }

    #[test]
    fn synced_folders_are_known_by_marks_and_by_names() {
        let by = |path: &str, marks: &[(&str, &str)]| {
            let has = |folder: &Path, name: &str| {
                marks.iter().any(|(at, mark)| Path::new(at) == folder && *mark == name)
            };
            synced(Path::new(path), &has).map(|found| (found.by, found.folder.display().to_string()))
        };
        let found = |by: &'static str, folder: &str| Some((by, folder.to_owned()));
        assert_eq!(by("/home/ann/.local/share/stemmata/store", &[]), None);
        assert_eq!(by("/home/ann/dropboxes/a", &[]), None);
        assert_eq!(by("/home/ann/OneDriver/a", &[]), None);
        assert_eq!(by("/home/ann/Dropbox/a", &[]), found("Dropbox", "/home/ann/Dropbox"));
        assert_eq!(by("/home/ann/Dropbox (Work)/a", &[]), found("Dropbox", "/home/ann/Dropbox (Work)"));
        assert_eq!(by("/Users/ann/OneDrive - Firm/a", &[]), found("OneDrive", "/Users/ann/OneDrive - Firm"));
        assert_eq!(
            by("/Users/ann/Library/Mobile Documents/x/a", &[]),
            found("iCloud Drive", "/Users/ann/Library/Mobile Documents")
        );
        assert_eq!(
            by("/Users/ann/Library/CloudStorage/GoogleDrive-ann@example.org/My Drive/a", &[]).unwrap().0,
            "Google Drive"
        );
        for (mark, program) in SYNC_MARKS {
            assert_eq!(by("/data/a/b", &[("/data", mark)]), found(program, "/data"));
        }
    }

    proptest! {
        #[test]
        fn any_table_is_read_without_a_panic(table in proptest::collection::vec(any::<u8>(), 0..400), path in ".{0,30}") {
            let _mount = mount_of(&table, Path::new(&path));
        }

        #[test]
        fn a_line_of_any_point_is_found_again(point in "/[a-z \\\\\t]{0,20}") {
            let escaped: String = point
                .bytes()
                .map(|byte| match byte {
                    b' ' | b'\t' | b'\\' => format!("\\{byte:03o}"),
                    other => char::from(other).to_string(),
                })
                .collect();
            let line = format!("1 2 0:1 / {escaped} rw - nfs x rw");
            prop_assert_eq!(mount_of(line.as_bytes(), Path::new(&point)).unwrap().point, PathBuf::from(point));
        }
    }
}
