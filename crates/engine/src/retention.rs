//! Retention: which sessions are old enough to be let go. Pure: decides by rules, looks nothing up.
//!
//! What is pinned, tagged, or referred to by tickets stays whatever is decided here; the store sees to that.

use std::collections::{BTreeMap, HashSet};

use stemmata_model::{SessionId, Timestamp};

/// Microseconds of a day.
pub(crate) const DAY_US: i64 = 24 * 3_600 * 1_000_000;

/// How long things are kept. Nothing said: for ever.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetentionRules {
    /// Days after its last record that a session is kept.
    pub sessions_days: Option<u32>,
    /// Days after its last record that a subagent's session is kept; without it, as long as the session it
    /// belongs to.
    pub subagents_days: Option<u32>,
    /// Days that an early look at an open turn is kept, where nothing goes on from it.
    pub provisional_days: Option<u32>,
    /// Sessions of each project, the latest ones, that are kept however old they are.
    pub keep_last: u32,
    /// Projects with days of their own: sessions that work in the directory or below it. The longest path counts.
    pub projects: Vec<(String, u32)>,
}

/// A session, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionAge {
    /// Its id.
    pub session: SessionId,
    /// The session that it belongs to, for a subagent's.
    pub parent: Option<SessionId>,
    /// Where it worked.
    pub cwd: Option<String>,
    /// Its latest record; one without is kept.
    pub last_at: Option<Timestamp>,
    /// Whether its transcript holds something that was not read yet.
    pub is_unread: bool,
    /// Whether it is a sidecar: it is kept as long as the session that it belongs to, whatever holds for subagents.
    pub is_sidecar: bool,
}

/// Returns which sessions are retired, by their place in the list, and why.
pub fn retired(rules: &RetentionRules, now: Timestamp, sessions: &[SessionAge]) -> Vec<(usize, String)> {
    let kept_last = kept_last(rules, sessions);
    let mut found: BTreeMap<usize, String> = BTreeMap::new();
    for (place, session) in sessions.iter().enumerate() {
        let days = match session.parent {
            Some(_) if session.is_sidecar => None,
            Some(_) => rules.subagents_days,
            None => days_of(rules, session),
        };
        if let Some(days) = days
            && !kept_last.contains(&place)
            && let Some(reason) = outlived(session, days, now)
        {
            found.insert(place, reason);
        }
    }
    follow_parents(rules, sessions, &mut found);
    found.into_iter().collect()
}

/// Returns whether a commit made then is older than so many days.
pub(crate) fn is_older(at: Timestamp, days: u32, now: Timestamp) -> bool {
    now.as_micros().saturating_sub(at.as_micros()) >= i64::from(days).saturating_mul(DAY_US)
}

fn outlived(session: &SessionAge, days: u32, now: Timestamp) -> Option<String> {
    let last = session.last_at?;
    let is_retired = !session.is_unread && is_older(last, days, now);
    let unit = if days == 1 { "day" } else { "days" };
    is_retired.then(|| format!("its last record is from {last}, more than {days} {unit} ago"))
}

fn days_of(rules: &RetentionRules, session: &SessionAge) -> Option<u32> {
    let own = session.cwd.as_deref().and_then(|cwd| {
        let holding = rules.projects.iter().filter(|(path, _)| is_within(path, cwd));
        holding.max_by_key(|(path, _)| path.len()).map(|(_, days)| *days)
    });
    own.or(rules.sessions_days)
}

/// Says whether a path is that of a project, or below it.
pub(crate) fn is_within(project: &str, path: &str) -> bool {
    let project = project.trim_end_matches(['/', '\\']);
    path.strip_prefix(project).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
}

/// The latest sessions of each project.
fn kept_last(rules: &RetentionRules, sessions: &[SessionAge]) -> HashSet<usize> {
    let mut by_project: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, session) in sessions.iter().enumerate().filter(|(_, session)| session.parent.is_none()) {
        by_project.entry(session.cwd.as_deref().unwrap_or_default()).or_default().push(place);
    }
    let mut kept = HashSet::new();
    for places in by_project.values_mut() {
        places.sort_by_key(|place| {
            std::cmp::Reverse((sessions.get(*place).and_then(|own| own.last_at), *place))
        });
        kept.extend(places.iter().take(usize::try_from(rules.keep_last).unwrap_or(usize::MAX)));
    }
    kept
}

/// A subagent's session goes with the one that it belongs to, or with what that belongs to, unless it has days of its own. A
/// sidecar always does.
fn follow_parents(rules: &RetentionRules, sessions: &[SessionAge], found: &mut BTreeMap<usize, String>) {
    let follows = |session: &SessionAge| session.is_sidecar || rules.subagents_days.is_none();
    loop {
        let gone: HashSet<&SessionId> =
            found.keys().filter_map(|place| sessions.get(*place)).map(|session| &session.session).collect();
        // A file says only the id of its session: of two sessions with one id the last one takes it along.
        let stays = |parent: &SessionId| {
            let is_it = |session: &SessionAge| session.session == *parent && !session.is_sidecar;
            sessions.iter().enumerate().any(|(place, session)| is_it(session) && !found.contains_key(&place))
        };
        let more: Vec<usize> = sessions
            .iter()
            .enumerate()
            .filter(|(place, session)| {
                !found.contains_key(place)
                    && follows(session)
                    && !session.is_unread
                    && session.parent.as_ref().is_some_and(|parent| gone.contains(parent))
                    && !(session.is_sidecar && session.parent.as_ref().is_some_and(&stays))
            })
            .map(|(place, _)| place)
            .collect();
        if more.is_empty() {
            return;
        }
        found
            .extend(more.into_iter().map(|place| (place, "the session it belongs to is retired".to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_000 * DAY_US;

    fn session(name: &str, parent: Option<&str>, cwd: &str, days_ago: i64) -> SessionAge {
        SessionAge {
            session: SessionId::new(name).expect("a name"),
            parent: parent.map(|name| SessionId::new(name).expect("a name")),
            cwd: Some(cwd.to_owned()),
            last_at: Some(Timestamp::from_micros(NOW - days_ago * DAY_US)),
            is_unread: false,
            is_sidecar: false,
        }
    }

    fn places(rules: &RetentionRules, sessions: &[SessionAge]) -> Vec<usize> {
        retired(rules, Timestamp::from_micros(NOW), sessions).into_iter().map(|(place, _)| place).collect()
    }

    #[test]
    fn one_day_is_a_day() {
        let sessions = [session("old", None, "/w", 31)];
        for (days, words) in [(1, "more than 1 day ago"), (2, "more than 2 days ago")] {
            let rules = RetentionRules { sessions_days: Some(days), ..RetentionRules::default() };
            let found = retired(&rules, Timestamp::from_micros(NOW), &sessions);
            assert!(found.iter().any(|(_, because)| because.ends_with(words)), "{found:?}");
        }
    }

    #[test]
    fn sessions_go_by_age_project_and_parent() {
        let mut unread = session("unread", None, "/w", 99);
        unread.is_unread = true;
        let sessions = [
            session("old", None, "/w", 31),
            session("young", None, "/w", 29),
            session("agent-of-old", Some("old"), "/w", 1),
            session("agent-of-agent", Some("agent-of-old"), "/w", 1),
            session("agent-of-young", Some("young"), "/w", 99),
            session("in-project", None, "/w/keep/below", 99),
            session("beside-project", None, "/w/keeper", 99),
            unread,
        ];
        let mut rules = RetentionRules { sessions_days: Some(30), ..RetentionRules::default() };
        assert_eq!(places(&rules, &sessions), [0, 2, 3, 5, 6]);
        rules.projects = vec![("/w/keep/".to_owned(), 100), ("/w".to_owned(), 30)];
        assert_eq!(places(&rules, &sessions), [0, 2, 3, 6], "the longest path counts");
        rules.subagents_days = Some(50);
        assert_eq!(places(&rules, &sessions), [0, 4, 6]);
        let mut file = session("file", Some("old"), "/w", 0);
        (file.is_sidecar, file.last_at) = (true, None);
        let with_file = [sessions.to_vec(), vec![file]].concat();
        assert_eq!(
            places(&rules, &with_file),
            [0, 4, 6, 8],
            "a sidecar goes with its session, not with subagents"
        );
        let namesake = [with_file.clone(), vec![session("old", None, "/v", 1)]].concat();
        assert_eq!(places(&rules, &namesake), [0, 4, 6], "another session of the id may have the file");
        rules.keep_last = 1;
        assert_eq!(places(&rules, &sessions), [0, 4], "the only one of its project stays");
        assert_eq!(
            places(&RetentionRules::default(), &sessions),
            Vec::<usize>::new(),
            "nothing said, all kept"
        );
    }

    proptest! {
        /// More days, or more to keep, never retire more.
        #[test]
        fn patience_keeps_more(ages in proptest::collection::vec((0..60_i64, 0..3_u8), 0..30), days in 0..60_u32, more in 0..30_u32, last in 0..5_u32) {
            let sessions: Vec<SessionAge> = ages
                .iter()
                .enumerate()
                .map(|(place, (age, project))| session(&format!("s{place}"), None, &format!("/p{project}"), *age))
                .collect();
            let rules = |days, keep_last| RetentionRules { sessions_days: Some(days), keep_last, ..RetentionRules::default() };
            let strict = places(&rules(days, 0), &sessions);
            for patient in [rules(days + more, 0), rules(days, last)] {
                prop_assert!(places(&patient, &sessions).iter().all(|place| strict.contains(place)));
            }
        }
    }
}
