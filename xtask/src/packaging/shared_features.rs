//! The job `shared-features`: whatever kube 5.0.0 turns on in other crates is on here too, because programs rely on it without naming it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, ensure};
use cargo_metadata::MetadataCommand;

use crate::context::{Context, scratch};
use crate::job::flag;
use crate::paths;

/// Of each crate, by its name and compatible versions (`tokio 1`, `base64 0.22`): the features that are on.
type Features = BTreeMap<String, BTreeSet<String>>;

/// The feature sets that are compared: nothing, the configuration, the defaults, and every other feature beside the defaults.
const BESIDE_DEFAULTS: [&str; 19] = [
    "admission",
    "aws-lc-rs",
    "cel",
    "derive",
    "gzip",
    "http-proxy",
    "hyper-util-tracing",
    "jsonpatch",
    "kubelet-debug",
    "oauth",
    "oidc",
    "openssl-tls",
    "proxy",
    "runtime",
    "socks5",
    "unstable-client",
    "unstable-runtime",
    "webpki-roots",
    "ws",
];
/// Turned on by macros that only kube 5.0.0 depends on, and of use only to macros.
const NOT_SHARED: [(&str, &str); 4] =
    [("syn 2", "default"), ("syn 2", "derive"), ("syn 3", "visit"), ("syn 3", "visit-mut")];

/// `--update` records the features of kube 5.0.0 from crates.io anew, of the crates that both have.
pub(crate) fn shared_features(cx: &Context, args: &[String]) -> Result<()> {
    let work = scratch()?;
    let here = format!("path = \"{}\"", cx.path("crates/kube").display());
    let ours = sets(cx, &work.path().join("here"), &here, true)?;
    if flag(args, "--update")? {
        let theirs = sets(cx, &work.path().join("published"), "version = \"=5.0.0\"", false)?;
        let recorded = cx.read(paths::SHARED_FEATURES)?;
        let header = recorded.lines().filter(|line| line.starts_with('#'));
        let text: String = header.map(|line| format!("{line}\n")).collect();
        std::fs::write(cx.path(paths::SHARED_FEATURES), text + &written(&theirs, &ours))?;
        return Ok(());
    }
    let recorded = read(&cx.read(paths::SHARED_FEATURES)?);
    let missing = missing(&recorded, &ours);
    ensure!(
        missing.is_empty(),
        "{}: kube 5.0.0 turns on more:\n{}",
        paths::SHARED_FEATURES,
        missing.join("\n")
    );
    println!("{} feature sets turn on what kube 5.0.0 does", recorded.len());
    Ok(())
}

/// What each feature set turns on, below a header that names it. The first one has the features that the crates of kube declare.
fn sets(cx: &Context, folder: &Path, kube: &str, locked: bool) -> Result<BTreeMap<String, Features>> {
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("src/main.rs"), "fn main() {}\n")?;
    if locked {
        std::fs::copy(cx.path("Cargo.lock"), folder.join("Cargo.lock"))?;
    }
    let manifest = |features: &str| {
        let package = "[workspace]\n[package]\nname = \"scratch\"\nedition = \"2024\"\n";
        let dependencies =
            format!("[dependencies]\nk8s-openapi = \"0.29\"\nkube = {{ {kube}, {features} }}\n");
        std::fs::write(folder.join("Cargo.toml"), format!("{package}{dependencies}"))
    };
    let tree = |features: &str| -> Result<Features> {
        manifest(features)?;
        // One platform, so that every machine records the same.
        let args =
            "tree --quiet --target x86_64-unknown-linux-gnu --edges normal,build --prefix none --format";
        Ok(enabled(&cx.cargo(args).arg("{p}|{f}").dir(folder).read()?))
    };
    let mut sets = BTreeMap::new();
    sets.insert("none".to_owned(), tree("default-features = false")?);
    sets.insert("config".to_owned(), tree("default-features = false, features = [\"config\"]")?);
    let defaults = tree("default-features = true")?;
    for feature in BESIDE_DEFAULTS {
        let mut beside = tree(&format!("features = [\"{feature}\"]"))?;
        for (name, known) in &defaults {
            if let Some(features) = beside.get_mut(name) {
                features.retain(|feature| !known.contains(feature));
            }
        }
        sets.insert(format!("default, {feature}"), beside);
    }
    sets.insert("default".to_owned(), defaults);
    manifest("features = [\"derive\", \"runtime\"]")?;
    let declared = MetadataCommand::new().current_dir(folder).exec()?.packages.into_iter();
    let kube = declared.filter(|package| package.name.starts_with("kube"));
    let kube = kube.map(|package| (package.name.to_string(), package.features.into_keys().collect()));
    sets.insert("declared".to_owned(), kube.collect());
    Ok(sets)
}

/// The features in what `cargo tree --format "{p}|{f}"` prints. Those of kube's crates are their own affair.
fn enabled(tree: &str) -> Features {
    let mut crates = Features::new();
    for line in tree.lines().map(|line| line.trim_end_matches(" (*)")) {
        let Some((package, features)) = line.split_once('|') else { continue };
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let name = format!("{name} {}", compatible(version.trim_start_matches('v')));
        if !name.starts_with("kube ") && !name.starts_with("kube-") {
            let features = features.split(',').filter(|feature| !feature.is_empty());
            let features = features.filter(|feature| !NOT_SHARED.contains(&(&*name, feature)));
            let features: Vec<_> = features.map(str::to_owned).collect();
            crates.entry(name).or_default().extend(features);
        }
    }
    crates
}

/// The part of a version that differs between versions that Cargo does not unify.
fn compatible(version: &str) -> &str {
    let numbers = if version.starts_with("0.") { 2 } else { 1 };
    version.match_indices('.').nth(numbers - 1).map_or(version, |(end, _)| &version[..end])
}

/// What is recorded and not on here, a crate a line.
fn missing(recorded: &BTreeMap<String, Features>, ours: &BTreeMap<String, Features>) -> Vec<String> {
    let none = BTreeSet::new();
    let mut lines = Vec::new();
    for (set, crates) in recorded {
        for (name, features) in crates {
            let on = ours.get(set).and_then(|crates| crates.get(name)).unwrap_or(&none);
            let also = ours["default"].get(name).filter(|_| set.starts_with("default")).unwrap_or(&none);
            let missing: Vec<_> = features
                .iter()
                .filter(|feature| !on.contains(*feature) && !also.contains(*feature))
                .collect();
            if !missing.is_empty() {
                lines.push(format!("[{set}] {name}: {missing:?}"));
            }
        }
    }
    lines
}

/// A section for each set, a line for each crate that both have.
fn written(theirs: &BTreeMap<String, Features>, ours: &BTreeMap<String, Features>) -> String {
    let mut text = String::new();
    for (set, crates) in theirs {
        text += &format!("\n[{set}]\n");
        for (name, features) in crates {
            if !features.is_empty() && ours[set].contains_key(name) {
                let features: Vec<_> = features.iter().map(String::as_str).collect();
                text += &format!("{name}: {}\n", features.join(" "));
            }
        }
    }
    text
}

fn read(text: &str) -> BTreeMap<String, Features> {
    let mut sets: BTreeMap<String, Features> = BTreeMap::new();
    let mut set = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            set = name.trim_end_matches(']').to_owned();
        } else if let Some((name, features)) = line.split_once(": ").filter(|_| !line.starts_with('#')) {
            let features = features.split(' ').map(str::to_owned).collect();
            sets.entry(set.clone()).or_default().insert(name.to_owned(), features);
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "kube v5.0.0|client\ntokio v1.54.1|net,rt\ntokio v1.54.1|net,time (*)\nbase64 v0.22.1 (*)|std\nlog v0.4.35|\n";

    #[test]
    fn features_are_joined_by_crate_and_compatible_version() {
        let features = enabled(TREE);
        assert_eq!(features.keys().collect::<Vec<_>>(), ["base64 0.22", "log 0.4", "tokio 1"]);
        assert_eq!(features["tokio 1"].iter().collect::<Vec<_>>(), ["net", "rt", "time"]);
    }

    #[test]
    fn what_is_written_reads_back_without_what_is_not_shared() {
        let set = |tree| BTreeMap::from([("default".to_owned(), enabled(tree))]);
        let text = written(&set(TREE), &set("tokio v1.2.3|rt\nlog v0.4.1|\n"));
        assert_eq!(text, "\n[default]\ntokio 1: net rt time\n");
        assert_eq!(read(&format!("# header: of the file\n{text}")), set("tokio v1|net,rt,time"));
    }

    #[test]
    fn a_missing_feature_is_named_with_its_set() {
        let recorded =
            read("[default]\ntokio 1: rt\n[default, runtime]\ntokio 1: rt signal\ntower 0.5: buffer\n");
        let ours = BTreeMap::from([
            ("default".to_owned(), enabled("tokio v1.0.0|rt\n")),
            ("default, runtime".to_owned(), enabled("tower v0.5.0|util\n")),
        ]);
        let lines =
            ["[default, runtime] tokio 1: [\"signal\"]", "[default, runtime] tower 0.5: [\"buffer\"]"];
        assert_eq!(missing(&recorded, &ours), lines);
    }
}
