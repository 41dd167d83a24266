//! A controller on those clusters only whose labels match.

use crate::{
    clusters::{Requests, client_of, cluster, hub, maps, options, reconcile, state},
    manager::{Log, add, run, seconds},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::Api;
use kube_core::{ResourceExt, Selector};
use kube_operator::{
    clusters::{Cluster, ClusterState, ClusterTriggers, Clusters, OnCluster},
    manager::{Manager, ManagerError},
};
use kube_runtime::{controller::Action, reflector::ObjectRef, watcher};
use kube_testserver::TestFleet;
use std::{
    convert::Infallible,
    future::{pending, ready},
    sync::Arc,
};
use tokio::time::{sleep, timeout};

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

/// Otherwise one reconcile that hangs would keep the controller from running there ever again.
#[tokio::test(start_paused = true)]
async fn a_controller_whose_reconcile_hangs_ends_within_the_grace_period_and_comes_back() {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "a").await;
    let (sender, clusters) = Clusters::channel();
    let log = Log::default();
    let hanging = async |map: Arc<ConfigMap>, context: Arc<OnCluster<Log>>| {
        context.add(map.name_any());
        pending::<Result<Action, Infallible>>().await
    };
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()).grace_period(seconds(5)))
        .clusters(clusters)
        .controller_on_each("some", maps, hanging, Arc::new(log.clone()))
        .only_on_clusters("some", "stage=production".parse().unwrap());
    let (stop, running) = run(manager);
    for (stage, entries) in [("production", 1), ("test", 0), ("production", 1)] {
        sender.send(cluster("east").label("stage", stage).into()).await.unwrap();
        sleep(seconds(20)).await;
        assert_eq!(log.take().len(), entries, "{stage}");
    }
    stop.cancel();
    tokio::time::timeout(seconds(30), running).await.unwrap().unwrap().unwrap();
}

/// As without `only_on_clusters`. Without a wait between them, attempts would occupy a thread.
#[tokio::test(start_paused = true)]
async fn a_controller_that_ends_by_itself_is_a_failure_that_waits() {
    let servers = TestFleet::new(["east"]);
    let made = Log::default();
    let counted = made.clone();
    let ending = move |cluster: &Cluster| {
        counted.add("made");
        maps(cluster).graceful_shutdown_on(ready(()))
    };
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east").label("stage", "production")]))
        .controller_on_each("some", ending, reconcile, Arc::new(Log::default()))
        .only_on_clusters("some", "stage=production".parse().unwrap());
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Failed));
    assert!((3..12).contains(&made.count("made")), "{}", made.count("made"));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_stops_at_once_or_has_no_clusters_does_not_wait_for_selected_ones() {
    let servers = TestFleet::new(["east"]);
    let manager = || {
        Manager::new(hub())
            .cluster_options(options(&servers, &Requests::default()))
            .controller_on_each("some", maps, reconcile, Arc::new(Log::default()))
            .only_on_clusters("some", "stage=production".parse().unwrap())
    };
    let alone = manager().run_until(sleep(seconds(5)));
    tokio::time::timeout(seconds(10), alone).await.unwrap().unwrap();
    for wait in 0..30 {
        let spec = cluster("east").label("stage", if wait % 2 == 0 { "production" } else { "test" });
        let run = manager().clusters(Clusters::fixed([spec])).run_until(sleep(seconds(1) * wait / 10));
        tokio::time::timeout(seconds(30), run).await.unwrap().unwrap();
    }
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

#[tokio::test(start_paused = true)]
async fn two_of_one_name_on_members_are_an_error_at_the_start() {
    let controller =
        |manager: Manager| manager.controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
    let triggers = |manager: Manager| {
        let related =
            |cluster: &Cluster| (Api::<ConfigMap>::all(cluster.client()), watcher::Config::default());
        let mapper = |_: &Cluster, _: &ConfigMap| None::<ObjectRef<Secret>>;
        manager.trigger_hub("maps", related, &ClusterTriggers::<Secret>::new(), mapper)
    };
    let manager = || Manager::new(hub()).clusters(Clusters::fixed([]));
    let twice = [
        controller(controller(manager())),
        controller(triggers(manager())),
        triggers(controller(manager())),
        triggers(triggers(manager())),
    ];
    for manager in twice {
        let error = timeout(seconds(10), manager.run_until(pending())).await.unwrap().unwrap_err();
        assert!(matches!(&error, ManagerError::DuplicateName(name) if &**name == "maps"), "{error}");
    }
}
