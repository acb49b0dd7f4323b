//! The laws of tool output: within limits for any input and any limits, and nothing lost in silence.

use proptest::prelude::*;
use stemmata_model::{ImageSource, Part};

use super::*;

fn limit() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(0), 4 => 1..8_usize, 4 => 8..400_usize, 1 => Just(usize::MAX)]
}

prop_compose! {
    fn limits()(lines_max in limit(), bytes_max in limit(), chars_max in limit(), spill in limit(), is_head: bool) -> OutputLimits {
        let keep = if is_head { Keep::Head } else { Keep::HeadTail };
        OutputLimits { lines_max, bytes_max, chars_max, spill_chars: spill, keep }
    }
}

fn outputs() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..600),
        "[a-zé日😀\\n\\r]{0,400}".prop_map(String::into_bytes),
        "([a-z]{0,5}\\n){0,120}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn any_output_is_within_any_limits_with_its_marker_and_notice(output in outputs(), limits in limits()) {
        let normalized = normalize(&output, &limits);
        let text = String::from_utf8_lossy(&output);
        let whole = Extent::of(&text);
        match (normalized.cut, normalized.spill) {
            (None, None) => {
                prop_assert_eq!(&normalized.text, &text);
                prop_assert!(whole.fits(&limits));
            }
            (Some(cut), None) => {
                prop_assert!(Extent::of(&normalized.text).fits(&limits), "{:?}", normalized);
                prop_assert!(!whole.fits(&limits));
                prop_assert_eq!(cut.whole, whole);
                prop_assert!(cut.shown.chars <= whole.chars && cut.shown.bytes <= whole.bytes && cut.shown.lines <= whole.lines);
                prop_assert!(cut.shown.chars < whole.chars);
                prop_assert_eq!(cut.is_noticed, normalized.text.contains("[tool output truncated: lines "));
            }
            (None, Some(spill)) => {
                prop_assert_eq!(spill.whole, whole);
                prop_assert!(limits.spill_chars > 0 && whole.chars > limits.spill_chars);
                prop_assert_eq!(&normalized.text, &text);
            }
            (Some(_), Some(_)) => prop_assert!(false, "cut and spilled"),
        }
        prop_assert_eq!(normalized.was_invalid, std::str::from_utf8(&output).is_err());
        // What was made is not made anew.
        if normalized.spill.is_none() {
            let again = normalize(normalized.text.as_bytes(), &OutputLimits { spill_chars: 0, ..limits });
            prop_assert_eq!(again.cut, None);
        }
    }

    #[test]
    fn a_notice_of_a_spill_is_within_any_limits(output in "[a-zé\\n]{0,400}", limits in limits(), has_path: bool) {
        let place = SpillPlace {
            path: has_path.then_some("/tmp/ai_tool_outputs/0123.txt"),
            artifact: "art-0123456789abcdef",
            sha256: "0123456789abcdef",
        };
        let notice = spill_notice(place, &output, &limits);
        prop_assert!(Extent::of(&notice).fits(&limits), "{notice:?}");
        let unlimited = OutputLimits { lines_max: 0, bytes_max: 0, chars_max: 0, ..limits };
        let notice = spill_notice(place, &output, &unlimited);
        prop_assert!(notice.contains(place.artifact) && notice.contains(place.sha256));
        prop_assert!(place.path.is_none_or(|path| notice.contains(path)));
    }

    #[test]
    fn a_text_with_head_and_tail_has_at_most_so_many_characters(text in ".{0,200}", chars_max in 0..220_usize) {
        let cut = head_tail(&text, chars_max);
        prop_assert!(cut.chars().count() <= chars_max);
        prop_assert!(cut == text || text.chars().count() > chars_max);
    }
}

#[test]
fn a_notice_says_what_was_cut_and_the_end_is_kept() {
    let lines: Vec<String> = (1..=2_500).map(|line| format!("line {line}")).collect();
    let output = lines.join("\n");
    let normalized = normalize(output.as_bytes(), &OutputLimits::default());
    assert!(normalized.text.starts_with("line 1\nline 2\n"));
    let end = "line 2500\n[tool output truncated: lines 1998/2500, bytes 18871/23892, chars 18871/23892]";
    assert!(normalized.text.ends_with(end), "{}", &normalized.text[normalized.text.len() - 200..]);
    assert!(normalized.text.contains("\nline 999\n... [truncated 502 lines] ...\nline 1502\n"));
    assert_eq!(Extent::of(&normalized.text).lines, 2_000);
}

#[test]
fn one_long_line_keeps_its_end() {
    let output = format!("{}the end", "y".repeat(60 * 1_024));
    let normalized = normalize(output.as_bytes(), &OutputLimits::default());
    assert!(
        normalized.text.contains("... [truncated ")
            && normalized.text.contains("the end\n[tool output truncated")
    );
    assert_eq!(normalized.text.len(), 50 * 1_024);
}

#[test]
fn bytes_that_are_no_utf_8_are_replaced_and_what_follows_them_stays() {
    let normalized = normalize(b"ab\xffcdefgh", &OutputLimits::default());
    assert_eq!((&*normalized.text, normalized.was_invalid), ("ab\u{fffd}cdefgh", true));
    let limits = OutputLimits { bytes_max: 6, ..OutputLimits::default() };
    assert_eq!(normalize(b"ab\xffcdefgh", &limits).text, "ab\u{fffd}c");
}

#[test]
fn images_survive() {
    let image =
        Part::Image { media_type: "image/png".to_owned(), source: ImageSource::Base64("aa".to_owned()) };
    let text = |text: &str| Part::Text(text.to_owned());
    let parts = [image.clone(), text("a"), image.clone(), text("b")];
    assert_eq!(text_of(&parts), "a\nb");
    assert_eq!(with_text(&parts, "c"), [image.clone(), text("c"), image.clone()]);
    assert_eq!(with_text(std::slice::from_ref(&image), "c"), [text("c"), image]);
}

#[test]
fn a_spilled_output_shows_how_it_begins_and_ends() {
    let output: Vec<String> = (0..9_999).map(|line| format!("row {line}")).collect();
    let place = SpillPlace { path: Some("/t/x.txt"), artifact: "art-1", sha256: "ab" };
    let notice = spill_notice(place, &output.join("\n"), &OutputLimits::default());
    assert!(
        notice.starts_with(
            "[tool output too large: 88880 chars, 88880 bytes, 9999 lines]\nSaved to: /t/x.txt\n"
        )
    );
    assert!(notice.contains("Reference: art-1\nSHA256: ab\nrow 0\n") && notice.ends_with("\nrow 9998"));
}
