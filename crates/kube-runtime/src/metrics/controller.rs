//! The metrics of one controller and its queue.

use super::{Finished, LaneMeasurement, names, recorded::Recorded};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use std::time::Duration;

/// The values of the label `result`.
const RESULTS: [&str; 4] = ["success", "requeue", "requeue_after", "error"];

/// The metrics of one controller. Each time series has one writer, because controllers have different names.
pub(crate) struct ControllerMetrics(Recorded<Handles>);

struct Handles {
    results: [Counter; RESULTS.len()],
    errors: Counter,
    terminal_errors: Counter,
    panics: Counter,
    timeouts: Counter,
    time: Histogram,
    active: Gauge,
    max_concurrent: Gauge,
    changes: Gauge,
    background: Gauge,
    adds: Counter,
    retries: Counter,
    queue_duration: Histogram,
    work_duration: Histogram,
    unfinished: Gauge,
    longest: Gauge,
    objects: Gauge,
    lanes: Gauge,
    deepest_lane: Gauge,
    longest_lane_wait: Gauge,
}

impl ControllerMetrics {
    /// Looks the handles up, and sets counters and gauges to their initial values, so that they are exported from the start.
    pub(crate) fn new(controller: &str, kind: &str, max_concurrent: u16) -> Self {
        Self(Recorded::new(controller, || Handles::new(controller, kind, max_concurrent)))
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
    fn new(controller: &str, kind: &str, max_concurrent: u16) -> Self {
        names::describe();
        let (name, kind) = (controller.to_owned(), kind.to_owned());
        let of_controller = |metric: &'static str| counter!(metric, "controller" => name.clone());
        let of_queue = [("name", name.clone()), ("controller", name.clone())];
        let depth = |priority: &'static str| {
            let name = name.clone();
            gauge!(names::QUEUE_DEPTH, "name" => name.clone(), "controller" => name, "priority" => priority)
        };
        let limit = if max_concurrent == 0 { f64::INFINITY } else { max_concurrent.into() };
        let metrics = Self {
            results: RESULTS
                .map(|result| counter!(names::RECONCILES, "controller" => name.clone(), "result" => result)),
            errors: of_controller(names::ERRORS),
            terminal_errors: of_controller(names::TERMINAL_ERRORS),
            panics: of_controller(names::PANICS),
            timeouts: of_controller(names::TIMEOUTS),
            time: histogram!(names::TIME, "controller" => name.clone()),
            active: gauge!(names::ACTIVE, "controller" => name.clone()),
            max_concurrent: gauge!(names::MAX_CONCURRENT, "controller" => name.clone()),
            changes: depth("0"),
            background: depth("-100"),
            adds: counter!(names::QUEUE_ADDS, &of_queue),
            retries: counter!(names::QUEUE_RETRIES, &of_queue),
            queue_duration: histogram!(names::QUEUE_DURATION, &of_queue),
            work_duration: histogram!(names::WORK_DURATION, &of_queue),
            unfinished: gauge!(names::UNFINISHED, &of_queue),
            longest: gauge!(names::LONGEST, &of_queue),
            objects: gauge!(names::STORE_OBJECTS, "controller" => name.clone(), "kind" => kind),
            lanes: gauge!(names::LANES, "controller" => name.clone()),
            deepest_lane: gauge!(names::DEEPEST_LANE, "controller" => name.clone()),
            longest_lane_wait: gauge!(names::LONGEST_LANE_WAIT, "controller" => name.clone()),
        };
        let counters = [&metrics.errors, &metrics.terminal_errors, &metrics.panics, &metrics.timeouts];
        for counter in metrics.results.iter().chain(counters).chain([&metrics.adds, &metrics.retries]) {
            counter.increment(0);
        }
        metrics.clear();
        metrics.max_concurrent.set(limit);
        metrics
    }

    fn queue(&self, changes: usize, background: usize, adds: u64) {
        self.changes.set(changes as f64);
        self.background.set(background as f64);
        self.adds.increment(adds);
    }

    fn started(&self, waited: Duration) {
        self.active.increment(1);
        self.queue_duration.record(waited);
    }

    fn finished(&self, finished: Finished) {
        self.active.decrement(1);
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
        let (sum, longest) = running.fold((0.0, 0.0_f64), |(sum, longest), elapsed| {
            let seconds = elapsed.as_secs_f64();
            (sum + seconds, longest.max(seconds))
        });
        self.unfinished.set(sum);
        self.longest.set(longest);
        self.objects.set(objects as f64);
        self.lanes.set(lanes.lanes as f64);
        self.deepest_lane.set(lanes.deepest as f64);
        self.longest_lane_wait.set(lanes.longest_wait.as_secs_f64());
    }

    fn clear(&self) {
        let queue = [&self.changes, &self.background, &self.unfinished, &self.longest];
        let lanes = [&self.lanes, &self.deepest_lane, &self.longest_lane_wait];
        for gauge in queue.into_iter().chain(lanes).chain([&self.active, &self.max_concurrent, &self.objects])
        {
            gauge.set(0.0);
        }
    }
}
