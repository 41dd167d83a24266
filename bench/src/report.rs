//! Medians and ratios as a Markdown table.

use std::fmt::Write;

use anyhow::Context;

use crate::case::Case;
use crate::measure::Figures;

pub(crate) const HEADER: &str = "\
| case | figure | ours | kube 5.0.0 | ours ÷ theirs | needed |
|---|---|--:|--:|--:|--:|";

/// One row per figure of a case.
pub(crate) fn rows(case: Case, ours: &[Figures], peer: &[Figures]) -> anyhow::Result<String> {
    let first = ours.first().context("no rounds")?;
    let mut rows = String::new();
    for name in first.keys() {
        let (ours, peer) = (median(ours, name), median(peer, name));
        let needed = needed(case, name).map_or(String::new(), |most| {
            let verdict = if ours / peer <= most { "" } else { " missed" };
            format!("≤ {most:.2}{verdict}")
        });
        writeln!(
            rows,
            "| {} | {name} | {} | {} | {:.2} | {needed} |",
            case.title(),
            number(ours),
            number(peer),
            ours / peer
        )?;
    }
    Ok(rows)
}

/// The most that ours may be of theirs. Times, not rates: 1.2 times the rate is 0.83 of the time, which `get` is to reach over one
/// connection.
fn needed(case: Case, figure: &str) -> Option<f64> {
    match (case, figure) {
        (Case::Get { in_flight: 64, alone: true, .. }, "µs per request") => Some(1.0 / 1.2),
        (Case::List { .. }, "ms") => Some(1.0 / 1.5),
        (Case::List { .. }, "MiB at peak") => Some(0.7),
        (Case::Reflector { .. }, "ms to fill") => Some(1.0 / 1.5),
        (Case::Dispatch { .. }, "ms" | "MiB at peak") => Some(1.0),
        _ => None,
    }
}

fn median(rounds: &[Figures], name: &str) -> f64 {
    let mut values: Vec<f64> = rounds.iter().filter_map(|figures| figures.get(name)).copied().collect();
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
