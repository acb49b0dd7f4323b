//! The state of the work at a checkpoint: what seed 002 stores beside the conversation.
//!
//! Where it is stored, and how it is compared with files, is the engine's.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::ArtifactId;

/// Tasks of one state at most.
pub const WORK_TASKS_MAX: usize = 1_000;

/// Files of one state at most.
pub const WORK_FILES_MAX: usize = 1_000;

/// Bytes of each text of a state at most.
pub const WORK_TEXT_BYTES_MAX: usize = 4_096;

/// The state of the work at a checkpoint. Its time is that of the event or the file that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkState {
    /// The phase of the work, as its caller names it.
    pub phase: Option<String>,
    /// Tasks completed so far.
    pub tasks_completed: u64,
    /// The commit that the working tree is at, as git prints it.
    pub git_head: Option<String>,
    /// Tasks that are not done, in order.
    pub task_queue: Vec<WorkTask>,
    /// How full the window was, and what went wrong.
    pub metrics: WorkMetrics,
    /// Files that the work changed or read: the path from the working tree's root with `/` between its names, and the BLAKE3
    /// hash of the file's bytes. `None` where there was no such file.
    pub file_checksums: BTreeMap<String, Option<ArtifactId>>,
}

/// A task that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkTask {
    /// How its tracker names it.
    pub id: Option<String>,
    /// What is to be done.
    pub text: String,
    /// How far it is: `open`, `in_progress` or what its tracker says.
    pub status: String,
}

/// How full the window was, and what went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkMetrics {
    /// Tokens in the window.
    pub size_tokens: u64,
    /// Tokens that the window takes, where that is known.
    pub limit_tokens: Option<u64>,
    /// Results of tools in the window that are errors.
    pub errors: u64,
}

impl WorkMetrics {
    /// Returns the part of the window in use, in thousandths. `None` where the limit is not known or 0.
    pub fn ratio_permille(&self) -> Option<u64> {
        let limit = self.limit_tokens.filter(|limit| *limit > 0)?;
        Some(self.size_tokens.saturating_mul(1_000) / limit)
    }
}

/// What is wrong with a state: the field, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {reason}")]
pub struct WorkStateError {
    /// The field, with dots between its names.
    pub field: &'static str,
    /// Why it is refused.
    pub reason: String,
}

impl WorkState {
    /// Returns its fields as JSON, without floats.
    pub fn to_json(&self) -> Value {
        let task = |task: &WorkTask| json!({"id": task.id, "text": task.text, "status": task.status});
        let checksums: Map<String, Value> = self
            .file_checksums
            .iter()
            .map(|(path, sum)| (path.clone(), json!(sum.map(|sum| sum.to_string()))))
            .collect();
        json!({
            "system_state": {
                "phase": self.phase, "tasks_completed": self.tasks_completed, "git_head": self.git_head,
            },
            "task_queue": self.task_queue.iter().map(task).collect::<Vec<Value>>(),
            "metrics": {
                "size": self.metrics.size_tokens,
                "limit": self.metrics.limit_tokens,
                "ratio_permille": self.metrics.ratio_permille(),
                "errors": self.metrics.errors,
            },
            "file_checksums": checksums,
        })
    }

    /// Reads what [`to_json`](Self::to_json) returns; other fields are passed over, and the ratio is computed anew.
    ///
    /// # Errors
    /// [`WorkStateError`] for a field that is absent, has another type, is beyond its bound, or is a path out of the tree.
    pub fn of_json(value: &Value) -> Result<Self, WorkStateError> {
        let system = field(value, "system_state", "system_state", Value::as_object)?;
        let metrics = field(value, "metrics", "metrics", Value::as_object)?;
        let queue = field(value, "task_queue", "task_queue", Value::as_array)?;
        let sums = field(value, "file_checksums", "file_checksums", Value::as_object)?;
        bounded("task_queue", queue.len(), WORK_TASKS_MAX)?;
        bounded("file_checksums", sums.len(), WORK_FILES_MAX)?;
        let metric = |name, path| number(metrics.get(name), path);
        Ok(Self {
            phase: text(system.get("phase"), "system_state.phase")?,
            tasks_completed: number(system.get("tasks_completed"), "system_state.tasks_completed")?
                .unwrap_or(0),
            git_head: text(system.get("git_head"), "system_state.git_head")?,
            task_queue: queue.iter().map(task_of).collect::<Result<_, _>>()?,
            metrics: WorkMetrics {
                size_tokens: metric("size", "metrics.size")?.unwrap_or(0),
                limit_tokens: metric("limit", "metrics.limit")?,
                errors: metric("errors", "metrics.errors")?.unwrap_or(0),
            },
            file_checksums: sums.iter().map(checksum_of).collect::<Result<_, _>>()?,
        })
    }
}

/// Says whether a path names something below a folder: no root, no `..`, no empty name, none of Windows' separators.
pub fn is_path_below(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\\', ':', '\0']);
    path.len() <= WORK_TEXT_BYTES_MAX && path.split('/').all(is_name)
}

fn checksum_of((path, sum): (&String, &Value)) -> Result<(String, Option<ArtifactId>), WorkStateError> {
    let refused = |reason: String| WorkStateError { field: "file_checksums", reason };
    if !is_path_below(path) {
        let shown: String = path.chars().take(80).collect();
        return Err(refused(format!("names `{}`, which is not a path below the tree", shown.escape_debug())));
    }
    if sum.is_null() {
        return Ok((path.clone(), None));
    }
    let sum = sum.as_str().and_then(|sum| sum.parse().ok());
    Ok((
        path.clone(),
        Some(sum.ok_or_else(|| refused("has a checksum that is not an `art-` id".to_owned()))?),
    ))
}

fn task_of(value: &Value) -> Result<WorkTask, WorkStateError> {
    let absent = || WorkStateError { field: "task_queue", reason: "has a task without a text".to_owned() };
    Ok(WorkTask {
        id: text(value.get("id"), "task_queue.id")?,
        text: text(value.get("text"), "task_queue.text")?.ok_or_else(absent)?,
        status: text(value.get("status"), "task_queue.status")?.unwrap_or_else(|| "open".to_owned()),
    })
}

fn field<'v, T>(
    value: &'v Value,
    name: &str,
    path: &'static str,
    read: impl FnOnce(&'v Value) -> Option<T>,
) -> Result<T, WorkStateError> {
    value
        .get(name)
        .and_then(read)
        .ok_or_else(|| WorkStateError { field: path, reason: "is absent or of another type".to_owned() })
}

fn text(value: Option<&Value>, path: &'static str) -> Result<Option<String>, WorkStateError> {
    let text = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(_) => return Err(WorkStateError { field: path, reason: "is not text".to_owned() }),
    };
    bounded(path, text.len(), WORK_TEXT_BYTES_MAX)?;
    Ok(Some(text.clone()))
}

fn number(value: Option<&Value>, path: &'static str) -> Result<Option<u64>, WorkStateError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(WorkStateError { field: path, reason: "is not a whole number".to_owned() }),
        },
    }
}

fn bounded(path: &'static str, size: usize, bound: usize) -> Result<(), WorkStateError> {
    if size <= bound {
        return Ok(());
    }
    Err(WorkStateError { field: path, reason: format!("is too large: {size}, at most {bound}") })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::artifact_id;

    prop_compose! {
        fn state()(
            phase in proptest::option::of("[a-z]{0,9}"), tasks_completed: u64, size_tokens: u64,
            limit_tokens: Option<u64>, errors: u64, tasks in proptest::collection::vec("\\PC{0,9}", 0..4),
            files in proptest::collection::btree_set("[a-z]{1,4}(/[a-z.]{3,5}){0,2}", 0..4),
        ) -> WorkState {
            let task = |text: String| WorkTask { id: None, text, status: "open".to_owned() };
            WorkState {
                phase,
                tasks_completed,
                git_head: Some("0a1b".to_owned()),
                task_queue: tasks.into_iter().map(task).collect(),
                metrics: WorkMetrics { size_tokens, limit_tokens, errors },
                file_checksums: files
                    .into_iter()
                    .filter(|path| is_path_below(path))
                    .map(|path| (path.clone(), (path.len() % 2 == 0).then(|| artifact_id(path.as_bytes()))))
                    .collect(),
            }
        }
    }

    proptest! {
        #[test]
        fn a_state_comes_back_from_its_json(state in state()) {
            prop_assert_eq!(WorkState::of_json(&state.to_json()), Ok(state));
        }

        #[test]
        fn a_path_below_a_folder_never_leaves_it(path in "[a./\\\\:]{0,9}") {
            if is_path_below(&path) {
                let joined = std::path::Path::new("/tree").join(&path);
                prop_assert!(joined.components().all(|part| !matches!(part, std::path::Component::ParentDir)));
                prop_assert!(joined.starts_with("/tree"));
            }
        }
    }

    #[test]
    fn what_is_no_state_is_refused_with_its_field() {
        let good = || WorkState::default().to_json();
        let with = |at: &str, value: Value| {
            let mut json = good();
            *json.pointer_mut(at).expect("a field") = value;
            json
        };
        let many: Vec<Value> = (0..=WORK_TASKS_MAX).map(|_| json!({"text": "t"})).collect();
        let long = "x".repeat(WORK_TEXT_BYTES_MAX + 1);
        let sum = artifact_id(b"").to_string();
        for (json, field) in [
            (json!(null), "system_state"),
            (json!([]), "system_state"),
            (with("/system_state", json!("x")), "system_state"),
            (with("/metrics", json!(7)), "metrics"),
            (with("/metrics/size", json!(-1)), "metrics.size"),
            (with("/metrics/limit", json!("many")), "metrics.limit"),
            (with("/task_queue", json!({})), "task_queue"),
            (with("/task_queue", json!([7])), "task_queue"),
            (with("/task_queue", json!(many)), "task_queue"),
            (with("/system_state/phase", json!(long)), "system_state.phase"),
            (with("/system_state/git_head", json!(1)), "system_state.git_head"),
            (with("/file_checksums", json!({"a": "0"})), "file_checksums"),
            (with("/file_checksums", json!({"../a": sum.clone()})), "file_checksums"),
            (with("/file_checksums", json!({"/etc/passwd": sum.clone()})), "file_checksums"),
            (with("/file_checksums", json!({"a/../../b": sum})), "file_checksums"),
        ] {
            let error = WorkState::of_json(&json).expect_err("no state");
            assert_eq!(error.field, field, "{json}");
        }
    }
}
