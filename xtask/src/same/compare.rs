//! The comparison of two records: what differs, and how much was compared.
//! Not why: an answer is only its digest here.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{Asked, Outcome, Record};

/// Subjects whose differences are printed one by one. After that many, more lines tell nothing new.
const SUBJECTS_SHOWN_MAX: usize = 40;

/// What came of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    /// By kind.
    pub(super) counts: BTreeMap<String, Counts>,
    pub(super) differences: Vec<Difference>,
}

/// How many answers of a kind there are on either side, and how many of them differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) compared: usize,
    pub(super) different: usize,
}

/// An answer that is not the same; one side is none where only the other build was asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) asked: Asked,
    pub(super) before: Option<Outcome>,
    pub(super) after: Option<Outcome>,
}

/// Compares the answers of two builds.
///
/// # Errors
/// Where they were not asked the same of the same transcripts.
pub(super) fn compare(before: &Record, after: &Record) -> anyhow::Result<Comparison> {
    before.header.check(&after.header.recipe, &after.header.corpus)?;
    anyhow::ensure!(before.header.sample == after.header.sample, "the sessions that were asked about differ");
    let mut comparison = Comparison { counts: BTreeMap::new(), differences: Vec::new() };
    let all: BTreeSet<&Asked> = before.answers.keys().chain(after.answers.keys()).collect();
    for asked in all {
        let (old, new) = (before.answers.get(asked), after.answers.get(asked));
        let counts = comparison.counts.entry(asked.kind.clone()).or_default();
        counts.compared += 1;
        if old != new {
            counts.different += 1;
            let difference = Difference { asked: asked.clone(), before: old.cloned(), after: new.cloned() };
            comparison.differences.push(difference);
        }
    }
    Ok(comparison)
}

impl Comparison {
    /// Returns the differences by subject, and below them the counts by kind.
    pub(super) fn render(&self) -> String {
        let mut lines = Vec::new();
        let mut subjects: BTreeMap<&str, Vec<&Difference>> = BTreeMap::new();
        for difference in &self.differences {
            subjects.entry(&difference.asked.subject).or_default().push(difference);
        }
        for (subject, differences) in subjects.iter().take(SUBJECTS_SHOWN_MAX) {
            lines.push(format!("different: {subject}"));
            lines.extend(differences.iter().map(|difference| difference.line()));
        }
        if let Some(more) = subjects.len().checked_sub(SUBJECTS_SHOWN_MAX).filter(|more| *more > 0) {
            lines.push(format!("different: {more} more sessions and projects"));
        }
        for (kind, Counts { compared, different }) in &self.counts {
            let verdict = if *different == 0 { "the same".to_owned() } else { format!("{different} differ") };
            lines.push(format!("{kind:<12} {compared:>6} compared, {verdict}"));
        }
        lines.join("\n")
    }
}

impl Difference {
    fn line(&self) -> String {
        let side =
            |outcome: &Option<Outcome>| outcome.as_ref().map_or("not asked".to_owned(), Outcome::to_string);
        let Asked { kind, name, .. } = &self.asked;
        format!("  {kind}/{name}: {} -> {}", side(&self.before), side(&self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Header, Sample};
    use super::*;

    fn outcome(digest: &str) -> Outcome {
        Outcome { exit: "0".to_owned(), bytes: 5, digest: digest.to_owned() }
    }

    fn record(answers: &[(&str, &str, &str)]) -> Record {
        let header = Header { recipe: "r".to_owned(), corpus: "c".to_owned(), sample: None };
        let answer =
            |(subject, kind, digest): &(&str, &str, &str)| (Asked::new(subject, kind, "x"), outcome(digest));
        Record { header, answers: answers.iter().map(answer).collect() }
    }

    #[test]
    fn equal_answers_are_counted_by_kind() {
        let one = record(&[("a", "ids", "1"), ("b", "ids", "2"), ("a", "native", "3")]);
        let comparison = compare(&one, &one).unwrap();
        assert_eq!(comparison.differences, []);
        let counts = |compared| Counts { compared, different: 0 };
        assert_eq!(
            comparison.counts,
            BTreeMap::from([("ids".to_owned(), counts(2)), ("native".to_owned(), counts(1))])
        );
        let lines = ["ids               2 compared, the same", "native            1 compared, the same"];
        assert_eq!(comparison.render(), lines.join("\n"));
    }

    #[test]
    fn what_changed_and_what_only_one_side_has_is_different() {
        let before = record(&[("a", "ids", "1"), ("a", "native", "3"), ("b", "ids", "2")]);
        let after = record(&[("a", "ids", "1"), ("a", "native", "4"), ("c", "ids", "2")]);
        let comparison = compare(&before, &after).unwrap();
        let expected = [
            "different: a",
            "  native/x: exit 0, 5 bytes, 3 -> exit 0, 5 bytes, 4",
            "different: b",
            "  ids/x: exit 0, 5 bytes, 2 -> not asked",
            "different: c",
            "  ids/x: not asked -> exit 0, 5 bytes, 2",
            "ids               3 compared, 2 differ",
            "native            1 compared, 1 differ",
        ];
        assert_eq!(comparison.render(), expected.join("\n"));
    }

    #[test]
    fn an_exit_code_is_part_of_the_answer() {
        let before = record(&[("a", "ids", "1")]);
        let mut after = before.clone();
        for outcome in after.answers.values_mut() {
            outcome.exit = "5".to_owned();
        }
        assert_eq!(compare(&before, &after).unwrap().differences.len(), 1);
    }

    #[test]
    fn answers_to_other_questions_are_not_compared() {
        let one = record(&[("a", "ids", "1")]);
        let changes: [fn(&mut Header); 3] = [
            |header| header.recipe = "other".to_owned(),
            |header| header.corpus = "other".to_owned(),
            |header| header.sample = Some(Sample { sessions: 1, seed: 0 }),
        ];
        for change in changes {
            let mut other = one.clone();
            change(&mut other.header);
            assert!(compare(&one, &other).is_err());
        }
    }

    #[test]
    fn no_more_subjects_are_printed_than_a_person_reads() {
        let names: Vec<String> = (0..SUBJECTS_SHOWN_MAX + 2).map(|number| format!("{number:03}")).collect();
        let all =
            |digest| record(&names.iter().map(|name| (name.as_str(), "ids", digest)).collect::<Vec<_>>());
        let rendered = compare(&all("1"), &all("2")).unwrap().render();
        assert!(
            rendered.contains("different: 039\n") && !rendered.contains("different: 040\n"),
            "{rendered}"
        );
        assert!(rendered.contains("different: 2 more sessions and projects"), "{rendered}");
    }
}
