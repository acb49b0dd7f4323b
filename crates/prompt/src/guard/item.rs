//! A guard item: an entry of a live window with what decides whether it stays. It holds no text, so that a window of ten
//! thousand entries can be kept beside it.

use stemmata_model::{EntryId, Timestamp, Tokens};

/// What an item contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ContentType {
    /// Instructions: they stay in force.
    SystemPrompt,
    /// What the current task is.
    CurrentTask,
    /// When the current task is done.
    AcceptanceCriteria,
    /// The file that is being edited.
    ActiveCode,
    /// What somebody said about the work.
    RecentFeedback,
    /// What was said and done for a task before.
    TaskHistory,
    /// Examples and templates.
    Examples,
    /// Anything else.
    Other,
}

impl ContentType {
    /// Every type.
    pub const ALL: [Self; 8] = [
        Self::SystemPrompt,
        Self::CurrentTask,
        Self::AcceptanceCriteria,
        Self::ActiveCode,
        Self::RecentFeedback,
        Self::TaskHistory,
        Self::Examples,
        Self::Other,
    ];

    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads a name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|content| content.as_str() == name)
    }
}

/// A priority class of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Always kept.
    P1,
    /// Kept if relevant.
    P2,
    /// Kept if there is room.
    P3,
    /// Always pruned.
    P4,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 4] = [Self::P1, Self::P2, Self::P3, Self::P4];

    /// Returns the name used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
            Self::P4 => "P4",
        }
    }

    /// Reads a name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }
}

/// A row of the priority matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Row {
    /// What the current task is.
    CurrentTaskDescription,
    /// When it is done.
    CurrentTaskAcceptanceCriteria,
    /// Who the agent is.
    SystemRolePrompt,
    /// The file that is being edited.
    ActiveFile,
    /// One of the last three messages of a user.
    LastUserMessages,
    /// An error that is not resolved.
    CriticalError,
    /// Of one of the last three tasks.
    RecentTaskHistory,
    /// The pull request that is being worked on.
    ActivePr,
    /// Of a task that the current one depends on.
    DependencyInformation,
    /// How the files lie.
    FileStructure,
    /// One of the last five pieces of feedback.
    RecentFeedback,
    /// Of an older task.
    OldTaskHistory,
    /// How well it went.
    SuccessMetrics,
    /// How the project does things.
    ProjectGuidelines,
    /// Examples.
    ExampleSnippets,
    /// Links.
    DocumentationLinks,
    /// Details of a completed task, more than five tasks ago.
    CompletedTaskDetails,
    /// An error that was resolved.
    ResolvedError,
    /// What no longer holds.
    Deprecated,
    /// What was only needed to find a fault.
    TemporaryDebug,
    /// What is said elsewhere.
    Redundant,
}

impl Row {
    /// Every row.
    pub const ALL: [Self; 21] = [
        Self::CurrentTaskDescription,
        Self::CurrentTaskAcceptanceCriteria,
        Self::SystemRolePrompt,
        Self::ActiveFile,
        Self::LastUserMessages,
        Self::CriticalError,
        Self::RecentTaskHistory,
        Self::ActivePr,
        Self::DependencyInformation,
        Self::FileStructure,
        Self::RecentFeedback,
        Self::OldTaskHistory,
        Self::SuccessMetrics,
        Self::ProjectGuidelines,
        Self::ExampleSnippets,
        Self::DocumentationLinks,
        Self::CompletedTaskDetails,
        Self::ResolvedError,
        Self::Deprecated,
        Self::TemporaryDebug,
        Self::Redundant,
    ];

    /// Returns the name that the matrix of seed 002 uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CurrentTaskDescription => "current_task_description",
            Self::CurrentTaskAcceptanceCriteria => "current_task_acceptance_criteria",
            Self::SystemRolePrompt => "system_role_prompt",
            Self::ActiveFile => "active_file_being_edited",
            Self::LastUserMessages => "last_3_user_messages",
            Self::CriticalError => "critical_error_context",
            Self::RecentTaskHistory => "recent_task_history",
            Self::ActivePr => "active_pr_context",
            Self::DependencyInformation => "dependency_information",
            Self::FileStructure => "current_file_structure",
            Self::RecentFeedback => "recent_feedback",
            Self::OldTaskHistory => "old_task_history",
            Self::SuccessMetrics => "success_metrics",
            Self::ProjectGuidelines => "project_guidelines",
            Self::ExampleSnippets => "example_code_snippets",
            Self::DocumentationLinks => "documentation_links",
            Self::CompletedTaskDetails => "completed_task_details",
            Self::ResolvedError => "old_error_messages",
            Self::Deprecated => "deprecated_context",
            Self::TemporaryDebug => "temporary_debug_info",
            Self::Redundant => "redundant_information",
        }
    }

    /// Reads a name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|row| row.as_str() == name)
    }

    /// Returns the class that the matrix puts the row in.
    pub const fn class(self) -> Class {
        match self {
            Self::CurrentTaskDescription
            | Self::CurrentTaskAcceptanceCriteria
            | Self::SystemRolePrompt
            | Self::ActiveFile
            | Self::LastUserMessages
            | Self::CriticalError => Class::P1,
            Self::RecentTaskHistory
            | Self::ActivePr
            | Self::DependencyInformation
            | Self::FileStructure
            | Self::RecentFeedback => Class::P2,
            Self::OldTaskHistory
            | Self::SuccessMetrics
            | Self::ProjectGuidelines
            | Self::ExampleSnippets
            | Self::DocumentationLinks => Class::P3,
            Self::CompletedTaskDetails
            | Self::ResolvedError
            | Self::Deprecated
            | Self::TemporaryDebug
            | Self::Redundant => Class::P4,
        }
    }
}

/// An entry of a live window, as the guard sees it. The caller says what it knows; `derive` finds the rest in the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one entry, each named where it is set"
)]
pub struct Item {
    /// The entry.
    pub id: EntryId,
    /// What it takes of the window.
    pub size: Tokens,
    /// When it was written. Without a time it is as old as can be.
    pub at: Option<Timestamp>,
    /// The task that it belongs to.
    pub task: Option<String>,
    /// What it contains.
    pub content: ContentType,
    /// The row of the matrix that somebody put it in.
    pub row: Option<Row>,
    /// The class that the caller gave, which is stronger than that of the row.
    pub class: Option<Class>,
    /// Later entries that name its files, its id or its call.
    pub reference_count: u32,
    /// Whether one of them is in the last three turns.
    pub is_referenced_recently: bool,
    /// The caller says that nothing works without it.
    pub is_essential: bool,
    /// A person asked for it to stay.
    pub is_pinned: bool,
    /// Whether a user said it, as a message.
    pub is_prompt: bool,
    /// The tool group that it belongs to: a number that its other members share.
    pub group: Option<u32>,
    /// Whether a call of the group still waits for its result, or no answer followed a result: the model has not seen it.
    pub is_open: bool,
}

impl Item {
    /// Makes an item of which nothing more is known.
    pub const fn new(id: EntryId, size: Tokens) -> Self {
        Self {
            id,
            size,
            at: None,
            task: None,
            content: ContentType::Other,
            row: None,
            class: None,
            reference_count: 0,
            is_referenced_recently: false,
            is_essential: false,
            is_pinned: false,
            is_prompt: false,
            group: None,
            is_open: false,
        }
    }
}
