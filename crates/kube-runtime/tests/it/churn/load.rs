//! A controller under load: many objects, a constant rate of changes, and a relist. For the test in `mod.rs` and for
//! `examples/churn.rs`.

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, Error};
use kube_core::{
    ObjectMeta, ResourceExt,
    params::{Patch, PatchParams, PostParams},
};
use kube_runtime::{Config, Controller, controller::Action, watcher};
use kube_testserver::{ApiServer, Fault, Match};
use serde_json::json;
use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, interval, sleep};

/// The interval of changes. Each time as many are made as the rate requires.
const TICK: Duration = Duration::from_millis(10);

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The number of objects.
    pub(crate) objects: usize,
    /// The number of changes per second.
    pub(crate) rate: u64,
    /// How long changes are made before the relist, and again during it.
    pub(crate) churn: Duration,
    /// The duration of a reconcile.
    pub(crate) work: Duration,
    /// How many reconciles run at a time; 0 for no limit.
    pub(crate) concurrency: u16,
}

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Report {
    /// From the start of the controller until every object was reconciled.
    pub(crate) filled: Duration,
    /// From each change to the start of a reconcile that sees it.
    pub(crate) churn: Latencies,
    /// The same during the relist.
    pub(crate) relist: Latencies,
    /// From the loss of the watch until every object was reconciled once more.
    pub(crate) relisted: Duration,
    /// Objects whose last change no reconcile has seen.
    pub(crate) lost: usize,
}

/// A distribution of latencies.
#[derive(Debug)]
pub(crate) struct Latencies {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
    pub(crate) count: usize,
}

/// The changes that the reconciler has seen.
struct Seen {
    start: Instant,
    work: Duration,
    /// The number of the newest change, by object.
    newest: Vec<AtomicU64>,
    reconciles: AtomicU64,
    latencies: Mutex<Vec<Duration>>,
}

impl Seen {
    fn take_latencies(&self) -> Latencies {
        let mut latencies = std::mem::take(&mut *self.latencies.lock().expect("no holder panics"));
        latencies.sort_unstable();
        let percentile =
            |percent: usize| latencies.get(latencies.len() * percent / 100).copied().unwrap_or_default();
        let max = latencies.last().copied().unwrap_or_default();
        Latencies { p50: percentile(50), p99: percentile(99), max, count: latencies.len() }
    }

    async fn until_reconciled(&self, count: u64) {
        while self.reconciles.load(Ordering::Relaxed) < count {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn reconcile(object: Arc<ConfigMap>, seen: Arc<Seen>) -> Result<Action, Infallible> {
    let number = |name: &str| object.annotations().get(name).and_then(|value| value.parse::<u64>().ok());
    if let (Some(change), Some(at)) = (number("change"), number("at")) {
        let index: usize = object.name_any().parse().expect("invariant: names are numbers");
        if seen.newest[index].swap(change, Ordering::Relaxed) != change {
            let latency = seen.start.elapsed().saturating_sub(Duration::from_micros(at));
            seen.latencies.lock().expect("no holder panics").push(latency);
        }
    }
    sleep(seen.work).await;
    seen.reconciles.fetch_add(1, Ordering::Relaxed);
    Ok(Action::await_change())
}

/// Runs the plan against an in-process server.
pub(crate) async fn run(plan: Plan) -> Result<Report, Error> {
    let server = ApiServer::new();
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(server.clone(), "default"));
    for index in 0..plan.objects {
        let metadata = ObjectMeta { name: Some(index.to_string()), ..ObjectMeta::default() };
        let map = ConfigMap { metadata, ..ConfigMap::default() };
        api.create(&PostParams::default(), &map).await?;
    }
    let seen = Arc::new(Seen {
        start: Instant::now(),
        work: plan.work,
        newest: (0..plan.objects).map(|_| AtomicU64::new(0)).collect(),
        reconciles: AtomicU64::new(0),
        latencies: Mutex::default(),
    });
    let all = plan.objects as u64;
    let output = Controller::new(api.clone(), watcher::Config::default())
        .with_config(Config::default().concurrency(plan.concurrency))
        .run(reconcile, |_, error: &Infallible, _| match *error {}, Arc::clone(&seen));
    let controller = tokio::spawn(output.for_each(|_| std::future::ready(())));
    seen.until_reconciled(all).await;
    let filled = seen.start.elapsed();

    let mut changes = ChurnLoad { api, plan, seen: Arc::clone(&seen), last: vec![0; plan.objects], count: 0 };
    changes.make_changes().await?;
    let churn = seen.take_latencies();

    let (began, before) = (Instant::now(), seen.reconciles.load(Ordering::Relaxed));
    // A compaction would not expire the watch if the watch had already received every change.
    server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired);
    server.end_watches();
    let relisted = async {
        seen.until_reconciled(before + all).await;
        began.elapsed()
    };
    let (relisted, changed) = tokio::join!(relisted, changes.make_changes());
    changed?;
    let lost = changes.count_lost().await;
    let relist = seen.take_latencies();
    controller.abort();
    Ok(Report { filled, churn, relist, relisted, lost })
}

/// Makes random changes at a constant rate.
struct ChurnLoad {
    api: Api<ConfigMap>,
    plan: Plan,
    seen: Arc<Seen>,
    /// The number of the last change, by object.
    last: Vec<u64>,
    count: u64,
}

impl ChurnLoad {
    async fn make_changes(&mut self) -> Result<(), Error> {
        let (end, mut ticks) = (Instant::now() + self.plan.churn, interval(TICK));
        let each = self.plan.rate * TICK.as_millis() as u64 / 1000;
        while Instant::now() < end {
            ticks.tick().await;
            for _ in 0..each {
                self.count += 1;
                let index = fastrand::usize(..self.plan.objects);
                let at = self.seen.start.elapsed().as_micros().to_string();
                let annotations = json!({ "change": self.count.to_string(), "at": at });
                let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
                self.api.patch(&index.to_string(), &PatchParams::default(), &patch).await?;
                self.last[index] = self.count;
            }
        }
        Ok(())
    }

    /// The number of objects that are not reconciled in their last state after a minute.
    async fn count_lost(&self) -> usize {
        let missing = || {
            let newest = self.seen.newest.iter().map(|newest| newest.load(Ordering::Relaxed));
            newest.zip(&self.last).filter(|(seen, last)| seen != *last).count()
        };
        for _ in 0..600 {
            if missing() == 0 {
                break;
            }
            sleep(Duration::from_millis(100)).await;
        }
        missing()
    }
}
