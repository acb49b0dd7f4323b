//! Listing commits by what is known of them.

use stemmata_model::{Commit, CommitId, FormatId, Principal, SummarySource, TicketId};

use super::Make;
use super::builders::{ALL, at, principal, put, see, session_id, sighting, write};
use crate::filters::{CommitFilter, TipFilter};
use crate::seam::{Commits, Page};
use crate::write::{Annotation, Write};

fn ids(commits: &[Commit]) -> Vec<CommitId> {
    commits.iter().map(|commit| commit.id).collect()
}

/// Commits are listed newest first, by what one of their sightings has, format, time and where their summary is from.
pub(super) fn check_listed(make: Make<'_, dyn Commits>) {
    let store = make();
    let root = put(&*store, None, "root", 1);
    let early = put(&*store, Some(root), "early", 10);
    let late = put(&*store, Some(early), "late", 30);
    let mut same_time = vec![put(&*store, Some(root), "a", 20), put(&*store, Some(root), "b", 20)];
    same_time.sort();
    let mut of_ann = sighting("s1", 1);
    of_ann.principal = principal("ann");
    of_ann.ticket = TicketId::new("T-1").ok();
    write(&*store, vec![see(root, of_ann.clone()), see(root, sighting("s2", 5)), see(late, of_ann)]);
    let summary = |commit: CommitId, text: Option<&str>, source, micros: i64| {
        let change = Annotation::Summary { text: text.map(str::to_owned), source };
        Write::Annotate { commit, change, at: at(micros), by: principal("ann") }
    };
    let summarized = [
        summary(early, Some("given"), SummarySource::Given, 1),
        summary(late, Some("model"), SummarySource::Model, 2),
    ];
    write(&*store, summarized.into());
    let listed = |filter: CommitFilter| ids(&store.listed(&filter, ALL).expect("a read"));
    let all = CommitFilter::default();
    assert_eq!(listed(all.clone()), [late, same_time[0], same_time[1], early, root]);
    let seen = |seen: TipFilter| CommitFilter { seen, ..CommitFilter::default() };
    let ann = TipFilter { principal: Principal::new("ann").ok(), ..TipFilter::default() };
    assert_eq!(listed(seen(ann.clone())), [late, root]);
    let elsewhere = TipFilter { session: Some(session_id("s2")), ..ann };
    assert_eq!(listed(seen(elsewhere)), [], "one sighting has all, or it is not a match");
    let since = Some(at(10));
    assert_eq!(
        listed(CommitFilter { since, until: Some(at(30)), ..all.clone() }),
        [same_time[0], same_time[1], early]
    );
    let none = FormatId::new("other-v1").ok();
    assert_eq!(listed(CommitFilter { format: none, ..all.clone() }), []);
    let by = |source| listed(CommitFilter { summary: Some(source), ..CommitFilter::default() });
    assert_eq!(by(SummarySource::Given), [early]);
    assert_eq!(by(SummarySource::Model), [late]);
    assert_eq!(by(SummarySource::Heuristic), [same_time[0], same_time[1], root]);
    write(&*store, vec![summary(early, None, SummarySource::Given, 1_000)]);
    assert_eq!(by(SummarySource::Given), [], "a summary that was taken back is none");
    let page = Page { skip: 1, rows_max: 2 };
    assert_eq!(ids(&store.listed(&all, page).expect("a read")), same_time);
}
