//! Golden vectors of every canonical encoding: a change here is a change of the format.

use stemmata_model::{CommitCore, CommitId, CommitType, FormatId, Template, Timestamp, artifact_id};

fn core(parent: Option<CommitId>, commit_type: CommitType, content: &[u8], micros: i64) -> CommitCore {
    CommitCore {
        parent,
        commit_type,
        artifact: artifact_id(content),
        native: None,
        format: FormatId::new("claude-code-v1").expect("a name"),
        template: Template::new("claude-code/main").expect("a name"),
        created_at: Timestamp::from_micros(micros),
    }
}

fn vectors() -> [(&'static str, CommitCore); 3] {
    let root = core(None, CommitType::Delta, b"hello\n", 1_767_225_600_000_000);
    let child = CommitCore {
        native: Some(artifact_id(b"boundary\nsummary\n")),
        template: Template::new("claude-code/subagent").expect("a name"),
        ..core(Some(root.id()), CommitType::Compaction, b"summary\n", 1_767_225_601_500_000)
    };
    let snapshot = CommitCore {
        format: FormatId::new("pi-v3").expect("a name"),
        template: Template::new("naïve/模").expect("a name"),
        ..core(Some(child.id()), CommitType::Snapshot { restated_entries: 3 }, b"", -1)
    };
    [("root delta", root), ("child with every field", child), ("snapshot", snapshot)]
}

#[test]
fn artifact_ids() {
    assert_eq!(
        artifact_id(b"").to_string(),
        "art-af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    );
    assert_eq!(
        artifact_id(b"hello\n").to_string(),
        "art-8e4c7c1b99dbfd50e7a95185fead5ee1448fa904a2fdd778eaf5f2dbfd629a99"
    );
}

#[test]
fn commit_encoding_is_the_documented_one() {
    let [(_, root), ..] = vectors();
    let mut expected = vec![1, 0, 0];
    expected.extend_from_slice(&0_u64.to_le_bytes());
    expected.extend_from_slice(&14_u64.to_le_bytes());
    expected.extend_from_slice(b"claude-code-v1");
    expected.extend_from_slice(&32_u64.to_le_bytes());
    expected.extend_from_slice(root.artifact.as_bytes());
    expected.push(0);
    expected.extend_from_slice(&16_u64.to_le_bytes());
    expected.extend_from_slice(b"claude-code/main");
    expected.extend_from_slice(&1_767_225_600_000_000_i64.to_le_bytes());
    assert_eq!(root.canonical(), expected);
}

#[test]
fn commit_ids_are_the_documented_ones() {
    let document = include_str!("../../../docs/format/commit.md");
    for (case, core) in vectors() {
        let row = format!("| {case} | `{}` |", core.id());
        assert!(document.contains(&row), "docs/format/commit.md should say: {row}");
    }
}
