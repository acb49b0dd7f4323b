//! What is doubtful in a strategy that can be read: the troubleshooting cases of seed 000.
//!
//! What is wrong is found where it is read.

use stemmata_model::{Topic, topics};

use super::document::{DocumentFormat, Position};
use super::fields::{listed, nearest, shown};
use super::finding::{FINDINGS_MAX, Finding, FindingCode, Severity};
use super::parse::read;
use super::source::{Priority, Selection, Source, SourceTopic, Strategy};
use super::topics::{Volatility, is_of_clusters, volatility};

/// What a check may know beside the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckOptions<'a> {
    /// Topics that the ledger has. A source of one of them is never called unknown.
    pub ledger_topics: &'a [Topic],
    /// Whether the strategy is a planner's, which writes the plan and so need not read one.
    pub is_planner: bool,
}

/// A checked strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The strategy, or `None` if a finding is an error.
    pub strategy: Option<Strategy>,
    /// What is to be said, in the order of the file, at most [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
}

impl Checked {
    /// Says whether the strategy can be used.
    pub fn is_usable(&self) -> bool {
        self.strategy.is_some()
    }
}

/// Reads a strategy and says everything that is wrong or doubtful about it.
pub fn check(text: &str, format: DocumentFormat, options: CheckOptions<'_>) -> Checked {
    let (strategy, mut findings) = read(text, format);
    if let Some(strategy) = &strategy {
        findings.extend(anchors(strategy, options));
        findings.extend(strategy.sources.iter().flat_map(|source| of_source(source, options)));
        findings.extend(order(strategy));
        findings.extend(duplicates(strategy));
    }
    findings.sort_by_key(|finding| (finding.at, finding.severity));
    findings.truncate(FINDINGS_MAX);
    debug_assert!(
        strategy.is_some() || findings.iter().any(|finding| finding.severity == Severity::Error),
        "a strategy is refused for a reason"
    );
    Checked { strategy, findings }
}

/// What tells an agent where it is: each has to be in the prompt, whatever else is.
fn anchors(strategy: &Strategy, options: CheckOptions<'_>) -> Vec<Finding> {
    let is_cluster = strategy.sources.iter().any(|source| is_of_clusters(&source.topic));
    let state: (&str, &[&str]) = ("state", &[topics::STATE_SNAPSHOT, "state"]);
    let issue: (&str, &[&str]) = ("issue", &[topics::ISSUE_OPENED]);
    let plan: (&str, &[&str]) = ("plan", &[topics::PLAN_READY]);
    let wanted = match (is_cluster, options.is_planner) {
        (false, _) => vec![state],
        (true, true) => vec![issue, state],
        (true, false) => vec![issue, state, plan],
    };
    let mut findings = Vec::new();
    for (what, names) in wanted {
        let sources: Vec<&Source> =
            strategy.sources.iter().filter(|source| names.contains(&source.topic.as_str())).collect();
        let is_required =
            |source: &&Source| source.priority() == Priority::Required && source.amount != Some(0);
        // A person's own session has its state among other things; a cluster's agent has nothing else to go by.
        if (!is_cluster && !sources.is_empty()) || sources.iter().any(is_required) {
            continue;
        }
        let at = sources.first().map_or(Position::START, |source| source.at);
        let (message, suggestion) = if sources.is_empty() {
            (
                format!("no source gives the agent its {what}"),
                format!("add a required source of {}", listed(names)),
            )
        } else {
            (
                format!("the {what} may be left out: its source is not required"),
                "set `priority` to `required`, and an `amount` above 0".to_owned(),
            )
        };
        let finding = Finding::warning(FindingCode::MissingAnchor, at, message);
        findings.push(finding.try_instead(suggestion));
    }
    findings
}

fn of_source(source: &Source, options: CheckOptions<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = source.topic.as_str();
    let named = format!("the source of `{}`", shown(name));
    findings.extend(unknown_topic(source, options));
    if name == topics::AGENT_OUTPUT {
        let message = format!("{named} finds nothing: raw output of agents enters no prompt");
        let finding = Finding::warning(FindingCode::NoEffect, source.at, message);
        findings.push(
            finding.try_instead("name the topic of what agents report, such as `IMPLEMENTATION_READY`"),
        );
    }
    if source.priority.is_none() {
        let default = source.priority().as_str();
        let message = format!("{named} names no priority and gets `{default}` by its topic");
        let finding = Finding::warning(FindingCode::ImplicitPriority, source.at, message);
        findings.push(finding.try_instead(format!("write `priority`: `{default}`, or what you mean")));
    }
    let has_messages = matches!(source.topic, SourceTopic::Ledger(_) | SourceTopic::Turns);
    if has_messages && source.strategy == Some(Selection::Latest) && source.amount.is_none() {
        let message = format!("{named} takes `latest` without an amount, which is everything");
        let finding = Finding::warning(FindingCode::LatestWithoutAmount, source.at, message);
        findings.push(finding.try_instead("set `amount`, so that stale messages drop out"));
    }
    let is_optional = source.priority() != Priority::Required;
    if has_messages && is_optional && source.compact_amount.is_none() && source.amount != Some(0) {
        let message = format!("{named} is optional and does not say how small it may become");
        let finding = Finding::warning(FindingCode::NoCompactAmount, source.at, message);
        findings.push(finding.try_instead("set `compactAmount`; without it one message is kept"));
    }
    if source.amount == Some(0) {
        let message = format!("{named} has the amount 0 and selects nothing");
        findings.push(Finding::warning(FindingCode::NoEffect, source.at, message).try_instead("remove it"));
    }
    let idle = without_effect(source);
    if !idle.is_empty() {
        let message = format!("{named} has no messages to select, so it ignores {}", listed(&idle));
        findings.push(Finding::warning(FindingCode::NoEffect, source.at, message));
    }
    findings
}

/// Returns the fields that mean nothing for a source's topic.
fn without_effect(source: &Source) -> Vec<&'static str> {
    let given = [
        ("sender", source.sender.is_some()),
        ("since", source.since.is_some()),
        ("strategy", source.strategy.is_some()),
        ("compactStrategy", source.compact_strategy.is_some()),
        ("amount", source.amount.is_some_and(|amount| amount > 0)),
        ("compactAmount", source.compact_amount.is_some()),
    ];
    let meaningless = match source.topic {
        SourceTopic::Ledger(_) | SourceTopic::Turns => 0,
        // The best hits first: which end is no question.
        SourceTopic::Retriever => 4,
        SourceTopic::State => given.len(),
    };
    given.into_iter().take(meaningless).filter(|(_, is)| *is).map(|(name, _)| name).collect()
}

fn unknown_topic(source: &Source, options: CheckOptions<'_>) -> Option<Finding> {
    let SourceTopic::Ledger(topic) = &source.topic else { return None };
    let name = topic.as_str();
    if topics::ALL.contains(&name) || options.ledger_topics.contains(topic) {
        return None;
    }
    let own = options.ledger_topics.iter().map(Topic::as_str);
    let known = topics::ALL.iter().copied().chain(SourceTopic::SPECIAL).chain(own);
    let suggestion = nearest(name, known).map_or_else(
        || "a topic of your own is fine, once an agent writes to it".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    let message = format!("nothing that is known writes to the topic `{}`", shown(name));
    Some(Finding::warning(FindingCode::UnknownTopic, source.at, message).try_instead(suggestion))
}

/// A section that changes ends the prefix that a provider can cache: all that stands behind it is paid for anew.
fn order(strategy: &Strategy) -> Vec<Finding> {
    let mut most: Option<&Source> = None;
    let mut findings = Vec::new();
    for source in &strategy.sources {
        if let Some(before) = most.filter(|before| volatility(&before.topic) > volatility(&source.topic))
            && volatility(&before.topic) == Volatility::Turn
        {
            let message = format!(
                "`{}` changes with every turn and comes before `{}`, which does not",
                shown(before.topic.as_str()),
                shown(source.topic.as_str())
            );
            let finding = Finding::warning(FindingCode::VolatileBeforeStable, source.at, message);
            findings.push(finding.try_instead("put what seldom changes first: its prefix can be cached"));
        }
        if most.is_none_or(|before| volatility(&source.topic) > volatility(&before.topic)) {
            most = Some(source);
        }
    }
    findings
}

fn duplicates(strategy: &Strategy) -> Vec<Finding> {
    let same = |one: &Source, two: &Source| {
        (&one.topic, &one.sender, one.since) == (&two.topic, &two.sender, two.since)
            && one.full() == two.full()
    };
    let twice = strategy.sources.iter().enumerate().filter_map(|(index, source)| {
        let first = strategy.sources.iter().take(index).find(|before| same(before, source))?;
        let message = format!(
            "the source of `{}` selects the same as that in line {}",
            shown(source.topic.as_str()),
            first.at.line
        );
        let finding = Finding::warning(FindingCode::DuplicateSource, source.at, message);
        Some(finding.try_instead("remove one of them"))
    });
    twice.collect()
}
