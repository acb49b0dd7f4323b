//! How a client is told to call us.
//! Not the change of its files, which is the engine's `capture/install`.

use std::path::PathBuf;

/// Where a client is told to call us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hooks {
    /// The file below its configuration directory.
    pub file: &'static str,
    /// Its configuration directory, where that is another one than the sessions' home.
    pub config: Option<&'static ConfigPlace>,
    /// What the file is.
    pub kind: HookKind,
    /// What the user has to do besides, if anything.
    pub trust: Option<&'static str>,
    /// How its agent gets the brief, where the user wants that.
    pub brief: &'static str,
    /// What its events mean, by their names; any other one ends a turn. A name that several clients have means the same.
    pub meanings: &'static [(&'static str, Meaning)],
}

/// What a client tells its hook by an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A session begins or goes on.
    Begins,
    /// A user speaks.
    Prompt,
    /// A compaction comes.
    BeforeCompaction,
    /// A compaction is done.
    AfterCompaction,
    /// A tool is called, or has answered.
    Tool,
    /// A tool has failed.
    ToolFailed,
    /// The session ends.
    Ends,
    /// The client asks or tells its user something; nothing of the session is new.
    Asks,
    /// A turn ends, or what no client has in its list.
    Turn,
}

/// Where a client's configuration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigPlace {
    /// Variables that name it, or with a second word a folder that it is below; the first that is set counts.
    pub variables: &'static [(&'static str, &'static str)],
    /// Where it is below the user's home.
    pub below_home: &'static str,
}

impl ConfigPlace {
    /// Returns the directory, from what the environment says.
    pub fn directory(
        &self,
        home: Option<PathBuf>,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let given = self.variables.iter().find_map(|(name, below)| Some((variable(name)?, *below)));
        match given {
            Some((path, "")) => Some(path),
            Some((path, below)) => Some(path.join(below)),
            None => Some(home?.join(self.below_home)),
        }
    }
}

/// What the file is that calls us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookKind {
    /// Settings of the user's, with lists of hooks in them.
    Settings(&'static HookEvents),
    /// A file of our own that the client loads: its text, with places to fill in.
    Extension(&'static str),
}

/// Which tools an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFor {
    /// All of them.
    AllTools,
    /// Those by which something is decided.
    DecidingTools,
}

/// The events of a client's settings that nudge us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvents {
    /// Sessions, turns and compactions.
    pub turns: &'static [&'static str],
    /// What failed or was decided within a turn, and of which tools.
    pub significant: &'static [(&'static str, AskedFor)],
    /// After every tool.
    pub tools: &'static [&'static str],
    /// What comes after a compaction, and is heard only where the agent may be told what was lost.
    pub briefed: &'static [&'static str],
    /// How long the client waits for our hook at most, in its own unit; it takes milliseconds.
    pub timeout: u64,
}
