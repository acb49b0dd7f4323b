//! The limits of one window: its zones, the target of pruning, when a checkpoint is due. Checked once, when they are read.

use std::fmt;

use stemmata_model::Tokens;
use thiserror::Error;

/// How full a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Zone {
    /// Nothing to do.
    Safe,
    /// Worth a line in the log.
    Warning,
    /// A checkpoint is made and pruning is planned.
    Danger,
    /// The window is pruned before the next call.
    Critical,
}

impl Zone {
    /// Every zone, from the emptiest.
    pub const ALL: [Self; 4] = [Self::Safe, Self::Warning, Self::Danger, Self::Critical];

    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the level of the alert that tells of reaching this zone.
    pub const fn alert_level(self) -> Option<&'static str> {
        match self {
            Self::Safe => None,
            Self::Warning => Some("WARNING"),
            Self::Danger => Some("DANGER"),
            Self::Critical => Some("CRITICAL"),
        }
    }

    /// Returns what to do about it.
    pub const fn recommendation(self) -> &'static str {
        match self {
            Self::Safe => "nothing to do",
            Self::Warning => "consider pruning what the task does not need",
            Self::Danger => "make a checkpoint and plan pruning",
            Self::Critical => "make a checkpoint and prune now",
        }
    }
}

/// Part of a window that is in use, in millionths, rounded down. More than one million is more than the window holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Ratio(pub u64);

impl Ratio {
    /// Returns the ratio of a size to a limit; the largest one where the limit is 0.
    pub fn of(size: Tokens, limit: Tokens) -> Self {
        let millionths = (u128::from(size.0) * 1_000_000).checked_div(u128::from(limit.0));
        Self(millionths.and_then(|millionths| u64::try_from(millionths).ok()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{} %", self.0 / 10_000, self.0 % 10_000 / 1_000)
    }
}

/// What a caller may set. Ratios are parts per thousand of the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSettings {
    /// Tokens that the model takes.
    pub limit: Tokens,
    /// Where the warning zone begins.
    pub warning_permille: u32,
    /// Where the danger zone begins.
    pub danger_permille: u32,
    /// Where the critical zone begins.
    pub critical_permille: u32,
    /// What pruning aims at.
    pub target_permille: u32,
    /// How far the ratio must fall below a threshold before its alert can be sent again.
    pub rearm_permille: u32,
    /// Above this ratio each check asks for a checkpoint.
    pub checkpoint_permille: u32,
    /// Seconds after which a checkpoint is due.
    pub checkpoint_interval_s: u64,
    /// Completed tasks from one milestone to the next.
    pub milestone_tasks: u64,
    /// Operations before which a checkpoint is made.
    pub risky_operations: Vec<String>,
}

impl WindowSettings {
    /// Returns the defaults for a window: zones at 70, 85 and 95 %, pruning to 70 %.
    pub fn of(limit: Tokens) -> Self {
        Self {
            limit,
            warning_permille: 700,
            danger_permille: 850,
            critical_permille: 950,
            target_permille: 700,
            rearm_permille: 50,
            checkpoint_permille: 800,
            checkpoint_interval_s: 1_800,
            milestone_tasks: 5,
            risky_operations: ["major_refactor", "large_merge"].map(str::to_owned).to_vec(),
        }
    }
}

/// Why settings are no limits of a window.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WindowError {
    /// The window holds nothing.
    #[error("a window of 0 tokens holds nothing: give the model's context window")]
    Empty,
    /// The zones do not rise.
    #[error(
        "the zones must rise from above 0 to at most 100 %: warning is {}, danger {}, critical {}",
        percent(*.warning),
        percent(*.danger),
        percent(*.critical)
    )]
    Zones {
        /// Where the warning zone begins.
        warning: u32,
        /// Where the danger zone begins.
        danger: u32,
        /// Where the critical zone begins.
        critical: u32,
    },
    /// A window pruned to the target would still be critical.
    #[error(
        "pruning to {} would leave the window critical, which begins at {}: lower the target",
        percent(*.target),
        percent(*.critical)
    )]
    Target {
        /// What pruning aims at.
        target: u32,
        /// Where the critical zone begins.
        critical: u32,
    },
    /// An alert could never be sent twice.
    #[error(
        "an alert at {} can't be armed again {} lower: lower the distance",
        percent(*.warning),
        percent(*.rearm)
    )]
    Rearm {
        /// Where the warning zone begins.
        warning: u32,
        /// How far the ratio must fall.
        rearm: u32,
    },
    /// A trigger of checkpoints that would hold always or never.
    #[error("`{setting}` can't be {value}: it must be {wanted}")]
    Trigger {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: u64,
        /// What it must be.
        wanted: &'static str,
    },
}

/// Writes parts per thousand as they are set: in percent.
fn percent(permille: u32) -> String {
    match permille % 10 {
        0 => format!("{} %", permille / 10),
        rest => format!("{}.{rest} %", permille / 10),
    }
}

/// The limits of one window, which do not contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    settings: WindowSettings,
}

impl Window {
    /// Checks settings.
    ///
    /// # Errors
    /// As [`WindowError`] says, the first that holds.
    pub fn new(settings: WindowSettings) -> Result<Self, WindowError> {
        let WindowSettings {
            warning_permille: warning,
            danger_permille: danger,
            critical_permille: critical,
            ..
        } = settings;
        let (target, rearm) = (settings.target_permille, settings.rearm_permille);
        if settings.limit == Tokens(0) {
            return Err(WindowError::Empty);
        }
        if !(0 < warning && warning < danger && danger < critical && critical <= 1_000) {
            return Err(WindowError::Zones { warning, danger, critical });
        }
        if target == 0 || target >= critical {
            return Err(WindowError::Target { target, critical });
        }
        if rearm >= warning {
            return Err(WindowError::Rearm { warning, rearm });
        }
        let trigger = |setting, value: u64, wanted| Err(WindowError::Trigger { setting, value, wanted });
        if settings.checkpoint_permille == 0 || settings.checkpoint_permille > 1_000 {
            return trigger("checkpoint_permille", settings.checkpoint_permille.into(), "from 1 to 1000");
        }
        if settings.checkpoint_interval_s == 0 {
            return trigger("checkpoint_interval_s", 0, "at least 1");
        }
        if settings.milestone_tasks == 0 {
            return trigger("milestone_tasks", 0, "at least 1");
        }
        Ok(Self { settings })
    }

    /// Returns the settings.
    pub const fn settings(&self) -> &WindowSettings {
        &self.settings
    }

    /// Returns the tokens that the model takes.
    pub const fn limit(&self) -> Tokens {
        self.settings.limit
    }

    /// Returns the size that pruning aims at, rounded down.
    pub fn target(&self) -> Tokens {
        let target = u128::from(self.limit().0) * u128::from(self.settings.target_permille) / 1_000;
        Tokens(u64::try_from(target).unwrap_or(u64::MAX))
    }

    /// Returns the largest size below the critical zone.
    pub fn below_critical(&self) -> Tokens {
        let critical = u128::from(self.limit().0) * u128::from(self.settings.critical_permille);
        Tokens(u64::try_from(critical.saturating_sub(1) / 1_000).unwrap_or(u64::MAX))
    }

    /// Returns the zone of a size. The lower bound of a zone belongs to it.
    pub fn zone(&self, size: Tokens) -> Zone {
        let reached = |zone: &Zone| self.is_at_least(size, self.threshold_permille(*zone));
        Zone::ALL.into_iter().rev().find(reached).unwrap_or(Zone::Safe)
    }

    /// Returns where a zone begins.
    pub const fn threshold_permille(&self, zone: Zone) -> u32 {
        match zone {
            Zone::Safe => 0,
            Zone::Warning => self.settings.warning_permille,
            Zone::Danger => self.settings.danger_permille,
            Zone::Critical => self.settings.critical_permille,
        }
    }

    /// Compares in whole numbers: a ratio that was rounded could fall into the zone below.
    pub(super) fn is_at_least(&self, size: Tokens, permille: u32) -> bool {
        u128::from(size.0) * 1_000 >= u128::from(self.limit().0) * u128::from(permille)
    }

    pub(super) fn is_above(&self, size: Tokens, permille: u32) -> bool {
        u128::from(size.0) * 1_000 > u128::from(self.limit().0) * u128::from(permille)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_window_of_0_and_limits_that_contradict_each_other_are_typed_errors() {
        let of = |change: fn(&mut WindowSettings)| {
            let mut settings = WindowSettings::of(Tokens(1_000));
            change(&mut settings);
            Window::new(settings).map(|_| ())
        };
        assert_eq!(of(|_| ()), Ok(()));
        assert_eq!(of(|settings| settings.limit = Tokens(0)), Err(WindowError::Empty));
        let zones = |warning, danger, critical| Err(WindowError::Zones { warning, danger, critical });
        assert_eq!(of(|settings| settings.danger_permille = 700), zones(700, 700, 950));
        assert_eq!(of(|settings| settings.critical_permille = 1_001), zones(700, 850, 1_001));
        assert_eq!(of(|settings| settings.warning_permille = 0), zones(0, 850, 950));
        let target = |target| Err(WindowError::Target { target, critical: 950 });
        let said = WindowError::Target { target: 990, critical: 955 }.to_string();
        assert!(said.contains("99 %") && said.contains("95.5 %"), "{said}");
        assert_eq!(of(|settings| settings.target_permille = 950), target(950));
        assert_eq!(of(|settings| settings.target_permille = 0), target(0));
        assert_eq!(
            of(|settings| settings.rearm_permille = 700),
            Err(WindowError::Rearm { warning: 700, rearm: 700 })
        );
        for change in [
            (|settings| settings.milestone_tasks = 0) as fn(&mut WindowSettings),
            |settings| settings.checkpoint_interval_s = 0,
            |settings| settings.checkpoint_permille = 1_001,
        ] {
            assert!(matches!(of(change), Err(WindowError::Trigger { .. })));
        }
    }

    #[test]
    fn the_lower_bound_of_a_zone_belongs_to_it() {
        let window = Window::new(WindowSettings::of(Tokens(1_000))).expect("limits");
        for (size, zone) in [
            (0, Zone::Safe),
            (699, Zone::Safe),
            (700, Zone::Warning),
            (849, Zone::Warning),
            (850, Zone::Danger),
            (949, Zone::Danger),
            (950, Zone::Critical),
            (9_999, Zone::Critical),
        ] {
            assert_eq!(window.zone(Tokens(size)), zone, "{size}");
        }
        assert_eq!(window.target(), Tokens(700));
        assert_eq!(Ratio::of(Tokens(1_234), Tokens(1_000)).to_string(), "123.4 %");
    }

    proptest! {
        #[test]
        fn a_larger_size_is_never_in_a_lower_zone(limit in 1..u64::MAX, one: u64, two: u64) {
            let window = Window::new(WindowSettings::of(Tokens(limit))).expect("limits");
            let (low, high) = (one.min(two), one.max(two));
            prop_assert!(window.zone(Tokens(low)) <= window.zone(Tokens(high)));
            prop_assert!(window.target() < window.limit());
            prop_assert!(window.zone(window.below_critical()) < Zone::Critical);
            prop_assert_eq!(window.zone(window.below_critical() + Tokens(1)), Zone::Critical);
        }
    }
}
