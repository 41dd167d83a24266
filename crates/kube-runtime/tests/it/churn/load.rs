//! A controller under load: many objects, steady changes, a list of everything in between. For the test beside it and for
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

/// How often changes are made; each time as many as the rate asks for.
const TICK: Duration = Duration::from_millis(10);

/// What the controller goes through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// How many objects there are.
    pub(crate) objects: usize,
    /// How many of them change in a second.
    pub(crate) rate: u64,
    /// For how long they do, before everything is listed again, and once more meanwhile.
    pub(crate) churn: Duration,
    /// How long a reconcile takes.
    pub(crate) work: Duration,
    /// How many run at a time; 0 for any number.
    pub(crate) concurrency: u16,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Report {
    /// From the start of the controller until every object was reconciled.
    pub(crate) filled: Duration,
    /// From each change to the start of a reconcile that knows of it.
    pub(crate) churn: Latencies,
    /// The same, while everything was listed and reconciled once more.
    pub(crate) relist: Latencies,
    /// From the loss of the watch until every object was reconciled once more.
    pub(crate) relisted: Duration,
    /// Objects whose last change no reconcile has seen.
    pub(crate) lost: usize,
}

/// Some waiting times.
#[derive(Debug)]
pub(crate) struct Latencies {
    /// Half of them are at most so long.
    pub(crate) p50: Duration,
    /// 99 of 100 are.
    pub(crate) p99: Duration,
    /// The longest.
    pub(crate) max: Duration,
    /// How many there are.
    pub(crate) count: usize,
}

/// What the reconciler has seen.
struct Seen {
    start: Instant,
    work: Duration,
    /// The number of the newest change, by object.
    newest: Vec<AtomicU64>,
    reconciles: AtomicU64,
    waits: Mutex<Vec<Duration>>,
}

impl Seen {
    fn latencies(&self) -> Latencies {
        let mut waits = std::mem::take(&mut *self.waits.lock().expect("no holder panics"));
        waits.sort_unstable();
        let share = |percent: usize| waits.get(waits.len() * percent / 100).copied().unwrap_or_default();
        let max = waits.last().copied().unwrap_or_default();
        Latencies { p50: share(50), p99: share(99), max, count: waits.len() }
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
            let wait = seen.start.elapsed().saturating_sub(Duration::from_micros(at));
            seen.waits.lock().expect("no holder panics").push(wait);
        }
    }
    sleep(seen.work).await;
    seen.reconciles.fetch_add(1, Ordering::Relaxed);
    Ok(Action::await_change())
}

/// Goes through the plan, with a server in the process.
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
        waits: Mutex::default(),
    });
    let all = plan.objects as u64;
    let output = Controller::new(api.clone(), watcher::Config::default())
        .with_config(Config::default().concurrency(plan.concurrency))
        .run(reconcile, |_, error: &Infallible, _| match *error {}, Arc::clone(&seen));
    let controller = tokio::spawn(output.for_each(|_| std::future::ready(())));
    seen.until_reconciled(all).await;
    let filled = seen.start.elapsed();

    let mut changes = Changes { api, plan, seen: Arc::clone(&seen), last: vec![0; plan.objects], count: 0 };
    changes.go_on().await?;
    let churn = seen.latencies();

    let (began, before) = (Instant::now(), seen.reconciles.load(Ordering::Relaxed));
    // Compacting would do only if the watch had not yet brought everything, which is a matter of luck.
    server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired);
    server.end_watches();
    let relisted = async {
        seen.until_reconciled(before + all).await;
        began.elapsed()
    };
    let (relisted, changed) = tokio::join!(relisted, changes.go_on());
    changed?;
    let lost = changes.settle().await;
    let relist = seen.latencies();
    controller.abort();
    Ok(Report { filled, churn, relist, relisted, lost })
}

/// Changes at random, at a steady rate.
struct Changes {
    api: Api<ConfigMap>,
    plan: Plan,
    seen: Arc<Seen>,
    /// The number of the last change, by object.
    last: Vec<u64>,
    count: u64,
}

impl Changes {
    async fn go_on(&mut self) -> Result<(), Error> {
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

    /// How many objects nobody reconciled in their last state, even after a minute.
    async fn settle(&self) -> usize {
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
