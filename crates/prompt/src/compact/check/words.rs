//! Numbers in words, in English and in German: `ninety-nine`, `eight thousand`, `a dozen`, `neunundneunzig`.

const UNITS: [&[&str]; 20] = [
    &["zero", "null"],
    &["one", "eins", "ein", "eine"],
    &["two", "zwei"],
    &["three", "drei"],
    &["four", "vier"],
    &["five", "fünf"],
    &["six", "sechs"],
    &["seven", "sieben"],
    &["eight", "acht"],
    &["nine", "neun"],
    &["ten", "zehn"],
    &["eleven", "elf"],
    &["twelve", "zwölf", "dozen", "dutzend"],
    &["thirteen", "dreizehn"],
    &["fourteen", "vierzehn"],
    &["fifteen", "fünfzehn"],
    &["sixteen", "sechzehn"],
    &["seventeen", "siebzehn"],
    &["eighteen", "achtzehn"],
    &["nineteen", "neunzehn"],
];
/// From twenty on.
const TENS: [&[&str]; 8] = [
    &["twenty", "zwanzig"],
    &["thirty", "dreißig"],
    &["forty", "vierzig"],
    &["fifty", "fünfzig"],
    &["sixty", "sechzig"],
    &["seventy", "siebzig"],
    &["eighty", "achtzig"],
    &["ninety", "neunzig"],
];
const SCALES: [(&[&str], u64); 3] = [
    (&["hundred", "hundert"], 100),
    (&["thousand", "tausend"], 1_000),
    (&["million", "millionen"], 1_000_000),
];
/// Bytes of a word that is a number.
const WORD_BYTES_MAX: usize = 40;

/// Reports the numbers that a text has in words: words in a row are one number.
pub(super) fn each_in_words(text: &str, found: &mut dyn FnMut(u64)) {
    let (mut sum, mut part, mut is_open) = (0_u64, 0_u64, false);
    for word in text.split(|char: char| char.is_whitespace() || matches!(char, '-' | '–' | '/')) {
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric());
        let lower = if bare.len() <= WORD_BYTES_MAX { bare.to_lowercase() } else { String::new() };
        let scale = scale(&lower).filter(|_| is_open || part > 0);
        if let Some(scale) = scale {
            part = part.max(1).saturating_mul(scale);
            if scale > 100 {
                (sum, part) = (sum.saturating_add(part), 0);
            }
        } else if let Some(value) = value(&lower) {
            // `five six` are two numbers, `sixty-six` and `hundred six` are one.
            let fits = !is_open
                || part.checked_rem(100) == Some(0)
                || part % 100 >= 20 && part % 10 == 0 && value < 10;
            if !fits {
                found(sum.saturating_add(part));
            }
            if !fits || !is_open {
                (sum, part) = (0, 0);
            }
            part = part.saturating_add(value);
        } else if !(is_open && lower == "and") {
            if is_open {
                found(sum.saturating_add(part));
            }
            // `a hundred`
            (sum, part, is_open) = (0, u64::from(matches!(lower.as_str(), "a" | "an")), false);
            continue;
        }
        is_open = true;
        if word.ends_with([',', '.', ';', ':', ')']) {
            found(sum.saturating_add(part));
            (sum, part, is_open) = (0, 0, false);
        }
    }
    if is_open {
        found(sum.saturating_add(part));
    }
}

fn place(words: &[&[&str]], word: &str) -> Option<u64> {
    words.iter().position(|known| known.contains(&word)).and_then(|at| u64::try_from(at).ok())
}

fn scale(word: &str) -> Option<u64> {
    SCALES.iter().find(|(known, _)| known.contains(&word)).map(|(_, scale)| *scale)
}

/// Returns the value of one word; German writes any number as one.
fn value(word: &str) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    if let Some(value) = place(&UNITS, word).or_else(|| Some(20 + 10 * place(&TENS, word)?)) {
        return Some(value);
    }
    let within = |part: &str| if part.is_empty() { Some(0) } else { value(part) };
    for (mark, scale) in [("tausend", 1_000), ("hundert", 100)] {
        if let Some((before, behind)) = word.split_once(mark) {
            let before = if before.is_empty() { 1 } else { value(before)? };
            return Some(before * scale + within(behind)?);
        }
    }
    let (unit, ten) = word.split_once("und")?;
    Some(place(&UNITS, unit).filter(|unit| *unit < 10)? + 20 + 10 * place(&TENS, ten)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words_are_read() {
        let of = |text: &str| {
            let mut found = Vec::new();
            each_in_words(text, &mut |value| found.push(value));
            found
        };
        for (text, values) in [
            ("Ninety-nine tests", vec![99]),
            ("eight thousand", vec![8_000]),
            ("two hundred and six of them", vec![206]),
            ("a dozen, a hundred", vec![12, 100]),
            ("one of two, five six", vec![1, 2, 5, 6]),
            ("neunundneunzig und achttausend", vec![99, 8_000]),
            ("hundertzwölf Tests", vec![112]),
            ("and a hand, thousands of hundreds", vec![]),
            ("three thousand two hundred", vec![3_200]),
        ] {
            assert_eq!(of(text), values, "{text}");
        }
    }
}
