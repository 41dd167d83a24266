//! Clusters that are cut, refuse, are slow, leave, return and rotate credentials in random order: nothing is lost, nothing overlaps,
//! nothing is kept, and those without faults do not wait for the others.
//!
//! `KUBE_SIMULATION_SEED=17` runs one seed, `KUBE_SIMULATION_SEEDS=10000` more of them.

use crate::{
    clusters::{Requests, client_of, config, maps, name, options},
    manager::{add, run, seconds},
    seeds::{SEEDS, for_each_seed},
};
use fastrand::Rng;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{
    Api, Client,
    api::{Patch, PatchParams},
};
use kube_core::ResourceExt;
use kube_operator::{
    clusters::{Cluster, ClusterEvent, ClusterSpec, ClusterState, ClusterStatus, Clusters, Fleet, OnCluster},
    manager::Manager,
};
use kube_runtime::{Controller, controller::Action, watcher};
use kube_testserver::{ApiServer, Fault, Match, TestFleet};
use parking_lot::Mutex;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::{
    runtime::Builder,
    sync::mpsc,
    time::{Instant, sleep},
};

/// How long a change of a cluster without faults may wait, whatever the others do: for a worker, each of which is free after 0.4 s.
const LATENCY: Duration = Duration::from_millis(400);
const MAPS: [&str; 3] = ["x", "y", "z"];

/// Host and name of a ConfigMap.
type Key = (String, String);

#[derive(Default)]
struct Seen {
    random: Mutex<Rng>,
    /// The last change of each ConfigMap that a reconcile has seen.
    last: Mutex<BTreeMap<Key, String>>,
    /// When a reconcile has first seen it.
    began: Mutex<BTreeMap<(Key, String), Instant>>,
    running: Mutex<BTreeSet<Key>>,
    overlaps: Mutex<Vec<Key>>,
}

#[derive(Debug, thiserror::Error)]
#[error("at random")]
struct AtRandom;

/// Removes its key when the reconcile ends, also when that is aborted.
struct Runs<'a>(&'a Seen, Key);

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        self.0.running.lock().remove(&self.1);
    }
}

async fn reconcile(map: Arc<ConfigMap>, context: Arc<OnCluster<Seen>>) -> Result<Action, AtRandom> {
    let key = (context.cluster().name().to_string(), map.name_any());
    if !context.running.lock().insert(key.clone()) {
        context.overlaps.lock().push(key.clone()); // a panic would only be an error of the object
    }
    let _runs = Runs(context.context(), key.clone());
    let change = map.annotations().get("change").cloned().unwrap_or_default();
    context.began.lock().entry((key.clone(), change.clone())).or_insert_with(Instant::now);
    let (wait, fails) = {
        let mut random = context.random.lock();
        (random.u64(0..400), random.u8(0..5) == 0)
    };
    sleep(Duration::from_millis(wait)).await;
    if fails {
        return Err(AtRandom);
    }
    context.last.lock().insert(key, change);
    Ok(Action::await_change())
}

/// How large a flood is.
#[derive(Clone, Copy)]
struct Size {
    clusters: usize,
    /// So many of them have faults.
    faulty: usize,
    steps: usize,
}

struct World {
    size: Size,
    random: Rng,
    servers: BTreeMap<String, ApiServer>,
    fleet: TestFleet,
    changes: BTreeMap<Key, String>,
    sender: mpsc::Sender<ClusterEvent>,
}

impl World {
    async fn announce(&mut self, host: &str) {
        let token = format!("token-{}", self.random.u8(..));
        let spec = ClusterSpec::new(name(host), config(host, &token));
        self.sender.send(spec.into()).await.unwrap();
    }

    /// Returns what has changed.
    async fn change(&mut self, host: &str) -> Option<(Key, String)> {
        let (map, change) = (*self.random.choice(&MAPS).unwrap(), self.random.u32(..).to_string());
        let api = Api::<ConfigMap>::default_namespaced(Client::new(self.servers[host].clone(), "default"));
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "change": change } } }));
        // A fault of the server, perhaps.
        api.patch(map, &PatchParams::default(), &patch).await.ok()?;
        let key = (host.to_owned(), map.to_owned());
        self.changes.insert(key.clone(), change.clone());
        Some((key, change))
    }

    /// All steps, with a change of a cluster without faults at each tenth: it waits for no other.
    async fn steps(&mut self, states: &Fleet, seen: &Seen, seed: u64) {
        let calm = host(self.size.clusters - 1);
        let mut calm_changes = Vec::new();
        for step in 0..self.size.steps {
            let is_synced = states.status(&name(&calm)).is_some_and(|now| now.state == ClusterState::Synced);
            if self.size.faulty < self.size.clusters && step % 10 == 0 && is_synced {
                calm_changes.push((self.change(&calm).await.unwrap(), Instant::now()));
                sleep(seconds(1)).await;
            }
            self.step().await;
        }
        let has_calm = self.size.faulty < self.size.clusters;
        assert!(
            !has_calm || calm_changes.len() > self.size.steps / 20,
            "seed {seed}: {}",
            calm_changes.len()
        );
        for (change, at) in calm_changes {
            let waited = seen.began.lock().get(&change).map(|began| *began - at);
            assert!(waited.is_some_and(|waited| waited <= LATENCY), "seed {seed}: {change:?} {waited:?}");
        }
    }

    async fn step(&mut self) {
        let host = &host(self.random.usize(0..self.size.faulty));
        let server = self.servers[host].clone();
        match self.random.u8(0..12) {
            0 => drop(self.fleet.remove(host)),
            1 => self.fleet.insert(host.as_str(), server),
            2 => drop(server.fault(Match::any().times(5), Fault::status(503, "ServiceUnavailable"))),
            3 => drop(server.fault(Match::any().times(2), Fault::Reset)),
            4 => drop(server.fault(Match::watch::<ConfigMap>().times(2), Fault::Cut.after(1))),
            5 => drop(server.fault(Match::any().times(1), Fault::status(401, "Unauthorized"))),
            6 => drop(server.fault(Match::list::<ConfigMap>().times(3), Fault::Delay(seconds(7)))),
            7 => self.sender.send(ClusterEvent::Removed(name(host))).await.unwrap(),
            8 | 9 => self.announce(host).await,
            _ => drop(self.change(host).await),
        }
        sleep(Duration::from_millis(self.random.u64(0..6_000))).await;
    }
}

/// Those of odd seeds are compact.
fn caches(seed: u64) -> fn(&Cluster) -> Controller<ConfigMap> {
    if seed.is_multiple_of(2) { maps } else { compact_maps }
}

/// Their caches share a dictionary.
fn compact_maps(cluster: &Cluster) -> Controller<ConfigMap> {
    let config = watcher::Config::default().compact_cache();
    Controller::new(Api::default_namespaced(cluster.client()), config)
}

fn host(number: usize) -> String {
    format!("c{number}")
}

async fn flood(size: Size, seed: u64) {
    let hosts: Vec<String> = (0..size.clusters).map(host).collect();
    let fleet = TestFleet::new(&hosts);
    for host in &hosts {
        for map in MAPS {
            add(&client_of(&fleet, host), map).await;
        }
    }
    let servers = hosts.iter().map(|host| (host.clone(), fleet.server(host).unwrap())).collect();
    let (sender, clusters) = Clusters::channel();
    let (requests, seen) = (Requests::default(), Arc::new(Seen::default()));
    let random = Rng::with_seed(seed);
    *seen.random.lock() = Rng::with_seed(seed + 1);
    let manager = Manager::new(Client::new(ApiServer::new(), "default"))
        .cluster_options(
            options(&fleet, &requests).start_concurrency(2).concurrency(4).concurrency_per_cluster(2),
        )
        .clusters(clusters)
        .controller_on_each("maps", caches(seed), reconcile, Arc::clone(&seen));
    let states = manager.fleet();
    let (stop, running) = run(manager);
    let mut world = World { size, random, servers, fleet, changes: BTreeMap::new(), sender };
    for host in &hosts {
        world.announce(host).await;
    }
    world.steps(&states, &seen, seed).await;
    for (host, server) in world.servers.clone() {
        server.clear_faults();
        world.fleet.insert(host.as_str(), server);
        world.announce(&host).await;
    }
    settle(&states).await;
    for host in &hosts {
        world.change(host).await;
    }
    sleep(seconds(30)).await;
    for status in states.statuses() {
        assert_eq!(status.state, ClusterState::Synced, "seed {seed}: {status:?}");
    }
    let last = seen.last.lock().clone();
    assert_eq!(last.len(), hosts.len() * MAPS.len(), "seed {seed}: all are reconciled");
    for (key, change) in &world.changes {
        assert_eq!(last.get(key), Some(change), "seed {seed}: {key:?}");
    }
    assert_eq!(requests.clients(), hosts.len(), "seed {seed}: a client for each cluster");
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(requests.clients() == 0 && states.statuses().is_empty(), "seed {seed}: nothing is kept");
    assert!(seen.running.lock().is_empty(), "seed {seed}");
    assert_eq!(*seen.overlaps.lock(), [], "seed {seed}: no object is reconciled twice at once");
}

/// Until all clusters work and a while longer, for at most 5 minutes.
async fn settle(fleet: &Fleet) {
    let is_synced = |status: &ClusterStatus| status.state == ClusterState::Synced;
    for _ in 0..30 {
        sleep(seconds(10)).await;
        if fleet.statuses().iter().all(is_synced) {
            return sleep(seconds(30)).await;
        }
    }
}

/// `allowed`: ten times as long as a seed takes with two idle cores.
fn floods(seeds: u64, allowed: Duration, size: Size) {
    for_each_seed(seeds, allowed, |seed| {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(flood(size, seed));
    });
}

/// On two cores, in a debug build, this and the next one take two minutes together.
#[test]
fn clusters_that_fail_leave_and_return_in_any_order_lose_nothing() {
    floods(SEEDS, seconds(1), Size { clusters: 5, faulty: 5, steps: 60 });
}

#[test]
fn of_two_hundred_clusters_those_that_fail_affect_no_other() {
    floods(5, seconds(60), Size { clusters: 200, faulty: 20, steps: 200 });
}
