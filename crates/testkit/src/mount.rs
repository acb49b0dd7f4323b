//! Small file systems in memory: a disk that is full or read-only.
//!
//! Only those may mount them who may mount anything; tests are skipped elsewhere.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A small file system in memory, unmounted when it is dropped.
#[derive(Debug)]
pub struct Mount {
    home: TempDir,
}

impl Mount {
    /// Mounts a disk of a size, written as `mount` takes it. Returns `None` if this process may not mount.
    #[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
    pub fn new(size: &str) -> Option<Self> {
        let home = TempDir::new().ok()?;
        let options = format!("size={size}");
        if run("mount", &["-t", "tmpfs", "-o", &options, "stemmata-test"], home.path()) {
            return Some(Self { home });
        }
        println!("skipped: no file system can be mounted here");
        None
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        self.home.path()
    }

    /// Gives it another size, or makes it read-only or writable (`ro`, `rw`).
    ///
    /// # Panics
    /// Where the system does not let it.
    pub fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        assert!(run("mount", &["-o", &options], self.home.path()), "{options}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &["-l"], self.home.path());
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    let status = Command::new(program).args(arguments).arg(path).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
