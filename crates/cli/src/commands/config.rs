//! `config`: shows and changes the configuration.

use stemmata_api::v1;

use crate::args::maintain::ConfigCommand;
use crate::config::{self, Explained, Setting, edit};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::grouped;
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, command: Option<&ConfigCommand>) -> Result<Exit, CliError> {
    match command {
        None => show(app),
        Some(ConfigCommand::Explain { key, window, model }) if key == "window" => {
            explain_window(app, *window, model.as_deref())
        }
        Some(ConfigCommand::Explain { window: None, model: None, key }) => explain(app, config::named(key)?),
        Some(ConfigCommand::Explain { .. }) => {
            Err(CliError::Usage("`--window` and `--model` are about `config explain window`".to_owned()))
        }
        Some(ConfigCommand::Path) => path(app),
        Some(ConfigCommand::Set { key, value }) => set(app, config::named(key)?, value),
        Some(ConfigCommand::Unset { key }) => unset(app, config::named(key)?),
    }
}

fn show(app: &App) -> Result<Exit, CliError> {
    let keys: Vec<v1::ConfigEntry> =
        config::all().into_iter().map(|key| wire(&app.config.explain(key))).collect();
    if app.console.json {
        app.console.json(&v1::Configuration {
            keys,
            unknown: app.config.unknown.clone(),
            templates: templates(app),
        })?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&[("KEY", Column::Left), ("VALUE", Column::Left), ("FROM", Column::Flexible)]);
    for (key, entry) in config::all().into_iter().zip(keys) {
        table.row(vec![
            cell(Style::Plain, entry.key),
            cell(Style::Strong, entry.value.unwrap_or_else(|| "–".to_owned())),
            cell(Style::Faint, entry.origin.unwrap_or_else(|| key.default.to_string())),
        ]);
    }
    let mut text = table.render(app.console.width);
    for template in templates(app) {
        let what = template.runtime.or(template.error).unwrap_or_default();
        put!(text, "template {}: {what}\n", template.name);
    }
    app.console.text(&text)?;
    Ok(Exit::Done)
}

fn templates(app: &App) -> Vec<v1::ConfiguredTemplate> {
    let table = app.config.templates();
    let one = |name: String| match table.parse(&name) {
        Ok((_, template)) => v1::ConfiguredTemplate { name, runtime: Some(template.runtime), error: None },
        Err(error) => v1::ConfiguredTemplate { name, runtime: None, error: Some(error.to_string()) },
    };
    table.names().into_iter().map(one).collect()
}

fn explain(app: &App, key: &'static Setting) -> Result<Exit, CliError> {
    let entry = wire(&app.config.explain(key));
    if app.console.json {
        app.console.json(&entry)?;
        return Ok(Exit::Done);
    }
    let mut text = format!("{}\n{}\n\n", Style::Strong.paint(&entry.key), entry.about);
    for (position, value) in entry.values.iter().enumerate() {
        let word = if position == 0 { "in force" } else { "overruled" };
        put!(text, "{word:<10} {}  {}\n", value.value, Style::Faint.paint(&format!("from {}", value.origin)));
    }
    if entry.values.is_empty() {
        put!(text, "default    {}\n", key.default);
    }
    put!(text, "\nset it with `stemma config set {} VALUE`, `${}`", key.key, key.variable);
    if let Some(flag) = key.flag {
        put!(text, " or `{flag}`");
    }
    text.push('\n');
    app.console.text(&text)?;
    Ok(Exit::Done)
}

/// What the keys of a window's limits begin with.
const WINDOW: &str = "window.";

/// Shows what is configured of any window, where none is known.
fn explain_settings(app: &App) -> Result<Exit, CliError> {
    let of_window = config::all().into_iter().filter(|key| key.key.starts_with(WINDOW));
    let keys: Vec<&'static Setting> = of_window.collect();
    let entries: Vec<v1::ConfigEntry> = keys.iter().map(|key| wire(&app.config.explain(key))).collect();
    if app.console.json {
        let (unknown, templates) = (Vec::new(), Vec::new());
        app.console.json(&v1::Configuration { keys: entries, unknown, templates })?;
    } else {
        let columns = [("KEY", Column::Left), ("VALUE", Column::Left), ("WHAT IT SAYS", Column::Flexible)];
        let mut table = Table::new(&columns);
        for (key, entry) in keys.iter().zip(entries) {
            let default = || key.default.to_string();
            table.row(vec![
                cell(Style::Plain, entry.key),
                cell(Style::Strong, entry.value.unwrap_or_else(default)),
                cell(Style::Faint, entry.about),
            ]);
        }
        app.console.text(&table.render(app.console.width))?;
    }
    app.console
        .hint("these are the limits of any window; `--window N` or `--model NAME` shows them in tokens");
    Ok(Exit::Done)
}

fn explain_window(app: &App, tokens: Option<u64>, model: Option<&str>) -> Result<Exit, CliError> {
    if (tokens, model, app.settings.window.tokens) == (None, None, None) {
        return explain_settings(app);
    }
    let limits = stemmata_service::window_limits(&app.settings, tokens, model)?;
    app.answer(&limits, || {
        let mut table = Table::new(&[
            ("LIMIT", Column::Left),
            ("VALUE", Column::Right),
            ("UNIT", Column::Left),
            ("WHAT HAPPENS THERE", Column::Flexible),
        ]);
        for row in &limits.limits {
            table.row(vec![
                cell(Style::Strong, row.name.clone()),
                cell(Style::Plain, grouped(row.value)),
                cell(Style::Faint, row.unit.clone()),
                cell(Style::Plain, row.acts.clone()),
            ]);
        }
        let (limit, from) = (grouped(limits.limit), tame(&limits.limit_from));
        Ok(format!("a window of {limit} tokens, from {from}\n\n{}", table.render(app.console.width)))
    })
}

fn path(app: &App) -> Result<Exit, CliError> {
    let path = file(app)?.to_string_lossy().into_owned();
    let told = format!("{path}\n");
    app.printed(&v1::ConfigPath { path }, || Ok(told))
}

fn set(app: &App, key: &'static Setting, value: &str) -> Result<Exit, CliError> {
    key.check(value).map_err(|error| CliError::Usage(error.reason))?;
    let path = file(app)?;
    let config = config::change(&app.environment, path, |config, before| {
        check_limits(config, key, Some(value))?;
        let after = edit::set(before, key, value);
        let is_read_back = after.parse().is_ok_and(|table| has(&table, key));
        if is_read_back { Ok(after) } else { Err(by_hand(path, key, "set")) }
    })?;
    let stored = config.in_file(key).ok_or_else(|| by_hand(path, key, "set"))?;
    let entry = wire(&config.explain(key));
    if app.console.json {
        app.console.json(&entry)?;
        return Ok(Exit::Done);
    }
    app.console.text(&format!("{} = {stored}\n", key.key))?;
    if let (Some(origin), false) = (&entry.origin, entry.value.as_deref() == Some(stored)) {
        app.console.warn(&format!("{origin} overrules it"));
    }
    Ok(Exit::Done)
}

fn unset(app: &App, key: &'static Setting) -> Result<Exit, CliError> {
    let path = file(app)?;
    let table = |text: &str| text.parse().unwrap_or_default();
    let is_set = |text: &str| has(&table(text), key);
    let config = if config::read(path)?.is_some_and(|text| is_set(&text)) {
        config::change(&app.environment, path, |config, before| {
            check_limits(config, key, None)?;
            if !is_set(before) {
                return Ok(before.to_owned());
            }
            // A value over several lines, or in an inline table, is not one line that could be removed.
            let after = edit::unset(before, key).filter(|after| table(after) == without(table(before), key));
            after.ok_or_else(|| by_hand(path, key, "unset"))
        })?
    } else {
        let shown = app.environment.shown(path);
        app.console.say(&format!("`{}` is not set in {shown}; nothing was changed", key.key));
        config::Config::load(&app.environment)?
    };
    let entry = wire(&config.explain(key));
    app.printed(&entry, || {
        let from = entry.origin.as_deref().unwrap_or("default");
        let value = entry.value.clone().unwrap_or_else(|| key.default.to_string());
        Ok(format!("{} = {value} ({from})\n", key.key))
    })
}

/// Refuses limits of a window that contradict each other, since every command that guards a window would fail later.
fn check_limits(config: &config::Config, key: &Setting, value: Option<&str>) -> Result<(), CliError> {
    if key.key.starts_with(WINDOW) {
        stemmata_service::check_window(&config.settings_with(key, value)?)?;
    }
    Ok(())
}

fn has(table: &toml::Table, key: &Setting) -> bool {
    let (section, name) = key.key.split_once('.').expect("every key has a section");
    table.get(section).is_some_and(|keys| keys.get(name).is_some())
}

fn without(mut table: toml::Table, key: &Setting) -> toml::Table {
    let (section, name) = key.key.split_once('.').expect("every key has a section");
    if let Some(keys) = table.get_mut(section).and_then(toml::Value::as_table_mut) {
        keys.remove(name);
    }
    table
}

fn by_hand(path: &std::path::Path, key: &Setting, verb: &str) -> CliError {
    CliError::Config {
        place: path.display().to_string(),
        reason: format!("`{}` cannot be {verb} in it without changing other lines; edit it by hand", key.key),
    }
}

fn file(app: &App) -> Result<&std::path::Path, CliError> {
    app.config.file().ok_or(CliError::NoHome { what: "the configuration", variable: "STEMMATA_CONFIG" })
}

fn wire(explained: &Explained) -> v1::ConfigEntry {
    let first = explained.values.first();
    v1::ConfigEntry {
        key: explained.key.key.to_owned(),
        value: first.map(|value| value.text.clone()),
        origin: first.map(|value| value.origin.to_string()),
        about: explained.key.about.to_owned(),
        values: explained
            .values
            .iter()
            .map(|value| v1::ConfigValue { value: value.text.clone(), origin: value.origin.to_string() })
            .collect(),
    }
}
