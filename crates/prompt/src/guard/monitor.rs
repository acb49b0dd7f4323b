//! The monitor of a window: one alert for each crossing upward, and the history of sizes.

use std::collections::VecDeque;

use stemmata_model::{Timestamp, Tokens};

use super::limits::{Ratio, Window, Zone};

/// Samples that a monitor keeps. With one a minute that is most of a day.
const HISTORY_SAMPLES_MAX: usize = 1_000;

/// A size at a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Timestamp,
    /// The window's content.
    pub size: Tokens,
    /// The part of the limit that it is.
    pub ratio: Ratio,
}

/// What is published when the ratio has crossed a threshold upward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alert {
    /// `WARNING`, `DANGER` or `CRITICAL`.
    pub level: &'static str,
    /// The zone that was reached.
    pub zone: Zone,
    /// The ratio.
    pub ratio: Ratio,
    /// What to do about it.
    pub recommendation: &'static str,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The sample that was added to the history.
    pub sample: Sample,
    /// The zone.
    pub zone: Zone,
    /// The alert to publish: only the highest level that was reached.
    pub alert: Option<Alert>,
    /// Why there is an alert, or none.
    pub reason: &'static str,
}

/// Remembers which alerts were sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Monitor {
    /// Levels that were sent, or passed by a jump, since the ratio last fell far enough below them.
    sent: Vec<Zone>,
    history: VecDeque<Sample>,
}

impl Monitor {
    /// Returns the monitor that sent these levels, with no history: what survives the end of a process.
    pub fn restored(sent: impl IntoIterator<Item = Zone>) -> Self {
        Self { sent: sent.into_iter().collect(), history: VecDeque::new() }
    }

    /// Returns the levels that can't be sent now.
    pub fn sent(&self) -> &[Zone] {
        &self.sent
    }

    /// Returns the samples, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &Sample> {
        self.history.iter()
    }

    /// Adds a sample and decides whether it is worth an alert.
    ///
    /// A level is sent once; it can be sent again after the ratio has fallen `rearm_permille` below its threshold. A jump
    /// over several thresholds sends the highest level, and the lower ones count as sent: they would tell less.
    pub fn observe(&mut self, window: &Window, size: Tokens, at: Timestamp) -> Observation {
        let rearm = window.settings().rearm_permille;
        self.sent
            .retain(|level| window.is_above(size, window.threshold_permille(*level).saturating_sub(rearm)));
        let sample = Sample { at, size, ratio: Ratio::of(size, window.limit()) };
        if self.history.len() == HISTORY_SAMPLES_MAX {
            self.history.pop_front();
        }
        self.history.push_back(sample);
        let zone = window.zone(size);
        let level = zone.alert_level().filter(|_| !self.sent.contains(&zone));
        let alert = level.map(|level| Alert {
            level,
            zone,
            ratio: sample.ratio,
            recommendation: zone.recommendation(),
        });
        let reason = match (zone, &alert) {
            (Zone::Safe, _) => "the window is in the safe zone",
            (_, Some(_)) => "the ratio crossed the threshold upward",
            (_, None) => "the level was sent, and the ratio has not fallen far enough since",
        };
        if alert.is_some() {
            self.sent =
                Zone::ALL.into_iter().filter(|level| *level != Zone::Safe && *level <= zone).collect();
        }
        Observation { sample, zone, alert, reason }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::limits::WindowSettings;
    use super::*;

    fn levels(sizes: &[u64]) -> Vec<Option<&'static str>> {
        let window = Window::new(WindowSettings::of(Tokens(100))).expect("limits");
        let mut monitor = Monitor::default();
        let observe = |size: &u64| monitor.observe(&window, Tokens(*size), Timestamp::EPOCH);
        sizes.iter().map(observe).map(|seen| seen.alert.map(|alert| alert.level)).collect()
    }

    #[test]
    fn a_jump_sends_only_the_highest_level_and_no_lower_one_afterwards() {
        let critical = Some("CRITICAL");
        assert_eq!(levels(&[96, 93, 86, 75]), [critical, None, None, None]);
    }

    #[test]
    fn an_alert_is_armed_again_five_points_below_its_threshold_and_not_before() {
        let danger = Some("DANGER");
        assert_eq!(levels(&[86, 81, 86, 80, 86]), [danger, None, None, None, danger]);
    }

    #[test]
    fn alerts_carry_level_ratio_and_recommendation() {
        let window = Window::new(WindowSettings::of(Tokens(100))).expect("limits");
        let seen = Monitor::default().observe(&window, Tokens(85), Timestamp::EPOCH);
        let alert = seen.alert.expect("an alert");
        assert_eq!((alert.level, alert.ratio, alert.zone), ("DANGER", Ratio(850_000), Zone::Danger));
        assert_eq!(alert.recommendation, "make a checkpoint and plan pruning");
    }

    proptest! {
        #[test]
        fn an_alert_is_always_of_the_zone_that_holds_and_the_history_is_bounded(sizes in proptest::collection::vec(0..130_u64, 0..1_200)) {
            let window = Window::new(WindowSettings::of(Tokens(100))).expect("limits");
            let mut monitor = Monitor::default();
            // The lowest size since each level was last sent.
            let mut lowest: std::collections::HashMap<&str, u64> = std::collections::HashMap::new();
            for size in sizes {
                for lowest in lowest.values_mut() {
                    *lowest = size.min(*lowest);
                }
                let seen = monitor.observe(&window, Tokens(size), Timestamp::EPOCH);
                if let Some(alert) = seen.alert {
                    prop_assert_eq!(alert.zone, window.zone(Tokens(size)));
                    let threshold = u64::from(window.threshold_permille(alert.zone)) / 10;
                    let before = lowest.insert(alert.level, u64::MAX);
                    prop_assert!(before.is_none_or(|lowest| lowest <= threshold - 5));
                }
            }
            prop_assert!(monitor.history().len() <= HISTORY_SAMPLES_MAX);
        }
    }
}
