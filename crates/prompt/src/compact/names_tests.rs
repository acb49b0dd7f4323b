//! Rows of texts and the names in them.

use super::*;

#[test]
fn names_are_found_in_their_order() {
    let rows: &[(&str, &[(Class, &str)])] = &[
        ("see /home/me/repo/src/a_b.rs:12, not x/y", &[(Class::Path, "src/a_b.rs")]),
        (
            "a/src/lib.rs b/src/lib.rs ./x/y.go",
            &[(Class::Path, "src/lib.rs"), (Class::Path, "src/lib.rs"), (Class::Path, "x/y.go")],
        ),
        ("~/.codex/skills/one/SKILL.md.", &[(Class::Path, "~/.codex/skills/one/SKILL.md")]),
        (
            "https://x.org/a_b/c.html). main.rs",
            &[(Class::Literal, "https://x.org/a_b/c.html"), (Class::File, "main.rs")],
        ),
        (
            "parse_query(parseQuery) MAX_LEN AbCde word Word",
            &[
                (Class::Identifier, "parse_query"),
                (Class::Identifier, "parseQuery"),
                (Class::Identifier, "MAX_LEN"),
                (Class::Identifier, "AbCde"),
            ],
        ),
        (
            "4fc38c5 1.2.3 v0.1.0-rc.1. 8080 2026 100 1200 #17 --dry-run -x --help",
            &[
                (Class::Literal, "4fc38c5"),
                (Class::Literal, "1.2.3"),
                (Class::Literal, "v0.1.0-rc.1"),
                (Class::Literal, "8080"),
                (Class::Literal, "#17"),
                (Class::Literal, "--dry-run"),
            ],
        ),
        ("self.config.toml( foo.lock( Cargo.lock", &[(Class::File, "Cargo.lock")]),
        ("//src/x.rs größe.rs", &[(Class::File, "x.rs"), (Class::File, "größe.rs")]),
        ("src/some_folder/", &[(Class::Identifier, "some_folder")]),
        ("", &[]),
    ];
    for (text, wanted) in rows {
        let found = names(text, "/home/me/repo");
        let found: Vec<(Class, &str)> = found.iter().map(|name| (name.class, name.text)).collect();
        assert_eq!(&found, wanted, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn names_are_pieces_of_any_text(text in "\\PC{0,200}", root in "[/a-z]{0,8}") {
        for name in names(&text, &root) {
            proptest::prop_assert_eq!(text.get(name.at..name.at + name.text.len()), Some(name.text));
        }
    }
}
