//! The job `instructions`: instructions and allocations of single operations, which unlike times do not depend on what else a machine does.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::context::Context;
use crate::job::flag;
use crate::{paths, pattern};

const OPERATIONS: [&str; 9] = [
    "get",
    "list-item",
    "watch-event",
    "dispatch",
    "compact-fill",
    "compact-fill-and-get",
    "compact-relist",
    "server-create",
    "server-watched-create",
];
/// The difference of two counts is what the operations cost, without their preparation.
const COUNTS: [u64; 2] = [100, 300];
/// How far above the baseline an operation may be.
const LIMIT: f64 = 1.05;

/// Of one operation: instructions, allocations, allocated bytes.
type Figures = [u64; 3];

/// Compares with the baseline, or writes it. Instructions depend on the compiler and on the vector instructions of the CPU: where these are
/// not those of the baseline, only allocations are compared.
pub(crate) fn instructions(cx: &Context, args: &[String]) -> Result<()> {
    let update = flag(args, "--update")?;
    cx.require(&["valgrind"])?;
    // The settings of the release profile, whatever CI sets for tests.
    let build = cx.cargo("build --quiet --release --locked -p guard").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    build.env("CARGO_PROFILE_RELEASE_STRIP", "none").env("CARGO_INCREMENTAL", "0").run()?;
    let guard = cx.target.join("release/guard");
    let platform = platform(cx)?;
    let mut measured = Vec::new();
    for operation in OPERATIONS {
        measured.push((operation, measure(cx, &guard, operation).with_context(|| operation.to_owned())?));
    }
    if update {
        let text = write(&platform, &measured);
        print!("{text}");
        return Ok(std::fs::write(cx.path(paths::BASELINE), text)?);
    }
    let baseline = cx.read(paths::BASELINE)?;
    let recorded_on = baseline.lines().next().unwrap_or_default().trim_start_matches("# ");
    if recorded_on != platform {
        println!(
            "the baseline is of another platform ({recorded_on}), not of {platform}: only allocations are compared"
        );
    }
    let baseline = read(&baseline)?;
    let mut exceeded = Vec::new();
    for (operation, now) in &measured {
        let before =
            baseline.get(*operation).with_context(|| format!("{}: no {operation}", paths::BASELINE))?;
        println!(
            "{operation:<22} instructions {:>8} ({:+5.1} %)  allocations {:>5} ({:+5.1} %)",
            now[0],
            percent(now[0], before[0]),
            now[1],
            percent(now[1], before[1])
        );
        if exceeds(now, before, recorded_on == platform) {
            exceeded.push(*operation);
        }
    }
    ensure!(exceeded.is_empty(), "more than 5 % above {}: {}", paths::BASELINE, exceeded.join(", "));
    Ok(())
}

fn platform(cx: &Context) -> Result<String> {
    let rustc = cx.command("rustc").arg("--version").read()?;
    let version: Vec<_> = rustc.split_whitespace().take(2).collect();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let vectors = if cpu.split_whitespace().any(|flag| flag == "avx2") { "avx2" } else { "no avx2" };
    Ok(format!("{}, {}, {vectors}", version.join(" "), std::env::consts::ARCH))
}

fn measure(cx: &Context, guard: &Path, operation: &str) -> Result<Figures> {
    let mut figures = Vec::new();
    for count in COUNTS {
        let allocations = cx.command(guard).args([operation, &count.to_string()]).read()?;
        let valgrind =
            ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=guard::measured*"];
        let callgrind =
            cx.command("valgrind").args(valgrind).arg(guard).args([operation, &count.to_string()]);
        let output = callgrind.output()?.text();
        let collected = pattern::regex(r"Collected : (\d+)")
            .captures(&output)
            .context("no instructions were collected")?;
        let mut all = vec![collected[1].parse()?];
        for figure in allocations.split_whitespace() {
            all.push(figure.parse::<u64>()?);
        }
        figures.push(all);
    }
    let each = |at: usize| -> Result<u64> {
        let [first, second] = [0, 1].map(|count: usize| figures[count].get(at).copied());
        let difference = second.context("too few figures")?.saturating_sub(first.context("too few figures")?);
        Ok(difference / (COUNTS[1] - COUNTS[0]))
    };
    Ok([each(0)?, each(1)?, each(2)?])
}

fn write(platform: &str, measured: &[(&str, Figures)]) -> String {
    let header = format!("# {platform}\n# operation, instructions, allocations, allocated bytes\n");
    let lines = measured.iter().map(|(operation, [a, b, c])| format!("{operation} {a} {b} {c}\n"));
    header + &lines.collect::<String>()
}

fn read(baseline: &str) -> Result<BTreeMap<&str, Figures>> {
    let lines = baseline.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (operation, figures) = line.split_once(' ').context("no figures")?;
            let figures = figures.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>()?;
            Ok((
                operation,
                figures.try_into().map_err(|_| anyhow::anyhow!("{line}: expected three figures"))?,
            ))
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "figures to print and to compare at 5 %")]
fn percent(now: u64, before: u64) -> f64 {
    (now as f64 / before as f64 - 1.0) * 100.0
}

fn exceeds(now: &Figures, before: &Figures, same_platform: bool) -> bool {
    let limit = (LIMIT - 1.0) * 100.0;
    let above = |at: usize| percent(now[at], before[at]) > limit;
    (same_platform && above(0)) || above(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_read_as_it_is_written() {
        let text = write("rustc 1.95.0, x86_64, avx2", &[("get", [100, 7, 900])]);
        assert_eq!(read(&text).unwrap(), BTreeMap::from([("get", [100, 7, 900])]));
        assert!(read("get 1 2\n").is_err());
    }

    #[test]
    fn instructions_count_on_the_same_platform_only() {
        let before = [100, 100, 0];
        assert!(exceeds(&[106, 100, 0], &before, true));
        assert!(!exceeds(&[106, 100, 0], &before, false));
        assert!(!exceeds(&[105, 105, 0], &before, true));
        assert!(exceeds(&[100, 106, 0], &before, false));
    }
}
