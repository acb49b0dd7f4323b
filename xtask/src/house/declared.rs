//! What the product's sources declare: functions with their lines, and types by name.
//! Not a resolver: a name that two types share is one name, for a reader has to tell them apart as well.

use std::collections::{BTreeMap, BTreeSet};

use super::lines::{Counted, product};
use crate::tidy::source::{Source, closing, head_end, words};

/// Words before the name of a type.
const TYPE_WORDS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// A function from the line of its `fn` to the line of its last brace, counted from 1.
struct Function {
    first: usize,
    last: usize,
    /// The declared types that it names.
    types: BTreeSet<String>,
}

/// The functions of each file, by its path.
pub(super) struct Declared {
    functions: BTreeMap<String, Vec<Function>>,
}

/// What some lines belong to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) functions: usize,
    /// Lines of these functions, not only those that ran: who follows a walk reads them whole.
    pub(super) lines: usize,
    pub(super) types: BTreeSet<String>,
}

impl Declared {
    pub(super) fn new(files: &[Counted<'_>]) -> Self {
        let types: BTreeSet<&str> = product(files).flat_map(|file| types(&file.source.production)).collect();
        let functions =
            product(files).map(|file| (file.source.path.to_owned(), functions(&file.source, &types)));
        Self { functions: functions.collect() }
    }

    /// Returns the functions that have one of the lines, which are counted from 1 and kept by file.
    pub(super) fn meet(&self, lines: &BTreeMap<String, BTreeSet<usize>>) -> Met {
        let mut met = Met::default();
        for (file, lines) in lines {
            for function in self.functions.get(file).into_iter().flatten() {
                if lines.range(function.first..=function.last).next().is_some() {
                    met.functions += 1;
                    met.lines += function.last - function.first + 1;
                    met.types.extend(function.types.iter().cloned());
                }
            }
        }
        met
    }
}

/// Returns the names of the types that a file declares.
fn types(code: &str) -> Vec<&str> {
    let behind = |word: &str| {
        let found = words(code, word).into_iter().map(move |at| at + word.len());
        let names = found.filter_map(|end| identifier(code, end));
        // A macro's list of keywords declares nothing, and all of our types have a capital.
        names.filter(|name| name.starts_with(char::is_uppercase)).collect::<Vec<&str>>()
    };
    TYPE_WORDS.iter().flat_map(|word| behind(word)).collect()
}

fn functions(source: &Source<'_>, types: &BTreeSet<&str>) -> Vec<Function> {
    let code = source.production.as_str();
    let starts = words(code, "fn").into_iter().filter(|at| identifier(code, at + "fn".len()).is_some());
    let found = starts.filter_map(|start| {
        let head = head_end(code, start)?;
        // A function without a body runs nowhere.
        let end = (code.as_bytes().get(head) == Some(&b'{')).then(|| closing(code, head))?;
        let names =
            code.get(start..end)?.split(|character: char| !(character.is_alphanumeric() || character == '_'));
        let types = names.filter(|name| types.contains(name)).map(str::to_owned).collect();
        Some(Function { first: source.line(start), last: source.line(end - 1), types })
    });
    found.collect()
}

/// Returns the identifier behind the white space at an offset; none where there is something else or no space.
fn identifier(code: &str, at: usize) -> Option<&str> {
    let rest = code.get(at..)?;
    let name = rest.trim_start();
    let length = name.find(|character: char| !(character.is_alphanumeric() || character == '_'));
    let name = name.get(..length.unwrap_or(name.len()))?;
    (rest.starts_with(char::is_whitespace) && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::Tree;

    #[test]
    fn a_line_meets_its_function_and_the_declared_types_that_it_names() {
        let text = "//! A.\nstruct Page(u8);\ntype Pages = Vec<Page>;\nenum Unused {}\nforward! { enum page }\n/// Not `Unused`.\nfn read(\n    page: &Page,\n) -> Pages {\n    // Unused\n    Vec::new()\n}\n\nfn other(f: fn(u8)) -> Unused {}\ntrait Reader {\n    fn read(&self);\n}\n";
        let tree =
            Tree::made_up(&[("crates/a/src/lib.rs", text), ("crates/b/src/lib.rs", "fn f() { Vec; }\n")]);
        let files = super::super::lines::count(&tree);
        let declared = Declared::new(&files);
        let at = |file: &str, line: usize| {
            declared.meet(&BTreeMap::from([(file.to_owned(), BTreeSet::from([line]))]))
        };
        let types = ["Page", "Pages"].map(str::to_owned).into();
        assert_eq!(at("crates/a/src/lib.rs", 11), Met { functions: 1, lines: 6, types });
        assert_eq!(at("crates/a/src/lib.rs", 7).functions, 1);
        assert_eq!(at("crates/a/src/lib.rs", 14).types, BTreeSet::from(["Unused".to_owned()]));
        for line in [2, 13, 16] {
            assert_eq!(at("crates/a/src/lib.rs", line), Met::default(), "on line {line}");
        }
        assert_eq!(at("crates/b/src/lib.rs", 1).types, BTreeSet::new(), "`Vec` is not ours");
    }
}
