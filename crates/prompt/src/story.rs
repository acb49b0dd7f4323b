//! What happened in a conversation, told by turns: what people asked for, what was called for it, and what came of it.
//!
//! Pure folds over decoded entries. What a call does is `stemmata_acts`'s to know; which entries are still part of a
//! conversation is the engine's.

mod change;
mod effort;
mod outline;
mod prompt;
mod session;
mod turn;

pub use change::{ChangeForm, change_text, committed_last};
pub use effort::{Effort, EffortFold, EffortKey, SLOT_MICROS};
pub use outline::{FileLines, IDLE_MICROS, Prompt, TurnOutcome, TurnOutline, changed_files, outlines};
pub use prompt::{Frame, is_main, prompt_text, sidechain_of};
pub use session::{SessionFold, SessionStory, SessionTurn};
pub use turn::{Told, TurnCall, TurnPiece, pieces};
