//! How a transcript is captured, as an import, a hook or a command asks for it.

use stemmata_model::{FormatId, Granularity, Template, ThreadId, TicketId, Trigger};

/// How to capture a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureOptions {
    /// How often closed commits are made; what a session began with stays unless `full` is set.
    pub granularity: Granularity,
    /// What makes the checkpoint happen, for the provisional commit at the end.
    pub trigger: Trigger,
    /// Read from the start even where the cursor fits.
    pub full: bool,
    /// Keep an unfinished last line too; live capture leaves it for the next time, unless it was kept before.
    pub torn_tail: bool,
    /// A ticket to record with what is new.
    pub ticket: Option<TicketId>,
    /// A thread to record with what is new.
    pub thread: Option<ThreadId>,
    /// A configured name for the kind of agent.
    pub template_alias: Option<Template>,
    /// Where the session works, for a format that does not say.
    pub cwd: Option<String>,
    /// What the session is called where its transcript does not say; its secrets are replaced.
    pub title: Option<String>,
    /// Keep what an open turn holds as a provisional commit. Where there is one already, it goes on all the same.
    pub leaf: bool,
    /// The transcript's format, where the caller knows it because it wrote the file; otherwise it is detected.
    pub format: Option<FormatId>,
}

impl CaptureOptions {
    /// Returns what `stemma import` does.
    pub const fn import() -> Self {
        Self {
            granularity: Granularity::Turn,
            trigger: Trigger::Explicit,
            full: false,
            torn_tail: true,
            ticket: None,
            thread: None,
            template_alias: None,
            cwd: None,
            title: None,
            leaf: true,
            format: None,
        }
    }

    /// Returns what a hook does: complete lines only.
    pub fn live(trigger: Trigger) -> Self {
        Self { torn_tail: false, trigger, ..Self::import() }
    }
}
