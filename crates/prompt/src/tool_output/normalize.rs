//! An output of a tool within limits, for success and error alike. The limits hold for all of the result, its marker and its
//! notice included.

use std::borrow::Cow;

use stemmata_model::Part;

use super::cut::cut_to;
use super::limits::{Extent, OutputLimits, Room};

/// What was left out of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// What is shown of the output.
    pub shown: Extent,
    /// What there was.
    pub whole: Extent,
    /// Whether the text says so itself. Limits can be too small for a notice.
    pub is_noticed: bool,
}

/// The output is too large to be shown: all of it is to be stored, and `spill_notice` made in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spill {
    /// What there is.
    pub whole: Extent,
}

/// What becomes of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Normalized<'a> {
    /// The text to store in place of the output. Of a spilled one it is all of it.
    pub text: Cow<'a, str>,
    /// What was cut.
    pub cut: Option<Cut>,
    /// Whether all of it has to be stored apart.
    pub spill: Option<Spill>,
    /// Whether bytes were no UTF-8 and are replaced by U+FFFD.
    pub was_invalid: bool,
}

/// Decides what becomes of an output. Bytes that are no UTF-8 are replaced; nothing behind them is lost.
pub fn normalize<'a>(output: &'a [u8], limits: &OutputLimits) -> Normalized<'a> {
    let text = String::from_utf8_lossy(output);
    let was_invalid = matches!(text, Cow::Owned(_)) && std::str::from_utf8(output).is_err();
    let whole = Extent::of(&text);
    if limits.spill_chars > 0 && whole.chars > limits.spill_chars {
        return Normalized { text, cut: None, spill: Some(Spill { whole }), was_invalid };
    }
    if whole.fits(limits) {
        return Normalized { text, cut: None, spill: None, was_invalid };
    }
    let room = Room::of(limits);
    // With as many digits as it can have.
    let longest = notice(whole, whole);
    let beside = room.beside(&longest);
    let body = cut_to(&text, beside.unwrap_or(room), limits.keep);
    let is_noticed = beside.is_some();
    let shown = body.shown;
    let text = if is_noticed { format!("{}\n{}", body.text, notice(shown, whole)) } else { body.text };
    Normalized { text: text.into(), cut: Some(Cut { shown, whole, is_noticed }), spill: None, was_invalid }
}

fn notice(shown: Extent, whole: Extent) -> String {
    format!(
        "[tool output truncated: lines {}/{}, bytes {}/{}, chars {}/{}]",
        shown.lines, whole.lines, shown.bytes, whole.bytes, shown.chars, whole.chars
    )
}

/// Returns the text of an output's parts, one after the other.
pub fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(Part::as_text);
    texts.collect::<Vec<&str>>().join("\n")
}

/// Returns an output's parts with another text: it stands where the first text was, or before everything. Images and whatever
/// else there was stay.
pub fn with_text(parts: &[Part], text: &str) -> Vec<Part> {
    let is_text = |part: &Part| matches!(part, Part::Text(_));
    let mut rest = Vec::with_capacity(parts.len() + 1);
    let at = parts.iter().position(is_text).unwrap_or(0);
    rest.extend(parts.iter().take(at).cloned());
    rest.push(Part::Text(text.to_owned()));
    rest.extend(parts.iter().skip(at).filter(|part| !is_text(part)).cloned());
    rest
}
