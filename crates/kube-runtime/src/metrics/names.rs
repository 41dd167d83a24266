//! The names of the metrics and their descriptions. Except for those of `kube_runtime_*`, they are Go's.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

pub(crate) const RECONCILES: &str = "controller_runtime_reconcile_total";
pub(crate) const ERRORS: &str = "controller_runtime_reconcile_errors_total";
pub(crate) const TERMINAL_ERRORS: &str = "controller_runtime_terminal_reconcile_errors_total";
pub(crate) const PANICS: &str = "controller_runtime_reconcile_panics_total";
pub(crate) const TIMEOUTS: &str = "controller_runtime_reconcile_timeouts_total";
pub(crate) const TIME: &str = "controller_runtime_reconcile_time_seconds";
pub(crate) const ACTIVE: &str = "controller_runtime_active_workers";
pub(crate) const MAX_CONCURRENT: &str = "controller_runtime_max_concurrent_reconciles";
pub(crate) const QUEUE_DEPTH: &str = "workqueue_depth";
pub(crate) const QUEUE_ADDS: &str = "workqueue_adds_total";
pub(crate) const QUEUE_DURATION: &str = "workqueue_queue_duration_seconds";
pub(crate) const WORK_DURATION: &str = "workqueue_work_duration_seconds";
pub(crate) const QUEUE_RETRIES: &str = "workqueue_retries_total";
pub(crate) const UNFINISHED: &str = "workqueue_unfinished_work_seconds";
pub(crate) const LONGEST: &str = "workqueue_longest_running_processor_seconds";
pub(crate) const LANES: &str = "kube_runtime_queue_lanes";
pub(crate) const DEEPEST_LANE: &str = "kube_runtime_queue_deepest_lane_objects";
pub(crate) const LONGEST_LANE_WAIT: &str = "kube_runtime_queue_longest_lane_wait_seconds";
pub(crate) const WATCH_EVENTS: &str = "kube_runtime_watch_events_total";
pub(crate) const WATCH_ERRORS: &str = "kube_runtime_watch_errors_total";
pub(crate) const WATCH_RESTARTS: &str = "kube_runtime_watch_restarts_total";
pub(crate) const WATCH_RELISTS: &str = "kube_runtime_watch_relists_total";
pub(crate) const WATCH_BYTES: &str = "kube_runtime_watch_received_bytes_total";
pub(crate) const WATCH_AGE: &str = "kube_runtime_watch_last_event_age_seconds";
pub(crate) const WATCH_OBJECTS: &str = "kube_runtime_watch_objects";
pub(crate) const WATCH_UNDECODABLE: &str = "kube_runtime_watch_undecodable_objects";
pub(crate) const STORE_OBJECTS: &str = "kube_runtime_store_objects";
pub(crate) const KIND_SERVED: &str = "kube_runtime_kind_served";

/// Registers descriptions and units with the recorder.
pub(crate) fn describe() {
    use Unit::{Bytes, Seconds};
    describe_counter!(RECONCILES, "Reconciles, by result");
    describe_counter!(ERRORS, "Reconciles that failed, panics and timeouts included");
    describe_counter!(TERMINAL_ERRORS, "Failed reconciles after which no other attempt was requested");
    describe_counter!(PANICS, "Reconciles that panicked");
    describe_counter!(TIMEOUTS, "Reconciles that exceeded the timeout of the controller");
    describe_histogram!(TIME, Seconds, "Duration of reconciles");
    describe_gauge!(ACTIVE, "Running reconciles");
    describe_gauge!(MAX_CONCURRENT, "Limit of running reconciles; +Inf without a limit");
    describe_gauge!(QUEUE_DEPTH, "Objects that are due, by priority");
    describe_counter!(QUEUE_ADDS, "Objects that were queued");
    describe_histogram!(QUEUE_DURATION, Seconds, "Time from due to start");
    describe_histogram!(WORK_DURATION, Seconds, "Duration of reconciles");
    describe_counter!(QUEUE_RETRIES, "Objects that were queued with backoff, or after a failure");
    describe_gauge!(UNFINISHED, Seconds, "Sum of the times that the running reconciles have been running");
    describe_gauge!(LONGEST, Seconds, "Time that the longest running reconcile has been running");
    describe_gauge!(LANES, "Lanes of a fair queue with objects that wait or run");
    describe_gauge!(DEEPEST_LANE, "Objects that are due in the lane with most of them");
    describe_gauge!(LONGEST_LANE_WAIT, Seconds, "Time that the first object of any lane has been due");
    describe_counter!(WATCH_EVENTS, "Received watch events, by type");
    describe_counter!(WATCH_ERRORS, "Failed lists and watches, and states of objects that cannot be decoded");
    describe_counter!(WATCH_RESTARTS, "Watch requests after the first one");
    describe_counter!(WATCH_RELISTS, "Lists after the first one");
    describe_counter!(WATCH_BYTES, Bytes, "Received bytes of lists and watches, after decompression");
    describe_gauge!(WATCH_AGE, Seconds, "Time since the server sent anything but an error");
    describe_gauge!(WATCH_OBJECTS, "Objects that the server has, as received by the watch");
    describe_gauge!(WATCH_UNDECODABLE, "Objects whose last state cannot be decoded");
    describe_gauge!(KIND_SERVED, "1 while the server serves the kind");
    describe_gauge!(STORE_OBJECTS, "Objects in the store of the controller");
}
