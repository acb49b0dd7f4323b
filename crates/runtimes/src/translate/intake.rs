//! What a runtime takes of another one's conversation, as data that each client and each API gives of itself.

use stemmata_model::{Entry, Maker};

use super::Told;
use crate::adapter::PlanStop;
use crate::{bureau, clients, messages};

/// What a runtime takes, and how its own conversations are read.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Intake {
    /// Whose signatures and encrypted reasoning mean something to it; `None` where it looks itself at what a message's model was.
    pub maker: Option<Maker>,
    /// What reasoning it takes.
    pub reasoning: Reasoning,
    /// Which files it takes by their bytes, besides text.
    pub files: Files,
    /// Whether it takes a file by its address alone.
    pub takes_addresses: bool,
    /// Whether the result of a failed call may hold images and files.
    pub has_files_in_failures: bool,
    /// Whether a call's result can be marked as failed.
    pub marks_failures: bool,
    /// Whether it takes images.
    pub takes_images: bool,
    /// Whether its provider refuses a text of white space.
    pub refuses_blanks: bool,
    /// Whether every instruction in its conversations is its own, and not only those of the system.
    pub gives_instructions: bool,
    /// Whether it takes instructions that a program gave to another one of this kind.
    pub takes_instructions: bool,
    /// Puts its entries in the order in which a model sees them, each as it stood last.
    pub as_told: fn(Vec<Entry>, PlanStop) -> Told,
}

/// What reasoning a runtime takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasoning {
    /// Any.
    Any,
    /// What is signed or encrypted by its provider.
    Proven,
    /// None.
    None,
}

/// Which files a runtime takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Text alone.
    Text,
    /// One type besides text: of all types, a provider's API takes this one.
    Type(&'static str),
    /// All.
    All,
}

impl Intake {
    /// What is assumed of a runtime that says nothing else.
    pub const ANY: Self = Self {
        maker: None,
        reasoning: Reasoning::Any,
        files: Files::Text,
        takes_addresses: false,
        has_files_in_failures: true,
        marks_failures: true,
        takes_images: true,
        refuses_blanks: false,
        gives_instructions: false,
        takes_instructions: false,
        as_told: |entries, _| Told { entries, skipped_compactions: 0 },
    };

    /// What Anthropic's API takes, and a client that sends what it has to it.
    pub const MESSAGES: Self = Self {
        maker: Some(Maker::Anthropic),
        reasoning: Reasoning::Proven,
        files: Files::Type("application/pdf"),
        refuses_blanks: true,
        ..Self::ANY
    };
}

/// What a runtime takes, by its name.
pub type IntakeRow = (&'static str, &'static Intake);

/// Returns what a runtime takes.
pub(super) fn of_runtime(runtime: &str) -> &'static Intake {
    let of_clients = clients::ALL.iter().flat_map(|client| client.intake);
    let mut rows = of_clients.chain(messages::INTAKES).chain(bureau::INTAKES);
    rows.find(|(name, _)| *name == runtime).map_or(&Intake::ANY, |(_, intake)| intake)
}
