//! What a tool returned, before it is stored and after it has grown old: cut to limits, spilled where it is too large, archived
//! and summarized when there are too many results.
//!
//! Decisions and texts only: writing a file or an artifact is the caller's.

mod archive;
mod cut;
#[cfg(test)]
mod laws_tests;
mod limits;
mod normalize;
mod range;
mod spill;
mod stored;
mod summary;

pub use archive::{ArchivePlan, ArchivedGroup, counted_results, plan_archive};
pub use cut::head_tail;
pub use limits::{Extent, Keep, OutputLimits};
pub use normalize::{Cut, Normalized, Spill, normalize, text_of, with_text};
pub use range::{RangeRead, RangeReader, TextPlace, TextRange, first_of};
pub use spill::{SpillPlace, noticed_artifact, spill_notice};
pub use stored::{
    HEAD_BYTES_MAX, OUTPUT_BYTES_MAX, OutputPart, StoredOutput, line_artifact, part_line, part_text,
    text_parts,
};
pub use summary::{
    DIGEST_PREFIX, LLM_INPUT_CHARS_MAX, LLM_OUTPUT_CHARS_MAX, ToolResultText, archived_results, digest,
    heuristic_summary, llm_input, summary_message,
};
