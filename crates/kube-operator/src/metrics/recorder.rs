//! The recorder of the process. The metrics of each controller are in a registry of their own, which is dropped with the controller: the
//! [facade](::metrics) itself cannot remove a time series.

use ::metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::{BuildError, PrometheusRecorder};
use parking_lot::RwLock;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The label whose values have registries of their own.
const LABEL: &str = "controller";

/// Makes an empty registry.
type MakeRegistry = fn() -> Result<PrometheusRecorder, BuildError>;

/// Clones are the same.
#[derive(Clone)]
pub(super) struct ControllerRecorder(Arc<Registries>);

struct Registries {
    make: MakeRegistry,
    /// Of metrics without the label.
    others: PrometheusRecorder,
    by_controller: RwLock<BTreeMap<String, Arc<PrometheusRecorder>>>,
    /// What the registries of later controllers are told: the unit and the text of each metric.
    descriptions: RwLock<BTreeMap<String, (Option<Unit>, SharedString)>>,
}

impl ControllerRecorder {
    pub(super) fn new(make: MakeRegistry) -> Result<Self, BuildError> {
        Ok(Self(Arc::new(Registries {
            make,
            others: make()?,
            by_controller: RwLock::default(),
            descriptions: RwLock::default(),
        })))
    }

    /// Drops the time series of a controller. What still writes to one writes to nowhere.
    pub(super) fn remove(&self, controller: &str) {
        let removed = self.0.by_controller.write().remove(controller);
        drop(removed); // without the lock
    }

    /// All time series as text, one family after the other.
    pub(super) fn render(&self) -> String {
        let mut families = BTreeMap::new();
        self.each(|registry| add_families(&mut families, &registry.handle().render()));
        families.into_values().map(|Family { head, samples }| head + &samples + "\n").collect()
    }

    /// Moves the samples of histograms into their buckets.
    pub(super) fn run_upkeep(&self) {
        self.each(|registry| registry.handle().run_upkeep());
    }

    fn each(&self, mut visit: impl FnMut(&PrometheusRecorder)) {
        visit(&self.0.others);
        let registries: Vec<_> = self.0.by_controller.read().values().cloned().collect();
        registries.iter().for_each(|registry| visit(registry));
    }

    fn describe(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        let mut descriptions = self.0.descriptions.write();
        if descriptions.contains_key(name.as_str()) {
            return;
        }
        descriptions.insert(name.as_str().to_owned(), (unit, text.clone()));
        drop(descriptions);
        // An exporter does not distinguish descriptions by type.
        self.each(|registry| registry.describe_counter(name.clone(), unit, text.clone()));
    }

    /// Registers a metric where it belongs.
    fn register<T>(&self, key: &Key, register: impl Fn(&PrometheusRecorder) -> T) -> T {
        let Some(controller) = key.labels().find(|label| label.key() == LABEL) else {
            return register(&self.0.others);
        };
        if let Some(registry) = self.0.by_controller.read().get(controller.value()) {
            return register(registry);
        }
        let Ok(registry) = (self.0.make)() else {
            return register(&self.0.others);
        };
        for (name, (unit, text)) in &*self.0.descriptions.read() {
            registry.describe_counter(name.clone().into(), *unit, text.clone());
        }
        let mut by_controller = self.0.by_controller.write();
        let registry =
            by_controller.entry(controller.value().to_owned()).or_insert_with(|| Arc::new(registry));
        register(registry)
    }
}

impl Recorder for ControllerRecorder {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.describe(name, unit, text);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.describe(name, unit, text);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.describe(name, unit, text);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        self.register(key, |registry| registry.register_counter(key, metadata))
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.register(key, |registry| registry.register_gauge(key, metadata))
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        self.register(key, |registry| registry.register_histogram(key, metadata))
    }
}

impl fmt::Debug for ControllerRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControllerRecorder")
    }
}

/// The time series of one name: Prometheus wants them together.
struct Family {
    /// Its `# HELP` and `# TYPE`.
    head: String,
    samples: String,
}

/// Adds the families of a text in format 0.0.4, which ends each with an empty line, by their `# TYPE`.
fn add_families(families: &mut BTreeMap<String, Family>, text: &str) {
    for family in text.split_terminator("\n\n") {
        let lines = || family.lines().take_while(|line| line.starts_with("# "));
        let head: String = lines().flat_map(|line| [line, "\n"]).collect();
        let samples = &family[head.len().min(family.len())..];
        let name = lines().last().unwrap_or_default().to_owned();
        let merged = families.entry(name).or_insert_with(|| Family { head, samples: String::new() });
        merged.samples += samples;
        merged.samples += "\n";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{builder, tests::parse};
    use metrics_exporter_prometheus::PrometheusBuilder;

    fn recorder() -> ControllerRecorder {
        ControllerRecorder::new(|| builder().map(PrometheusBuilder::build_recorder)).unwrap()
    }

    #[test]
    fn the_time_series_of_a_removed_controller_are_gone_and_the_others_stay() {
        let recorder = recorder();
        let record = |controller: &'static str| {
            ::metrics::counter!("reconciles_total", "controller" => controller).increment(2);
            ::metrics::histogram!("time_seconds", "controller" => controller, "kind" => "Pod").record(0.3);
        };
        ::metrics::with_local_recorder(&recorder, || {
            ::metrics::describe_counter!("reconciles_total", "Reconciles\nof all");
            record("a");
            record("b");
            ::metrics::counter!("reconciles_total").increment(5);
            ::metrics::gauge!("pages", "text" => "two\n\nlines").set(1.0);
        });
        let text = recorder.render();
        assert_eq!(text.matches("# HELP reconciles_total Reconciles\\nof all\n").count(), 1, "{text}");
        let samples = parse(&text);
        assert_eq!(samples["reconciles_total{controller=\"a\"}"], 2.0);
        assert_eq!(samples["reconciles_total"], 5.0);
        assert_eq!(samples["time_seconds_count{controller=\"b\",kind=\"Pod\"}"], 1.0);
        assert_eq!(samples["pages{text=\"two\\n\\nlines\"}"], 1.0);

        recorder.remove("a");
        recorder.remove("no such");
        let left = parse(&recorder.render());
        let of_a = |series: &&String| series.contains("controller=\"a\"");
        assert_eq!(left.keys().filter(of_a).count(), 0);
        assert_eq!(left.len(), samples.len() - samples.keys().filter(of_a).count());

        ::metrics::with_local_recorder(&recorder, || record("a"));
        let again = recorder.render();
        assert_eq!(parse(&again)["reconciles_total{controller=\"a\"}"], 2.0, "as a new one");
        recorder.remove("b");
        assert!(recorder.render().contains("# HELP reconciles_total"), "described to later controllers");
    }

    #[test]
    fn removed_controllers_take_no_memory() {
        let recorder = recorder();
        let one = |number: usize| {
            ::metrics::with_local_recorder(&recorder, || {
                ::metrics::histogram!("time_seconds", "controller" => number.to_string()).record(0.3);
            });
            drop(recorder.render());
            recorder.remove(&number.to_string());
        };
        (0..10).for_each(one);
        // Less than nothing when what the first ten have left is freed meanwhile.
        let memory = allocation_counter::measure(|| (10..60).for_each(one));
        assert!(memory.bytes_total > 100_000 && memory.bytes_current < 10_000, "{memory:?}");
    }
}
