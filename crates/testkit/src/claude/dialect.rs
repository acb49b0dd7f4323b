//! How the shape of a line depends on the client's version.
//! Not a parser of versions for the product: it only tells the made-up sessions apart.

/// A family of versions that write lines of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// 1.x: no slug, no metadata lines but summaries, subagents inline.
    V1_0,
    /// 2.0.x: a slug, file history, queue operations.
    V2_0,
    /// 2.1.x to about 2.1.99: progress lines in the chain, `sourceToolAssistantUUID`, subagents in files.
    V2_1,
    /// Later: the envelope behind the message, attachments, prompt ids, no progress lines.
    V2_1_330,
}

/// The version that each dialect is shown by, oldest first.
pub(super) const VERSIONS: [&str; 4] = ["1.0.60", "2.0.76", "2.1.39", "2.1.330"];

impl Dialect {
    /// Returns the dialect of a version such as `2.1.39`; the newest where it is none.
    pub fn of(version: &str) -> Self {
        let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or(u64::MAX));
        let mut next = || parts.next().unwrap_or(0);
        match (next(), next(), next()) {
            (0 | 1, _, _) => Self::V1_0,
            (2, 0, _) => Self::V2_0,
            (2, 1, 0..=99) => Self::V2_1,
            _ => Self::V2_1_330,
        }
    }

    /// Returns one version of each dialect, oldest first.
    pub const fn versions() -> [&'static str; 4] {
        VERSIONS
    }
}
