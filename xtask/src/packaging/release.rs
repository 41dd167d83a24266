//! The job `release`: what `docs/releasing.md` asks for before a tag, as far as a program can see it.

use anyhow::{Context as _, Result, ensure};

use super::{dependencies, msrv, package, semver, surface, versions::workspace_package};
use crate::context::Context;
use crate::job::no_arguments;
use crate::paths;
use crate::pattern::regex;
use crate::skip::Skipped;

/// The facts first, all of them, then the jobs that take minutes.
pub(crate) fn release(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let version = workspace_package(cx, "version")?;
    let tags = cx.command("git").args(["tag", "--list", "v*"]).read()?;
    let last = last_release(&tags);
    let mut wrong: Vec<_> = changelog(&version, &cx.read("CHANGELOG.md")?).into_iter().collect();
    wrong.extend(number(&version, last));
    for workspace in paths::WORKSPACES {
        let lock = workspace.replace("Cargo.toml", "Cargo.lock");
        wrong.extend(locked(&version, &cx.read(&lock)?).into_iter().map(|what| format!("{lock}: {what}")));
    }
    if !cx.command("git").args(["status", "--porcelain"]).read()?.trim().is_empty() {
        wrong.push("there are changes that are not committed".into());
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));

    let mut unchecked: Vec<_> = unless_skipped("surface", surface(cx, &[]))?.into_iter().collect();
    match last {
        Some(last) => unchecked.extend(unless_skipped("semver", semver(cx, &[tag(last)]))?),
        None => println!("semver: left out, there is no release yet"),
    }
    unchecked.extend(unless_skipped("dependencies", dependencies(cx, &[]))?);
    unchecked.extend(unless_skipped("msrv", msrv(cx, &[]))?);
    package(cx, &[])?;
    ensure!(unchecked.is_empty(), "not checked here, run it elsewhere: {}", unchecked.join(", "));
    println!("ready for the tag v{version}; docs/releasing.md has what is left to do by hand");
    Ok(())
}

/// The name of a job that cannot run here: it is to be run elsewhere before the tag.
fn unless_skipped(name: &str, outcome: Result<()>) -> Result<Option<&str>> {
    match outcome {
        Err(error) if error.is::<Skipped>() => {
            println!("{name}: {error}");
            Ok(Some(name))
        }
        outcome => outcome.with_context(|| name.to_owned()).map(|()| None),
    }
}

/// The newest section is that of this version, with its date.
fn changelog(version: &str, text: &str) -> Option<String> {
    let newest = text.lines().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
    let expected = regex(&format!(r"^{} - \d{{4}}-\d\d-\d\d$", regex::escape(version)));
    (!expected.is_match(newest))
        .then(|| format!("CHANGELOG.md: the newest section is {newest:?}, expected \"{version} - DATE\""))
}

/// The number of a release is one more than that of the one before it.
fn number(version: &str, last: Option<u32>) -> Option<String> {
    let expected = last.map_or(1, |last| last + 1);
    let number = version.rsplit_once("+drop-in.").and_then(|(_, number)| number.parse::<u32>().ok());
    (number != Some(expected))
        .then(|| format!("Cargo.toml: the version is {version}, expected +drop-in.{expected}"))
}

/// The number of the newest release among the tags.
fn last_release(tags: &str) -> Option<u32> {
    let releases = regex(r"(?m)^v5\.0\.0\+drop-in\.(\d+)$");
    releases.captures_iter(tags).filter_map(|tag| tag[1].parse().ok()).max()
}

fn tag(number: u32) -> String {
    format!("v5.0.0+drop-in.{number}")
}

/// The crates of this repository, which alone have this build metadata, that a lock file has in another version.
fn locked(version: &str, lock: &str) -> Vec<String> {
    let entry = regex(r#"name = "([^"]+)"\nversion = "([^"]+\+drop-in[^"]*)""#);
    let others = entry.captures_iter(lock).filter(|entry| &entry[2] != version);
    others.map(|entry| format!("{} is {}, expected {version}", &entry[1], &entry[2])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "5.0.0+drop-in.2";

    #[test]
    fn the_changelog_begins_with_the_version_and_its_date() {
        assert_eq!(changelog(VERSION, "# Changelog\n\n## 5.0.0+drop-in.2 - 2026-12-01\n"), None);
        for newest in ["5.0.0+drop-in.2 - unreleased", "5.0.0+drop-in.1 - 2026-12-01", "5.0.0+drop-in.2"] {
            let error = changelog(VERSION, &format!("## {newest}\n## {VERSION} - 2026-12-01\n")).unwrap();
            assert!(error.contains(newest), "{error}");
        }
    }

    #[test]
    fn numbers_follow_each_other() {
        let tags = "v5.0.0+drop-in.9\nv5.0.0+drop-in.10\nv1.0.0\n";
        assert_eq!((last_release(tags), last_release("v1.0.0\n")), (Some(10), None));
        assert_eq!(number("5.0.0+drop-in.1", None), None);
        assert_eq!(number("5.0.0+drop-in.11", Some(10)), None);
        assert!(number("5.0.0+drop-in.10", Some(10)).is_some_and(|error| error.contains("+drop-in.11")));
        assert!(number("5.0.1", Some(10)).is_some());
    }

    #[test]
    fn lock_files_have_the_same_version() {
        let lock = "[[package]]\nname = \"kube\"\nversion = \"5.0.0+drop-in.1\"\ndependencies = [\n]\n\n\
                    [[package]]\nname = \"kube-core\"\nversion = \"5.0.0\"\nsource = \"registry\"\n";
        assert_eq!(locked(VERSION, lock), ["kube is 5.0.0+drop-in.1, expected 5.0.0+drop-in.2"]);
        assert_eq!(locked("5.0.0+drop-in.1", lock), [""; 0]);
    }
}
