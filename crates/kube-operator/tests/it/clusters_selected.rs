//! A controller on those clusters only whose labels match.

use crate::{
    clusters::{Requests, client_of, cluster, hub, maps, options, reconcile, state},
    manager::{Log, add, run, seconds},
};
use kube_core::Selector;
use kube_operator::{
    clusters::{ClusterState, Clusters},
    manager::Manager,
};
use kube_testserver::TestFleet;
use std::{future::pending, sync::Arc};
use tokio::time::sleep;

fn sorted(mut entries: Vec<String>) -> Vec<String> {
    entries.sort();
    entries
}

#[tokio::test(start_paused = true)]
async fn a_controller_follows_the_labels_of_clusters_and_the_others_go_on() {
    let servers = TestFleet::new(["east", "west"]);
    for host in ["east", "west"] {
        add(&client_of(&servers, host), "a").await;
    }
    let (sender, clusters) = Clusters::channel();
    let (all, some, requests) = (Log::default(), Log::default(), Requests::default());
    let manager = Manager::new(hub())
        .without_streaming_lists()
        .cluster_options(options(&servers, &requests))
        .clusters(clusters)
        .controller_on_each("all", maps, reconcile, Arc::new(all.clone()))
        .controller_on_each("some", maps, reconcile, Arc::new(some.clone()))
        .only_on_clusters("some", "stage=production".parse().unwrap());
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let announce = async |host: &str, stage: &str| {
        sender.send(cluster(host).label("stage", stage).into()).await.unwrap();
        sleep(seconds(5)).await;
    };
    announce("east", "production").await;
    announce("west", "test").await;
    assert_eq!(sorted(all.take()), ["east a", "west a"]);
    assert_eq!((some.take(), requests.count("west one")), (vec!["east a".into()], 1));
    assert_eq!(state(&fleet, "west"), Some(ClusterState::Synced), "without it");

    announce("west", "production").await;
    assert_eq!((all.take(), some.take()), (vec![], vec!["west a".into()]));
    assert_eq!(requests.count("west one"), 2, "only what starts lists");
    announce("west", "test").await;
    add(&client_of(&servers, "west"), "b").await;
    sleep(seconds(5)).await;
    assert_eq!((all.take(), some.take()), (vec!["west b".into()], vec![]));
    announce("west", "production").await;
    assert_eq!((all.take(), sorted(some.take())), (vec![], vec!["west a".into(), "west b".into()]));
    assert_eq!(state(&fleet, "west"), Some(ClusterState::Synced));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn clusters_selected_for_an_unknown_controller_are_an_error_at_the_start() {
    let manager = Manager::new(hub())
        .clusters(Clusters::fixed([]))
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()))
        .only_on_clusters("map", Selector::default());
    let error = manager.run_until(pending()).await.unwrap_err().to_string();
    let expected =
        "only_on_clusters names map: expected the name of a controller_on_each or reconciler_on_each";
    assert_eq!(error, expected);
}
