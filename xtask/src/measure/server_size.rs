//! The job `testserver-size`: what a test crate costs that starts the test server and lists namespaces.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use walkdir::WalkDir;

use crate::context::{Context, scratch};
use crate::{cpu_time, pattern};

const TEST: &str = include_str!("../../data/testserver-size.rs.txt");
const MANIFEST: &str = include_str!("../../data/testserver-size.toml.txt");
/// What the settings of this workspace and of CI change does not count for the crate of a user.
const SETTINGS: [&str; 4] =
    ["CARGO_INCREMENTAL", "CARGO_PROFILE_DEV_DEBUG", "CARGO_PROFILE_TEST_DEBUG", "RUSTFLAGS"];

/// A clean debug build of the test outside of the workspace, for each feature set: `default`, `none`, or features with commas.
/// `--at COMMIT` measures the server of that commit.
pub(crate) fn size(cx: &Context, args: &[String]) -> Result<()> {
    cx.require(&["strip"])?;
    let work = scratch()?;
    let (source, sets) = match args {
        [at, commit, sets @ ..] if at == "--at" => {
            let source = work.path().join("source");
            std::fs::create_dir(&source)?;
            let archive = "git archive \"$COMMIT\" | tar -x -C \"$SOURCE\"";
            cx.command("sh").args(["-c", archive]).env("COMMIT", commit).env("SOURCE", &source).run()?;
            (source, sets)
        }
        sets => (cx.root.clone(), sets),
    };
    let defaults = ["default".to_owned(), "none".to_owned()];
    println!("| features | CPU seconds of the build | crates | test binary, MB | stripped, MB |");
    for set in if sets.is_empty() { &defaults } else { sets } {
        measure(cx, &source, work.path(), set)?;
    }
    Ok(())
}

fn measure(cx: &Context, source: &Path, work: &Path, set: &str) -> Result<()> {
    let project = work.join("scratch");
    let target = work.join(format!("target-{}", set.replace(',', "-")));
    std::fs::create_dir_all(project.join("tests"))?;
    std::fs::write(project.join("lib.rs"), "")?;
    std::fs::write(project.join("tests/list.rs"), TEST)?;
    std::fs::copy(source.join("Cargo.lock"), project.join("Cargo.lock"))?;
    // At commits before November 2026 the server was one of the crates.
    let server = [source.join("testserver/server"), source.join("crates/kube-testserver")];
    let server = server.iter().find(|path| path.exists()).context("no test server at that commit")?;
    let manifest =
        MANIFEST.replace("@SERVER@", &server.to_string_lossy()).replace("@FEATURES@", &features(set));
    std::fs::write(project.join("Cargo.toml"), manifest)?;
    let config: toml::Table = std::fs::read_to_string(source.join(".cargo/config.toml"))?.parse()?;
    let version = config["env"]["K8S_OPENAPI_ENABLED_VERSION"].as_str().unwrap_or_default().to_owned();
    let cargo = |args: &str| {
        let cargo = cx.cargo(args).dir(&project).env("CARGO_TARGET_DIR", &target);
        let cargo = SETTINGS.iter().fold(cargo, |cargo, setting| cargo.env_remove(setting));
        cargo.env("K8S_OPENAPI_ENABLED_VERSION", &version)
    };
    cargo("fetch --quiet").read()?;
    let before = cpu_time::of_children();
    cargo("test --quiet --no-run --test list --offline").read()?;
    let seconds = cpu_time::of_children() - before;
    cargo("test --quiet --test list --offline").read()?;
    let tree = cargo("tree --offline -e normal,dev --prefix none").read()?;
    let crates: std::collections::BTreeSet<_> = tree.lines().map(|line| line.split(" (").next()).collect();
    let binary = test_binary(&target)?;
    let stripped = work.join("stripped");
    cx.command("strip").arg("-o").arg(&stripped).arg(&binary).run()?;
    let megabytes =
        |path: &Path| -> Result<u64> { Ok((std::fs::metadata(path)?.len() + 500_000) / 1_000_000) };
    let sizes = (megabytes(&binary)?, megabytes(&stripped)?);
    println!("| {set} | {seconds:.0} | {} | {} | {} |", crates.len() - 1, sizes.0, sizes.1);
    Ok(std::fs::remove_dir_all(&target)?)
}

/// How a manifest selects a set.
fn features(set: &str) -> String {
    match set {
        "default" => String::new(),
        "none" => ", default-features = false".into(),
        names => format!(", default-features = false, features = [\"{}\"]", names.replace(',', "\", \"")),
    }
}

fn test_binary(target: &Path) -> Result<PathBuf> {
    let name = pattern::regex("^list-[0-9a-f]+$");
    let files = WalkDir::new(target.join("debug/deps")).into_iter().filter_map(Result::ok);
    let binary = files.into_iter().find(|file| name.is_match(&file.file_name().to_string_lossy()));
    Ok(binary.context("no test binary")?.into_path())
}

#[cfg(test)]
mod tests {
    #[test]
    fn sets_become_features_of_a_dependency() {
        assert_eq!(super::features("default"), "");
        assert_eq!(
            super::features("shell,spdy"),
            ", default-features = false, features = [\"shell\", \"spdy\"]"
        );
    }
}
