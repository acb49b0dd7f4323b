//! Calls of tools, told apart where ids repeat, and the results that find them.
//!
//! No API takes two calls of one id, and some programs number the calls of each turn, or of each request, from 0.

use std::collections::{HashMap, HashSet};

/// Characters that every API takes in a call's id.
const CALL_ID_CHARS_MAX: usize = 64;

/// The calls so far.
#[derive(Debug, Default)]
pub(crate) struct CallNames {
    called: HashSet<String>,
    /// The calls that wait for results, by their own ids: where each was made, and what it goes by.
    waiting: HashMap<String, Vec<(usize, String)>>,
}

impl CallNames {
    /// Takes a call, and returns the id that it goes by. `made_in` counts what calls are made at once in.
    pub(crate) fn call(&mut self, id: &str, made_in: usize) -> String {
        let mut count = self.called.len() + 1;
        let mut name = id.to_owned();
        // A conversation that was translated before may hold such a name already.
        while !self.called.insert(name.clone()) {
            name = format!("again-{count}-{id}").chars().take(CALL_ID_CHARS_MAX).collect();
            count += 1;
        }
        self.waiting.entry(id.to_owned()).or_default().push((made_in, name.clone()));
        name
    }

    /// Takes a result, and returns what the call goes by that it answers, and where that was made; none where no call waits
    /// for it. Of calls of one id that were made at once the first is answered first; one that was made earlier was left.
    pub(crate) fn result(&mut self, id: &str) -> Option<(String, usize)> {
        let waiting = self.waiting.get_mut(id)?;
        let last = waiting.iter().map(|(made_in, _)| *made_in).max()?;
        let at = waiting.iter().position(|(made_in, _)| *made_in == last)?;
        let (made_in, name) = waiting.remove(at);
        Some((name, made_in))
    }

    /// Returns the calls that still wait, each with where it was made.
    pub(crate) fn open(&mut self) -> Vec<(String, usize)> {
        self.waiting.drain().flat_map(|(_, calls)| calls).map(|(made_in, name)| (name, made_in)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_answer_calls_of_one_id_in_their_order() {
        let mut names = CallNames::default();
        let calls: Vec<String> = (0..3).map(|_| names.call("c", 1)).collect();
        assert_eq!(calls, ["c", "again-2-c", "again-3-c"]);
        let answered: Vec<_> = (0..4).map(|_| names.result("c")).collect();
        let of = |name: &str| Some((name.to_owned(), 1));
        assert_eq!(answered, [of("c"), of("again-2-c"), of("again-3-c"), None]);
    }

    #[test]
    fn no_two_calls_go_by_one_name() {
        let mut names = CallNames::default();
        let calls: Vec<String> = ["c", "again-3-c", "c"].map(|id| names.call(id, 1)).into();
        assert_eq!(calls, ["c", "again-3-c", "again-4-c"]);
    }

    #[test]
    fn a_result_is_of_the_calls_that_were_made_last() {
        let mut names = CallNames::default();
        let (first, second) = (names.call("c", 1), names.call("c", 3));
        assert_eq!(names.result("c"), Some((second, 3)));
        assert_eq!(names.open(), [(first, 1)]);
        assert_eq!(names.result("other"), None);
    }
}
