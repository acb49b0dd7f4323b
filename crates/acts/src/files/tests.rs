//! Command lines, and what they do to files.

use super::*;

/// A touch in few words: the change, the path, `/…` behind a folder, `*` before a pattern, `?` where it is only possible.
fn told(file: &FileAct) -> String {
    let change = match &file.change {
        FileChange::Read => "read",
        FileChange::Write { .. } => "write",
        FileChange::Edit { .. } => "edit",
        FileChange::Delete => "delete",
        FileChange::Move { .. } => "move",
    };
    let reach = match file.reach {
        Reach::File => "",
        Reach::Folder => "/…",
        Reach::Pattern => " (pattern)",
    };
    let to = if let FileChange::Move { to } = &file.change { format!(" to {to}") } else { String::new() };
    let doubt = if file.certainty == Certainty::Possible { "?" } else { "" };
    format!("{change}{doubt} {}{reach}{to}", file.path)
}

#[test]
fn commands_say_which_files_they_touch() {
    for (line, expected) in [
        ("cd a && rm b.rs; rm -rf c; git rm /d/e.rs", "delete a/b.rs, delete a/c/…, delete /d/e.rs"),
        ("rm *.o", "delete? *.o (pattern)"),
        ("mv a b", "move a to b"),
        ("git mv a.rs sub/", "move a.rs to sub/a.rs"),
        ("mv a.rs b.rs docs", "move a.rs to docs/a.rs, move b.rs to docs/b.rs"),
        ("mv -n a b", "move? a to b"),
        ("cp ./a.rs b.rs && cp -r x y", "write b.rs, write y/…"),
        ("printf 'a > b' > note.txt", "write note.txt"),
        ("echo x >> note.txt 2>&1; make 2>/dev/null", "edit note.txt"),
        ("make | tee -a out.log", "edit out.log"),
        ("cat > a.md <<'EOF'\nit's > b\nEOF\nmv a.md c.md", "write a.md, move a.md to c.md"),
        ("cat <<EOF > a.md\nx\nEOF", "write a.md"),
        ("mv $A b; cp \"$x\" c; echo > \"$OUT\"", ""),
        ("for f in a b; do mv a b; done; rm c.rs", "move? a to b, delete c.rs"),
        ("if [ -f a.rs ]; then rm a.rs; fi && touch b.rs", "delete? a.rs, write? b.rs"),
        ("true || mv a b", "move? a to b"),
        ("git commit -m \"$(cat <<'E'\na \" > b\nE\n)\" && mv a b", ""),
        ("cd \"$X\" && mv a b && rm /abs/c.rs", "delete /abs/c.rs"),
        ("git rm --cached a.rs", ""),
        ("mv a 'b", ""),
        ("sed -i s/a/b/ x.rs y.rs", "edit x.rs, edit y.rs"),
        ("sed -i '' 's|a|b|' *.ts", "edit? *.ts (pattern)"),
        ("sed -i.bak -e s/a/b/ F G; perl -pi -e s/a/b/ H", "edit F, edit G, edit H"),
        ("cd a && sed -n 1,9p b.rs | head -3", "read a/b.rs"),
        ("cat a.rs b.rs; tail -n 5 c.rs", "read a.rs, read b.rs, read c.rs"),
        ("git checkout -- a b; git checkout main; git restore .", "edit a, edit b, edit ./…"),
        ("curl -sL -o x.tgz https://kiln.example/x.tgz", "write x.tgz"),
        ("make > /dev/null 2>&1", ""),
    ] {
        let found: Vec<String> = files(line, None).iter().map(told).collect();
        assert_eq!(found.join(", "), expected, "{line}");
    }
    let placed = files("cd src && rm ./a.rs; rm /b.rs", Some("/kiln/"));
    let paths: Vec<&str> = placed.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["/kiln/src/a.rs", "/b.rs"]);
}

#[test]
fn a_document_is_the_text_of_the_file_where_nothing_in_it_is_replaced() {
    for (line, expected) in [
        ("cat > a <<'EOF'\nx $y\nz\nEOF\nls", "x $y|z"),
        ("cat <<EOF >> a\nx\nEOF", "x"),
        ("cat > a <<EOF\nx $y\nEOF", ""),
        ("cat > a <<'EOF'\nx\n", ""),
        ("sort > a <<'EOF'\nx\nEOF", ""),
    ] {
        let found = files(line, None);
        assert_eq!(found[0].added_lines().join("|"), expected, "{line}");
    }
}

#[test]
fn what_lies_below_a_folder_that_the_agent_worked_in_is_never_scratch() {
    for (path, worked_in, is_scratch) in [
        ("/tmp/a.rs", &[][..], true),
        ("/tmp/job/app/src/a.rs", &["/tmp/job/app"], false),
        ("/tmp/job/app/src/a.rs", &["/tmp/job/app/"], false),
        ("/tmp/job/app/README.md", &["/tmp/job/app/src", "/tmp/job/app"], false),
        ("/tmp/job/app2/a.rs", &["/tmp/job/app"], true),
        ("/tmp/other", &["/tmp/job/app"], true),
        ("/tmp/a.rs", &["/tmp"], false),
        ("/dev/null", &["/tmp/job/app"], true),
        ("/dev/null", &["/"], true),
        ("/tmp/a.rs", &["/srv/app"], true),
        ("/private/tmp/job/a.rs", &["/tmp/job"], false),
        ("/var/folders/x/T/job/a.rs", &["/private/var/folders/x/T/job"], false),
        ("/private/var/folders/x/T/a.rs", &[], true),
        ("src/a.rs", &["/tmp/job"], false),
    ] {
        let file = crate::FileAct::sure(path.to_owned(), crate::FileChange::Delete);
        assert_eq!(file.is_scratch(worked_in.iter().copied()), is_scratch, "{path} in {worked_in:?}");
    }
}
