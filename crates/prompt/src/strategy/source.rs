//! A strategy and its sources as types, with the defaults of seed 000.
//!
//! Not their text form, which `parse` reads.

use stemmata_model::{Party, Tokens, Topic, topics};

use super::document::Position;
use super::since::Since;

/// Tokens of a prompt where a strategy says nothing: seed 000's default.
pub const MAX_TOKENS_DEFAULT: Tokens = Tokens(100_000);

/// The greatest budget that a strategy may ask for: fifty times the largest window known.
pub const MAX_TOKENS_MAX: u64 = 100_000_000;

/// Sources of one strategy at most. Each costs two reads of the ledger.
pub const SOURCES_MAX: usize = 64;

/// Messages that one source may ask for, and that a source without an amount returns at most: the rest would not pass
/// the guard of 500,000 characters anyway, and a ledger may hold millions.
pub const AMOUNT_MAX: u32 = 4_096;

/// Hits that a `retriever` source takes where it has no amount.
pub const RETRIEVED_DEFAULT: u32 = 8;

/// Which sources enter a prompt, in the order in which they stand there, and how many tokens it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strategy {
    /// The sources, in the order of their sections in the prompt.
    pub sources: Vec<Source>,
    /// Tokens that a prompt may have, by the counter in use. From 1 to [`MAX_TOKENS_MAX`].
    pub max_tokens: Tokens,
}

/// A rule that selects messages for one section of a prompt. Absent fields have defaults: the methods apply them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What it selects from.
    pub topic: SourceTopic,
    /// Only messages of this sender.
    pub sender: Option<Party>,
    /// Only messages from then on.
    pub since: Option<Since>,
    /// Which end it takes messages from.
    pub strategy: Option<Selection>,
    /// How many messages, from 0 to [`AMOUNT_MAX`].
    pub amount: Option<u32>,
    /// How much the section matters.
    pub priority: Option<Priority>,
    /// How many messages the compact form has, from 1 to [`AMOUNT_MAX`].
    pub compact_amount: Option<u32>,
    /// Which end the compact form takes messages from.
    pub compact_strategy: Option<Selection>,
    /// What the section may take of the budget before unused budget is lent.
    pub cap: Option<Share>,
    /// What is kept free for the section until it had its turn.
    pub floor: Option<Share>,
    /// Where the source stands in its file; the start of the file for one that was made by a program.
    pub at: Position,
}

/// What a source selects from. The special names win over a ledger topic of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceTopic {
    /// A topic of the ledger.
    Ledger(Topic),
    /// `state`: what is known of the project or the cluster.
    State,
    /// `retriever`: what fits the task, from everywhere.
    Retriever,
    /// `turns`: what user, assistant and tools said last.
    Turns,
}

/// Which end of the matching messages a source takes. All are rendered in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Selection {
    /// The last ones.
    Latest,
    /// The first ones.
    Oldest,
    /// All; with an amount the first ones.
    All,
}

/// A selection with its amount: what one form of a source takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Which end.
    pub selection: Selection,
    /// How many; without a number all, within [`AMOUNT_MAX`].
    pub amount: Option<u32>,
}

/// How much a section matters, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Priority {
    /// Is in every prompt, whatever it costs.
    Required,
    /// Is chosen first.
    High,
    /// Is chosen next.
    Medium,
    /// Is chosen last.
    Low,
}

/// A part of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// So many tokens.
    Tokens(Tokens),
    /// Hundredths of `maxTokens`, from 0 to 100.
    Percent(u8),
}

/// What a section is, which decides its default cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SectionKind {
    /// Texts that come from the profile and the caller: header, instructions, output schema, guidance, skip hints.
    Fixed,
    /// Messages of one topic.
    Topic,
    /// Recent turns.
    Turns,
    /// What is known of the project.
    State,
    /// What was retrieved.
    Retrieved,
    /// The message that began the turn.
    Trigger,
}

impl SectionKind {
    /// Returns the default cap, in hundredths of the budget. Topics have the whole budget, so that a strategy of seed 000
    /// selects as it does there. What seed 004 adds is bounded: each of these could fill any window.
    pub const fn cap_percent(self) -> u8 {
        match self {
            Self::Fixed | Self::Topic | Self::Trigger => 100,
            Self::Turns => 60,
            Self::State | Self::Retrieved => 30,
        }
    }

    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Priority {
    /// All of them, the most important first.
    pub const ALL: [Self; 4] = [Self::Required, Self::High, Self::Medium, Self::Low];

    /// Returns the name used in strategies and JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns what a topic has where a source names no priority.
    pub fn default_of(topic: &SourceTopic) -> Self {
        match topic.as_str() {
            topics::STATE_SNAPSHOT | topics::ISSUE_OPENED | topics::PLAN_READY => Self::Required,
            topics::VALIDATION_RESULT | topics::IMPLEMENTATION_READY => Self::High,
            _ => Self::Medium,
        }
    }
}

impl Selection {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Latest, Self::Oldest, Self::All];

    /// Returns the name used in strategies and JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Share {
    /// Returns the tokens of a budget that it stands for; a percentage is rounded down.
    pub fn of(self, budget: Tokens) -> Tokens {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Percent(percent) => {
                let tokens = u128::from(budget.0) * u128::from(percent) / 100;
                Tokens(u64::try_from(tokens).unwrap_or(u64::MAX))
            }
        }
    }
}

impl SourceTopic {
    /// The names that are no ledger topics.
    pub const SPECIAL: [&'static str; 3] = ["state", "retriever", "turns"];

    /// Returns the name used in strategies.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Ledger(topic) => topic.as_str(),
            Self::State => "state",
            Self::Retriever => "retriever",
            Self::Turns => "turns",
        }
    }

    /// Returns what kind of section it makes.
    pub const fn kind(&self) -> SectionKind {
        match self {
            Self::Ledger(_) => SectionKind::Topic,
            Self::State => SectionKind::State,
            Self::Retriever => SectionKind::Retrieved,
            Self::Turns => SectionKind::Turns,
        }
    }
}

impl Source {
    /// Makes a source of a topic that has nothing but defaults.
    pub const fn of(topic: SourceTopic) -> Self {
        Self {
            topic,
            sender: None,
            since: None,
            strategy: None,
            amount: None,
            priority: None,
            compact_amount: None,
            compact_strategy: None,
            cap: None,
            floor: None,
            at: Position::START,
        }
    }

    /// Returns what the full form takes: the latest ones where an amount is set, else all.
    pub fn full(&self) -> Window {
        let default = if self.amount.is_some() { Selection::Latest } else { Selection::All };
        Window { selection: self.strategy.unwrap_or(default), amount: self.amount }
    }

    /// Returns what the compact form takes: one message, from the end that the full form is about.
    pub fn compact(&self) -> Window {
        let base = self.full().selection;
        let default = if base == Selection::All { Selection::Latest } else { base };
        let selection = self.compact_strategy.unwrap_or(default);
        Window { selection, amount: Some(self.compact_amount.unwrap_or(1)) }
    }

    /// Returns the priority, by its topic where it names none.
    pub fn priority(&self) -> Priority {
        self.priority.unwrap_or_else(|| Priority::default_of(&self.topic))
    }

    /// Returns the tokens that the section may take before unused budget is lent.
    pub fn cap(&self, budget: Tokens) -> Tokens {
        self.cap.unwrap_or_else(|| Share::Percent(self.topic.kind().cap_percent())).of(budget)
    }

    /// Returns the tokens that are kept free for the section.
    pub fn floor(&self, budget: Tokens) -> Tokens {
        self.floor.map_or(Tokens(0), |share| share.of(budget))
    }
}
