//! The metrics of one watch.

use super::{Subject, Together, WatchMeasurement, names, recorded::Recorded};
use metrics::{Counter, Gauge, counter, gauge};
use parking_lot::Mutex;
use std::{fmt, time::Duration};

/// The values of the label `type`.
const EVENTS: [&str; 4] = ["added", "modified", "deleted", "bookmark"];

/// The metrics of one watch. The watches of one kind of a controller, in several namespaces, add to the same time series.
pub(crate) struct WatchMetrics(Recorded<Handles>);

struct Handles {
    events: [Counter; EVENTS.len()],
    errors: Counter,
    restarts: Counter,
    relists: Counter,
    bytes: Counter,
    objects: Gauge,
    undecodable: Gauge,
    age: Gauge,
    /// With watches of which other controllers, and the age of this one.
    together: Option<Together>,
    own_age: Mutex<Duration>,
    kind: Box<str>,
}

impl WatchMetrics {
    pub(crate) fn new(subject: &Subject, kind: &str) -> Self {
        Self(Recorded::new(&subject.controller, || Handles::new(subject, kind)))
    }

    pub(crate) fn record(&self, step: WatchMeasurement) {
        self.0.record(|handles| handles.step(step));
    }

    pub(crate) fn set_age(&self, age: Duration) {
        self.0.record(|handles| handles.set_age(age));
    }
}

impl Handles {
    fn new(subject: &Subject, kind: &str) -> Self {
        let labels = [("controller", subject.controller.to_string()), ("kind", kind.to_owned())];
        let event = |event: &'static str| {
            let [controller, kind] = labels.clone();
            counter!(names::WATCH_EVENTS, "controller" => controller.1, "kind" => kind.1, "type" => event)
        };
        let metrics = Self {
            events: EVENTS.map(event),
            errors: counter!(names::WATCH_ERRORS, &labels),
            restarts: counter!(names::WATCH_RESTARTS, &labels),
            relists: counter!(names::WATCH_RELISTS, &labels),
            bytes: counter!(names::WATCH_BYTES, &labels),
            objects: gauge!(names::WATCH_OBJECTS, &labels),
            undecodable: gauge!(names::WATCH_UNDECODABLE, &labels),
            age: gauge!(names::WATCH_AGE, &labels),
            together: subject.together.clone(),
            own_age: Mutex::default(),
            kind: kind.into(),
        };
        let counters = [&metrics.errors, &metrics.restarts, &metrics.relists, &metrics.bytes];
        metrics.events.iter().chain(counters).for_each(|counter| counter.increment(0));
        metrics.objects.increment(0.0);
        metrics.undecodable.increment(0.0);
        metrics.set_age(Duration::ZERO);
        metrics
    }

    fn set_age(&self, age: Duration) {
        let show = |age: Duration| self.age.set(age.as_secs_f64());
        match &self.together {
            None => show(age),
            Some(together) => together.replace_age(&self.kind, &self.own_age, age, show),
        }
    }

    fn step(&self, step: WatchMeasurement) {
        if let Some(index) = EVENTS.iter().position(|event| Some(*event) == step.event) {
            self.events[index].increment(1);
        }
        let counts = [(&self.restarts, step.restarted), (&self.relists, step.relisted)];
        for (counter, _) in counts.into_iter().filter(|(_, counts)| *counts) {
            counter.increment(1);
        }
        if step.errors != 0 {
            self.errors.increment(step.errors);
        }
        if step.undecodable != 0 {
            self.undecodable.increment(step.undecodable as f64);
        }
        if step.bytes != 0 {
            self.bytes.increment(step.bytes);
        }
        if step.objects != 0 {
            self.objects.increment(step.objects as f64);
        }
    }
}

impl fmt::Debug for WatchMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchMetrics")
    }
}
