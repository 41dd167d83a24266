//! Reconciles that block their thread, which an abort does not end. With the real clock and several threads.

use crate::{
    clusters::{Requests, client_of, cluster, hub, maps, name, options},
    manager::{Log, add, run, seconds},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_operator::{
    clusters::{Cluster, ClusterEvent, ClusterState, Clusters, Fleet, OnCluster},
    manager::{Manager, ManagerError},
};
use kube_runtime::controller::{Action, Reconcile};
use kube_testserver::TestFleet;
use parking_lot::Mutex;
use std::{
    convert::Infallible,
    sync::{Arc, mpsc},
    time::Duration,
};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long what is aborted would take to be followed by something else: timers of clusters are looked at once a second.
const FOLLOWED: Duration = Duration::from_millis(2_500);

/// Blocks in the first reconcile until the gate opens.
struct Blocking {
    log: Log,
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

impl Blocking {
    fn block(&self) -> Result<Action, Infallible> {
        self.log.add("begins");
        let gate = self.gate.lock().take();
        if let Some(gate) = gate {
            gate.recv().unwrap();
            self.log.add("ends");
        }
        Ok(Action::await_change())
    }
}

struct Shared(Arc<Blocking>);

impl Reconcile<ConfigMap> for Shared {
    type Error = Infallible;

    async fn reconcile(&self, _: Arc<ConfigMap>) -> Result<Action, Infallible> {
        self.0.block()
    }
}

struct Started {
    log: Log,
    open: mpsc::Sender<()>,
    fleet: Fleet,
    sender: tokio::sync::mpsc::Sender<ClusterEvent>,
    stop: CancellationToken,
    running: JoinHandle<Result<(), ManagerError>>,
}

/// Runs until a reconcile blocks.
async fn start(with: impl Fn(Manager, Arc<Blocking>) -> Manager) -> Started {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "a").await;
    let (sender, clusters) = Clusters::channel();
    let ((open, gate), log) = (mpsc::channel(), Log::default());
    let blocking = Arc::new(Blocking { log: log.clone(), gate: Mutex::new(Some(gate)) });
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()).grace_period(Duration::from_millis(100)))
        .grace_period(seconds(3))
        .clusters(clusters);
    let fleet = manager.fleet();
    let (stop, running) = run(with(manager, blocking));
    let started = Started { log, open, fleet, sender, stop, running };
    started.announce("production").await;
    started.logs(&["begins"]).await;
    started
}

/// With a function as reconciler.
fn function(manager: Manager, blocking: Arc<Blocking>) -> Manager {
    let reconcile = async |_: Arc<ConfigMap>, context: Arc<OnCluster<Blocking>>| context.block();
    manager.controller_on_each("maps", maps, reconcile, blocking)
}

impl Started {
    async fn announce(&self, stage: &str) {
        self.sender.send(cluster("east").label("stage", stage).into()).await.unwrap();
    }

    async fn remove(&self) {
        self.sender.send(ClusterEvent::Removed(name("east"))).await.unwrap();
    }

    async fn logs(&self, expected: &[&str]) {
        let logged = async {
            while self.log.entries() != expected {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(seconds(20), logged).await.unwrap_or_else(|_| panic!("{:?}", self.log.entries()));
    }

    /// Nothing follows before the reconcile that blocks has ended, and this does then.
    async fn then_follows(self, what: &str, within: Duration) {
        sleep(within).await;
        assert_eq!(self.log.entries(), ["begins"]);
        self.open.send(()).unwrap();
        self.logs(&["begins", "ends", what]).await;
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn what_follows_an_abort_waits_for_a_reconcile_that_blocks() {
    let starts_anew = async {
        let started = start(function).await;
        started.remove().await;
        started.announce("production").await;
        started.then_follows("begins", FOLLOWED).await;
    };
    let starts_anew_with_a_type = async {
        let make = |manager: Manager, blocking: Arc<Blocking>| {
            let with = move |cluster: &Cluster| (maps(cluster), Shared(Arc::clone(&blocking)));
            manager.reconciler_on_each("maps", with)
        };
        let started = start(make).await;
        started.remove().await;
        started.announce("production").await;
        started.then_follows("begins", FOLLOWED).await;
    };
    let is_selected_again = async {
        let make = |manager, blocking| {
            function(manager, blocking).only_on_clusters("maps", "stage=production".parse().unwrap())
        };
        let started = start(make).await;
        started.announce("test").await;
        sleep(Duration::from_millis(500)).await; // it is aborted
        started.announce("production").await;
        started.then_follows("begins", FOLLOWED).await;
    };
    let is_cleaned_up_on = async {
        let make = |manager, blocking: Arc<Blocking>| {
            let log = blocking.log.clone();
            function(manager, blocking).on_cluster_removed(move |_| {
                log.add("cleaned up");
                std::future::ready(Ok::<_, Infallible>(()))
            })
        };
        let started = start(make).await;
        started.remove().await;
        started.then_follows("cleaned up", FOLLOWED + seconds(2)).await; // a removal has to last
    };
    tokio::join!(starts_anew, starts_anew_with_a_type, is_selected_again, is_cleaned_up_on);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconcile_that_blocks_does_not_delay_the_end_of_the_program() {
    let Started { open, stop, running, .. } = start(function).await;
    stop.cancel();
    let ended = timeout(seconds(6), running).await.expect("the end of the grace period");
    let error = ended.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the clusters did not stop within the grace period of 3s");
    open.send(()).unwrap();
}

/// The cluster is down until then, and only a restart of the program helps.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconcile_that_blocks_for_long_is_a_failure_of_its_cluster_that_names_the_controller() {
    let started = start(function).await;
    started.remove().await;
    let reason = async {
        loop {
            let status = started.fleet.status(&name("east")).unwrap();
            if status.state == ClusterState::Failed {
                return status.reason.unwrap();
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let reason = timeout(seconds(20), reason).await.unwrap();
    let expected = "reconciles of these controllers do not end although they were aborted: maps (1). They block their threads, \
                    and the cluster waits for them: restart the program";
    assert_eq!(reason, expected);
    started.open.send(()).unwrap();
    let left = async {
        while started.fleet.status(&name("east")).is_some() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(seconds(20), left).await.unwrap();
    started.stop.cancel();
    started.running.await.unwrap().unwrap();
}
