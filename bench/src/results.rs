//! The results of a case.

use crate::case::{Case, Table};
use crate::measure::Metrics;

pub(crate) struct Measured {
    pub(crate) table: Table,
    pub(crate) case: Case,
    /// One entry per round.
    pub(crate) workspace: Vec<Metrics>,
    /// Empty if kube 5.0.0 was not measured.
    pub(crate) baseline: Vec<Metrics>,
}

impl Measured {
    /// The names of the metrics.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.workspace.first().into_iter().flat_map(Metrics::keys).map(String::as_str)
    }

    /// The medians of this workspace and of kube 5.0.0.
    pub(crate) fn medians(&self, name: &str) -> (Option<f64>, Option<f64>) {
        (median(&self.workspace, name), median(&self.baseline, name))
    }

    /// The largest memory that kube 5.0.0 used, in MiB.
    pub(crate) fn baseline_memory(&self) -> Option<f64> {
        let metrics = self.baseline.iter().flatten();
        metrics.filter(|(name, _)| name.starts_with("MiB")).map(|(_, value)| *value).max_by(f64::total_cmp)
    }
}

fn median(rounds: &[Metrics], name: &str) -> Option<f64> {
    median_of(rounds.iter().filter_map(|metrics| metrics.get(name)).copied().collect())
}

/// The median; between the two middle values if their number is even.
pub(crate) fn median_of(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => None,
        len if len % 2 == 1 => Some(values[len / 2]),
        len => Some(f64::midpoint(values[len / 2 - 1], values[len / 2])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_numbers_of_rounds() {
        let rounds = |values: &[f64]| -> Vec<Metrics> {
            values.iter().map(|value| [("MiB".to_owned(), *value), ("ms".to_owned(), 9.0)].into()).collect()
        };
        let (workspace, baseline) = (rounds(&[3.0, 1.0, 2.0]), rounds(&[4.0, 1.0]));
        let measured = Measured {
            table: Table::Watch,
            case: Case::Watch { count: 1, pruned: false },
            workspace,
            baseline,
        };
        assert_eq!(measured.names().collect::<Vec<_>>(), ["MiB", "ms"]);
        assert_eq!(measured.medians("MiB"), (Some(2.0), Some(2.5)));
        assert_eq!(measured.medians("none"), (None, None));
        assert_eq!(measured.baseline_memory(), Some(4.0));
    }
}
