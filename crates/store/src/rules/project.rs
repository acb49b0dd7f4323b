//! Which working directories lie in a project: the directory itself and what is below it.
//!
//! Compares text only; links are not followed and nothing is looked up.

/// Returns the project's path without separators at its end.
pub fn trim(project: &str) -> &str {
    project.trim_end_matches(['/', '\\'])
}

/// Says whether a working directory is the project's or lies below it, by whole path components.
pub fn holds(project: &str, cwd: Option<&str>) -> bool {
    let Some(cwd) = cwd else {
        return false;
    };
    let Some(rest) = cwd.strip_prefix(trim(project)) else {
        return false;
    };
    rest.is_empty() || rest.starts_with(['/', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_holds_itself_and_what_is_below() {
        for (project, cwd, inside) in [
            ("/a/b", "/a/b", true),
            ("/a/b/", "/a/b", true),
            ("/a/b", "/a/b/c", true),
            ("/a/b", "/a/bc", false),
            ("/a/b", "/a", false),
            ("/", "/a", true),
            ("C:\\x", "C:\\x\\y", true),
            ("C:\\x", "C:\\xy", false),
        ] {
            assert_eq!(holds(project, Some(cwd)), inside, "{cwd} in {project}");
        }
        assert!(!holds("/", None));
    }
}
