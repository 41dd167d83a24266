//! The job `mutants`: cargo-mutants on decision code. A mutant that no test catches fails, unless `.cargo/mutants.toml` gives a reason.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::context::Context;

/// A part of a crate: its files below `src/`, and the unit tests that have to catch its mutants.
struct Part {
    name: &'static str,
    package: &'static str,
    files: &'static [&'static str],
    tests: &'static [&'static str],
}

const PARTS: [Part; 5] = [
    Part {
        name: "queue",
        package: "kube-runtime",
        files: &["queue/*.rs", "scheduler.rs", "events/series.rs", "delay.rs"],
        tests: &["queue::", "scheduler::", "events::", "delay::"],
    },
    Part {
        name: "watcher",
        package: "kube-runtime",
        files: &["watcher/*.rs", "backoff.rs"],
        tests: &["watcher::", "backoff::"],
    },
    Part { name: "store", package: "kube-runtime", files: &["reflector/**/*.rs"], tests: &["reflector::"] },
    Part {
        name: "runner",
        package: "kube-runtime",
        files: &["controller/**/*.rs"],
        tests: &["controller::"],
    },
    Part {
        name: "leases",
        package: "kube-operator",
        files: &["sharding/{machine,claims,other_member,rendezvous}.rs", "leader_election/machine.rs"],
        tests: &["sharding::", "leader_election::"],
    },
];

/// Parts, and options of cargo-mutants such as `--list`, `--re=PATTERN`, `--iterate` after a run that was ended.
pub(crate) fn mutants(cx: &Context, args: &[String]) -> Result<()> {
    for tool in ["mutants", "nextest"] {
        if !cx.command("cargo").args([tool, "--version"]).succeeds() {
            bail!("install the tools first: cargo install --locked cargo-mutants cargo-nextest");
        }
    }
    let (options, names): (Vec<_>, Vec<_>) = args.iter().cloned().partition(|arg| arg.starts_with('-'));
    let names = if names.is_empty() { vec!["queue".to_owned()] } else { names };
    for name in names {
        let part = PARTS.iter().find(|part| part.name == name);
        let part = part.with_context(|| {
            format!("there is no part {name}: {}", PARTS.map(|part| part.name).join(", "))
        })?;
        // A target folder of its own, so that other builds are not blocked and dependencies are built only once.
        let folder = cx.target.join("mutants");
        std::fs::create_dir_all(&folder)?;
        Run { cx, part, folder }.check(&options)?;
    }
    Ok(())
}

struct Run<'a> {
    cx: &'a Context,
    part: &'a Part,
    folder: PathBuf,
}

impl Run<'_> {
    /// One of the unit tests has to fail for each mutant, or else one of the integration tests, which are tried only for mutants that were
    /// missed, because they take longer. The first failure cancels the other tests, which may hang. The simulation and churn tests would
    /// catch more, but take a minute for a mutant.
    fn check(&self, options: &[String]) -> Result<()> {
        let mut code = self.mutate(options, "--cargo-arg=--lib", self.part.tests)?;
        if !options.iter().any(|option| option == "--list") && self.has_missed() {
            let again: Vec<_> = options.iter().filter(|option| *option != "--iterate").cloned().collect();
            let again = [again, vec!["--iterate".into()]].concat();
            code =
                self.mutate(&again, "--cargo-arg=--test=it", &["--skip", "simulation", "--skip", "churn"])?;
        }
        // Exit code 3: the tests of some mutants took too long, which counts as caught.
        let only_timeouts = code == 3 && !self.has_missed();
        if code != 0 && !only_timeouts {
            bail!("{}: mutants are missed: {}", self.part.name, self.missed().display());
        }
        Ok(())
    }

    fn mutate(&self, options: &[String], target: &str, tests: &[&str]) -> Result<i32> {
        let files = self
            .part
            .files
            .iter()
            .flat_map(|file| ["--file".to_owned(), format!("crates/{}/src/{file}", self.part.package)]);
        let mutants =
            "mutants --all-features --jobs 1 --minimum-test-timeout 30 --test-tool nextest --output";
        let command = self.cx.cargo(mutants).arg(&self.folder).args(["--package", self.part.package, target]);
        let command =
            command.args(files).args(options).args(["--", "--max-fail", "1:immediate", "--"]).args(tests);
        command.env("CARGO_TARGET_DIR", &self.folder).status()
    }

    fn missed(&self) -> PathBuf {
        Path::new(&self.folder).join("mutants.out/missed.txt")
    }

    fn has_missed(&self) -> bool {
        std::fs::metadata(self.missed()).is_ok_and(|file| file.len() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_files() {
        for part in PARTS {
            let source =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(part.package).join("src");
            for file in part.files {
                let folder = source.join(file.split(['*', '{']).next().unwrap());
                assert!(folder.exists(), "{}: {}", part.name, folder.display());
            }
        }
    }
}
