//! Medians and ratios as Markdown tables.

use std::fmt::Write;

use crate::case::{Case, Kind, Reconciles, Table};
use crate::growth::{self, CURVES, Curve, Growth};
use crate::results::Measured;

/// The head of a table.
pub(crate) fn header(table: Table) -> String {
    let first = if table == Table::Floor { "smallest program" } else { "this workspace" };
    format!("| case | metric | {first} | kube 5.0.0 | ratio | target |\n|---|---|--:|--:|--:|--:|\n")
}

/// What is accepted at most.
#[derive(Clone, Copy)]
enum Target {
    /// The ratio of this workspace to kube 5.0.0.
    Ratio(f64),
    /// The value of this workspace.
    Value(f64),
}

/// The rows of a case, one per metric.
pub(crate) fn rows(measured: &Measured) -> String {
    measured.names().map(|name| row(measured, name)).collect()
}

/// The rows of a case that have a target.
fn rows_with_target(measured: &Measured) -> String {
    let names = measured.names().filter(|name| target(measured, name).is_some());
    names.map(|name| row(measured, name)).collect()
}

fn row(measured: &Measured, name: &str) -> String {
    let (workspace, baseline) = measured.medians(name);
    let target = target(measured, name);
    cells(&measured.case.title(), name, workspace, baseline, target, failure(measured.table))
}

/// How costs grow between two numbers of objects, with the target of each.
pub(crate) fn growth_rows(growth: &[Growth]) -> String {
    let row = |growth: &Growth| {
        let case = format!("growth from {} to {} objects", growth.from, growth.to);
        cells(
            &case,
            &growth.metric,
            Some(growth.workspace),
            growth.baseline,
            growth.most.map(Target::Value),
            failure(Table::Growth),
        )
    };
    growth.iter().map(row).collect()
}

fn cells(
    case: &str,
    metric: &str,
    workspace: Option<f64>,
    baseline: Option<f64>,
    target: Option<Target>,
    failure: &str,
) -> String {
    let ratio = workspace.zip(baseline).map(|(workspace, baseline)| workspace / baseline);
    // As precise as it is printed.
    let verdict = |found: Option<f64>, most: f64| match found {
        Some(found) if (found * 100.0).round() > (most * 100.0).round() => failure,
        _ => "",
    };
    let target = match target {
        Some(Target::Ratio(most)) => format!("≤ {most:.2} {}", verdict(ratio, most)),
        Some(Target::Value(most)) => format!("value ≤ {} {}", number(most), verdict(workspace, most)),
        None => String::new(),
    };
    let ratio = ratio.filter(|ratio| ratio.is_finite()).map_or(String::new(), |ratio| format!("{ratio:.2}"));
    format!(
        "| {case} | {metric} | {} | {} | {ratio} | {} |\n",
        cell(workspace),
        cell(baseline),
        target.trim_end()
    )
}

/// What a value above its target means.
fn failure(table: Table) -> &'static str {
    if table == Table::Floor { "missed too" } else { "missed" }
}

/// What is accepted.
fn target(measured: &Measured, metric: &str) -> Option<Target> {
    use Target::{Ratio, Value};
    let relative = metric.starts_with("ms") || metric.starts_with("µs");
    let case = match measured.case {
        Case::Floor { count, floor } => floor.of_library(count),
        case => case,
    };
    let target = match (case, metric) {
        (Case::Genuine(_), "µs p50" | "MiB peak RSS") => return None,
        (Case::Genuine(_), _) => Ratio(1.05),
        // More threads must not cost more where other work needs the CPUs. Percentiles vary too much there.
        (_, "µs p50" | "µs p99") => return None,
        _ if matches!(measured.table, Table::Busy | Table::Plain) && relative => Ratio(1.0),
        _ if matches!(measured.table, Table::Busy | Table::Plain) => return None,
        // Judged by the same case on a genuine server: one that answers in microseconds is nobody's.
        (Case::Get { .. }, _) => return None,
        (Case::List { pruned: false, .. }, "ms") => Ratio(0.75),
        (Case::List { pruned: false, .. }, "ms CPU time") => Ratio(0.8),
        (Case::List { pruned: false, .. }, "MiB peak RSS") => Ratio(0.79),
        (Case::List { pruned: true, .. }, "ms") => Ratio(0.45),
        (Case::List { pruned: true, .. }, "MiB peak RSS") => Ratio(0.33),
        (Case::Watch { pruned: false, .. }, "µs per event" | "µs CPU time per event") => Ratio(0.85),
        (Case::Watch { pruned: true, .. }, "µs per event" | "µs CPU time per event") => Ratio(0.45),
        (Case::Reflector { .. }, growth::FILL) => Ratio(0.6),
        (Case::Reflector { .. }, growth::FILL_CPU) => Ratio(0.95),
        (Case::Reflector { .. }, growth::FILLED_RSS) => Ratio(0.98),
        (Case::Reflector { streaming: false, .. }, "ms of the relist") => Ratio(0.5),
        (Case::Reflector { streaming: false, .. }, "ms CPU time of the relist") => Ratio(0.46),
        (Case::Reflector { streaming: true, .. }, "ms of the relist") => Ratio(0.55),
        (Case::Reflector { streaming: true, .. }, "ms CPU time of the relist") => Ratio(0.35),
        (Case::Reflector { .. }, "peak RSS of the relist ÷ RSS when filled") => Value(1.05),
        (Case::Build, "s CPU time of a clean release build") => Ratio(1.0),
        (Case::Build, "MiB of the stripped binary") => Ratio(0.8),
        (Case::Build, "crates in `cargo tree -e normal`") => Value(154.0),
        (Case::Build, "ms CPU time per derived type") => Ratio(1.0),
        (Case::Compact { .. }, growth::FILL) => Ratio(0.3),
        (Case::Compact { .. }, growth::FILLED_RSS) => Ratio(0.08),
        (Case::Compact { .. }, "`get` of a cold object ÷ plain decode") => Value(1.5),
        (Case::Compact { .. } | Case::Relist { .. }, "ms of the relist" | "ms CPU time of the relist") => {
            Ratio(0.25)
        }
        (Case::Relist { reconciles: Reconciles::Changes { .. }, .. }, "reconciles caused by the relist") => {
            Value(0.0)
        }
        (Case::Applier { work_ms: 1000, .. }, "ms") => Ratio(0.8),
        (Case::Applier { .. }, "ms") => Ratio(0.26),
        (Case::Applier { .. }, "MiB peak RSS") => Ratio(0.71),
        (Case::Tenants { .. }, "ms p99 of the others") => Value(24.0),
        (Case::Dispatch { .. }, "ms" | "MiB peak RSS") => Ratio(1.0),
        (Case::Cache { count: 100_000, kind: Kind::Pods }, growth::FILLED_RSS) => Value(mebibytes(500e6)),
        (Case::Cache { count: 1_000_000, kind: Kind::Metadata }, growth::FILLED_RSS) => {
            Value(mebibytes(600e6))
        }
        _ => return None,
    };
    Some(target)
}

fn mebibytes(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// The growth table: the targets, then each metric by the number of objects. `plots`: the folder of the plots, relative to the page.
pub(crate) fn growth_sections(measured: &[Measured], plots: &str) -> String {
    let bounds: String = measured.iter().map(rows_with_target).collect();
    let mut text = format!("{}{bounds}{}", header(Table::Growth), growth_rows(&growth::growth(measured)));
    for curve in &CURVES {
        let _ = write!(text, "\n{}", section(curve, measured, plots)); // a String accepts every write
    }
    text
}

fn section(curve: &Curve, measured: &[Measured], plots: &str) -> String {
    let (title, metric) = (curve.title, curve.metric);
    let mut text = format!("![{title}]({plots}/{}.svg)\n\n", curve.file);
    let program = curve.program();
    text += &format!("| objects | {metric}, {program} | kube 5.0.0 | ratio |\n|--:|--:|--:|--:|\n");
    for point in curve.points(measured) {
        let ratio =
            point.baseline.map_or(String::new(), |baseline| format!("{:.2}", point.workspace / baseline));
        text += &format!(
            "| {} | {} | {} | {ratio} |\n",
            point.objects,
            number(point.workspace),
            cell(point.baseline)
        );
    }
    text
}

fn cell(value: Option<f64>) -> String {
    value.map_or("not measured".to_owned(), number)
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Metrics;

    fn measured(case: Case, workspace: &[(&str, f64)], baseline: &[(&str, f64)]) -> Measured {
        let metrics = |values: &[(&str, f64)]| -> Metrics {
            values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let baseline = if baseline.is_empty() { vec![] } else { vec![metrics(baseline)] };
        Measured { table: Table::Compact, case, workspace: vec![metrics(workspace)], baseline }
    }

    #[test]
    fn a_missed_target_is_marked() {
        let case = Case::Compact { count: 5, streaming: false };
        let names = [growth::FILL, "`get` of a cold object ÷ plain decode"];
        let pairs = |values: [f64; 2]| [(names[0], values[0]), (names[1], values[1])];
        let good = rows(&measured(case, &pairs([3.0, 1.5]), &pairs([10.0, 0.1])));
        let expected = "| compact cache of 5 Pods | `get` of a cold object ÷ plain decode | 1.50 | 0.10 | 15.00 | value ≤ 1.50 |
| compact cache of 5 Pods | ms to fill | 3.00 | 10.00 | 0.30 | ≤ 0.30 |
";
        assert_eq!(good, expected);
        let bad = rows(&measured(case, &pairs([3.1, 1.6]), &pairs([10.0, 0.1])));
        assert!(bad.contains("| value ≤ 1.50 missed |") && bad.contains("| ≤ 0.30 missed |"), "{bad}");
    }

    #[test]
    fn a_missing_baseline_and_a_division_by_zero_have_no_ratio() {
        let case = Case::Relist {
            count: 5,
            reconciles: Reconciles::Changes { cache: crate::case::CacheKind::Ordinary, streaming: false },
        };
        let name = "reconciles caused by the relist";
        assert!(
            rows(&measured(case, &[(name, 0.0)], &[(name, 0.0)]))
                .ends_with("| 0.00 | 0.00 |  | value ≤ 0.00 |\n")
        );
        assert!(
            rows(&measured(case, &[(name, 1.0)], &[]))
                .ends_with("| 1.00 | not measured |  | value ≤ 0.00 missed |\n")
        );
    }

    #[test]
    fn the_growth_table_has_the_bounds_the_growth_and_a_plot_of_each_metric() {
        let cache = |count, mebibytes| {
            let case = Case::Cache { count, kind: Kind::Metadata };
            measured(case, &[(growth::FILLED_RSS, mebibytes)], &[(growth::FILLED_RSS, 2.0 * mebibytes)])
        };
        let text = growth_sections(&[cache(100_000, 40.0), cache(1_000_000, 400.0)], "plots");
        assert!(text.contains("| compact cache of 1000000 `PartialObjectMeta` | MiB RSS when filled | 400 | 800 | 0.50 | value ≤ 572 |"), "{text}");
        assert!(text.contains("| growth from 100000 to 1000000 objects | Compact cache of PartialObjectMeta: RSS, per object | 1.00 | 1.00 | 1.00 | value ≤ 1.44 |"), "{text}");
        assert!(text.contains("](plots/growth-metadata-rss.svg)\n\n| objects | MiB RSS when filled, this workspace | kube 5.0.0 | ratio |\n|--:|--:|--:|--:|\n| 100000 | 40.00 | 80.00 | 0.50 |\n"), "{text}");
        assert_eq!(text.matches(".svg)").count(), CURVES.len());
    }
}
