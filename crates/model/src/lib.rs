//! The vocabulary of Stemmata: what every other crate talks about.
//!
//! Pure types and canonical encodings. Nothing here reads a file, a clock, the environment or a source
//! of randomness, and nothing knows a runtime's transcript format.

mod base32;
mod canonical;
mod commit;
mod entry;
mod event;
mod export;
mod group;
mod ids;
mod json;
mod links;
mod loose;
mod losses;
mod maker;
mod names;
mod note;
mod plural;
mod quantity;
pub mod quote;
mod sighting;
mod text;
mod time;
mod tokens;
pub mod topics;
mod work;

pub use canonical::{CanonicalEncoder, artifact_id};
pub use commit::{
    Closure, Commit, CommitCore, CommitType, Counts, Granularity, Link, LinkKind, ParseGranularityError,
};
pub use entry::{Body, Entry, EntryKind, EntryMeta, ImageSource, NativeSpan, Part, Role, Usage, Visibility};
pub use event::{
    Durability, Event, EventSeq, Gone, NewEvent, NewPayload, ParseSeqError, Payload, may_replay,
};
pub use export::ExportForm;
pub use group::{ToolGroup, Turn, group_tools, turns};
pub use ids::{
    ArtifactId, ArtifactPrefix, CommitId, CommitPrefix, IdKind, PREFIX_CHARS_MIN, ParseIdError, RulesHash,
    SHORT_CHARS_MIN, shortest_unique,
};
pub use json::{Json, JsonError};
pub use links::Links;
pub use loose::{REPLACED, json_text, lone_surrogates};
pub use losses::{LOSSES_MAX, Loss, LossAction, Losses};
pub use maker::Maker;
pub use names::{
    EntryId, FormatId, JobKind, LedgerId, MachineId, NAME_BYTES_MAX, NEWEST_WORDS, NameError, Party,
    PointerKey, Principal, SessionId, Template, ThreadId, TicketId, TokenId, Topic, check_tag,
};
pub use note::{Note, NoteCode};
pub use plural::{listed, noun_of, plural};
pub use quantity::{Bytes, Chars, Tokens, to_u64};
pub use sighting::{Reason, Reasons, Sighting, Source, SummarySource, Trigger};
pub use text::text_form;
pub use time::{ParseTimestampError, Timestamp};
pub use tokens::{
    BaseCounter, CounterSpec, Estimate, FACTOR_PERMILLE, FactorFrom, IMAGE_TOKENS, Margin, ParseCounterError,
    TokenCounter,
};
pub use work::{
    WORK_FILES_MAX, WORK_TASKS_MAX, WORK_TEXT_BYTES_MAX, WorkMetrics, WorkState, WorkStateError, WorkTask,
    is_path_below,
};
