//! What the growth table measures: its metrics, how they may grow, and their plots.

use anyhow::Context;

use crate::case::{Case, Floor, Kind};
use crate::measure::Metrics;
use crate::results::Measured;

pub(crate) const FILL: &str = "ms to fill";
pub(crate) const FILL_CPU: &str = "ms CPU time to fill";
pub(crate) const DISPATCH: &str = "ms to fill and reconcile every object";
pub(crate) const DISPATCH_CPU: &str = "ms CPU time to fill and reconcile every object";
pub(crate) const RSS: &str = "MiB RSS when every object is reconciled";
pub(crate) const RELIST: &str = "ms to relist and reconcile every object";
pub(crate) const RELIST_CPU: &str = "ms CPU time to relist and reconcile every object";
pub(crate) const RELIST_PEAK: &str = "MiB peak RSS of the relist";
pub(crate) const P50: &str = "ms from a change to its reconcile, p50";
pub(crate) const P99: &str = "ms from a change to its reconcile, p99";
pub(crate) const FILLED_RSS: &str = "MiB RSS when filled";
pub(crate) const FILLED_PEAK: &str = "MiB peak RSS while filling";

/// Costs may grow by the factor of n log n, times this: larger tables have more cache misses.
const TOLERANCE: f64 = 1.2;

/// A metric of the growth table at several numbers of objects.
pub(crate) struct Curve {
    subject: Subject,
    pub(crate) metric: &'static str,
    /// The name of its plot, without `.svg`.
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    pub(crate) cost: Cost,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Controller,
    Metadata,
    Pods,
    /// The smallest program that fills the memory in the same way.
    Smallest,
}

/// What a metric is the cost of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    /// Of all objects.
    All,
    /// Of one change.
    One,
    /// The slowest changes: too variable for a check.
    Slowest,
}

impl Subject {
    fn of(case: Case) -> Option<(Self, usize)> {
        match case {
            Case::Growth { count } => Some((Self::Controller, count)),
            Case::Cache { count, kind: Kind::Pods } => Some((Self::Pods, count)),
            Case::Cache { count, kind: Kind::Metadata } => Some((Self::Metadata, count)),
            Case::Floor { count, floor: Floor::Keep } => Some((Self::Smallest, count)),
            _ => None,
        }
    }
}

const fn curve(
    subject: Subject,
    metric: &'static str,
    file: &'static str,
    title: &'static str,
    cost: Cost,
) -> Curve {
    Curve { subject, metric, file, title, cost }
}

pub(crate) const CURVES: [Curve; 18] = {
    use Cost::{All, One, Slowest};
    use Subject::{Controller, Metadata, Pods, Smallest};
    [
        curve(Controller, FILL, "growth-fill", "Controller of ConfigMaps: time to fill", All),
        curve(Controller, FILL_CPU, "growth-fill-cpu", "Controller of ConfigMaps: CPU time to fill", All),
        curve(
            Controller,
            DISPATCH,
            "growth-dispatch",
            "Controller of ConfigMaps: time to fill and reconcile all",
            All,
        ),
        curve(
            Controller,
            DISPATCH_CPU,
            "growth-dispatch-cpu",
            "Controller of ConfigMaps: CPU time to fill and reconcile all",
            All,
        ),
        curve(
            Controller,
            RELIST,
            "growth-relist",
            "Controller of ConfigMaps: time to relist and reconcile all",
            All,
        ),
        curve(
            Controller,
            RELIST_CPU,
            "growth-relist-cpu",
            "Controller of ConfigMaps: CPU time to relist and reconcile all",
            All,
        ),
        curve(
            Controller,
            P50,
            "growth-latency-p50",
            "Controller of ConfigMaps: latency of a change at 1000 a second, p50",
            One,
        ),
        curve(
            Controller,
            P99,
            "growth-latency-p99",
            "Controller of ConfigMaps: latency of a change at 1000 a second, p99",
            Slowest,
        ),
        curve(Controller, RSS, "growth-rss", "Controller of ConfigMaps: RSS", All),
        curve(
            Controller,
            RELIST_PEAK,
            "growth-relist-peak-rss",
            "Controller of ConfigMaps: peak RSS of the relist",
            All,
        ),
        curve(
            Metadata,
            FILL,
            "growth-metadata-fill",
            "Compact cache of PartialObjectMeta: time to fill",
            All,
        ),
        curve(
            Metadata,
            FILL_CPU,
            "growth-metadata-fill-cpu",
            "Compact cache of PartialObjectMeta: CPU time to fill",
            All,
        ),
        curve(Metadata, FILLED_RSS, "growth-metadata-rss", "Compact cache of PartialObjectMeta: RSS", All),
        curve(Smallest, FILL, "growth-smallest-fill", "Smallest program: time to fill", All),
        curve(Smallest, FILL_CPU, "growth-smallest-fill-cpu", "Smallest program: CPU time to fill", All),
        curve(Pods, FILL, "growth-pods-fill", "Compact cache of Pods: time to fill", All),
        curve(Pods, FILL_CPU, "growth-pods-fill-cpu", "Compact cache of Pods: CPU time to fill", All),
        curve(Pods, FILLED_RSS, "growth-pods-rss", "Compact cache of Pods: RSS", All),
    ]
};

/// A metric at one number of objects. `baseline` is missing where kube 5.0.0 was not measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Point {
    pub(crate) objects: usize,
    pub(crate) workspace: f64,
    pub(crate) baseline: Option<f64>,
}

impl Curve {
    /// What is measured beside kube 5.0.0.
    pub(crate) fn program(&self) -> &'static str {
        if self.subject == Subject::Smallest { "smallest program" } else { "this workspace" }
    }

    /// The points by number of objects.
    pub(crate) fn points(&self, measured: &[Measured]) -> Vec<Point> {
        let mut points: Vec<_> = measured
            .iter()
            .filter_map(|measured| match Subject::of(measured.case)? {
                (subject, objects) if subject == self.subject => {
                    let (workspace, baseline) = measured.medians(self.metric);
                    Some(Point { objects, workspace: workspace?, baseline })
                }
                _ => None,
            })
            .collect();
        points.sort_by_key(|point| point.objects);
        points
    }
}

/// How much the cost per object, or per change, has grown between two numbers of objects.
pub(crate) struct Growth {
    pub(crate) metric: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) workspace: f64,
    pub(crate) baseline: Option<f64>,
    /// The most that is accepted: the factor of log n with [`TOLERANCE`]. `None` for the smallest program, which is not ours to improve.
    pub(crate) most: Option<f64>,
}

/// The growth of every curve between consecutive numbers of objects.
pub(crate) fn growth(measured: &[Measured]) -> Vec<Growth> {
    let checked = CURVES.iter().filter(|curve| curve.cost != Cost::Slowest);
    checked
        .flat_map(|curve| {
            curve.points(measured).windows(2).map(|pair| curve.growth(pair[0], pair[1])).collect::<Vec<_>>()
        })
        .collect()
}

impl Curve {
    fn growth(&self, from: Point, to: Point) -> Growth {
        let (few, many) = (from.objects as f64, to.objects as f64);
        let more_objects = if self.cost == Cost::All { many / few } else { 1.0 };
        let factor = |from: f64, to: f64| to / from / more_objects;
        let baseline = from.baseline.zip(to.baseline).map(|(from, to)| factor(from, to));
        let per = if self.cost == Cost::All { ", per object" } else { "" };
        Growth {
            metric: format!("{}{per}", self.title),
            from: from.objects,
            to: to.objects,
            workspace: factor(from.workspace, to.workspace),
            baseline,
            most: (self.subject != Subject::Smallest).then(|| TOLERANCE * many.ln() / few.ln()),
        }
    }
}

/// Whether every step of a measurement succeeded.
pub(crate) fn is_complete(case: Case, metrics: &Metrics) -> bool {
    !matches!(case, Case::Growth { .. }) || metrics.contains_key(P99)
}

/// Whether a measurement fits into the memory that is available, judged by the same with fewer objects, if there is one.
pub(crate) fn fits(case: Case, smaller: &[Measured], available: f64) -> anyhow::Result<bool> {
    let (subject, count) = Subject::of(case).context("no case of the growth table")?;
    let peak = smaller.iter().rev().find_map(|measured| match Subject::of(measured.case)? {
        (smaller, objects) if smaller == subject => {
            Some(measured.baseline_memory()? * count as f64 / objects as f64)
        }
        _ => None,
    });
    // The estimate includes what does not grow, and the measurements vary.
    Ok(peak.is_none_or(|peak| peak < available * 0.9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Table;

    fn measured(count: usize, value: f64, baseline: Option<f64>) -> Measured {
        let metrics = |value: f64| -> Metrics { [(FILL.to_owned(), value), (RSS.to_owned(), value)].into() };
        Measured {
            table: Table::Growth,
            case: Case::Growth { count },
            workspace: vec![metrics(value)],
            baseline: baseline.map(metrics).into_iter().collect(),
        }
    }

    #[test]
    fn points_are_those_of_the_subject_in_ascending_order() {
        let others =
            [Case::Cache { count: 5, kind: Kind::Metadata }, Case::Watch { count: 9, pruned: false }];
        let others = others.map(|case| Measured { case, ..measured(0, 7.0, Some(1.0)) });
        let all: Vec<_> =
            [measured(10, 2.0, None), measured(1, 1.0, Some(3.0))].into_iter().chain(others).collect();
        let expected = [
            Point { objects: 1, workspace: 1.0, baseline: Some(3.0) },
            Point { objects: 10, workspace: 2.0, baseline: None },
        ];
        assert_eq!(CURVES[0].points(&all), expected);
    }

    #[test]
    fn n_log_n_is_accepted_and_more_is_not() {
        let cost = |count: usize| count as f64 * (count as f64).ln();
        let check = |power: i32| {
            let all = [10_000, 100_000].map(|count| measured(count, cost(count).powi(power), None));
            let growth = growth(&all);
            assert_eq!((growth[0].from, growth[0].to, growth[0].baseline), (10_000, 100_000, None));
            assert!(growth[0].metric.ends_with("time to fill, per object"), "{}", growth[0].metric);
            let most = growth[0].most.unwrap();
            assert!((most - 1.5).abs() < 1e-9, "{most}");
            growth[0].workspace <= most
        };
        assert!(check(1));
        assert!(!check(2));
    }

    #[test]
    fn a_latency_is_not_divided_by_the_number_of_objects() {
        let latency = |objects, workspace| Point { objects, workspace, baseline: Some(1.0) };
        let curve = CURVES.iter().find(|curve| curve.metric == P50).unwrap();
        let growth = curve.growth(latency(10, 1.0), latency(100, 3.0));
        assert_eq!((growth.workspace, growth.baseline), (3.0, Some(1.0)));
    }

    #[test]
    fn a_case_fits_if_ten_times_the_memory_of_a_tenth_does() {
        let smaller = [measured(100, 1.0, Some(50.0))];
        let fits = |available| fits(Case::Growth { count: 1000 }, &smaller, available).unwrap();
        assert!(fits(600.0));
        assert!(!fits(500.0));
        assert!(
            super::fits(Case::Cache { count: 1000, kind: Kind::Pods }, &smaller, 1.0).unwrap(),
            "unknown"
        );
    }
}
