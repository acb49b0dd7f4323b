//! Where worktrees of git are made: what their paths say of the repository, also when they are gone.

use super::ALL;

/// Where a client makes worktrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worktrees {
    /// The folder that they are in.
    pub folder: &'static str,
    /// Whether that lies in their repository; else those of all repositories are in one, each within a folder with an id.
    pub is_in_repository: bool,
}

/// The folder in a repository that people and tools keep worktrees in.
const BY_HAND: Worktrees = Worktrees { folder: ".worktrees", is_in_repository: true };

/// A worktree by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorktreePath<'p> {
    /// The worktree's top.
    pub top: &'p str,
    /// The folder of its repository, where the path says it.
    pub repository: Option<&'p str>,
}

/// Returns the worktree that a path is in, or is, as far as the path says so.
pub fn worktree_of_path(path: &str) -> Option<WorktreePath<'_>> {
    let shelves = ALL.iter().filter_map(|client| client.worktrees).chain([&BY_HAND]);
    shelves.into_iter().find_map(|shelf| {
        let around = format!("/{}/", shelf.folder);
        let (before, rest) = path.split_once(&around)?;
        let depth = if shelf.is_in_repository { 1 } else { 2 };
        let parts: Vec<&str> = rest.split('/').take(depth).collect();
        let is_whole = parts.len() == depth && parts.iter().all(|part| !part.is_empty());
        let length =
            before.len() + around.len() + parts.iter().map(|part| part.len()).sum::<usize>() + depth - 1;
        let top = path.get(..length).filter(|_| is_whole)?;
        let repository = Some(before).filter(|before| shelf.is_in_repository && !before.is_empty());
        Some(WorktreePath { top, repository })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_that_it_is_in_a_worktree() {
        for (path, top, repository) in [
            ("/src/app/.worktrees/2", "/src/app/.worktrees/2", Some("/src/app")),
            ("/src/app/.worktrees/é/sub", "/src/app/.worktrees/é", Some("/src/app")),
            ("/src/app/.claude/worktrees/blue/x", "/src/app/.claude/worktrees/blue", Some("/src/app")),
            ("/u/.codex/worktrees/ab12/app/sub", "/u/.codex/worktrees/ab12/app", None),
            ("/.worktrees/2", "/.worktrees/2", None),
        ] {
            assert_eq!(worktree_of_path(path), Some(WorktreePath { top, repository }), "{path}");
        }
        for path in [
            "",
            "/",
            "/src/app/.worktrees",
            "/src/app/.worktrees/",
            "/u/.codex/worktrees/ab12",
            "/src/worktrees/2",
        ] {
            assert_eq!(worktree_of_path(path), None, "{path}");
        }
    }
}
