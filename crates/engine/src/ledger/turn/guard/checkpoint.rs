//! The state of the work at a checkpoint that a rule asked for: an event in the transaction of the commit that it belongs to.
//!
//! The conversation is the commit's chain. Files are only read, below the project's folder, and within bounds.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stemmata_acts::{Act, Call, FileAct, Reach, acts};
use stemmata_model::{Entry, Json, Part, Reason, Reasons, Timestamp, Topic, artifact_id, topics};
use stemmata_prompt::guard::Window;

use super::act::Measured;
use super::known::Known;
use crate::worktree::{git_head, tree_root};

/// Files whose checksums a checkpoint has: those that were changed last.
pub const CHECKSUM_FILES_MAX: usize = 64;

/// Bytes of a file that is read for its checksum; larger ones are named without one.
pub const CHECKSUM_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Reasons for checkpoints, each with the place of the event that gives it.
pub(in crate::ledger::turn) type PlacedReasons = Vec<(u64, Reason)>;

/// Returns the reasons that an event gives for the commit that covers it.
pub(in crate::ledger::turn) fn reasons_in(topic: &Topic, data: Option<&Json>) -> Vec<Reason> {
    if topic.as_str() != topics::CHECKPOINT_STATE {
        return Vec::new();
    }
    let data = data.map(Json::to_value).unwrap_or_default();
    let names = data.get("reasons").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_named = |reason: &Reason| names.iter().any(|name| name == reason.as_str());
    Reason::ALL.into_iter().filter(is_named).collect()
}

impl Known {
    /// Returns the state of the work, as data of an event.
    pub(super) fn state_data(
        &self,
        reasons: Reasons,
        measured: &Measured<'_>,
        window: &Window,
        now: Timestamp,
    ) -> Value {
        let root = measured.root.as_deref().map(Path::new);
        let files =
            root.map(|root| checksums(root, measured.entries.unwrap_or_default())).unwrap_or_default();
        let limit = window.limit();
        let task =
            self.status.task.as_object().map(
                |task| json!({ "id": task.get("id"), "text": task.get("text"), "status": "in_progress" }),
            );
        json!({
            "timestamp": now.to_string(),
            "reasons": reasons.iter().map(Reason::as_str).collect::<Vec<_>>(),
            "system_state": {
                "phase": self.status.phase,
                "tasks_completed": self.status.tasks_completed,
                "git_head": root.map(tree_root).as_deref().and_then(git_head),
            },
            "task_queue": task.into_iter().collect::<Vec<_>>(),
            "metrics": {
                "size": measured.tokens.0,
                "limit": limit.0,
                "ratio_permille": measured.tokens.0.saturating_mul(1_000) / limit.0.max(1),
                "errors": self.errors,
            },
            "file_checksums": files,
            // Empty and null would look like a tree without a commit in which nothing was touched.
            "not_known": if root.is_some() { [].as_slice() } else { &["git_head", "file_checksums"] },
        })
    }
}

/// Returns the checksums of the files that calls in a window changed, as artifact ids, by their paths below the project's folder;
/// none of a file that is not there, or too large. What lies elsewhere is left out.
fn checksums(root: &Path, entries: &[Entry]) -> BTreeMap<String, Option<String>> {
    let mut found = BTreeMap::new();
    let Ok(root) = root.canonicalize() else { return found };
    for entry in entries.iter().rev() {
        for part in &entry.parts {
            let Part::ToolCall { name, arguments, .. } = part else { continue };
            for file in changed_files(Call { name, arguments }) {
                if found.len() >= CHECKSUM_FILES_MAX {
                    return found;
                }
                let base = entry.meta.cwd.as_deref().map_or(root.as_path(), Path::new);
                if let Some(below) = below(&root, &base.join(&file.path)) {
                    let names: Vec<_> = below.iter().map(|name| name.to_string_lossy()).collect();
                    found.entry(names.join("/")).or_insert_with(|| checksum(&root.join(&below)));
                }
            }
        }
    }
    found
}

fn changed_files(call: Call<'_>) -> Vec<FileAct> {
    let files = acts(call).into_iter().flat_map(|act| match act {
        Act::File(file) => vec![file],
        Act::Command(command) => command.files(),
        _ => Vec::new(),
    });
    files.filter(|file| file.is_change() && file.reach == Reach::File).collect()
}

/// Returns a path below a folder, links followed as far as it is there.
fn below(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        // A file that is gone: its folder says where it was.
        Err(_) => path.parent()?.canonicalize().ok()?.join(path.file_name()?),
    };
    real.strip_prefix(root).ok().map(Path::to_path_buf).filter(|below| !below.as_os_str().is_empty())
}

fn checksum(path: &Path) -> Option<String> {
    // Looked at first: opening a pipe would wait for a writer.
    let metadata = std::fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > CHECKSUM_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(CHECKSUM_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(artifact_id(&bytes).to_string())
}
