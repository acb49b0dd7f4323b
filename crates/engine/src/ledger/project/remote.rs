//! Remotes: what a repository's configuration says of where it comes from, in one form however it is written.
//!
//! Pure. What stands in files that the configuration includes is not seen.

/// Returns a name of the repository that a configuration's remote leads to: `host/path`. None where it has no remote,
/// none that is called `origin` among several, or one that leads to a path of this machine, which names nothing elsewhere.
pub(super) fn remote_of(config: &str) -> Option<String> {
    let mut remotes: Vec<(String, String)> = Vec::new();
    let mut section: Option<String> = None;
    for line in logical_lines(config) {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = remote_name(header);
            // What follows a header on its line is a variable of it; git itself never writes that.
            continue;
        }
        let (Some(name), Some((key, value))) = (&section, line.split_once('=')) else { continue };
        // Git fetches from the first address of a remote; more are for pushing.
        if key.trim().eq_ignore_ascii_case("url") && !remotes.iter().any(|(known, _)| known == name) {
            remotes.push((name.clone(), value_of(value)));
        }
    }
    let origin = remotes.iter().find(|(name, _)| name == "origin");
    let only = if remotes.len() == 1 { remotes.first() } else { None };
    origin.or(only).and_then(|(_, url)| normalised(url))
}

/// Returns `host/path` of an address. Scheme, user, password, port, case of the host, `.git` and slashes at the end do
/// not matter: one repository is reached by several of them.
pub(super) fn normalised(url: &str) -> Option<String> {
    let url = url.trim();
    if url.contains(char::is_control) {
        return None;
    }
    let (host, path) = match url.split_once("://") {
        // `codecommit::region://…`: a helper's own address, of which nobody else knows what in it is secret.
        Some((scheme, _)) if scheme.contains(':') || scheme.eq_ignore_ascii_case("file") => return None,
        Some((_, rest)) => {
            let (authority, path) = rest.split_once('/')?;
            (authority.rsplit_once('@').map_or(authority, |(_, host)| host), path)
        }
        None => {
            let (authority, path) = url.split_once(':')?;
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            // A slash before the colon is a path with a colon, one letter a drive, two colons a helper.
            if authority.contains('/') || host.chars().count() < 2 || path.starts_with(':') {
                return None;
            }
            (host, path)
        }
    };
    let host = without_port(host)?.to_ascii_lowercase();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let path = parts.join("/");
    let path = path.strip_suffix(".git").unwrap_or(&path).trim_end_matches('/');
    (!host.is_empty() && !path.is_empty()).then(|| format!("{host}/{path}"))
}

/// A port that is no number is part of a password with a slash in it: of such an address nothing is taken.
fn without_port(host: &str) -> Option<&str> {
    if host.starts_with('[') {
        let end = host.find(']')?;
        return host.get(..=end);
    }
    match host.split_once(':') {
        Some((host, port)) => port.bytes().all(|byte| byte.is_ascii_digit()).then_some(host),
        None => Some(host),
    }
}

/// Returns the name in `remote "name"]`.
fn remote_name(header: &str) -> Option<String> {
    let (kind, rest) = header.split_once('"')?;
    let name = rest.rsplit_once('"').map(|(name, _)| name)?;
    kind.trim().eq_ignore_ascii_case("remote").then(|| name.replace('\\', ""))
}

/// Returns the lines of a configuration, those that end in a backslash joined with what follows.
fn logical_lines(config: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for line in config.lines() {
        if let Some(begun) = line.strip_suffix('\\') {
            open.push_str(begun);
        } else {
            open.push_str(line);
            lines.push(std::mem::take(&mut open));
        }
    }
    lines.push(open);
    lines
}

/// Returns a value without quotes, escapes and the comment after it.
fn value_of(text: &str) -> String {
    let (mut value, mut quoted, mut escaped) = (String::new(), false, false);
    for character in text.trim().chars() {
        match character {
            _ if escaped => {
                value.push(character);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            _ => value.push(character),
        }
    }
    value.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_repository_has_one_name() {
        let same = [
            "https://github.com/ada/engine",
            "https://github.com/ada/engine.git",
            "https://GitHub.com/ada/engine.git/",
            "http://github.com:8080/ada/engine.git",
            "https://ada:pa:ss@word@github.com/ada/engine.git",
            "https://token@github.com/ada//engine?token=1#x",
            "git@github.com:ada/engine.git",
            "github.com:ada/engine",
            "ssh://git@github.com:22/ada/engine.git",
            "git+ssh://git@GITHUB.COM/ada/engine",
            "  git@github.com:/ada/engine.git  ",
        ];
        for url in same {
            assert_eq!(normalised(url).as_deref(), Some("github.com/ada/engine"), "{url}");
        }
        for (url, name) in [
            ("https://github.com/Ada/engine", "github.com/Ada/engine"),
            ("ssh://[::1]:22/ada/x.git", "[::1]/ada/x"),
            ("https://h/a.git.git", "h/a.git"),
        ] {
            assert_eq!(normalised(url).as_deref(), Some(name), "{url}");
        }
        let none = [
            "",
            ".",
            "/srv/git/x.git",
            "../x",
            "./a:b",
            "C:\\x",
            "c:/x",
            "file:///srv/x",
            "https://github.com",
            "https://github.com/",
            "https://ada:pa/ss@github.com/x",
            "codecommit::eu-1://me@x",
            "ext::sh -c x",
            "https:///x",
            "a\u{0}b:c",
        ];
        for url in none {
            assert_eq!(normalised(url), None, "{url}");
        }
    }

    #[test]
    fn a_configuration_says_its_remote() {
        let origin = "[core]\n\tbare = false\n[remote \"upstream\"]\n\turl = https://h/up\n\
                      [Remote \"origin\"] ; ours\n\tfetch = +refs/*\n\tURL = \"https://h/a b\" # where\n\turl = https://h/push\n\
                      [branch \"main\"]\n\turl = https://h/no\n";
        assert_eq!(remote_of(origin).as_deref(), Some("h/a b"));
        let continued = "[remote \"only\"]\nurl = https://h/\\\nlong\n";
        assert_eq!(remote_of(continued).as_deref(), Some("h/long"));
        let several = "[remote \"a\"]\nurl = https://h/a\n[remote \"b\"]\nurl = https://h/b\n";
        assert_eq!(remote_of(several), None, "neither of two others is this repository");
        for config in
            ["", "[", "[remote]\nurl = https://h/x", "[remote \"origin\"]\nurl\n", "url = https://h/x"]
        {
            assert_eq!(remote_of(config), None, "{config}");
        }
    }

    proptest! {
        #[test]
        fn credentials_are_never_part_of_a_name(user in "[a-z]{1,8}", password in "[A-Za-z0-9@:%.]{6,20}", token in "[A-Z]{20}") {
            for url in [
                format!("https://{user}:{password}@example.org/a/b.git"),
                format!("https://{token}@example.org:443/a/b"),
                format!("ssh://{user}:{token}@example.org/a/b"),
                format!("{token}@example.org:a/b"),
            ] {
                let name = normalised(&url);
                prop_assert_eq!(name.as_deref(), Some("example.org/a/b"), "{}", url);
            }
        }

        #[test]
        fn any_configuration_is_read(config in "(\\[remote \"origin\"\\]\n|url ?=|https://|[a-z:/@\\\\\"#\n\\[\\]]){0,12}") {
            if let Some(name) = remote_of(&config) {
                prop_assert!(name.contains('/') && !name.ends_with('/'), "{name}");
            }
        }
    }
}
