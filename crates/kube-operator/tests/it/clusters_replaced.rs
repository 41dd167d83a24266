//! The name of a cluster goes to another one: the first is cleaned up on, unless it is the same.

use crate::{
    clusters::{Requests, client_of, config, hub, maps, name, options, reconcile},
    clusters_removal::{clean_up, remove},
    manager::{Log, add, run, seconds},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Api;
use kube_operator::{
    clusters::{ClusterEvent, ClusterSpec, ClusterState, Clusters},
    manager::Manager,
};
use kube_testserver::TestFleet;
use std::sync::Arc;
use tokio::{sync::mpsc, time::sleep};

/// The first has the clean-up of its own cluster, also if the next has the name at once.
#[tokio::test(start_paused = true)]
async fn a_cluster_whose_name_goes_to_another_one_is_cleaned_up_and_the_same_one_is_not() {
    let servers = TestFleet::new(["east", "west"]);
    add(&client_of(&servers, "east"), "a").await;
    servers.insert("alias", servers.server("east").unwrap());
    let ((first, of_first), (second, of_second)) = (Clusters::channel(), Clusters::channel());
    let (log, requests) = (Log::default(), Requests::default());
    let logged = log.clone();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(of_first)
        .clusters(of_second)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()))
        .on_cluster_removed(move |cluster| clean_up(cluster, logged.clone()));
    let (stop, running) = run(manager);
    let announce = async |sender: &mpsc::Sender<ClusterEvent>, host: &str| {
        let spec = ClusterSpec::new(name("x"), config(host, "one")).label("host", host);
        sender.send(spec.into()).await.unwrap();
        sleep(seconds(10)).await;
    };
    announce(&first, "east").await;
    announce(&second, "alias").await;
    assert_eq!(log.take(), ["x a"]);
    remove(&first, "x").await;
    sleep(seconds(10)).await;
    assert_eq!(log.take(), ["x a"], "it is the same cluster: the name starts anew there");
    announce(&first, "west").await;
    remove(&second, "x").await;
    sleep(seconds(10)).await;
    assert_eq!(log.take(), ["cleaned up x"]);
    let east: Api<ConfigMap> = Api::default_namespaced(client_of(&servers, "east"));
    assert!(east.get_opt("a").await.unwrap().is_none(), "with the client of the old one");
    assert_eq!(requests.clients(), 1);
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// The Secret of a cluster that is created again is there minutes before its API server.
#[tokio::test(start_paused = true)]
async fn a_cluster_is_cleaned_up_on_also_if_the_next_one_answers_much_later_or_never() {
    let servers = TestFleet::new(["east", "west"]);
    let west = servers.remove("west").unwrap();
    let (sender, clusters) = Clusters::channel();
    let log = Log::default();
    let logged = log.clone();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()))
        .on_cluster_removed(move |cluster| clean_up(cluster, logged.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let announce = async |host: &str| {
        sender.send(ClusterSpec::new(name("x"), config(host, "one")).into()).await.unwrap();
    };
    for is_made in [true, false] {
        add(&client_of(&servers, "east"), "a").await;
        announce("east").await;
        sleep(seconds(10)).await;
        assert_eq!(log.take(), ["x a"]);
        remove(&sender, "x").await;
        announce("west").await;
        for _ in 0..10 {
            sleep(seconds(30)).await;
            announce("west").await; // by a provider that repeats itself
            let status = fleet.status(&name("x")).unwrap();
            let why = status.reason.unwrap_or_default();
            assert!(status.state == ClusterState::Unreachable && why.contains("refused"), "{why}");
        }
        assert!(log.take().is_empty(), "it may be the same cluster");
        if is_made {
            servers.insert("west", west.clone());
            sleep(seconds(90)).await;
            assert_eq!(log.take(), ["cleaned up x"]);
            servers.remove("west");
        }
        remove(&sender, "x").await;
        sleep(seconds(90)).await;
        assert_eq!(log.take().contains(&"cleaned up x".to_owned()), !is_made, "at its removal at the latest");
    }
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Nothing runs there that would have to stop before.
#[tokio::test(start_paused = true)]
async fn a_cluster_without_controllers_is_cleaned_up_on_when_its_name_goes_to_another_one() {
    let servers = TestFleet::new(["east", "west"]);
    servers.insert("alias", servers.server("east").unwrap());
    let (sender, clusters) = Clusters::channel();
    let log = Log::default();
    let logged = log.clone();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(clusters)
        .on_cluster_removed(move |cluster| clean_up(cluster, logged.clone()));
    let (stop, running) = run(manager);
    add(&client_of(&servers, "east"), "a").await;
    let announce = async |host: &str| {
        sender.send(ClusterSpec::new(name("x"), config(host, "one")).into()).await.unwrap();
        sleep(seconds(10)).await;
    };
    announce("east").await;
    sender.try_send(ClusterEvent::Removed(name("x"))).unwrap();
    announce("alias").await;
    assert!(log.take().is_empty(), "it is the same one");
    sender.try_send(ClusterEvent::Removed(name("x"))).unwrap();
    announce("west").await;
    assert_eq!(log.take(), ["cleaned up x"]);
    stop.cancel();
    running.await.unwrap().unwrap();
}
