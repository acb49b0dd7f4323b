//! What values of keys become.

use proptest::prelude::*;
use stemmata_prompt::window::ToolSummaryStrategy;
use stemmata_store::SqliteOptions;

use super::*;

fn parsed(values: &[(&str, &str)]) -> Result<Settings, SettingError> {
    let of = |key: &str| values.iter().find(|(known, _)| *known == key).map(|(_, text)| (*text).to_owned());
    Settings::parse(&|setting| of(setting.key))
}

#[test]
fn nothing_configured_is_what_a_store_has_by_itself() {
    let settings = parsed(&[]).unwrap();
    let wanted = Settings {
        user: "user".to_owned(),
        machine_label: None,
        granularity: Granularity::Turn,
        provisional: Provisional::Turn,
        sidecars: KeptSidecars::Results,
        import_threads: settings.import_threads,
        ledgers: LedgerPlace::Store,
        save_events: crate::ledger::SAVE_EVENTS,
        allows_network: false,
        wait_ms: SqliteOptions::default().busy_timeout_ms,
        retention: RetentionRules::default(),
        grace_days: 14,
        quota_bytes: None,
        pack_after_import_bytes: Some(256 << 20),
        dense: None,
        window: WindowRules {
            tokens: None,
            zones: [70, 85, 95],
            target: 70,
            compact: CompactSettings::default(),
            asks_model: true,
        },
        prices: Vec::new(),
        llm: ModelRules {
            api: None,
            endpoint: None,
            model: None,
            key_variable: None,
            timeout_s: 120,
            attempts_max: 3,
            window_tokens: None,
            output_tokens_max: 8_192,
        },
        tools: ToolRules { limits: OutputLimits::default(), writes_files: true },
    };
    assert_eq!(settings, wanted);
    assert!((1..=8).contains(&settings.import_threads));
    assert_eq!(settings.window.limits(Tokens(7)), WindowSettings::of(Tokens(7)), "the guard's own defaults");
}

#[test]
fn values_become_what_they_say_and_a_bad_one_names_its_key() {
    // A key of a provider in the place of its variable's name: nothing repeats it.
    for key in ["sk-ant-0123", "0123456789abcdef", "A B", ""] {
        let error = parsed(&[("llm.key_env", key)]).unwrap_err();
        assert!(error.value.is_empty() && (key.is_empty() || !error.to_string().contains(key)), "{error}");
        let error = parsed(&[("retriever.dense_key_env", key)]).unwrap_err();
        assert!(error.value.is_empty() && (key.is_empty() || !error.to_string().contains(key)), "{error}");
    }
    assert_eq!(parsed(&[("llm.key_env", "MY_KEY_2")]).unwrap().llm.key_variable.as_deref(), Some("MY_KEY_2"));
    let settings = parsed(&[
        ("capture.granularity", "every:5"),
        ("capture.provisional", "tool"),
        ("ledger.engine", "files"),
        ("ledger.integrity", "chain"),
        ("pack.after_import_mib", "0"),
        ("retention.projects", "/a=7, /b = c=0,"),
        ("store.quota_mib", "3"),
    ])
    .unwrap();
    assert_eq!(settings.ledgers, LedgerPlace::Files { integrity: IntegrityMode::Chain });
    assert_eq!(settings.retention.projects, [("/a".to_owned(), 7), ("/b = c".to_owned(), 0)]);
    assert_eq!((settings.quota_bytes, settings.pack_after_import_bytes), (Some(3 << 20), None));
    assert_eq!(
        (settings.granularity.to_string(), settings.provisional),
        ("every:5".to_owned(), Provisional::Tool)
    );
    let compact = [
        ("window.max_messages", "7"),
        ("window.max_tokens", "0"),
        ("window.keep_recent", "3"),
        ("window.keep_recent_tokens", "0"),
        ("window.reserve_tokens", "9"),
        ("window.tool_call_cutoff", "0"),
        ("window.tool_summary", "off"),
        ("window.auto_compact", "0"),
        ("window.compact_with", "heuristic"),
    ];
    let window = parsed(&compact).unwrap().window;
    let wanted = CompactSettings {
        messages_max: 7,
        tokens_max: Tokens(0),
        keep_recent: 3,
        keep_recent_tokens: Tokens(0),
        reserve_tokens: Tokens(9),
        tool_call_cutoff: 0,
        tool_summary: ToolSummaryStrategy::Off,
        is_automatic: false,
    };
    assert_eq!((window.compact, window.asks_model), (wanted, false));
    for (key, value, reason) in [
        ("capture.granularity", "turns", "`turns` is not a granularity"),
        (
            "capture.provisional",
            "ever",
            "`capture.provisional` is one of end, turn, significant, tool, not `ever`",
        ),
        ("import.threads", "0", "`import.threads` is a number from 1 to 64, not `0`"),
        ("identity.user", " ", "`identity.user` must not be empty"),
        ("retention.projects", "/a", "`retention.projects` is a list of `PATH=DAYS`, and `/a` is none"),
    ] {
        let error = parsed(&[(key, value)]).unwrap_err();
        assert_eq!((error.key.as_str(), error.value.as_str()), (key, value));
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn texts_are_read_in_the_order_of_the_command() {
    let config = "[identity]\nuser = \"file\"\n[gc]\ngrace_days = 3\n[output]\ncolor = \"never\"\n[templates.a]\nruntime = \"pi\"\n";
    let at = |config: &str, variables: &[(&str, &str)]| {
        let of = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        Settings::of_texts(config, &of).map(|settings| (settings.user, settings.grace_days))
    };
    assert_eq!(at(config, &[("STEMMATA_USER", "env"), ("USER", "os")]).unwrap(), ("env".to_owned(), 3));
    assert_eq!(at(config, &[("USER", "os")]).unwrap().0, "file");
    assert_eq!(at("", &[("LOGNAME", "o s")]).unwrap(), ("os".to_owned(), 14));
    assert!(at("[identity", &[]).unwrap_err().to_string().contains("TOML"));
}

#[test]
fn every_default_is_a_value_that_its_key_takes_and_no_name_is_twice() {
    for (at, setting) in SETTINGS.iter().enumerate() {
        if let SettingDefault::Value(text) = setting.default {
            assert_eq!(setting.check(text), Ok(()), "{}", setting.key);
        }
        assert!(setting.key.split_once('.').is_some() && setting.variable.starts_with("STEMMATA_"));
        let later = &SETTINGS[at + 1..];
        assert!(later.iter().all(|other| other.key != setting.key && other.variable != setting.variable));
    }
}

proptest! {
    /// Whatever is configured, a setting is refused as such or taken; the numbers are in their bounds.
    #[test]
    fn law_no_text_panics(at in 0..SETTINGS.len(), text in ".{0,20}") {
        let setting = &SETTINGS[at];
        let parsed = parsed(&[(setting.key, &text)]);
        // The integrity of ledgers is read only where they are files.
        if setting.key != "ledger.integrity" {
            prop_assert_eq!(parsed.is_ok(), setting.check(&text).is_ok(), "{} {:?}", setting.key, parsed);
        }
    }
}
