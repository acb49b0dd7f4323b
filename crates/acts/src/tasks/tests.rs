//! Lists and trackers, and what is left of them.

use super::*;

fn open(book: &TaskBook) -> String {
    let row = |task: &Task| {
        format!("{}{} {}", task.id.as_deref().unwrap_or_default(), task.status.as_str(), task.text)
    };
    book.open().map(row).collect::<Vec<_>>().join(", ")
}

fn add(text: &str) -> TaskAct {
    TaskAct::Add { text: text.to_owned() }
}

fn change(id: &str, status: TaskStatus) -> TaskAct {
    TaskAct::Change { id: id.to_owned(), status: Some(status), text: None }
}

#[test]
fn a_tracker_is_followed_by_its_answers() {
    let mut book = TaskBook::default();
    assert!(!book.is_known());
    book.apply(&change("1", TaskStatus::Done), None);
    assert!(!book.is_known(), "a change of what nobody knows says nothing");
    book.apply(&add("glaze"), Some("Task #2 created successfully: glaze"));
    book.apply(&add("fire"), Some("Task #1 created successfully: fire"));
    book.apply(&add("sell"), None);
    book.apply(&change("1", TaskStatus::Active), None);
    assert_eq!(open(&book), "2pending glaze, 1in_progress fire, 3pending sell");
    book.apply(&TaskAct::List, Some("who knows"));
    assert_eq!(book.open().count(), 3, "a list that cannot be read changes nothing");
    book.apply(&TaskAct::List, Some("#1 [completed] fire\n#3 [pending] sell"));
    assert_eq!(open(&book), "3pending sell");
    book.apply(&add("anew"), Some("Task 3 was created: anew"));
    assert_eq!(open(&book), "3pending anew", "a tracker that begins anew");
    book.apply(&TaskAct::List, Some("No tasks found"));
    assert!(open(&book).is_empty() && book.is_known());
}

#[test]
fn the_list_that_was_changed_last_stands_first() {
    let mut book = TaskBook::default();
    book.apply(&add("tracked"), None);
    let tasks =
        ["written", "dropped"].map(|text| Task { id: None, text: text.to_owned(), status: TaskStatus::Open });
    let mut tasks = tasks.to_vec();
    tasks[1].status = TaskStatus::Dropped;
    book.apply(&TaskAct::Write { tasks }, None);
    assert_eq!(open(&book), "pending written, 1pending tracked");
    book.apply(&change("1", TaskStatus::Active), None);
    assert_eq!(open(&book), "1in_progress tracked, pending written");
    assert_eq!(book.all().count(), 2);
}
