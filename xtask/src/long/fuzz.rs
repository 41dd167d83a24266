//! The job `fuzz`: every fuzz target survives a few thousand inputs generated from its seeds. Longer runs: fuzz/README.md.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::context::{Context, scratch};
use crate::job::choices;
use crate::pattern;

const LIMITS: [&str; 6] = [
    "-runs=5000",
    "-max_total_time=10",
    "-timeout=10",
    "-rss_limit_mb=2048",
    "-verbosity=0",
    "-print_final_stats=1",
];

pub(crate) fn fuzz(cx: &Context, args: &[String]) -> Result<()> {
    let manifest: toml::Table = cx.read("fuzz/Cargo.toml")?.parse()?;
    let targets = targets(&manifest);
    let names: Vec<_> = targets.iter().map(|(name, _)| *name).collect();
    let chosen = choices(args, &names, &names)?;
    let host = cx.command("rustc").arg("-vV").read()?;
    let host =
        host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?.to_owned();
    let folder = std::env::var_os("FUZZ_TARGET_DIR").map_or_else(|| cx.path("fuzz/target"), PathBuf::from);
    // What only some targets need is built for them alone.
    let plain = targets.iter().filter(|(name, needs)| chosen.contains(name) && *needs).count() == 0;
    let features = if plain { "--no-default-features" } else { "" };
    let build =
        cx.cargo(&format!("build --quiet --locked {features} --target {host} --target-dir")).arg(&folder);
    let build = build.args(chosen.iter().map(|name| format!("--bin={name}")));
    build.dir(cx.path("fuzz")).env("RUSTFLAGS", flags()).run()?;
    let corpus = scratch()?;
    for name in chosen {
        let inputs = corpus.path().join(name);
        std::fs::create_dir(&inputs)?;
        let seeds = [cx.path("fuzz/seeds").join(name), cx.path("crates/kube-client/tests/it/corpus")];
        let seeds =
            seeds.iter().enumerate().filter(|(at, seed)| seed.exists() && (*at == 0 || name == "kubeconfig"));
        let program = cx.command(folder.join(&host).join("debug").join(name)).args(LIMITS);
        let program = program.arg(format!("-artifact_prefix={}/", corpus.path().display())).arg(&inputs);
        let output = program.args(seeds.map(|(_, seed)| seed)).output()?;
        let text = output.text();
        ensure!(output.code == 0, "{text}\n{name}: crashed, hung or exceeded a limit");
        let inputs = pattern::regex(r"number_of_executed_units: *(\d+)")
            .captures(&text)
            .map(|found| found[1].to_owned());
        println!("{name}: {} inputs, no crash", inputs.context("no inputs were tried")?);
    }
    Ok(())
}

/// The names of the targets, and whether they need features.
fn targets(manifest: &toml::Table) -> Vec<(&str, bool)> {
    let bins = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
    bins.filter_map(|bin| Some((bin.get("name")?.as_str()?, bin.get("required-features").is_some())))
        .collect()
}

/// The compiler flags that cargo-fuzz sets, so that it need not be installed.
fn flags() -> String {
    let level = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4".to_owned();
    let kinds = ["inline-8bit-counters", "pc-table", "trace-compares"];
    kinds.iter().fold(level, |flags, kind| format!("{flags} -Cllvm-args=-sanitizer-coverage-{kind}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_are_those_of_the_manifest() {
        let manifest = "[[bin]]\nname = \"a\"\n[[bin]]\nname = \"b\"\nrequired-features = [\"testserver\"]\n"
            .parse()
            .unwrap();
        assert_eq!(super::targets(&manifest), [("a", false), ("b", true)]);
    }
}
