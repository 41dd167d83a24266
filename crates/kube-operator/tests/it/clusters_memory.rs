//! What a cluster takes, and that it is given back.

use crate::{
    clusters::{Requests, config, maps, name, options},
    manager::{run, seconds},
};
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Namespace, Secret},
};
use kube_client::{Api, Client, api::PostParams};
use kube_operator::{
    clusters::{Cluster, ClusterEvent, ClusterSpec, ClusterState, Clusters, OnCluster},
    manager::Manager,
};
use kube_runtime::{Controller, controller::Action, watcher};
use kube_testserver::{ApiServer, Fault, Match, TestFleet};
use std::{convert::Infallible, sync::Arc};
use tokio::{runtime::Builder, time::sleep};

/// Of a cluster in bytes, with the part of the server in this process.
const MOST: i64 = 200_000;

async fn reconcile<K>(_object: Arc<K>, _context: Arc<OnCluster<()>>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

fn compact() -> watcher::Config {
    watcher::Config::default().compact_cache()
}

fn with_compact_maps(manager: Manager) -> Manager {
    let maps = |cluster: &Cluster| {
        Controller::new(Api::<ConfigMap>::default_namespaced(cluster.client()), compact())
    };
    manager.controller_on_each("maps", maps, reconcile, Arc::new(()))
}

fn with_compact_secrets(manager: Manager) -> Manager {
    let secrets =
        |cluster: &Cluster| Controller::new(Api::<Secret>::default_namespaced(cluster.client()), compact());
    manager.controller_on_each("secrets", secrets, reconcile, Arc::new(()))
}

/// The bytes of one of so many clusters that have what this server has. Nearly all is given back when they leave.
fn bytes_of_one(server: &ApiServer, clusters: usize, controller: impl FnOnce(Manager) -> Manager) -> i64 {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let servers = TestFleet::default();
    let host = |number: usize| format!("c{number}");
    // All are one server, which does not say so: two names for one cluster are refused.
    server.fault(Match::get::<Namespace>(), Fault::status(403, "Forbidden"));
    (0..=clusters).for_each(|number| servers.insert(host(number), server.clone()));
    let (sender, announced) = Clusters::channel();
    let (fleet, stop, running) = runtime.block_on(async {
        let manager = Manager::new(Client::new(ApiServer::new(), "default"))
            .cluster_options(options(&servers, &Requests::default()))
            .clusters(announced);
        let manager = controller(manager);
        let fleet = manager.fleet();
        let (stop, running) = run(manager);
        (fleet, stop, running)
    });
    let announce = |number: usize| {
        ClusterEvent::from(ClusterSpec::new(name(&host(number)), config(&host(number), "token")))
    };
    // The first one fills what all share.
    let settle = async |events: Vec<ClusterEvent>| {
        for event in events {
            sender.send(event).await.unwrap();
        }
        sleep(seconds(30)).await;
    };
    runtime.block_on(settle(vec![announce(clusters)]));
    let joined = allocation_counter::measure(|| {
        runtime.block_on(settle((0..clusters).map(announce).collect()));
    });
    let synced = fleet.statuses().iter().filter(|status| status.state == ClusterState::Synced).count();
    assert_eq!(synced, clusters + 1);
    let of_one = joined.bytes_current / i64::try_from(clusters).unwrap();
    println!("{of_one} bytes for a cluster");
    let left = allocation_counter::measure(|| {
        let removed = |number| ClusterEvent::Removed(name(&host(number)));
        runtime.block_on(settle((0..clusters).map(removed).collect()));
    });
    assert_eq!(fleet.statuses().len(), 1);
    let kept = joined.bytes_current + left.bytes_current;
    assert!(kept < joined.bytes_current / 20, "{kept} bytes of {} are kept", joined.bytes_current);
    stop.cancel();
    runtime.block_on(running).unwrap().unwrap();
    of_one
}

#[test]
fn a_connected_cluster_takes_little_memory_and_gives_it_back_when_it_leaves() {
    let controller =
        |manager: Manager| manager.controller_on_each("maps", maps, reconcile::<ConfigMap>, Arc::new(()));
    let of_one = bytes_of_one(&ApiServer::new(), 100, controller);
    assert!(of_one < MOST, "{of_one}");
    let of_one = bytes_of_one(&ApiServer::new(), 100, with_compact_maps);
    assert!(of_one < MOST, "{of_one} with a compact cache");
}

/// The JSON of each Secret is about that of a map. What zstd allocates, several times as much, is not counted.
#[test]
fn clusters_share_the_dictionary_of_what_their_compact_caches_have_but_not_of_secrets() {
    const OBJECTS: usize = 60;
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let params = PostParams::default();
        for number in 0..OBJECTS {
            let mut words = fastrand::Rng::with_seed(number as u64);
            let data = ByteString((0..750).map(|_| words.u8(..)).collect());
            let text = serde_json::to_value(&data).unwrap().as_str().unwrap().to_owned();
            let mut map = ConfigMap::default();
            map.metadata.name = Some(format!("object-{number}"));
            let secret = Secret {
                metadata: map.metadata.clone(),
                data: Some([("text".to_owned(), data)].into()),
                ..Secret::default()
            };
            map.data = Some([("text".to_owned(), text)].into());
            Api::default_namespaced(client.clone()).create(&params, &map).await.unwrap();
            Api::default_namespaced(client.clone()).create(&params, &secret).await.unwrap();
        }
    });
    let maps = bytes_of_one(&server, 20, with_compact_maps);
    let secrets = bytes_of_one(&server, 20, with_compact_secrets);
    assert!(secrets - maps > 25_000, "{maps} bytes for a cluster of maps, {secrets} for one of Secrets");
}
