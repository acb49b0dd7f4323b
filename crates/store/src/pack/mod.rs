//! Pack files: blocks of contents, an index, and a trailer. Pure: bytes in, bytes out.
//!
//! Which contents go where, and what the database says of them, is the backend's. Specified in
//! `docs/format/pack.md`.

pub(crate) mod bounds;
pub(crate) mod format;
pub(crate) mod frame;
pub(crate) mod similar;

/// The name of a pack: the BLAKE3 hash of the whole file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PackName(pub(crate) [u8; 32]);

/// What the names of pack files end with.
const FILE_SUFFIX: &str = ".pack";

impl PackName {
    /// Returns the name of the file.
    pub(crate) fn file(self) -> String {
        format!("{self:?}{FILE_SUFFIX}")
    }

    /// Reads the name of a file; none where it is no pack's.
    pub(crate) fn of_file(file: &str) -> Option<Self> {
        let digits = file.strip_suffix(FILE_SUFFIX)?;
        let name = blake3::Hash::from_hex(digits).ok()?;
        (name.to_hex().as_str() == digits).then(|| Self(*name.as_bytes()))
    }
}

impl std::fmt::Debug for PackName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_come_back_and_others_are_none() {
        let name = PackName([0xa7; 32]);
        assert_eq!(PackName::of_file(&name.file()), Some(name));
        for other in ["lock", "new.tmp", &name.file().to_uppercase(), &name.file()[1..], &format!("{name:?}")]
        {
            assert_eq!(PackName::of_file(other), None, "{other}");
        }
    }
}
