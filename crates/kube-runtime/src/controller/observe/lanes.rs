//! What a controller shows of the fair lanes of its queue.

use crate::{controller::lanes::LaneName, queue::LaneNumbers, watcher::optional_seconds};
use serde::Serialize;
use std::{cmp::Reverse, time::Duration};
use tokio::time::Instant;

/// How many lanes are shown by their names.
const MAX_SHOWN: usize = 20;

/// The fair lanes as they were at one time.
#[derive(Debug, Default)]
pub(crate) struct LaneSample {
    /// The number of objects that are due in the deepest one.
    pub(crate) deepest: usize,
    /// Since when the first object of any lane is due.
    pub(crate) oldest: Option<Instant>,
    /// The deepest ones, the deepest first.
    pub(super) shown: Vec<SampledLane>,
}

#[derive(Debug)]
pub(super) struct SampledLane {
    name: LaneName,
    due: usize,
    running: usize,
    oldest: Option<Instant>,
}

/// A lane of a [fair](crate::Config::fair_by) queue in which objects are due, as it was up to 0.2 s ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LaneSnapshot {
    /// Its name; `None` for the lane of the objects without one.
    pub name: Option<String>,
    /// How many of its objects are due.
    pub due: usize,
    /// How many of its objects are being reconciled.
    pub running: usize,
    /// How long the first of its objects has been due.
    #[serde(rename = "oldest_due_seconds", serialize_with = "optional_seconds")]
    pub oldest_due: Option<Duration>,
}

impl LaneSample {
    /// O(number of lanes).
    pub(crate) fn of<'a, K: 'a>(
        lanes: impl Iterator<Item = LaneNumbers<'a, K, LaneName>>,
        due_since: impl Fn(&K) -> Option<Instant>,
    ) -> Self {
        let mut all: Vec<_> = lanes
            .filter(|lane| lane.due > 0)
            .map(|lane| {
                let oldest = lane.first.into_iter().flatten().filter_map(&due_since).min();
                (lane, oldest)
            })
            .collect();
        let order =
            |(lane, _): &(LaneNumbers<'a, K, LaneName>, Option<Instant>)| (Reverse(lane.due), lane.name);
        let oldest = all.iter().filter_map(|(_, oldest)| *oldest).min();
        if all.len() > MAX_SHOWN {
            all.select_nth_unstable_by(MAX_SHOWN, |one, other| order(one).cmp(&order(other)));
            all.truncate(MAX_SHOWN);
        }
        all.sort_unstable_by(|one, other| order(one).cmp(&order(other)));
        let shown: Vec<_> = all
            .into_iter()
            .map(|(lane, oldest)| SampledLane {
                name: lane.name.clone(),
                due: lane.due,
                running: lane.running,
                oldest,
            })
            .collect();
        Self { deepest: shown.first().map_or(0, |lane| lane.due), oldest, shown }
    }
}

impl LaneSnapshot {
    pub(super) fn of(lane: &SampledLane, now: Instant) -> Self {
        Self {
            name: lane.name.as_str().map(str::to_owned),
            due: lane.due,
            running: lane.running,
            oldest_due: lane.oldest.map(|since| now.saturating_duration_since(since)),
        }
    }
}
