//! A simulated disk as a folder of the real system, through FUSE: SQLite and we work on it as on any other.
//!
//! The mount is in a mount namespace of this process alone: nobody else sees it, and it ends with the process,
//! however that ends. No helper program is needed.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use fuser::{
    AccessFlags, BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use stemmata_testkit::disk::{Disk, DiskError, Item, Name, Node};

/// Nobody but the kernel changes what is there, so it may remember all it likes.
const REMEMBER: Duration = Duration::from_hours(1);

/// Goes into a mount namespace of this process alone. To be called before there is a second thread.
///
/// # Errors
/// Where the system does not allow it, or has no FUSE.
pub fn enter_namespace() -> anyhow::Result<()> {
    anyhow::ensure!(Path::new("/dev/fuse").exists(), "there is no /dev/fuse");
    if nix::unistd::geteuid().is_root() {
        unshare(CloneFlags::CLONE_NEWNS).context("no mount namespace of our own")?;
    } else {
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
            .context("no user and mount namespace of our own")?;
        for (file, text) in [
            ("/proc/self/setgroups", "deny".to_owned()),
            ("/proc/self/uid_map", format!("0 {user} 1")),
            ("/proc/self/gid_map", format!("0 {group} 1")),
        ] {
            let mut options = fs::OpenOptions::new();
            let opened = options.write(true).open(file);
            opened.and_then(|mut open| io::Write::write_all(&mut open, text.as_bytes())).context(file)?;
        }
    }
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).context("making mounts private")
}

/// A disk that is mounted until this is dropped.
pub struct Mounted {
    /// The folder.
    pub path: PathBuf,
    session: Option<BackgroundSession>,
}

impl Mounted {
    /// Mounts a disk on an empty folder.
    ///
    /// # Errors
    /// Where the system does not allow it.
    pub fn new(disk: &Disk, path: &Path) -> anyhow::Result<Self> {
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName("stemmata-faults".to_owned()), MountOption::NoSuid, MountOption::NoDev];
        config.n_threads = Some(1);
        let session = fuser::spawn_mount(Served(disk.clone()), path, &config).context("mounting")?;
        Ok(Self { path: path.to_path_buf(), session: Some(session) })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What fails here ends with the process: the namespace is its own.
        if let Some(session) = self.session.take() {
            drop(session.umount_and_join());
        }
    }
}

struct Served(Disk);

fn errno(error: DiskError) -> Errno {
    match error {
        DiskError::Missing => Errno::ENOENT,
        DiskError::Exists => Errno::EEXIST,
        DiskError::NotEmpty => Errno::ENOTEMPTY,
        DiskError::WrongKind => Errno::ENOTDIR,
        DiskError::Io => Errno::EIO,
        DiskError::Full => Errno::ENOSPC,
    }
}

impl Served {
    fn attributes(&self, node: Node) -> Option<FileAttr> {
        let owner = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
        self.0.look(node, |item| {
            let (kind, size, perm) = match item {
                Item::File(bytes) => (FileType::RegularFile, bytes.len(), 0o600),
                Item::Folder(names) => (FileType::Directory, names.len(), 0o700),
            };
            let size = u64::try_from(size).unwrap_or(u64::MAX);
            FileAttr {
                ino: INodeNo(node),
                size,
                blocks: size.div_ceil(512),
                atime: UNIX_EPOCH,
                mtime: UNIX_EPOCH,
                ctime: UNIX_EPOCH,
                crtime: UNIX_EPOCH,
                kind,
                perm,
                nlink: 1,
                uid: owner.0,
                gid: owner.1,
                rdev: 0,
                blksize: 4096,
                flags: 0,
            }
        })
    }

    fn name(folder: INodeNo, name: &OsStr) -> Result<Name, DiskError> {
        Ok(Name::new(folder.0, name.to_str().ok_or(DiskError::Missing)?))
    }

    fn make(&self, folder: INodeNo, name: &OsStr, is_folder: bool) -> Result<FileAttr, DiskError> {
        let node = self.0.make(&Self::name(folder, name)?, is_folder)?;
        self.attributes(node).ok_or(DiskError::Missing)
    }

    fn remove(&self, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match Self::name(folder, name).and_then(|name| self.0.remove(&name)) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn sync(&self, node: INodeNo, reply: ReplyEmpty) {
        match self.0.sync(node.0) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        }
    }
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = Self::name(parent, name).ok().and_then(|name| self.0.lookup(&name));
        match found.and_then(|node| self.attributes(node)) {
            Some(attributes) => reply.entry(&REMEMBER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(node.0) {
            Some(attributes) => reply.attr(&REMEMBER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _file: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if let Some(Err(error)) = size.map(|size| self.0.set_length(node.0, size)) {
            return reply.error(errno(error));
        }
        match self.attributes(node.0) {
            Some(attributes) => reply.attr(&REMEMBER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        match self.make(parent, name, true) {
            Ok(attributes) => reply.entry(&REMEMBER, &attributes, Generation(0)),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.remove(parent, name, reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.remove(parent, name, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        // As a file system answers that cannot exchange two names.
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let renamed = Self::name(parent, name)
            .and_then(|from| Ok((from, Self::name(to_parent, to_name)?)))
            .and_then(|(from, to)| self.0.rename(&from, &to));
        match renamed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn read(
        &self,
        _: &Request,
        node: INodeNo,
        _file: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.0.read(node.0, offset, u64::from(size)) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        node: INodeNo,
        _file: FileHandle,
        offset: u64,
        bytes: &[u8],
        kind: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // Only the log's index is mapped into memory, and comes back from there whenever the kernel likes.
        let written = if kind.contains(WriteFlags::FUSE_WRITE_CACHE) {
            self.0.scribble(node.0, offset, bytes)
        } else {
            self.0.write(node.0, offset, bytes)
        };
        match written {
            Ok(()) => reply.written(u32::try_from(bytes.len()).unwrap_or(u32::MAX)),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, node: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.sync(node, reply);
    }

    fn fsyncdir(&self, _: &Request, node: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.sync(node, reply);
    }

    fn readdir(&self, _: &Request, node: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let names = self.0.look(node.0, |item| match item {
            Item::Folder(names) => Some(names.clone()),
            Item::File(_) => None,
        });
        let Some(names) = names.flatten() else { return reply.error(Errno::ENOTDIR) };
        let own = [(".".to_owned(), node.0), ("..".to_owned(), node.0)];
        for (number, (name, node)) in (1..).zip(own.into_iter().chain(names)) {
            if number <= offset {
                continue;
            }
            let kind = self.attributes(node).map_or(FileType::RegularFile, |attributes| attributes.kind);
            if reply.add(INodeNo(node), number, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096);
    }

    fn access(&self, _: &Request, _: INodeNo, _: AccessFlags, reply: ReplyEmpty) {
        reply.ok();
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        match self.make(parent, name, false) {
            Ok(attributes) => {
                reply.created(&REMEMBER, &attributes, Generation(0), FileHandle(0), FopenFlags::empty());
            }
            Err(error) => reply.error(errno(error)),
        }
    }
}
