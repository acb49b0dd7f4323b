//! `examples/embed` and `examples/agent`: programs outside the workspace are built from its crates; the one is run, the other's
//! tests are. Not a test of the verbs that they call: those are the engine's.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::process::{cargo, execute};

/// What is done with each example.
const EXAMPLES: [(&str, &str); 2] =
    [("run", "examples/embed/Cargo.toml"), ("test", "examples/agent/Cargo.toml")];

/// Builds and runs the examples. They share the workspace's target folder and the profile of the workspace's dependencies, so
/// that none of them is built again. The profile is passed on instead of repeated in a manifest, which readers copy.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let target = root.join("target");
    let profile = target.join("examples-profile.toml");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("reading `Cargo.toml`")?;
    fs::create_dir_all(&target).with_context(|| format!("creating `{}`", target.display()))?;
    write(&profile, &profile_of(&manifest)?)?;
    for (verb, manifest) in EXAMPLES {
        let mut run = cargo(root, &[verb, "--quiet", "--locked", "--manifest-path", manifest]);
        execute(run.arg("--target-dir").arg(&target).arg("--config").arg(&profile))?;
    }
    Ok(())
}

/// Returns the profile for development of a manifest, as a configuration of cargo. Our own crates are left out: cargo builds
/// them anew for another workspace, and optimised they would take twice as long.
fn profile_of(manifest: &str) -> anyhow::Result<String> {
    let manifest: toml::Table = manifest.parse().context("`Cargo.toml` is not TOML")?;
    let dev = manifest.get("profile").and_then(|profile| profile.get("dev"));
    let mut dev = dev.context("`Cargo.toml` has no `profile.dev`")?.clone();
    if let Some(packages) = dev.get_mut("package").and_then(toml::Value::as_table_mut) {
        packages.retain(|name, _| !name.starts_with("stemmata-"));
    }
    let profile = toml::Table::from_iter([("dev".to_owned(), dev)]);
    Ok(toml::to_string(&toml::Table::from_iter([("profile".to_owned(), profile.into())]))?)
}

#[expect(clippy::disallowed_methods, reason = "a file below `target` that the next run writes anew")]
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("writing `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_of_dependencies_is_passed_on_and_that_of_our_own_crates_is_not() {
        let manifest = "[profile.dev]\ndebug = 1\n[profile.dev.package.\"*\"]\ndebug = false\n\
                        [profile.dev.package.stemmata-model]\nopt-level = 1\n[profile.release]\nstrip = true\n";
        let wanted = "[profile.dev]\ndebug = 1\n\n[profile.dev.package.\"*\"]\ndebug = false\n";
        assert_eq!(profile_of(manifest).unwrap(), wanted);
        profile_of("[package]\nname = \"x\"\n").unwrap_err();
    }
}
