//! The metrics of one controller and its queue.

use super::{
    Finished, LaneMeasurement, Subject, Together, level::Level, names, recorded::Recorded,
    together::Measurement,
};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use parking_lot::Mutex;
use std::time::Duration;

/// The values of the label `result`.
const RESULTS: [&str; 4] = ["success", "requeue", "requeue_after", "error"];

/// The metrics of one controller. Each time series has one writer, or several that know of each other, because all others have different
/// names.
pub(crate) struct ControllerMetrics(Recorded<Handles>);

struct Handles {
    results: [Counter; RESULTS.len()],
    errors: Counter,
    terminal_errors: Counter,
    panics: Counter,
    timeouts: Counter,
    time: Histogram,
    active: Level,
    max_concurrent: Gauge,
    changes: Level,
    background: Level,
    adds: Counter,
    retries: Counter,
    queue_duration: Histogram,
    work_duration: Histogram,
    unfinished: Gauge,
    longest: Gauge,
    objects: Level,
    lanes: Level,
    deepest_lane: Gauge,
    longest_lane_wait: Gauge,
    /// With which others, and what this one has measured.
    together: Option<Together>,
    measured: Mutex<Measurement>,
    limit: usize,
}

impl ControllerMetrics {
    /// Looks the handles up, and sets counters and gauges to their initial values, so that they are exported from the start.
    pub(crate) fn new(subject: &Subject, kind: &str, max_concurrent: u16) -> Self {
        Self(Recorded::new(&subject.controller, || Handles::new(subject, kind, max_concurrent)))
    }

    /// The queue now, and how many keys were added to it since the last call.
    pub(crate) fn queue(&self, changes: usize, background: usize, adds: u64) {
        self.0.record(|handles| handles.queue(changes, background, adds));
    }

    pub(crate) fn started(&self, waited: Duration) {
        self.0.record(|handles| handles.started(waited));
    }

    pub(crate) fn finished(&self, finished: Finished) {
        self.0.record(|handles| handles.finished(finished));
    }

    /// How long the running reconciles have been running, the number of objects in the store, and the lanes of the queue.
    pub(crate) fn refresh(
        &self,
        running: impl Iterator<Item = Duration>,
        objects: usize,
        lanes: LaneMeasurement,
    ) {
        self.0.record(|handles| handles.refresh(running, objects, lanes));
    }
}

impl Drop for ControllerMetrics {
    /// The controller has ended: nothing waits or runs any more.
    fn drop(&mut self) {
        self.0.record(Handles::clear);
    }
}

impl Handles {
    fn new(subject: &Subject, kind: &str, max_concurrent: u16) -> Self {
        names::describe();
        let (name, kind) = (subject.controller.to_string(), kind.to_owned());
        let level = |gauge| Level::new(gauge, subject.together.is_some());
        let of_controller = |metric: &'static str| counter!(metric, "controller" => name.clone());
        let of_queue = [("name", name.clone()), ("controller", name.clone())];
        let depth = |priority: &'static str| {
            let name = name.clone();
            level(
                gauge!(names::QUEUE_DEPTH, "name" => name.clone(), "controller" => name, "priority" => priority),
            )
        };
        let metrics = Self {
            results: RESULTS
                .map(|result| counter!(names::RECONCILES, "controller" => name.clone(), "result" => result)),
            errors: of_controller(names::ERRORS),
            terminal_errors: of_controller(names::TERMINAL_ERRORS),
            panics: of_controller(names::PANICS),
            timeouts: of_controller(names::TIMEOUTS),
            time: histogram!(names::TIME, "controller" => name.clone()),
            active: level(gauge!(names::ACTIVE, "controller" => name.clone())),
            max_concurrent: gauge!(names::MAX_CONCURRENT, "controller" => name.clone()),
            changes: depth("0"),
            background: depth("-100"),
            adds: counter!(names::QUEUE_ADDS, &of_queue),
            retries: counter!(names::QUEUE_RETRIES, &of_queue),
            queue_duration: histogram!(names::QUEUE_DURATION, &of_queue),
            work_duration: histogram!(names::WORK_DURATION, &of_queue),
            unfinished: gauge!(names::UNFINISHED, &of_queue),
            longest: gauge!(names::LONGEST, &of_queue),
            objects: level(gauge!(names::STORE_OBJECTS, "controller" => name.clone(), "kind" => kind)),
            lanes: level(gauge!(names::LANES, "controller" => name.clone())),
            deepest_lane: gauge!(names::DEEPEST_LANE, "controller" => name.clone()),
            longest_lane_wait: gauge!(names::LONGEST_LANE_WAIT, "controller" => name.clone()),
            together: subject.together.clone(),
            measured: Mutex::default(),
            limit: if max_concurrent == 0 { usize::MAX } else { max_concurrent.into() },
        };
        let counters = [&metrics.errors, &metrics.terminal_errors, &metrics.panics, &metrics.timeouts];
        for counter in metrics.results.iter().chain(counters).chain([&metrics.adds, &metrics.retries]) {
            counter.increment(0);
        }
        metrics.clear();
        metrics.measure(Measurement { max_concurrent: metrics.limit, ..Measurement::default() });
        metrics
    }

    fn queue(&self, changes: usize, background: usize, adds: u64) {
        self.changes.set(changes);
        self.background.set(background);
        self.adds.increment(adds);
    }

    fn started(&self, waited: Duration) {
        self.active.increment();
        self.queue_duration.record(waited);
    }

    fn finished(&self, finished: Finished) {
        self.active.decrement();
        if let Some(index) = RESULTS.iter().position(|result| *result == finished.result) {
            self.results[index].increment(1);
        }
        let failed = finished.failed;
        let counts = [
            (&self.errors, failed),
            (&self.terminal_errors, failed && finished.final_),
            (&self.panics, finished.panicked),
            (&self.timeouts, finished.timed_out),
            (&self.retries, finished.retried),
        ];
        for (counter, counts) in counts {
            counter.increment(counts.into());
        }
        self.time.record(finished.elapsed);
        self.work_duration.record(finished.elapsed);
    }

    fn refresh(&self, running: impl Iterator<Item = Duration>, objects: usize, lanes: LaneMeasurement) {
        let (unfinished, longest) = running
            .fold((Duration::ZERO, Duration::ZERO), |(sum, longest), elapsed| {
                (sum.saturating_add(elapsed), longest.max(elapsed))
            });
        self.objects.set(objects);
        self.lanes.set(lanes.lanes);
        self.measure(Measurement {
            max_concurrent: self.limit,
            unfinished,
            longest,
            deepest_lane: lanes.deepest,
            longest_lane_wait: lanes.longest_wait,
        });
    }

    fn measure(&self, measured: Measurement) {
        match &self.together {
            None => self.show(measured),
            Some(together) => together.replace(&self.measured, measured, |all| self.show(all)),
        }
    }

    fn show(&self, measured: Measurement) {
        let limit = measured.max_concurrent;
        self.max_concurrent.set(if limit == usize::MAX { f64::INFINITY } else { limit as f64 });
        self.unfinished.set(measured.unfinished.as_secs_f64());
        self.longest.set(measured.longest.as_secs_f64());
        self.deepest_lane.set(measured.deepest_lane as f64);
        self.longest_lane_wait.set(measured.longest_lane_wait.as_secs_f64());
    }

    fn clear(&self) {
        for level in [&self.changes, &self.background, &self.active, &self.objects, &self.lanes] {
            level.set(0);
        }
        self.measure(Measurement::default());
    }
}
