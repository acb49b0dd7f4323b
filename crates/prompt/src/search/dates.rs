//! Days as terms: a query that names a month, a day or a year finds entries of that time.
//!
//! They have a prefix of their own, so that they count neither into an entry's length nor for another `8`.

use stemmata_model::Timestamp;

/// What every term of a date begins with.
const PREFIX: char = '@';
/// The months in the stemmed form that a query's word has.
const MONTHS: [&str; 12] = [
    "januari", "februari", "march", "april", "may", "june", "juli", "august", "septemb", "octob", "novemb",
    "decemb",
];

/// Returns the terms of a day in UTC: year, month, day. `@2023`, `@may`, `@8`.
pub fn date_terms(at: Timestamp) -> [String; 3] {
    // A shown timestamp is `-0044-03-15T…` at the worst: the year is what stands before the last two dashes.
    let shown = at.to_string();
    let mut fields = shown.split('T').next().unwrap_or_default().rsplitn(3, '-');
    let number = |field: Option<&str>| field.and_then(|field| field.parse::<i32>().ok()).unwrap_or_default();
    let (day, month, year) = (number(fields.next()), number(fields.next()), number(fields.next()));
    let month = usize::try_from(month - 1).ok().and_then(|at| MONTHS.get(at)).copied().unwrap_or_default();
    [format!("{PREFIX}{year}"), format!("{PREFIX}{month}"), format!("{PREFIX}{day}")]
}

/// Returns the date's term that a query's term may mean.
pub(super) fn date_of(term: &str) -> Option<String> {
    let is_month = MONTHS.contains(&term);
    let is_number =
        || matches!(term.parse::<u16>(), Ok(1..=31 | 1900..=2199)) && !term.starts_with(['0', '+']);
    (is_month || is_number()).then(|| format!("{PREFIX}{term}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_three_terms_and_words_of_a_query_mean_them() {
        let at = Timestamp::parse("2023-07-08T23:59:59Z").expect("a timestamp");
        assert_eq!(date_terms(at), ["@2023", "@juli", "@8"]);
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
}
