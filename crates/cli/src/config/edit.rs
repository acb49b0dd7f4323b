//! Changes one key in the text of a configuration file, and leaves every other line as it is.
//!
//! Pure: reading and writing the file is the command's.

use crate::config::{Setting, SettingShape};

/// Returns the text with `key` set to `value`, which was checked before.
pub(crate) fn set(text: &str, key: &Setting, value: &str) -> String {
    let (section, name) = key.key.split_once('.').expect("every key has a section");
    let line = format!("{name} = {}", literal(key, value));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match place(&lines, section, name) {
        Place::Replace(at) => {
            if let Some(old) = lines.get_mut(at) {
                *old = line;
            }
        }
        Place::InsertAfter(at) => lines.insert(at + 1, line),
        Place::NewSection => {
            if lines.last().is_some_and(|last| !last.trim().is_empty()) {
                lines.push(String::new());
            }
            lines.push(format!("[{section}]"));
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// Removes the line that sets `key`. Returns none if no line of the text sets it.
pub(crate) fn unset(text: &str, key: &Setting) -> Option<String> {
    let (section, name) = key.key.split_once('.').expect("every key has a section");
    let mut lines: Vec<&str> = text.lines().collect();
    let Place::Replace(at) = place(&lines, section, name) else { return None };
    lines.remove(at);
    Some(lines.iter().map(|line| format!("{line}\n")).collect())
}

enum Place {
    Replace(usize),
    InsertAfter(usize),
    NewSection,
}

fn place<L: AsRef<str>>(lines: &[L], section: &str, name: &str) -> Place {
    let mut header = None;
    let mut inside = false;
    for (position, line) in lines.iter().enumerate() {
        let line = line.as_ref().trim();
        if line.starts_with('[') {
            let own = line.trim_start_matches('[').split(']').next().map(str::trim);
            inside = own == Some(section);
            if inside {
                header = Some(position);
            }
        } else if inside && line.split('=').next().map(str::trim) == Some(name) {
            return Place::Replace(position);
        }
    }
    header.map_or(Place::NewSection, Place::InsertAfter)
}

fn literal(key: &Setting, value: &str) -> String {
    match key.shape {
        SettingShape::Number { .. } => value.to_owned(),
        SettingShape::Text
        | SettingShape::Choice(_)
        | SettingShape::Switch
        | SettingShape::Granularity
        | SettingShape::ProjectDays
        | SettingShape::Prices
        | SettingShape::Variable
        | SettingShape::Zones => toml::Value::String(value.to_owned()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::{all, named};

    #[test]
    fn one_line_changes_and_comments_stay() {
        let text = "# mine\n[import]\n# two are enough\nthreads = 2 # here\n\n[output]\ncolor = \"never\"\n";
        assert_eq!(
            set(text, named("import.threads").unwrap(), "4"),
            "# mine\n[import]\n# two are enough\nthreads = 4\n\n[output]\ncolor = \"never\"\n"
        );
        assert_eq!(
            set(text, named("output.pager").unwrap(), "never"),
            "# mine\n[import]\n# two are enough\nthreads = 2 # here\n\n[output]\npager = \"never\"\ncolor = \"never\"\n"
        );
        let user = named("identity.user").unwrap();
        assert_eq!(set("", user, "ann"), "[identity]\nuser = \"ann\"\n");
        assert_eq!(set("[a]\nb = 1", user, "ann"), "[a]\nb = 1\n\n[identity]\nuser = \"ann\"\n");
    }

    #[test]
    fn an_unset_line_is_gone_and_the_others_stay() {
        let text = "# mine\n[import]\n# two are enough\nthreads = 2 # here\n\n[output]\ncolor = \"never\"\n";
        let without = "# mine\n[import]\n# two are enough\n\n[output]\ncolor = \"never\"\n";
        assert_eq!(unset(text, named("import.threads").unwrap()).as_deref(), Some(without));
        assert_eq!(unset(without, named("import.threads").unwrap()), None);
        assert_eq!(unset("", named("import.threads").unwrap()), None);
    }

    proptest! {
        #[test]
        fn what_was_set_is_read_back(
            values in proptest::collection::vec((0..all().len(), "[^\\x00-\\x1f\\x7f]{1,20}"), 1..8),
        ) {
            let mut text = "# a comment\n".to_owned();
            let mut last = std::collections::BTreeMap::new();
            for (position, value) in values {
                let key = all()[position];
                let is_number = matches!(key.shape, SettingShape::Number { .. });
                let value = if is_number { "7".to_owned() } else { value };
                text = set(&text, key, &value);
                last.insert(key.key, value);
            }
            prop_assert!(text.starts_with("# a comment\n"));
            let table: toml::Table = text.parse().expect("what was written is TOML");
            for (name, value) in last {
                let (section, key) = name.split_once('.').expect("a dotted name");
                let found = &table[section][key];
                let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
                prop_assert_eq!(found, value);
            }
        }
    }
}
