//! What a cluster without objects takes, and that it is given back.

use crate::{
    clusters::{Requests, config, maps, name, options},
    manager::{run, seconds},
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::Client;
use kube_operator::{
    clusters::{ClusterEvent, ClusterSpec, ClusterState, Clusters, OnCluster},
    manager::Manager,
};
use kube_runtime::controller::Action;
use kube_testserver::{ApiServer, Fault, Match, TestFleet};
use std::{convert::Infallible, sync::Arc};
use tokio::{runtime::Builder, time::sleep};

const CLUSTERS: usize = 100;
/// Of a cluster in bytes, with the part of the server in this process.
const MOST: i64 = 200_000;

async fn reconcile(_map: Arc<ConfigMap>, _context: Arc<OnCluster<()>>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

#[test]
fn a_connected_cluster_takes_little_memory_and_gives_it_back_when_it_leaves() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (server, servers) = (ApiServer::new(), TestFleet::default());
    let host = |number: usize| format!("c{number}");
    // All are one server, which does not say so: two names for one cluster are refused.
    server.fault(Match::get::<Namespace>(), Fault::status(403, "Forbidden"));
    (0..=CLUSTERS).for_each(|number| servers.insert(host(number), server.clone()));
    let (sender, clusters) = Clusters::channel();
    let (fleet, stop, running) = runtime.block_on(async {
        let manager = Manager::new(Client::new(ApiServer::new(), "default"))
            .cluster_options(options(&servers, &Requests::default()))
            .clusters(clusters)
            .controller_on_each("maps", maps, reconcile, Arc::new(()));
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
    runtime.block_on(settle(vec![announce(CLUSTERS)]));
    let joined = allocation_counter::measure(|| {
        runtime.block_on(settle((0..CLUSTERS).map(announce).collect()));
    });
    let synced = fleet.statuses().iter().filter(|status| status.state == ClusterState::Synced).count();
    assert_eq!(synced, CLUSTERS + 1);
    let of_one = joined.bytes_current / i64::try_from(CLUSTERS).unwrap();
    println!("{of_one} bytes for a cluster");
    assert!(of_one < MOST, "{of_one}");
    let left = allocation_counter::measure(|| {
        let removed = |number| ClusterEvent::Removed(name(&host(number)));
        runtime.block_on(settle((0..CLUSTERS).map(removed).collect()));
    });
    assert_eq!(fleet.statuses().len(), 1);
    let kept = joined.bytes_current + left.bytes_current;
    assert!(kept < joined.bytes_current / 20, "{kept} bytes of {} are kept", joined.bytes_current);
    stop.cancel();
    runtime.block_on(running).unwrap().unwrap();
}
