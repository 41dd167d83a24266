//! What controllers of a cluster have in their caches, for its reconcilers and for the hub.

use crate::{
    clusters::{Requests, client_of, cluster, hub, maps, name, options},
    clusters_removal::remove,
    manager::{Log, add, run, seconds},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::Api;
use kube_core::ResourceExt;
use kube_operator::{
    clusters::{Cluster, ClusterTriggers, Clusters, OnCluster},
    manager::Manager,
};
use kube_runtime::{controller::Action, reflector::ObjectRef, watcher};
use kube_testserver::TestFleet;
use std::{convert::Infallible, sync::Arc};
use tokio::time::sleep;

/// Logs which maps the cluster has.
async fn neighbours(_: Arc<ConfigMap>, context: Arc<OnCluster<Log>>) -> Result<Action, Infallible> {
    let cluster = context.cluster();
    let store = cluster.store::<ConfigMap>("maps").unwrap();
    let mut names: Vec<_> = store.state().iter().map(|map| map.name_any()).collect();
    names.sort();
    context.add(format!("{} {}", cluster.name(), names.join(",")));
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn a_cluster_has_the_stores_of_what_runs_on_it() {
    let servers = TestFleet::new(["east", "west"]);
    for (host, map) in [("east", "a"), ("west", "b")] {
        add(&client_of(&servers, host), map).await;
    }
    let (sender, clusters) = Clusters::channel();
    let (log, triggers) = (Log::default(), ClusterTriggers::<Secret>::new());
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(clusters)
        .controller_on_each("maps", maps, neighbours, Arc::new(log.clone()))
        .only_on_clusters("maps", "!draining".parse().unwrap())
        .trigger_hub(
            "copies",
            |cluster: &Cluster| (Api::<ConfigMap>::all(cluster.client()), watcher::Config::default()),
            &triggers,
            |_: &Cluster, _: &ConfigMap| None::<ObjectRef<Secret>>,
        );
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    for host in ["east", "west"] {
        sender.send(cluster(host).into()).await.unwrap();
    }
    sleep(seconds(10)).await;
    let mut entries = log.take();
    entries.sort();
    assert_eq!(entries, ["east a", "west b"]);
    let east = fleet.cluster(&name("east")).unwrap();
    let length = |name: &str| east.store::<ConfigMap>(name).map(|store| store.len());
    assert_eq!([length("maps"), length("copies"), length("others")], [Some(1), Some(1), None]);
    assert!(east.store::<Secret>("maps").is_none(), "of another type");

    // What does not run any more has none.
    sender.send(cluster("east").label("draining", "yes").into()).await.unwrap();
    sleep(seconds(10)).await;
    assert_eq!([length("maps"), length("copies")], [None, Some(1)]);
    sender.send(cluster("east").into()).await.unwrap();
    sleep(seconds(10)).await;
    assert_eq!([length("maps"), length("copies")], [Some(1), Some(1)]);
    remove(&sender, "east").await;
    sleep(seconds(10)).await;
    assert_eq!([length("maps"), length("copies")], [None, None]);
    stop.cancel();
    running.await.unwrap().unwrap();
}
