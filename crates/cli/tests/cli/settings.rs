//! Configuration, completions, and the pages about the program itself.

use crate::stage::Stage;

#[test]
fn configuration_is_shown_explained_and_changed() {
    let stage = Stage::new();
    insta::assert_snapshot!("config_set", stage.told(&["config", "set", "import.threads", "3"]));
    let path = stage.run(&["config", "path"]).ok().text();
    let file = std::path::Path::new(path.trim());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "[import]\nthreads = 3\n");
    let mut command = stage.command(&["config", "explain", "import.threads", "--json"]);
    let output = command.env("STEMMATA_IMPORT_THREADS", "2").output().unwrap();
    let entry: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&entry["value"], &entry["origin"]), (&"2".into(), &"$STEMMATA_IMPORT_THREADS".into()));
    assert_eq!(entry["values"][1]["origin"], path.trim());
    insta::assert_snapshot!("config_explain", stage.told(&["config", "explain", "output.color"]));
    for (args, reason) in [
        (["config", "set", "import.threads", "none"], "a number from 1 to 64"),
        (["config", "set", "import.thread", "1"], "unknown setting"),
    ] {
        stage.run(&args).code(2).complains(&[reason]);
    }
}

#[test]
fn a_setting_is_unset_and_its_default_holds_again() {
    let stage = Stage::new();
    let file = "# mine\n[import]\nthreads = 3\n# only here\n[output]\ncolor = \"never\"\n";
    let path = stage.home.write("home/.config/stemmata/config.toml", file.as_bytes());
    let unset = |key: &str| stage.run(&["config", "unset", key]);
    assert_eq!(unset("output.color").ok().text(), "output.color = auto (default)\n");
    let after = "# mine\n[import]\nthreads = 3\n# only here\n[output]\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
    unset("output.color").ok().complains(&["`output.color` is not set in", "nothing was changed"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
    unset("output.colour").code(2).complains(&["unknown setting `output.colour`"]);
    // What holds then may come from elsewhere.
    let output =
        stage.command(&["config", "unset", "import.threads"]).env("STEMMATA_IMPORT_THREADS", "2").output();
    let told = String::from_utf8(output.unwrap().stdout).unwrap();
    assert_eq!(told, "import.threads = 2 ($STEMMATA_IMPORT_THREADS)\n");
    assert_eq!(stage.json(&["config", "explain", "import.threads"])["values"].as_array().unwrap().len(), 1);
    // A value that is more than its line is left to a person.
    stage.home.write("home/.config/stemmata/config.toml", b"import = { threads = 3 }\n");
    unset("import.threads").code(1).complains(&["edit it by hand"]);
    // Limits of a window still have to fit each other.
    stage.home.write("home/.config/stemmata/config.toml", b"[window]\nzones = \"30,40,50\"\ntarget = 25\n");
    unset("window.target").code(1).complains(&["target"]);
}

#[test]
fn settings_that_are_changed_at_once_are_all_in_the_file() {
    let stage = Stage::new();
    let all = [
        ("import.threads", "3"),
        ("output.color", "never"),
        ("output.pager", "less"),
        ("identity.user", "bob"),
        ("capture.granularity", "message"),
        ("hooks.inject", "1"),
        ("llm.model", "m"),
        ("llm.provider", "openai"),
        ("retriever.dense_model", "small"),
        ("llm.timeout_s", "7"),
    ];
    let at_once = |commands: &[Vec<&str>]| {
        let running: Vec<_> = commands.iter().map(|args| stage.command(args).spawn().unwrap()).collect();
        for mut one in running {
            assert!(one.wait().unwrap().success());
        }
    };
    let value = |key: &str| stage.json(&["config", "explain", key])["values"].clone();
    at_once(&all.map(|(key, value)| vec!["config", "set", key, value]));
    for (key, set) in all {
        let values = value(key);
        let is_there = |one: &serde_json::Value| one["value"] == set;
        assert!(values.as_array().unwrap().iter().any(is_there), "{key}: {values}");
    }
    let mut mixed: Vec<Vec<&str>> = all[..5].iter().map(|(key, _)| vec!["config", "unset", key]).collect();
    mixed.extend(all[5..].iter().map(|(key, value)| vec!["config", "set", key, value]));
    at_once(&mixed);
    let path = stage.home.path().join("home/.config/stemmata/config.toml");
    let table: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
    for (at, (key, _)) in all.iter().enumerate() {
        let (section, name) = key.split_once('.').unwrap();
        let is_there = table.get(section).and_then(|keys| keys.get(name)).is_some();
        assert_eq!(is_there, at >= 5, "{key}: {table:?}");
    }
    let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_configuration_that_cannot_be_read_stops_and_an_unknown_key_only_warns() {
    let stage = Stage::new();
    let path = stage.home.write("home/.config/stemmata/config.toml", b"[output]\ncolour = \"never\"\n");
    stage.run(&["status"]).ok().complains(&[
        "warning:",
        "`output.colour` is not a setting",
        path.to_str().unwrap(),
    ]);
    stage.home.write("home/.config/stemmata/config.toml", b"[output\n");
    stage.run(&["status"]).code(1).complains(&["error:", path.to_str().unwrap(), "hint:"]);
}

#[test]
fn completions_exist_for_every_shell() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stage.run(&["completions", shell]).ok().text();
        // The dynamic ones ask the program, the others list its commands.
        assert!(script.contains("stemma complete") || script.contains("materialize"), "{shell}");
    }
}

#[test]
fn help_and_version_are_no_errors_and_a_wrong_command_is_one() {
    let stage = Stage::new();
    assert!(stage.run(&["--help"]).ok().text().contains("Start:\n  setup"));
    assert!(stage.run(&["fork", "--help"]).ok().text().contains("Examples:"));
    assert!(stage.run(&["--version"]).ok().text().starts_with("stemma "));
    stage.run(&["frok"]).code(2).complains(&["frok", "fork"]);
    // A command without its verb is not `stemma` alone.
    stage.run(&["events"]).code(2).complains(&["Usage: stemma events"]);
    // None of these made a data directory.
    assert_eq!(std::fs::read_dir(stage.home.stemmata_home()).unwrap().count(), 0);
}

#[test]
fn alone_it_prints_the_home_page_where_no_terminal_is() {
    let stage = Stage::new();
    let said = stage.run::<&str>(&[]).ok();
    assert!(said.text().starts_with("Stemmata  0 sessions in 0 projects\n"), "{}", said.text());
    assert_eq!(said.stderr, "");
    let path = stage.home.write("a.jsonl", crate::story::retry("/home/ann/shop").text().as_bytes());
    stage.import(&path);
    let said = stage.run::<&str>(&[]).ok();
    assert!(
        said.text().contains("claude-code  ") && said.text().contains("stemma resume 5e55"),
        "{}",
        said.text()
    );
    assert_eq!(stage.run(&["--json"]).ok().json()["sessions"], 1);
    assert_eq!(stage.run(&["--quiet"]).ok().text(), said.text());
}

#[test]
fn without_any_home_the_message_says_what_to_set() {
    let stage = Stage::new();
    let mut command = stage.command(&["list"]);
    for name in ["HOME", "STEMMATA_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("STEMMATA_HOME") && said.contains("hint:"), "{said}");
}

#[test]
fn the_log_says_what_ran_and_nothing_of_what_was_said() {
    let stage = Stage::new();
    stage.run(&["update", "ctx-zzzz", "--summary", "a word of mine"]).code(3);
    let log = std::fs::read_to_string(stage.home.stemmata_home().join("logs/stemma.log")).unwrap();
    assert!(log.contains("command=\"update\"") && log.contains("exit=3"), "{log}");
    assert!(!log.contains("a word of mine") && !log.contains("ctx-zzzz"), "{log}");
}

/// Returns the commands of a page's `console` and `sh` blocks, in order.
fn commands_of(page: &str) -> Vec<&str> {
    let (mut language, mut commands) = (None, Vec::new());
    for line in page.lines() {
        match (line.strip_prefix("```"), language) {
            (Some(name), None) => language = Some(name),
            (Some(_), Some(_)) => language = None,
            (None, Some("console")) => commands.extend(line.strip_prefix("$ ")),
            (None, Some("sh")) => commands.push(line),
            (None, _) => {}
        }
    }
    commands
}

#[test]
fn first_steps_run_as_written_and_touch_nothing_outside_of_their_own_home() {
    let stage = Stage::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let page = std::fs::read_to_string(root.join("docs/guide/first-steps.md")).unwrap();
    let (tour, _) = page.split_once("## In scripts").unwrap();
    let commands = commands_of(tour).into_iter().filter(|line| !line.starts_with("cargo "));
    // `doctor` reports the damage of the tour's transcript with 6.
    let mut script: String = commands.map(|line| format!("{line} || [ $? = 6 ] || exit 99\n")).collect();
    script.push_str("! grep -rq correct-horse-7 \"$HOME/.local\" || exit 98\n");
    let [own, made, bin] = ["own", "made", "bin"].map(|name| stage.home.path().join(name));
    for folder in [&own, &made, &bin] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_stemma"), bin.join("stemma")).unwrap();
    let variables =
        ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "STEMMATA_HOME", "XDG_DATA_HOME", "PI_CODING_AGENT_DIR"];
    let path = format!("PATH='{}':\"$PATH\"\nset -x\n", bin.display());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &(path + &script)]).current_dir(&root).env("TMPDIR", &made).env("HOME", &own);
    shell.envs(variables.map(|name| (name, own.join(name)))).stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    let printed =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let touched: Vec<_> = std::fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(touched, Vec::<std::path::PathBuf>::new());
}

#[test]
fn limits_of_a_window_that_contradict_each_other_are_refused_when_they_are_set() {
    let stage = Stage::new();
    stage.run(&["config", "set", "window.zones", "60,80,90"]).ok();
    stage
        .run(&["config", "set", "window.target", "99"])
        .code(1)
        .complains(&["pruning to 99 %", "begins at 90 %"]);
    let told = stage.run(&["config", "explain", "window"]).ok().complains(&["--window N"]).text();
    assert!(told.contains("window.target"), "{told}");
    stage
        .run(&["config", "explain", "window", "--model", "foo"])
        .code(1)
        .complains(&["model `foo`", "--window N"]);
}
