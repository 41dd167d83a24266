//! What providers say of clusters: the same again, all that they have, and another address.

use crate::{
    clusters::{Requests, client_of, cluster, config, hub, maps, name, options, reconcile, state},
    manager::{Log, add, run, seconds},
};
use k8s_openapi::api::core::v1::Namespace;
use kube_client::Client;
use kube_operator::{
    clusters::{ClusterEvent, ClusterOptions, ClusterSpec, ClusterState, Clusters, Fleet, SecretClusters},
    manager::Manager,
};
use kube_testserver::{Fault, Match, TestFleet};
use std::sync::Arc;
use tokio::{sync::mpsc, task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

struct Started {
    sender: mpsc::Sender<ClusterEvent>,
    fleet: Fleet,
    log: Log,
    requests: Requests,
    stop: CancellationToken,
    running: JoinHandle<Result<(), kube_operator::manager::ManagerError>>,
}

impl Started {
    /// A controller on each cluster that is sent.
    fn new(servers: &TestFleet) -> Self {
        let (sender, clusters) = Clusters::channel();
        let (log, requests) = (Log::default(), Requests::default());
        let options: ClusterOptions = options(servers, &requests);
        let manager = Manager::new(hub()).cluster_options(options).clusters(clusters).controller_on_each(
            "maps",
            maps,
            reconcile,
            Arc::new(log.clone()),
        );
        let fleet = manager.fleet();
        let (stop, running) = run(manager);
        Self { sender, fleet, log, requests, stop, running }
    }

    async fn announce(&self, text: &str, host: &str) {
        self.sender.send(ClusterSpec::new(name(text), config(host, "one")).into()).await.unwrap();
    }

    async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

/// A provider that polls an inventory announces all clusters again each time.
#[tokio::test(start_paused = true)]
async fn a_provider_that_repeats_itself_neither_aborts_attempts_nor_makes_them_more_frequent() {
    let servers = TestFleet::new(["east"]);
    let server = servers.server("east").unwrap();
    add(&client_of(&servers, "east"), "a").await;
    server.fault(Match::get::<Namespace>(), Fault::Delay(seconds(3)));
    let started = Started::new(&servers);
    for _ in 0..300 {
        started.announce("east", "east").await;
        started.announce("away", "nowhere").await;
        sleep(seconds(2)).await;
    }
    assert_eq!(state(&started.fleet, "east"), Some(ClusterState::Synced));
    assert_eq!(state(&started.fleet, "away"), Some(ClusterState::Unreachable));
    let tries = started.requests.count("nowhere one *");
    assert!((8..40).contains(&tries), "{tries}");
    started.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_fleet_knows_whether_all_providers_have_announced_what_they_have() {
    let servers = TestFleet::new(["hub", "east"]);
    let server = servers.remove("hub").unwrap();
    let hub = Client::with_transport(&config("hub", "one"), servers.clone()).unwrap();
    let (sender, clusters) = Clusters::channel();
    let alone = Manager::new(hub.clone()).fleet();
    assert!(alone.providers_have_synced(), "there are none");
    let manager = Manager::new(hub.clone())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east")]))
        .clusters(SecretClusters::new(hub))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    sender.send(ClusterEvent::InitDone).await.unwrap();
    sender.send(ClusterEvent::InitDone).await.unwrap();
    sleep(seconds(60)).await;
    assert!(!fleet.providers_have_synced(), "the Secrets cannot be read");
    servers.insert("hub", server);
    sleep(seconds(60)).await;
    assert!(fleet.providers_have_synced());
    stop.cancel();
    running.await.unwrap().unwrap();
}
