//! Laws of visibility lines and of summaries that keep something: what contexts hold, and what chains still have.

use std::collections::BTreeSet;

use proptest::prelude::*;
use stemmata_model::{
    CommitType, Entry, EntryId, EntryKind, Granularity, Part, Role, Timestamp, group_tools,
};

use super::Captured;
use super::visibility::{ShowAs, Shown, line, of_entry, pins};
use crate::adapter::{Adapter as _, Decoded, Keeps, PlanStop};
use crate::chain_tests::{Chain, commits};

const ADAPTER: Captured = Captured::ENTRIES;

fn id(text: &str) -> EntryId {
    EntryId::new(text).expect("a name")
}

/// The line of an entry whose id is its text: `u` a prompt, `a` an answer, `c` a call, `r` its result.
fn said(name: &str) -> Vec<u8> {
    let call_id = || name.get(1..).unwrap_or_default().to_owned();
    let (role, part) = match name.as_bytes()[0] {
        b'u' => (Role::User, Part::Text(name.to_owned())),
        b'a' => (Role::Assistant, Part::Text(name.to_owned())),
        b'c' => {
            let arguments = "{}".to_owned();
            (Role::Assistant, Part::ToolCall { call_id: call_id(), name: "bash".to_owned(), arguments })
        }
        _ => {
            let parts = vec![Part::Text(name.to_owned())];
            (Role::Tool, Part::ToolResult { call_id: call_id(), is_error: false, parts })
        }
    };
    ADAPTER.encode(&[Entry::said(id(name), role, vec![part])])
}

fn shows(ids: &[&str], show_as: ShowAs) -> Vec<u8> {
    let entries = ids.iter().map(|text| id(text)).collect();
    line(&[Shown { entries, show_as, reason: "old".to_owned() }], Timestamp::EPOCH)
}

fn summary(covers_from: Option<&str>, keeps_from: Option<&str>) -> Vec<u8> {
    let (covers_from, keeps_from) = (covers_from.map(id), keeps_from.map(id));
    let last = Decoded::default();
    let keeps =
        Keeps { covers_from: covers_from.as_ref(), keeps_from: keeps_from.as_ref(), ..Keeps::nothing(&last) };
    ADAPTER.encode_compaction("so far", &keeps, Timestamp::EPOCH)
}

/// Names the entries of bytes, in order: summaries as `S`, pins as `P`, other visibility lines as `V`.
fn names(bytes: &[u8]) -> String {
    let name = |entry: &Entry| match (&entry.kind, of_entry(entry)) {
        (EntryKind::CompactionSummary, _) => "S".to_owned(),
        (_, Some(shown)) if shown.iter().all(|shown| shown.show_as.hides().is_none()) => "P".to_owned(),
        (_, Some(_)) => "V".to_owned(),
        _ => entry.id.to_string(),
    };
    ADAPTER.decode(bytes).entries.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// A chain with a commit for each of these bytes.
fn chain(natives: &[Vec<u8>]) -> Chain<'static> {
    let mut chain = Chain::new(&ADAPTER);
    for native in natives {
        let has_summary =
            ADAPTER.decode(native).entries.iter().any(|entry| entry.kind == EntryKind::CompactionSummary);
        chain.push(if has_summary { CommitType::Compaction } else { CommitType::Delta }, native);
    }
    chain
}

fn context(chain: &Chain<'_>, stop: PlanStop) -> String {
    names(&chain.context(stop).1)
}

fn delta(all: &[&str]) -> Vec<u8> {
    all.iter().flat_map(|name| said(name)).collect()
}

/// Entries, and what a line makes of them.
type Said = (&'static [&'static str], ShowAs);

#[test]
fn the_last_visibility_line_wins() {
    let talk = delta(&["u1", "a1", "u2", "a2"]);
    let rows: [(&[Said], &str, u64); 4] = [
        (&[(&["u1", "a1"], ShowAs::Pruned)], "u2 a2", 2),
        (&[(&["u1", "a1"], ShowAs::Pruned), (&["a1"], ShowAs::Shown)], "a1 u2 a2", 1),
        (&[(&["a1"], ShowAs::Shown), (&["a1"], ShowAs::Archived)], "u1 u2 a2", 1),
        (&[(&["u1"], ShowAs::Pinned), (&["u1"], ShowAs::Pruned)], "a1 u2 a2 P", 1),
    ];
    for (lines, expected, hidden) in rows {
        let more: Vec<u8> = lines.iter().flat_map(|(ids, show_as)| shows(ids, *show_as)).collect();
        let chain = chain(&[talk.clone(), more]);
        assert_eq!(context(&chain, PlanStop::Compaction), expected, "{lines:?}");
        assert_eq!(chain.context(PlanStop::Compaction).0.hidden_entries, hidden, "{lines:?}");
        assert!(context(&chain, PlanStop::Root).starts_with("u1 a1 u2 a2"), "{lines:?}");
    }
}

#[test]
fn a_line_is_about_the_copies_before_it_and_of_one_sort() {
    let again = chain(&[delta(&["u1", "a1"]), shows(&["a1"], ShowAs::Pruned), delta(&["a1"])]);
    assert_eq!(context(&again, PlanStop::Compaction), "u1 a1");
    let shown = |ids: &[&str], show_as| Shown {
        entries: ids.iter().map(|text| id(text)).collect(),
        show_as,
        reason: String::new(),
    };
    let mixed = line(&[shown(&["u1"], ShowAs::Pinned), shown(&["a1"], ShowAs::Pruned)], Timestamp::EPOCH);
    assert_eq!(context(&chain(&[delta(&["u1", "a1"]), mixed.clone()]), PlanStop::Compaction), "u1 a1 P");
    let decoded = ADAPTER.decode(&mixed).entries;
    assert_eq!(pins(&decoded), BTreeSet::from([id("u1")]));
    assert_eq!(ADAPTER.encode(&decoded), mixed, "an encoded line stays as it is");
    let unpinned = ADAPTER.decode(&shows(&["u1"], ShowAs::Unpinned)).entries;
    assert_eq!(pins(decoded.iter().chain(&unpinned)), BTreeSet::new());
}

#[test]
fn visibility_lines_close_no_commit() {
    let digest = super::entries::tool_summary("three results", Timestamp::EPOCH);
    let bytes = [delta(&["u1", "c1", "r1"]), shows(&["c1", "r1"], ShowAs::Archived), digest, delta(&["u2"])];
    for granularity in [Granularity::Turn, Granularity::Message] {
        let natives: Vec<String> =
            commits(&ADAPTER, granularity, &bytes.concat()).iter().map(|(_, native)| names(native)).collect();
        let last_but_one = natives.iter().rev().nth(1).expect("two commits");
        assert!(last_but_one.contains("r1 V digest-"), "{granularity:?}: {natives:?}");
    }
}

#[test]
fn an_archived_result_leaves_its_summary_and_comes_back_from_the_root() {
    let digest = super::entries::tool_summary("one result", Timestamp::EPOCH);
    let chain = chain(&[delta(&["u1", "c1", "r1"]), shows(&["c1", "r1"], ShowAs::Archived), digest]);
    let seen = context(&chain, PlanStop::Compaction);
    assert!(seen.starts_with("u1 digest-"), "{seen}");
    assert_eq!(context(&chain, PlanStop::Root), "u1 c1 r1");
}

#[test]
fn lines_of_a_version_that_is_not_known_are_noted() {
    let newer = b"{\"v\":\"stemmata-v9\",\"role\":\"user\",\"parts\":[]}\n".to_vec();
    let (plan, _) = chain(&[delta(&["u1"]), newer]).context(PlanStop::Compaction);
    assert!(
        plan.notes.iter().any(|note| note.message.contains("unknown, newer version")),
        "{:?}",
        plan.notes
    );
    let (plan, _) = chain(&[delta(&["u1"])]).context(PlanStop::Compaction);
    assert_eq!(plan.notes, []);
}

#[test]
fn a_summary_keeps_what_its_line_names() {
    let talk = delta(&["u1", "a1", "u2", "c2", "r2", "u3", "a3"]);
    let pruned = shows(&["c2", "r2"], ShowAs::Pruned);
    let pin = shows(&["u1"], ShowAs::Pinned);
    let rows = [
        (None, None, "S"),
        (None, Some("u3"), "S u3 a3"),
        (None, Some("u2"), "S u2 u3 a3"),
        (Some("u2"), Some("u3"), "u1 a1 S u3 a3"),
        (Some("u3"), None, "u1 a1 u2 S"),
    ];
    for (covers, keeps, expected) in rows {
        let chain = chain(&[talk.clone(), pruned.clone(), summary(covers, keeps), delta(&["u4"])]);
        assert_eq!(context(&chain, PlanStop::Compaction), format!("{expected} u4"), "{covers:?} {keeps:?}");
        assert_eq!(context(&chain, PlanStop::Root), "u1 a1 u2 c2 r2 u3 a3 u4");
    }
    let pinned = chain(&[delta(&["u1"]), pin, delta(&["a1", "u2"]), summary(None, Some("u2"))]);
    assert_eq!(context(&pinned, PlanStop::Compaction), "S P u2", "pins outlive what they pin");
    assert_eq!(context(&pinned, PlanStop::Root), "u1 P a1 u2");
}

#[test]
fn a_compaction_of_a_compacted_chain_keeps_what_is_visible() {
    let first = [delta(&["u1", "u2", "a2"]), summary(None, Some("u2")), delta(&["u3", "a3"])];
    let archived = [shows(&["a2"], ShowAs::Archived), summary(None, Some("u2"))].concat();
    for (second, expected) in [(summary(None, Some("u2")), "S u2 a2 u3 a3"), (archived, "S u2 u3 a3")] {
        let chain = chain(&[first.as_slice(), &[second]].concat());
        assert_eq!(context(&chain, PlanStop::Compaction), expected);
    }
}

#[test]
fn borders_that_are_not_there_are_noted_and_lose_nothing_before_them() {
    let earlier = chain(&[delta(&["u1", "a1"])]);
    let plan =
        ADAPTER.plan_compaction(&summary(Some("x"), Some("y")), &mut earlier.clone()).expect("no storage");
    assert_eq!((plan.pieces.len(), plan.notes.len()), (2, 2));
}

#[test]
fn a_context_that_was_compacted_reads_the_same_when_its_file_is_imported() {
    let talk = delta(&["u1", "a1", "u2", "a2", "u3", "a3"]);
    for (covers, keeps) in [(None, Some("u2")), (Some("u2"), Some("u3"))] {
        let (_, bytes) = chain(&[talk.clone(), summary(covers, keeps)]).context(PlanStop::Compaction);
        let mut imported = Chain::new(&ADAPTER);
        for (commit_type, native) in commits(&ADAPTER, Granularity::Turn, &bytes) {
            let plan = ADAPTER.plan_compaction(&native, &mut imported.clone()).expect("no storage");
            let mut own = crate::chain_tests::segment(commit_type, &native);
            if commit_type == CommitType::Compaction {
                imported.segments.insert(0, own.clone());
                own.prefix = Some(crate::chain_tests::written(&plan.pieces, &imported.segments).into());
                imported.segments.remove(0);
            }
            imported.segments.insert(0, own);
        }
        assert_eq!(imported.context(PlanStop::Compaction).1, bytes);
    }
}

/// What happens in a session.
#[derive(Debug, Clone)]
enum Act {
    Say(u8),
    Show(Vec<usize>, u8),
    Compact(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (0_u8..4).prop_map(Act::Say),
        3 => (proptest::collection::vec(any::<usize>(), 0..4), 0_u8..5).prop_map(|(ids, way)| Act::Show(ids, way)),
        1 => any::<usize>().prop_map(Act::Compact),
    ];
    proptest::collection::vec(act, 1..24)
}

/// Plays acts as commits of one line each. Returns them with the names of all entries.
fn play(acts: &[Act]) -> (Vec<Vec<u8>>, Vec<String>) {
    let (mut natives, mut all): (Vec<Vec<u8>>, Vec<String>) = (Vec::new(), Vec::new());
    for act in acts {
        let pick = |at: &usize| all.get(at % all.len().max(1)).cloned();
        match act {
            Act::Say(kind) => {
                let turn = all.len() / 4;
                let name = format!("{}{turn}", ["u", "c", "r", "a"][usize::from(*kind)]);
                if !all.contains(&name) {
                    natives.push(said(&name));
                    all.push(name);
                }
            }
            Act::Show(ids, way) => {
                let ids: Vec<String> = ids.iter().filter_map(pick).collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                let ways =
                    [ShowAs::Pruned, ShowAs::Archived, ShowAs::Shown, ShowAs::Pinned, ShowAs::Unpinned];
                natives.push(shows(&ids, ways[usize::from(*way)]));
            }
            Act::Compact(keeps) => natives.push(summary(None, pick(keeps).as_deref())),
        }
    }
    (natives, all)
}

/// A chain of acts, whose compactions may name what is hidden.
fn lenient(natives: &[Vec<u8>]) -> Chain<'static> {
    let mut chain = Chain::new(&ADAPTER);
    for native in natives {
        let is_summary = names(native) == "S";
        let plan = ADAPTER.plan_compaction(native, &mut chain.clone()).expect("no storage");
        let commit_type = if is_summary { CommitType::Compaction } else { CommitType::Delta };
        chain.segments.insert(0, crate::chain_tests::segment(commit_type, native));
        if is_summary {
            let artifact = crate::chain_tests::written(&plan.pieces, &chain.segments);
            chain.segments[0].prefix = Some(artifact.into());
        }
    }
    chain
}

proptest! {
    #[test]
    fn law_any_visibility_lines_leave_pairs_whole(acts in acts()) {
        // Nothing is compacted: a border may stand anywhere, and is the writer's duty.
        let acts: Vec<Act> = acts.into_iter().filter(|act| !matches!(act, Act::Compact(_))).collect();
        let (natives, _) = play(&acts);
        let chain = lenient(&natives);
        let [seen, all] = [PlanStop::Compaction, PlanStop::Root]
            .map(|stop| ADAPTER.decode(&chain.context(stop).1).entries);
        let kept: BTreeSet<&EntryId> = seen.iter().map(|entry| &entry.id).collect();
        for group in group_tools(&all) {
            let members = group.calls.iter().chain(&group.results);
            let there: BTreeSet<bool> = members.map(|at| kept.contains(&all[*at].id)).collect();
            prop_assert!(there.len() <= 1, "{group:?}");
        }
    }

    #[test]
    fn law_hidden_rows_are_in_no_context_from_a_compaction_and_in_every_one_from_the_root(acts in acts()) {
        let (natives, all) = play(&acts);
        let chain = lenient(&natives);
        let root = context(&chain, PlanStop::Root);
        for name in &all {
            prop_assert!(root.split(' ').any(|seen| seen == name), "{} of {}", name, root);
        }
        let hide = shows(&all.iter().map(String::as_str).collect::<Vec<_>>(), ShowAs::Pruned);
        let hidden = lenient(&[natives.as_slice(), &[hide]].concat());
        let seen = context(&hidden, PlanStop::Compaction);
        prop_assert!(!seen.split(' ').any(|seen| all.iter().any(|name| name == seen)), "{}", seen);
        prop_assert_eq!(context(&hidden, PlanStop::Root), root);
    }

    #[test]
    fn law_rehydrating_gives_the_context_before(acts in acts(), ids in proptest::collection::vec(any::<usize>(), 1..5)) {
        let (natives, all) = play(&acts);
        let before = lenient(&natives).context(PlanStop::Compaction).1;
        let seen = ADAPTER.decode(&before).entries;
        let said = seen.iter().map(|entry| entry.id.as_str()).filter(|id| all.iter().any(|name| name == id));
        let said: Vec<&str> = said.collect();
        let chosen: Vec<&str> = ids.iter().filter_map(|at| said.get(at % said.len().max(1)).copied()).collect();
        let more = [shows(&chosen, ShowAs::Archived), shows(&chosen, ShowAs::Shown)];
        let after = lenient(&[natives.as_slice(), &more].concat()).context(PlanStop::Compaction).1;
        prop_assert_eq!(names(&after), names(&before));
    }

    #[test]
    fn law_a_compaction_planned_again_from_its_native_bytes_is_the_same(acts in acts(), keeps: usize) {
        let (natives, all) = play(&acts);
        let mut chain = lenient(&natives);
        let seen = context(&chain, PlanStop::Compaction);
        let said: Vec<&str> = seen.split(' ').filter(|name| all.iter().any(|known| known == name)).collect();
        let Some(first) = said.get(keeps % said.len().max(1)) else { return Ok(()) };
        let native = summary(None, Some(first));
        chain = lenient(&[natives.as_slice(), std::slice::from_ref(&native)].concat());
        let mut earlier = chain.clone();
        earlier.segments.remove(0);
        let plan = ADAPTER.plan_compaction(&native, &mut earlier).expect("no storage");
        let again = crate::chain_tests::written(&plan.pieces, &chain.segments);
        prop_assert_eq!(chain.segments[0].prefix.as_deref(), Some(&again));
        // Behind the summary stands what stood from there on, and the pins before it.
        let kept = seen.split(' ').skip_while(|name| name != first).collect::<Vec<_>>().join(" ");
        let made = context(&chain, PlanStop::Compaction);
        prop_assert!(made.starts_with('S') && made.ends_with(&kept), "{} of {}", made, seen);
    }
}
