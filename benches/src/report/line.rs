//! One line of the table: a case, our figure, a peer's, their ratio, the target, and whether it is met.
//! Not measured here.

use std::fmt;

use serde_json::{Value, json};

use super::figure::{Figure, digits};

/// Columns of the case and of the peer's name; the rest is as wide as a figure.
const CASE_COLUMNS: usize = 39;
const PEER_COLUMNS: usize = 26;
const FIGURE_COLUMNS: usize = 10;
const RATIO_COLUMNS: usize = 6;
const TARGET_COLUMNS: usize = 10;

/// What a line must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    /// Our figure is at most this.
    AtMost(Figure),
    /// Our figure is at least this.
    AtLeast(Figure),
    /// Our figure is at most so many times the peer's.
    RatioAtMost(f64),
    /// Our figure is at least so many times the peer's.
    RatioAtLeast(f64),
}

/// A line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    case: String,
    scale: u32,
    ours: Option<Figure>,
    peer: Option<(String, Figure)>,
    target: Option<Target>,
}

impl Line {
    /// Starts a line with our figure.
    pub(crate) fn ours(scale: u32, case: impl Into<String>, figure: Figure) -> Self {
        Self { case: case.into(), scale, ours: Some(figure), peer: None, target: None }
    }

    /// Makes a line that shows only a peer.
    pub(crate) fn peer(scale: u32, case: impl Into<String>, name: impl Into<String>, figure: Figure) -> Self {
        Self { case: case.into(), scale, ours: None, peer: Some((name.into(), figure)), target: None }
    }

    /// Sets a peer beside it.
    #[must_use]
    pub(crate) fn beside(mut self, name: impl Into<String>, figure: Figure) -> Self {
        self.peer = Some((name.into(), figure));
        self
    }

    /// Sets what it must reach.
    #[must_use]
    pub(crate) const fn target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// Sets what it must reach at one size; at other sizes it is only shown.
    #[must_use]
    pub(crate) const fn target_at(self, scale: u32, target: Target) -> Self {
        if self.scale == scale { self.target(target) } else { self }
    }

    fn ratio(&self) -> Option<f64> {
        let (ours, (_, peer)) = (self.ours?, self.peer.as_ref()?);
        Some(ours.value() / peer.value())
    }

    /// Returns whether the target is met, none without one.
    pub(crate) fn met(&self) -> Option<bool> {
        match self.target? {
            Target::AtMost(bound) => self.ours.map(|ours| ours.value() <= bound.value()),
            Target::AtLeast(bound) => self.ours.map(|ours| ours.value() >= bound.value()),
            Target::RatioAtMost(bound) => self.ratio().map(|ratio| ratio <= bound),
            Target::RatioAtLeast(bound) => self.ratio().map(|ratio| ratio >= bound),
        }
    }

    /// Returns every number of the line, unrounded.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "case": self.case,
            "scale": self.scale,
            "ours": self.ours.map(Figure::to_json),
            "peer": self.peer.as_ref().map(|(name, figure)| json!({
                "name": name,
                "figure": figure.to_json(),
            })),
            "ratio": self.ratio(),
            "target": self.target.map(|target| target.to_string()),
            "met": self.met(),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::AtMost(figure) => format!("≤ {figure}"),
            Self::AtLeast(figure) => format!("≥ {figure}"),
            Self::RatioAtMost(bound) => format!("≤ {}", digits(*bound)),
            Self::RatioAtLeast(bound) => format!("≥ {}", digits(*bound)),
        };
        formatter.pad(&text)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = |figure: Option<Figure>| figure.map_or_else(String::new, |figure| figure.to_string());
        let (peer, peer_figure) = match &self.peer {
            Some((name, figure)) => (name.as_str(), figure.to_string()),
            None => ("", String::new()),
        };
        let verdict = match self.met() {
            Some(true) => "met",
            Some(false) => "NOT",
            None => "",
        };
        let case =
            if self.scale == 1 { self.case.clone() } else { format!("{}×: {}", self.scale, self.case) };
        let columns = Columns {
            case: &case,
            ours: &figure(self.ours),
            peer,
            peer_figure: &peer_figure,
            ratio: &self.ratio().map_or_else(String::new, digits),
            target: &self.target.map_or_else(String::new, |target| target.to_string()),
            verdict,
        };
        formatter.write_str(&columns.joined())
    }
}

struct Columns<'a> {
    case: &'a str,
    ours: &'a str,
    peer: &'a str,
    peer_figure: &'a str,
    ratio: &'a str,
    target: &'a str,
    verdict: &'a str,
}

impl Columns<'_> {
    fn joined(&self) -> String {
        let Self { case, ours, peer, peer_figure, ratio, target, verdict } = self;
        let line = format!(
            "  {case:<CASE_COLUMNS$}{ours:>FIGURE_COLUMNS$}  {peer:<PEER_COLUMNS$}{peer_figure:>FIGURE_COLUMNS$}\
             {ratio:>RATIO_COLUMNS$}  {target:<TARGET_COLUMNS$} {verdict}"
        );
        line.trim_end().to_owned()
    }
}

/// Returns the line above the lines.
pub(super) fn heading() -> String {
    let columns = Columns {
        case: "",
        ours: "ours",
        peer: "peer",
        peer_figure: "",
        ratio: "ratio",
        target: "target",
        verdict: "",
    };
    columns.joined()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ms(ms: u64) -> Figure {
        Figure::time(Duration::from_millis(ms))
    }

    #[test]
    fn a_target_is_judged_by_what_it_is_about() {
        let line = |target| Line::ours(1, "a", ms(10)).beside("b", ms(5)).target(target).met();
        let cases = [
            (Target::AtMost(ms(10)), true),
            (Target::AtMost(ms(9)), false),
            (Target::RatioAtMost(2.0), true),
            (Target::RatioAtMost(1.9), false),
            (Target::RatioAtLeast(2.0), true),
            (Target::RatioAtLeast(2.1), false),
        ];
        for (target, met) in cases {
            assert_eq!(line(target), Some(met), "{target}");
        }
        assert_eq!(Line::ours(1, "a", ms(1)).met(), None);
        assert_eq!(Line::ours(10, "a", ms(1)).target_at(1, Target::AtMost(ms(2))).met(), None);
    }

    #[test]
    fn columns_stand_below_each_other() {
        let line = Line::ours(10, "a case", ms(10)).beside("a peer", ms(5)).target(Target::RatioAtMost(1.3));
        let text = line.to_string();
        let column = |text: &str, word: &str| text.find(word).map(|at| text[..at].chars().count());
        assert_eq!(column(&text, "a peer"), column(&heading(), "peer"));
        assert_eq!(column(&text, "≤ 1.30"), column(&heading(), "target"));
        assert!(text.ends_with("NOT") && text.chars().count() <= 111, "{text}");
    }
}
