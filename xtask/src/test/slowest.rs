//! The slowest tests of the last run, from the report that `cargo nextest` leaves.
//! Not a limit: a slow machine is no reason to fail a test.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::process::{say, target};

/// The report of one run.
pub(super) struct Report(PathBuf);

impl Report {
    /// Says where a run with a profile of `.config/nextest.toml` leaves its report, and removes that of an earlier run.
    pub(super) fn fresh(root: &Path, profile: &str) -> anyhow::Result<Self> {
        let path = target(root)?.join("nextest").join(profile).join("junit.xml");
        if path.exists() {
            fs::remove_file(&path).with_context(|| format!("removing `{}`", path.display()))?;
        }
        Ok(Self(path))
    }

    /// Prints the slowest tests, the slowest first, and what share of all seconds they take.
    pub(super) fn print(&self, count: usize) -> anyhow::Result<()> {
        let report =
            fs::read_to_string(&self.0).with_context(|| format!("reading `{}`", self.0.display()))?;
        for line in lines(&report, count) {
            say(&line);
        }
        Ok(())
    }
}

fn lines(report: &str, count: usize) -> Vec<String> {
    let mut tests: Vec<(f64, String)> = report.split("<testcase ").skip(1).filter_map(test).collect();
    tests.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    // Not `sum`, which is -0 of nothing.
    let sum = |tests: &[(f64, String)]| tests.iter().fold(0.0, |sum, (seconds, _)| sum + seconds);
    let all = sum(&tests);
    tests.truncate(count);
    let shown = sum(&tests);
    let mut lines: Vec<String> =
        tests.iter().map(|(seconds, name)| format!("{seconds:8.2} s  {name}")).collect();
    lines.push(format!("{shown:8.2} s  of {all:.2} s that all tests took, one after the other"));
    lines
}

/// Returns the seconds and the name of the test that an element's attributes describe.
fn test(element: &str) -> Option<(f64, String)> {
    let seconds = attribute(element, "time")?.parse().ok()?;
    Some((seconds, format!("{} {}", attribute(element, "classname")?, attribute(element, "name")?)))
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let tag = element.split('>').next()?;
    let (_, rest) = format!(" {tag}").find(&format!(" {name}=\"")).map(|at| tag.split_at(at))?;
    rest.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_come_first_with_their_share() {
        let report = concat!(
            "<testsuites name=\"r\" time=\"9.000\"><testsuite name=\"a\" time=\"9.000\">",
            "<testcase name=\"quick\" classname=\"a\" timestamp=\"t\" time=\"0.500\"></testcase>",
            "<testcase name=\"slow\" classname=\"a::b\" timestamp=\"t\" time=\"12.250\">x time=\"99\"</testcase>",
            "<testcase name=\"broken\" classname=\"a\"></testcase>",
            "<testcase name=\"middle\" classname=\"a\" timestamp=\"t\" time=\"3.000\"/></testsuite></testsuites>",
        );
        let expected = [
            "   12.25 s  a::b slow",
            "    3.00 s  a middle",
            "   15.25 s  of 15.75 s that all tests took, one after the other",
        ];
        assert_eq!(lines(report, 2), expected);
        assert_eq!(lines("", 2), ["    0.00 s  of 0.00 s that all tests took, one after the other"]);
    }
}
