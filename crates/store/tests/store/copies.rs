//! Copies of conversations in packs: they lean on their originals, cost almost nothing, and come back.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use stemmata_model::{ArtifactId, CommitId, Timestamp};
use stemmata_store::{Commits, Link, LinkKind, NewContent, OnDisk, PackOptions, SqliteStore, Write};
use tempfile::TempDir;

use crate::support::{damages, new_commit, open, read, turn};

/// What a client makes of a transcript's lines when it copies them.
type Copying = fn(&[String]) -> Vec<String>;

/// Lines of a commit, as a turn has them.
const LINES: usize = 12;

/// What a transcript's commits are.
struct Chain {
    commits: Vec<CommitId>,
    contents: Vec<(ArtifactId, Vec<u8>)>,
}

fn store_lines(store: &SqliteStore, lines: &[String], start: i64) -> Chain {
    let mut chain = Chain { commits: Vec::new(), contents: Vec::new() };
    for (step, turn) in lines.chunks(LINES).enumerate() {
        let bytes = turn.concat().into_bytes();
        let content = NewContent::literal(bytes.clone());
        let artifact = content.id();
        let micros = start + i64::try_from(step).expect("small") * 1_000_000;
        let commit = new_commit(chain.commits.last().copied(), artifact, micros);
        chain.commits.push(commit.core.id());
        chain.contents.push((artifact, bytes));
        store.commit_batch(vec![Write::Content(content), Write::Commit(commit)]).expect("stored");
    }
    chain
}

fn link(store: &SqliteStore, copy: &Chain, original: &Chain) {
    let link = Link {
        from: copy.commits[0],
        kind: LinkKind::DerivedFrom,
        to: *original.commits.last().expect("commits"),
        entry: None,
    };
    store.commit_batch(vec![Write::Link(link)]).expect("linked");
}

fn pack(store: &SqliteStore) -> stemmata_store::Packed {
    let options = PackOptions::new(Timestamp::from_micros(1_790_000_000_000_000));
    store.pack(&options).expect("packed")
}

fn all_there(store: &SqliteStore, chain: &Chain) {
    for (id, bytes) in &chain.contents {
        assert!(read(store, *id).expect("a read") == *bytes);
    }
}

/// A line with every id that looks like a UUID replaced by a new one, the same for the same.
fn remap(line: &str, ids: &mut HashMap<String, String>, keep: &dyn Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(place) = rest.find('"') {
        let (before, quoted) = rest.split_at(place + 1);
        out.push_str(before);
        let id = quoted.get(..36).filter(|id| is_uuid(id) && quoted.as_bytes().get(36) == Some(&b'"'));
        rest = match id {
            Some(id) if !keep(id) => {
                let next = ids.len() + 1;
                let new = ids.entry(id.to_owned()).or_insert_with(|| uuid(next));
                out.push_str(new);
                &quoted[36..]
            }
            Some(_) | None => quoted,
        };
    }
    out.push_str(rest);
    out
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

fn uuid(number: usize) -> String {
    let hash = blake3_like(number);
    format!("{}-{}-4{}-a{}-{}", &hash[..8], &hash[8..12], &hash[12..15], &hash[15..18], &hash[18..30])
}

fn blake3_like(number: usize) -> String {
    stemmata_model::artifact_id(&number.to_le_bytes())
        .as_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn lines_of(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a transcript");
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn made_up(lines: usize) -> Vec<String> {
    (0..lines)
        .map(|number| {
            let seed = u64::try_from(number).expect("small");
            let text = String::from_utf8(turn(seed, 900 + number % 7 * 400)).expect("text");
            format!("{{\"sessionId\":\"{}\",\"uuid\":\"{}\",{}", uuid(0), uuid(number + 1000), &text[1..])
        })
        .collect()
}

/// The fork that the command line makes: another session in each line, all else as it was.
fn forked(lines: &[String]) -> Vec<String> {
    let session = lines.iter().find_map(|line| {
        let place = line.find("\"sessionId\":\"")?;
        line.get(place + 13..place + 49).map(str::to_owned)
    });
    let session = session.expect("a session's id");
    let mut ids = HashMap::new();
    ids.insert(session.clone(), uuid(77));
    lines.iter().map(|line| remap(line, &mut ids, &|id| id != session)).collect()
}

/// The fork that the SDK makes: every id is another one, and each line says where it came from.
fn remapped(lines: &[String]) -> Vec<String> {
    let mut ids = HashMap::new();
    lines
        .iter()
        .map(|line| {
            let old = line.find("\"uuid\":\"").and_then(|place| line.get(place + 8..place + 44));
            let from = old.map(|old| {
                format!(",\"forkedFrom\":{{\"sessionId\":\"{}\",\"messageUuid\":\"{old}\"}}}}", uuid(1))
            });
            let new = remap(line, &mut ids, &|_| false);
            match (from, new.trim_end().strip_suffix('}')) {
                (Some(from), Some(body)) => format!("{body}{from}\n"),
                _ => new,
            }
        })
        .collect()
}

#[test]
fn a_copy_leans_on_its_original_packed_before_or_in_the_same_run() {
    let lines = made_up(1500);
    let mut alone = 0;
    for together in [false, true] {
        let home = TempDir::new().expect("a directory");
        let store = open(home.path());
        let original = store_lines(&store, &lines, 1_000_000);
        if !together {
            alone = pack(&store).pack_bytes;
        }
        let copy = store_lines(&store, &forked(&lines), 2_000_000_000);
        link(&store, &copy, &original);
        let again = store_lines(&store, &remapped(&forked(&lines)), 4_000_000_000);
        link(&store, &again, &copy);
        let packed = pack(&store);
        assert!(packed.based_blocks * 3 >= packed.blocks, "{packed:?}");
        let usage = store.usage().expect("a read");
        assert!(usage.packed_bytes * 2 < alone * 3, "{} with copies, {alone} without", usage.packed_bytes);
        for chain in [&original, &copy, &again] {
            all_there(&store, chain);
        }
        assert_eq!(damages(&store), []);
        drop(store);
        let store = open(home.path());
        all_there(&store, &again);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test finds its corpus by the environment")]
fn a_copy_of_a_recorded_session_costs_a_hundredth() {
    let Some(corpus) = std::env::var_os("STEMMATA_CORPUS").map(PathBuf::from) else {
        eprintln!("skipped: STEMMATA_CORPUS is not set");
        return;
    };
    let folder = corpus.join("claude-code/entireio_cli");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).expect("there").len()));
    // The SDK's copy has a new id of 16 bytes in each line, which nothing makes shorter.
    let ways: [(&str, Copying, u64); 2] = [("fork", forked, 100), ("sdk", remapped, 200)];
    for path in files.iter().take(3) {
        let lines = lines_of(path);
        for (name, copying, most) in ways {
            let home = TempDir::new().expect("a directory");
            let store = open(home.path());
            let original = store_lines(&store, &lines, 1_000_000);
            let first = pack(&store);
            let copied = copying(&lines);
            let copy = store_lines(&store, &copied, 2_000_000_000_000);
            link(&store, &copy, &original);
            let second = pack(&store);
            let bytes = |lines: &[String]| {
                lines.iter().map(|line| u64::try_from(line.len()).expect("short")).sum::<u64>()
            };
            let cost = second.pack_bytes * 10_000 / bytes(&copied);
            eprintln!(
                "{name} of {} bytes: original {} of 10,000, copy {cost} ({} bytes), {} of {} blocks lean",
                bytes(&lines),
                first.pack_bytes * 10_000 / bytes(&lines),
                second.pack_bytes,
                second.based_blocks,
                second.blocks
            );
            all_there(&store, &copy);
            assert!(cost <= most, "{name} of {}", path.display());
        }
    }
}
