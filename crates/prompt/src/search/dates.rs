//! Days as terms: a query that names a month, a day or a year finds entries of that time.
//!
//! They have a prefix of their own, so that they count neither into an entry's length nor for another `8`.

use std::ops::RangeInclusive;

use stemmata_model::Timestamp;

/// What every term of a date begins with.
const PREFIX: char = '@';
/// The months in the stemmed form that a query's word has.
const MONTHS: [&str; 12] = [
    "januari", "februari", "march", "april", "may", "june", "juli", "august", "septemb", "octob", "novemb",
    "decemb",
];
/// The years that a query can mean.
const YEARS: RangeInclusive<u16> = 1900..=2199;

/// Returns the terms of a day in UTC, each once: year, month, day. `@2023`, `@may`, `@8`. There are none for a year that no
/// query can mean: a client that writes seconds for milliseconds says nothing of a day, and in year 8 two terms would be one.
pub fn date_terms(at: Timestamp) -> impl Iterator<Item = String> {
    terms_of(&at.to_string()).into_iter().flatten()
}

fn terms_of(shown: &str) -> Option<[String; 3]> {
    let mut fields = shown.split_once('T')?.0.split('-');
    let year = fields.next()?.parse().ok().filter(|year| YEARS.contains(year))?;
    let month: usize = fields.next()?.parse().ok()?;
    let day: u16 = fields.next()?.parse().ok()?;
    let month = MONTHS.get(month.checked_sub(1)?)?;
    Some([format!("{PREFIX}{year}"), format!("{PREFIX}{month}"), format!("{PREFIX}{day}")])
}

/// Returns the date's term that a query's term may mean.
pub(super) fn date_of(term: &str) -> Option<String> {
    let is_month = MONTHS.contains(&term);
    let is_date = |number: u16| (1..=31).contains(&number) || YEARS.contains(&number);
    let is_number = || term.parse().is_ok_and(is_date) && !term.starts_with(['0', '+']);
    (is_month || is_number()).then(|| format!("{PREFIX}{term}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_day_has_three_terms_and_words_of_a_query_mean_them() {
        let at = Timestamp::parse("2023-07-08T23:59:59Z").expect("a timestamp");
        assert_eq!(date_terms(at).collect::<Vec<_>>(), ["@2023", "@juli", "@8"]);
        for (term, wanted) in [
            ("juli", Some("@juli")),
            ("8", Some("@8")),
            ("2023", Some("@2023")),
            ("08", None),
            ("32", None),
            ("+8", None),
        ] {
            assert_eq!(date_of(term).as_deref(), wanted, "{term}");
        }
    }

    proptest! {
        /// Clients write any number: an entry has each of its terms once, whatever its time is.
        #[test]
        fn any_moment_has_each_term_once(
            micros in prop_oneof![
                any::<i64>(),
                (1_i64..32).prop_map(|year| (year - 1970) * 31_556_952_000_000),
                0..8_000_000_000_000_000_i64,
            ]
        ) {
            let mut terms: Vec<String> = date_terms(Timestamp::from_micros(micros)).collect();
            prop_assert!(terms.is_empty() || terms.len() == 3 && terms.iter().all(|term| term.len() > 1), "{:?}", terms);
            terms.sort_unstable();
            prop_assert!(terms.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", terms);
        }
    }
}
