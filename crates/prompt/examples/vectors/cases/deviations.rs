//! Cases in which this crate answers otherwise than the implementations of the seeds, and why.

/// Returns why a case may be answered otherwise.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    let listed = DEVIATIONS.iter().chain(DEVIATIONS_002).chain(DEVIATIONS_003);
    listed.into_iter().find(|(listed, _)| *listed == name).map(|(_, reason)| *reason)
}

/// Of seed 000: name of the case, and the reason. A case that is listed and holds fails too, so that the table stays true.
pub(crate) const DEVIATIONS: &[(&str, &str)] = &[
    ("sourceSelection/amount0_latest_returns_all_bug", NONE),
    ("sourceSelection/amount0_oldest", NONE),
    ("estimateTokensFromChars/-1", A_COUNT),
    ("estimateTokensFromChars/NaN", A_COUNT),
    (
        "stateSnapshot/s4",
        "a message that changes nothing of the state publishes nothing; the source compares its time too",
    ),
];

const NONE: &str = "an amount of 0 is none, with every strategy and in either form; the source returned everything, or one message";
const A_COUNT: &str = "characters are counted in a type that is never negative and always a number";

/// Of seed 002, whose fragments were run as they are written.
pub(crate) const DEVIATIONS_002: &[(&str, &str)] = &[
    (
        "select/2",
        "an item that does not fit is passed over and the next one is tried; the source stops there",
    ),
    (
        "monitor/1",
        "an alert is sent for a crossing upward, and again after the ratio has fallen 5 points below its threshold; the \
         source sends lower levels while the ratio falls, and each level once for ever",
    ),
    ("checkpoint_triggers/2", "no completed task is not a milestone"),
];

/// Of seed 003's implementation.
pub(crate) const DEVIATIONS_003: &[(&str, &str)] = &[
    ("aliasing_after_call_original_slice_mutated", "a plan changes nothing of the list that it is made of"),
    (
        "estimateMessageTokens/utf8_bytes_not_runes",
        "characters are counted, not bytes, and a token is four of them",
    ),
    (
        "estimateMessageTokens/toolcall_html_escaped_args",
        "arguments are counted as they are sent, not escaped for HTML",
    ),
    ("projectMessagesForSummary/1", MARKER),
    ("shouldCompact/system_prompt", "the system prompt is counted, too"),
    ("trimTextWithTail/0", MARKER),
    ("trimTextWithTail/2", MARKER),
    ("trimTextWithTail/3", MARKER),
    ("trimTextWithTail/4", MARKER),
    ("trimTextWithTail/5", "no characters are none; limits of 0 are handled where limits are read"),
    ("contextLengthErrors/input is too long", MISSED),
    ("contextLengthErrors/context_length_exceeded", MISSED),
    ("contextLengthErrors/request too large", MISSED),
    ("fallbackToolSummary/3", MARKER),
    ("maybeSummarizeToolResults/2", "neighbouring results are summarized together"),
    (
        "maybeSummarizeToolResults/6",
        "an unknown strategy is an error that names those there are; the source asks a model",
    ),
    ("truncateToolContent/lines10_limit5_headtail", NOTICE),
    ("truncateToolContent/lines10_limit4_headtail", NOTICE),
    ("truncateToolContent/lines10_limit3_headtail_falls_to_head", NOTICE),
    ("truncateToolContent/lines10_limit5_head", NOTICE),
    ("truncateToolContent/lines10_limit5_emptymode_default_headtail", NOTICE),
    ("truncateToolContent/trailing_newline_counts_as_line", NOTICE),
    ("truncateToolContent/chars_limit_unicode", NOTICE),
    ("truncateToolContent/bytes_limit_mid_rune", NOTICE),
    ("truncateToolContent/bytes_limit_ascii", NOTICE),
    ("truncateToolContent/combined_lines_then_bytes", NOTICE),
    ("truncateToolContent/combined_lines_then_chars_then_bytes", NOTICE),
    ("truncateToolContent/default_60KB_single_line", NOTICE),
    ("truncateToolContent/default_2500_lines", NOTICE),
    ("truncateToolContent/spill_over_threshold", SPILL),
    ("truncateToolContent/default_205000_chars_spills", SPILL),
    (
        "truncateToolContent/invalid_utf8_bytes_limit",
        "bytes that are not UTF-8 are replaced; the source drops all behind the first",
    ),
];

const MARKER: &str =
    "a limit holds for the text with its marker; the source adds the marker to a text of that length";
const MISSED: &str = "the table of phrasings has those that the source misses";
const NOTICE: &str = "the result is within its limits with marker and notice, and keeps its end also where one line is cut; the source \
                      adds both to a text that has all that the limits allow";
const SPILL: &str = "the notice has an artifact, sizes and the first and last lines, and the file is named by its content; the source \
                     names the file by the time";
