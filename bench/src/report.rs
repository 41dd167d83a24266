//! Medians and ratios as a Markdown table.

use std::fmt::Write;

use anyhow::Context;

use crate::case::Case;
use crate::measure::Metrics;

pub(crate) const HEADER: &str = "\
| case | metric | this workspace | kube 5.0.0 | ratio | target |
|---|---|--:|--:|--:|--:|";

/// The rows of a case, one per metric.
pub(crate) fn rows(case: Case, workspace: &[Metrics], baseline: &[Metrics]) -> anyhow::Result<String> {
    let first = workspace.first().context("no rounds")?;
    let mut rows = String::new();
    for name in first.keys() {
        let (workspace, baseline) = (median(workspace, name), median(baseline, name));
        let ratio = workspace / baseline;
        let target = target(case, name).map_or(String::new(), |most| {
            let verdict = if ratio <= most { "" } else { " missed" };
            format!("≤ {most:.2}{verdict}")
        });
        writeln!(
            rows,
            "| {} | {name} | {} | {} | {ratio:.2} | {target} |",
            case.title(),
            number(workspace),
            number(baseline)
        )?;
    }
    Ok(rows)
}

/// The highest acceptable ratio of this workspace to kube 5.0.0. For times, 1/1.2 means 1.2 times the request rate.
fn target(case: Case, metric: &str) -> Option<f64> {
    match (case, metric) {
        (Case::Get { in_flight: 64, one_connection: true, .. }, "µs per request") => Some(1.0 / 1.2),
        (Case::List { .. }, "ms") => Some(1.0 / 1.5),
        (Case::List { .. }, "MiB peak RSS") => Some(0.7),
        (Case::Reflector { .. }, "ms to fill") => Some(1.0 / 1.5),
        (Case::Dispatch { .. }, "ms" | "MiB peak RSS") => Some(1.0),
        _ => None,
    }
}

fn median(rounds: &[Metrics], name: &str) -> f64 {
    let mut values: Vec<f64> = rounds.iter().filter_map(|metrics| metrics.get(name)).copied().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => values[len / 2],
        len => f64::midpoint(values[len / 2 - 1], values[len / 2]),
    }
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
