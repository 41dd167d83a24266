//! Replicas of a program for many clusters share them by clusters.

use crate::{
    clusters::{Requests, client_of, cluster, maps, options},
    common::ApiExt,
    manager::{Log, add, run, seconds},
};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube_client::{Api, Client, api::ListParams};
use kube_core::ResourceExt;
use kube_operator::{
    clusters::{Cluster, ClusterTriggers, Clusters, OnCluster},
    manager::Manager,
    sharding,
};
use kube_runtime::{controller::Action, reflector::ObjectRef};
use kube_testserver::{ApiServer, TestFleet};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::Arc,
};
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

const HOSTS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// `REPLICA CLUSTER NAME` of each reconcile, and which run now.
#[derive(Default)]
struct Seen {
    log: Log,
    running: Mutex<BTreeSet<String>>,
}

struct Replica {
    name: &'static str,
    seen: Arc<Seen>,
}

/// Takes a second. An object that is reconciled twice at once is an entry of its own, as if another replica did it.
async fn reconcile(map: Arc<ConfigMap>, context: Arc<OnCluster<Replica>>) -> Result<Action, Infallible> {
    let object = format!("{} {}", context.cluster().name(), map.name_any());
    if !context.seen.running.lock().insert(object.clone()) {
        context.seen.log.add(format!("twice-at-once {object}"));
    }
    sleep(seconds(1)).await;
    context.seen.running.lock().remove(&object);
    context.seen.log.add(format!("{} {object}", context.name));
    Ok(Action::await_change())
}

struct Fleet {
    servers: TestFleet,
    hub: Client,
    seen: Arc<Seen>,
}

impl Fleet {
    async fn new() -> Self {
        let (servers, hub) = (TestFleet::new(HOSTS), Client::new(ApiServer::new(), "default"));
        for host in HOSTS {
            for map in ["one", "two"] {
                add(&client_of(&servers, host), map).await;
            }
        }
        Self { servers, hub, seen: Arc::default() }
    }

    /// The controllers listen to these triggers.
    fn replica(
        &self,
        name: &'static str,
        triggers: ClusterTriggers<ConfigMap>,
    ) -> (CancellationToken, JoinHandle<Result<(), kube_operator::manager::ManagerError>>) {
        let context = Replica { name, seen: Arc::clone(&self.seen) };
        let maps = move |cluster: &Cluster| maps(cluster).reconcile_on(triggers.on(cluster));
        run(Manager::new(self.hub.clone())
            .sharding(sharding::Config::new("operator", "default").identity(name))
            .cluster_options(options(&self.servers, &Requests::default()))
            .clusters(Clusters::fixed(HOSTS.map(cluster)))
            .controller_on_each("maps", maps, reconcile, Arc::new(context)))
    }

    /// Changes every object. Returns by which replicas each cluster was reconciled, and how many objects were.
    async fn owners(&self, change: &str) -> (BTreeMap<String, BTreeSet<String>>, usize) {
        self.seen.log.take();
        for host in HOSTS {
            for map in ["one", "two"] {
                let maps: Api<ConfigMap> = Api::default_namespaced(client_of(&self.servers, host));
                maps.touch(map, change).await;
            }
        }
        sleep(seconds(10)).await;
        let (mut owners, mut objects) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeSet::new());
        for entry in self.seen.log.take() {
            let [replica, cluster, _] = entry.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
            owners.entry(cluster.to_owned()).or_default().insert(replica.to_owned());
            objects.insert(entry.split_once(' ').unwrap().1.to_owned());
        }
        (owners, objects.len())
    }
}

#[tokio::test(start_paused = true)]
async fn with_sharding_a_cluster_belongs_to_one_replica_and_moves_as_a_whole() {
    let fleet = Fleet::new().await;
    let replica = |name| fleet.replica(name, ClusterTriggers::new());
    let (first, second) = (replica("first"), replica("second"));
    sleep(seconds(60)).await;
    let (owners, objects) = fleet.owners("1").await;
    assert_eq!(objects, HOSTS.len() * 2);
    assert!(owners.values().all(|replicas| replicas.len() == 1), "one replica for each: {owners:?}");
    let both: BTreeSet<_> = owners.values().flatten().cloned().collect();
    assert_eq!(both, BTreeSet::from(["first".to_owned(), "second".to_owned()]), "{owners:?}");
    let leases: Api<Lease> = Api::default_namespaced(fleet.hub.clone());
    let held = leases.list(&ListParams::default()).await.unwrap();
    assert_eq!(held.items.len(), 2, "one for each replica, none for a cluster");

    first.0.cancel();
    first.1.await.unwrap().unwrap();
    sleep(seconds(60)).await;
    let (owners, objects) = fleet.owners("2").await;
    assert_eq!(objects, HOSTS.len() * 2);
    assert!(owners.values().all(|replicas| replicas.iter().eq(["second"])), "{owners:?}");
    second.0.cancel();
    second.1.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_sharding_triggers_reach_the_clusters_of_their_own_replica_only() {
    let fleet = Fleet::new().await;
    let names = ["first", "second"];
    let triggers = names.map(|_| ClusterTriggers::<ConfigMap>::new());
    let running: Vec<_> =
        std::iter::zip(names, &triggers).map(|(name, it)| fleet.replica(name, it.clone())).collect();
    sleep(seconds(60)).await;
    let (owners, _) = fleet.owners("1").await;
    for (name, triggers) in std::iter::zip(names, &triggers) {
        for host in HOSTS {
            triggers.send(&host.parse().unwrap(), ObjectRef::new("one").within("default"));
        }
        sleep(seconds(10)).await;
        let mut reconciled = fleet.seen.log.take();
        reconciled.sort();
        let own = owners.iter().filter(|(_, replicas)| replicas.contains(name));
        let own: Vec<_> = own.map(|(cluster, _)| format!("{name} {cluster} one")).collect();
        assert_eq!(reconciled, own);
    }

    // A cluster that moves is reconciled whole.
    running[0].0.cancel();
    sleep(seconds(60)).await;
    let moved = owners.values().filter(|replicas| replicas.contains("first")).count();
    assert_eq!(fleet.seen.log.take().len(), moved * 2);
    for (stop, running) in running {
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}
