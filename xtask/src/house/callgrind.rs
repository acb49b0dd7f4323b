//! A file that `valgrind --tool=callgrind` writes with uncompressed names and positions: what ran, of our own files.
//! Not about cost: how often something ran says nothing of how many places a reader has to know.
//!
//! Each function is a block. `fl=` names the file that it is in and `fn=` the function. Lines of two numbers have the
//! source line first; `fi=` and `fe=` change the file that they are of, where code of another file was inlined. A call is
//! `cfi=` or `cfl=` with the callee's file, where that is not the current one, and `cfn=` with the callee.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use super::circles::Edges;

/// What ran in one process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Profile {
    /// Functions by the file that they are in, without type arguments and closures' names.
    pub(super) functions: BTreeMap<String, BTreeSet<String>>,
    /// Lines by the file that they are of, counted from 1.
    pub(super) lines: BTreeMap<String, BTreeSet<usize>>,
    /// From each file to others that it called.
    pub(super) calls: BTreeSet<(String, String)>,
}

impl Profile {
    /// Reads what a profile says of the files that are known by their paths in the repository.
    ///
    /// # Errors
    /// When the reader fails.
    pub(super) fn read(input: impl BufRead, known: &BTreeSet<&str>) -> std::io::Result<Self> {
        let mut profile = Self::default();
        let mut at = Position { known, function_file: None, file: None, callee_file: None };
        for line in input.split(b'\n') {
            // A symbol's name may hold any byte.
            profile.take(&mut at, &String::from_utf8_lossy(&line?));
        }
        let lines = &profile.lines;
        profile.functions.retain(|file, _| lines.contains_key(file));
        Ok(profile)
    }

    fn take(&mut self, at: &mut Position<'_>, line: &str) {
        match line.split_once('=') {
            Some(("fl", file)) => {
                at.function_file = at.own(file);
                at.file = at.function_file.clone();
            }
            Some(("fi" | "fe", file)) => at.file = at.own(file),
            Some(("fn", name)) => {
                at.file = at.function_file.clone();
                if let Some(file) = &at.file {
                    self.functions.entry(file.clone()).or_default().insert(plain_name(name));
                }
            }
            Some(("cfi" | "cfl", file)) => at.callee_file = Some(Callee(at.own(file))),
            Some(("cfn", _)) => {
                let callee = at.callee_file.take().map_or_else(|| at.file.clone(), |callee| callee.0);
                if let (Some(from), Some(to)) = (&at.function_file, callee)
                    && *from != to
                {
                    self.calls.insert((from.clone(), to));
                }
            }
            Some(_) => {}
            None => self.take_line(at, line),
        }
    }

    /// Takes a line number with its cost. 0 is code without a line. 1 is code that the compiler made for the whole crate: in our files
    /// line 1 is documentation.
    fn take_line(&mut self, at: &Position<'_>, line: &str) {
        let (Some(file), Some((number, _))) = (&at.file, line.split_once(' ')) else { return };
        if let Some(number) = number.parse().ok().filter(|number| *number > 1) {
            self.lines.entry(file.clone()).or_default().insert(number);
        }
    }

    /// Returns what ran here and not in another process. Calls stay: a walk may take the way of the other for its own
    /// reasons.
    pub(super) fn without(self, other: &Self) -> Self {
        let functions = difference(self.functions, &other.functions);
        Self { lines: difference(self.lines, &other.lines), functions, calls: self.calls }
    }

    /// Returns the number of pairs of files that call each other.
    pub(super) fn mutual_pairs(&self) -> usize {
        let back =
            |(from, to): &&(String, String)| from < to && self.calls.contains(&(to.clone(), from.clone()));
        self.calls.iter().filter(back).count()
    }

    /// Returns the calls between the files that have functions here, as a graph.
    pub(super) fn graph(&self) -> Edges {
        let numbers: BTreeMap<&str, usize> =
            self.functions.keys().enumerate().map(|(at, file)| (file.as_str(), at)).collect();
        let mut edges: Edges = numbers.iter().map(|_| BTreeSet::new()).collect();
        for (from, to) in &self.calls {
            if let (Some(from), Some(to)) = (numbers.get(from.as_str()), numbers.get(to.as_str()))
                && let Some(next) = edges.get_mut(*from)
            {
                next.insert(*to);
            }
        }
        edges
    }
}

/// Where the reader of a profile is. A file that is not known is none.
struct Position<'a> {
    known: &'a BTreeSet<&'a str>,
    function_file: Option<String>,
    file: Option<String>,
    /// Set by `cfi=` or `cfl=` for the next `cfn=` alone.
    callee_file: Option<Callee>,
}

/// The file of what is called next, where it is known.
struct Callee(Option<String>);

impl Position<'_> {
    /// Returns the path in the repository of a known file. Debug information has the whole path of where it was built, and
    /// the compiler's own library has folders named `crates` too.
    fn own(&self, path: &str) -> Option<String> {
        let inside = path.get(path.rfind("crates/")?..)?;
        self.known.contains(inside).then(|| inside.to_owned())
    }
}

fn difference<T: Ord>(
    ours: BTreeMap<String, BTreeSet<T>>,
    theirs: &BTreeMap<String, BTreeSet<T>>,
) -> BTreeMap<String, BTreeSet<T>> {
    let left = ours.into_iter().map(|(file, mut items)| {
        let other = theirs.get(&file);
        items.retain(|item| !other.is_some_and(|other| other.contains(item)));
        (file, items)
    });
    left.filter(|(_, items)| !items.is_empty()).collect()
}

/// Returns a function's name without type arguments, closures and the number that a recursion has.
fn plain_name(name: &str) -> String {
    let name = name.split('\'').next().unwrap_or(name);
    let mut plain = String::new();
    let mut depth = 0_usize;
    let mut before = ' ';
    for character in name.chars() {
        match character {
            '<' => depth += 1,
            // The arrow of a function type closes nothing.
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(character),
            _ => {}
        }
        before = character;
    }
    let closure = plain.find("{closure").or_else(|| plain.find("{{closure"));
    plain.truncate(closure.unwrap_or(plain.len()));
    plain.trim_end_matches(':').trim_end_matches('{').trim_end_matches(':').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE_UP: &str = "\
version: 1
positions: line
events: Ir
fl=/src/crates/cli/src/main.rs
fn=stemma::main
3 10
0 2
fi=/src/crates/cli/src/args.rs
7 1
calls=1 20
cfn=stemma::args::parse
7 5
fe=/src/crates/cli/src/main.rs
4 1
cfi=/src/crates/engine/src/home.rs
cfn=<stemma::Home as Open>::open
calls=2 30
4 900

fl=/src/crates/engine/src/home.rs
fn=engine::home::Home<A>::read::{{closure}}'2
31 4
cfi=/rustc/library/core/src/iter.rs
cfn=core::iter::next
calls=1 1
31 4
cfi=/src/crates/cli/src/main.rs
cfn=stemma::main
calls=1 1
32 4
fn=engine::home::Home<fn() -> u8>::read
30 9
fl=/home/me/crates/cli/src/lib.rs
fn=core::ptr::drop_in_place<other::Thing>
1 7
fl=/rustc/library/stdarch/crates/core_arch/src/x86.rs
fn=other::of
1 1
totals: 1000
";

    const MAIN: &str = "crates/cli/src/main.rs";
    const ARGS: &str = "crates/cli/src/args.rs";
    const HOME: &str = "crates/engine/src/home.rs";

    fn read(text: &str) -> Profile {
        Profile::read(text.as_bytes(), &[MAIN, ARGS, HOME, "crates/cli/src/lib.rs"].into()).unwrap()
    }

    fn sets<T: Ord + Clone>(files: &[(&str, &[T])]) -> BTreeMap<String, BTreeSet<T>> {
        files.iter().map(|(file, items)| ((*file).to_owned(), items.iter().cloned().collect())).collect()
    }

    #[test]
    fn functions_lines_and_calls_are_put_down_to_the_files_that_they_are_in() {
        let profile = read(MADE_UP);
        let names =
            [(MAIN, &["stemma::main".to_owned()][..]), (HOME, &["engine::home::Home::read".to_owned()])];
        assert_eq!(profile.functions, sets(&names));
        assert_eq!(profile.lines, sets(&[(MAIN, &[3, 4][..]), (ARGS, &[7]), (HOME, &[30, 31, 32])]));
        let calls = [(MAIN, ARGS), (MAIN, HOME), (HOME, MAIN)].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(profile.calls, calls.into());
        assert_eq!(profile.mutual_pairs(), 1);
        assert_eq!(super::super::circles::circles(&profile.graph()), [vec![0, 1]]);
    }

    #[test]
    fn what_another_process_ran_too_is_taken_away() {
        let other = "fl=/other/crates/cli/src/main.rs\nfn=stemma::main\n3 1\n";
        let left = read(MADE_UP).without(&read(other));
        assert_eq!(left.functions.keys().collect::<Vec<_>>(), [HOME]);
        assert_eq!(left.lines[MAIN], BTreeSet::from([4]));
    }
}
