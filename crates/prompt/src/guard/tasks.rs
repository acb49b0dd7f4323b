//! The tasks of a session with what they depend on: which one is current, and how the others stand to it.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

/// Tasks of a graph at most.
const TASKS_MAX: usize = 100_000;

/// Dependencies of all tasks of a graph at most.
const DEPENDENCIES_MAX: usize = 1_000_000;

/// Tasks that the error of a cycle names at most.
const NAMED_TASKS_MAX: usize = 8;

/// A task as its caller knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskNode {
    /// Its name, unique in the graph.
    pub name: String,
    /// Names of the tasks that it depends on.
    pub depends_on: Vec<String>,
    /// Whether it is done.
    pub is_completed: bool,
}

/// How a task stands to the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It is the current one.
    Same,
    /// The current one depends on it.
    Dependency,
    /// Neither.
    Other,
}

/// Why tasks are no graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TaskGraphError {
    /// Tasks depend on each other in a circle.
    #[error("tasks depend on each other in a circle: {}", names.join(" → "))]
    Cycle {
        /// The tasks of a circle, the first one again at the end; cut after a few.
        names: Vec<String>,
    },
    /// Two tasks have one name.
    #[error("two tasks are named `{name}`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A name leads to no task.
    #[error("no task is named `{name}`, which {wanted_by} names")]
    Unknown {
        /// The name.
        name: String,
        /// Who names it.
        wanted_by: String,
    },
    /// There are too many.
    #[error("{count} {what} are more than {max}")]
    TooMany {
        /// Tasks or dependencies.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there may be.
        max: usize,
    },
}

/// Tasks without a circle, in the order in which they began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskGraph {
    places: HashMap<String, usize>,
    is_completed: Vec<bool>,
    current: Option<usize>,
    current_needs: HashSet<usize>,
}

impl TaskGraph {
    /// Reads tasks, given in the order in which they began, and which one is current.
    ///
    /// # Errors
    /// As [`TaskGraphError`] says. Reading takes time and memory in the size of what is given.
    pub fn new(tasks: &[TaskNode], current: Option<&str>) -> Result<Self, TaskGraphError> {
        bounded("tasks", tasks.len(), TASKS_MAX)?;
        let dependencies = tasks.iter().map(|task| task.depends_on.len()).sum();
        bounded("dependencies", dependencies, DEPENDENCIES_MAX)?;
        let mut places = HashMap::with_capacity(tasks.len());
        for (place, task) in tasks.iter().enumerate() {
            if places.insert(task.name.clone(), place).is_some() {
                return Err(TaskGraphError::Duplicate { name: task.name.clone() });
            }
        }
        let place = |name: &str, wanted_by: &str| {
            places.get(name).copied().ok_or_else(|| TaskGraphError::Unknown {
                name: name.to_owned(),
                wanted_by: wanted_by.to_owned(),
            })
        };
        let mut needs = Vec::with_capacity(tasks.len());
        for task in tasks {
            let wanted_by = format!("the task `{}`", task.name);
            let of_task = task.depends_on.iter().map(|name| place(name, &wanted_by));
            needs.push(of_task.collect::<Result<Vec<usize>, _>>()?);
        }
        let current = current.map(|name| place(name, "the caller")).transpose()?;
        if let Some(circle) = circle(&needs) {
            let name = |place: &usize| tasks.get(*place).map(|task| task.name.clone());
            return Err(TaskGraphError::Cycle { names: circle.iter().filter_map(name).collect() });
        }
        let current_needs =
            current.and_then(|current| needs.get(current)).into_iter().flatten().copied().collect();
        let is_completed = tasks.iter().map(|task| task.is_completed).collect();
        Ok(Self { places, is_completed, current, current_needs })
    }

    /// Returns how a task stands to the current one. Only what the current task itself names is a dependency: what that
    /// needed in its turn is done with.
    pub fn relation(&self, task: Option<&str>) -> Relation {
        match task.and_then(|task| self.places.get(task)) {
            Some(place) if Some(*place) == self.current => Relation::Same,
            Some(place) if self.current_needs.contains(place) => Relation::Dependency,
            Some(_) | None => Relation::Other,
        }
    }

    /// Returns how many tasks ago a task began: 0 for the current one and for those that began after it. Returns `None` for
    /// a task that is not known, or where none is current.
    pub fn tasks_ago(&self, task: Option<&str>) -> Option<usize> {
        let place = task.and_then(|task| self.places.get(task))?;
        Some(self.current?.saturating_sub(*place))
    }

    /// Says whether a task is done.
    pub fn is_completed(&self, task: Option<&str>) -> bool {
        let place = task.and_then(|task| self.places.get(task));
        place.and_then(|place| self.is_completed.get(*place)).copied().unwrap_or(false)
    }
}

fn bounded(what: &'static str, count: usize, max: usize) -> Result<(), TaskGraphError> {
    if count <= max { Ok(()) } else { Err(TaskGraphError::TooMany { what, count, max }) }
}

/// Returns a circle of tasks, the first one again at its end. Without recursion: a chain may be as long as the graph.
fn circle(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (task, of_task) in needs.iter().enumerate() {
        for need in of_task {
            needed_by.get_mut(*need)?.push(task);
        }
    }
    let mut free: Vec<usize> =
        waiting.iter().enumerate().filter(|(_, left)| **left == 0).map(|(task, _)| task).collect();
    while let Some(task) = free.pop() {
        for user in needed_by.get(task).into_iter().flatten() {
            let left = waiting.get_mut(*user)?;
            *left -= 1;
            if *left == 0 {
                free.push(*user);
            }
        }
    }
    // Every task that still waits needs another one that waits: following those ends in a circle.
    let mut at = waiting.iter().position(|left| *left > 0)?;
    let mut seen: HashMap<usize, usize> = HashMap::new();
    let mut path = Vec::new();
    while !seen.contains_key(&at) {
        seen.insert(at, path.len());
        path.push(at);
        at = *needs.get(at)?.iter().find(|need| waiting.get(**need).is_some_and(|left| *left > 0))?;
    }
    let mut circle: Vec<usize> = path.get(*seen.get(&at)?..)?.to_vec();
    circle.push(at);
    circle.truncate(NAMED_TASKS_MAX);
    Some(circle)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(name: &str, depends_on: &[&str]) -> TaskNode {
        let depends_on = depends_on.iter().map(|name| (*name).to_owned()).collect();
        TaskNode { name: name.to_owned(), depends_on, is_completed: false }
    }

    #[test]
    fn a_cycle_is_a_typed_error_that_names_it() {
        let tasks = [task("a", &["b"]), task("b", &["c"]), task("c", &["b"])];
        let error = TaskGraph::new(&tasks, Some("a")).expect_err("a circle");
        assert_eq!(error, TaskGraphError::Cycle { names: ["b", "c", "b"].map(str::to_owned).to_vec() });
        assert_eq!(error.to_string(), "tasks depend on each other in a circle: b → c → b");
        let own = TaskGraph::new(&[task("a", &["a"])], None);
        assert!(matches!(own, Err(TaskGraphError::Cycle { .. })));
    }

    #[test]
    fn a_long_chain_is_read_without_recursion() {
        let name = |place: usize| format!("t{place}");
        let chain = |last: usize| {
            let node = |place: usize| TaskNode {
                name: name(place),
                depends_on: vec![name((place + 1) % last)],
                is_completed: false,
            };
            (0..last).map(node).collect::<Vec<TaskNode>>()
        };
        let mut open = chain(50_000);
        open.last_mut().expect("a task").depends_on.clear();
        assert!(TaskGraph::new(&open, Some("t0")).is_ok());
        let closed = TaskGraph::new(&chain(50_000), Some("t0"));
        assert!(matches!(closed, Err(TaskGraphError::Cycle { names }) if names.len() == NAMED_TASKS_MAX));
    }

    #[test]
    fn unknown_and_double_names_are_typed_errors() {
        let unknown = TaskGraph::new(&[task("a", &["b"])], None).expect_err("no task b");
        assert_eq!(unknown.to_string(), "no task is named `b`, which the task `a` names");
        assert!(matches!(TaskGraph::new(&[], Some("a")), Err(TaskGraphError::Unknown { .. })));
        let double = TaskGraph::new(&[task("a", &[]), task("a", &[])], None);
        assert_eq!(double, Err(TaskGraphError::Duplicate { name: "a".to_owned() }));
        let many: Vec<TaskNode> = (0..=TASKS_MAX).map(|place| task(&place.to_string(), &[])).collect();
        assert!(matches!(TaskGraph::new(&many, None), Err(TaskGraphError::TooMany { .. })));
    }

    #[test]
    fn only_what_the_current_task_names_is_a_dependency() {
        let tasks = [task("old", &[]), task("base", &["old"]), task("now", &["base"])];
        let graph = TaskGraph::new(&tasks, Some("now")).expect("a graph");
        let relations = ["now", "base", "old", "unknown"].map(|name| graph.relation(Some(name)));
        assert_eq!(relations, [Relation::Same, Relation::Dependency, Relation::Other, Relation::Other]);
        assert_eq!(
            ["now", "base", "old"].map(|name| graph.tasks_ago(Some(name))),
            [Some(0), Some(1), Some(2)]
        );
        assert_eq!(graph.tasks_ago(None), None);
    }

    proptest! {
        #[test]
        fn a_graph_in_order_is_taken_and_one_with_an_edge_back_is_not(
            edges in proptest::collection::vec((0..20_usize, 0..20_usize), 0..60),
            back in 0..20_usize,
        ) {
            let mut tasks: Vec<TaskNode> = (0..20).map(|place: usize| task(&place.to_string(), &[])).collect();
            for (one, two) in edges.into_iter().filter(|(one, two)| one != two) {
                tasks[one.max(two)].depends_on.push(one.min(two).to_string());
            }
            prop_assert!(TaskGraph::new(&tasks, None).is_ok());
            tasks[back].depends_on.push(back.to_string());
            let is_cycle = matches!(TaskGraph::new(&tasks, None), Err(TaskGraphError::Cycle { .. }));
            prop_assert!(is_cycle);
        }
    }
}
