//! What a program does on a cluster that is removed.

use crate::{
    clusters::{Requests, client_of, cluster, hub, maps, name, options, reconcile, state},
    manager::{Log, add, run, seconds},
    manager_logs::capture_log,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, api::DeleteParams};
use kube_operator::{
    clusters::{Cluster, ClusterEvent, ClusterState, Clusters, OnCluster},
    manager::Manager,
};
use kube_runtime::controller::Action;
use kube_testserver::TestFleet;
use std::{convert::Infallible, io, sync::Arc};
use tokio::{sync::mpsc, time::sleep};

/// Deletes `a`, and says so.
pub(crate) async fn clean_up(cluster: Cluster, log: Log) -> kube_client::Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    maps.delete("a", &DeleteParams::default()).await?;
    log.add(format!("cleaned up {}", cluster.name()));
    Ok(())
}

async fn a_second(_: Arc<ConfigMap>, context: Arc<OnCluster<Log>>) -> Result<Action, Infallible> {
    sleep(seconds(1)).await;
    context.add("reconciled");
    Ok(Action::await_change())
}

pub(crate) async fn remove(sender: &mpsc::Sender<ClusterEvent>, host: &str) {
    sender.send(ClusterEvent::Removed(name(host))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_program_cleans_up_on_a_removed_cluster_after_its_reconciles() {
    let servers = TestFleet::new(["east", "west"]);
    for host in ["east", "west"] {
        add(&client_of(&servers, host), "a").await;
    }
    let (sender, clusters) = Clusters::channel();
    let (log, requests) = (Log::default(), Requests::default());
    let logged = log.clone();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(clusters)
        .controller_on_each("maps", maps, a_second, Arc::new(log.clone()))
        .on_cluster_removed(move |cluster| clean_up(cluster, logged.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    for host in ["east", "west"] {
        sender.send(cluster(host).into()).await.unwrap();
    }
    sleep(seconds(10)).await;
    log.take();
    add(&client_of(&servers, "east"), "b").await;
    sleep(seconds(1) / 2).await;
    remove(&sender, "east").await;
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["reconciled", "cleaned up east"]);
    let east: Api<ConfigMap> = Api::default_namespaced(client_of(&servers, "east"));
    assert!(east.get_opt("a").await.unwrap().is_none());
    assert_eq!((state(&fleet, "east"), requests.clients()), (None, 1));

    // Its end is not that of the clusters.
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(log.take(), [] as [String; 0]);
    let west: Api<ConfigMap> = Api::default_namespaced(client_of(&servers, "west"));
    west.get("a").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn cleaning_up_that_fails_or_hangs_is_logged_and_limited() {
    let hosts = ["fails", "panics", "hangs", "away"];
    let servers = TestFleet::new(hosts);
    let away = servers.remove("away");
    let (sender, clusters) = Clusters::channel();
    let (log, requests) = (Log::default(), Requests::default());
    let called = log.clone();
    let clean_up = move |cluster: Cluster| {
        called.add(cluster.name().name());
        async move {
            match cluster.name().name() {
                "fails" => Err(io::Error::other("the finalizer stays")),
                "hangs" => std::future::pending().await,
                _ => panic!("no such object"),
            }
        }
    };
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests).grace_period(seconds(30)))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()))
        .on_cluster_removed(clean_up);
    let fleet = manager.fleet();
    let (lines, _guard) = capture_log();
    let (stop, running) = run(manager);
    for host in hosts {
        sender.send(cluster(host).into()).await.unwrap();
    }
    sleep(seconds(10)).await;
    for host in hosts {
        remove(&sender, host).await;
    }
    sleep(seconds(20)).await;
    let states = hosts.map(|host| state(&fleet, host));
    assert_eq!(states, [None, None, Some(ClusterState::Leaving), None], "no cluster waits for another");
    sleep(seconds(20)).await;
    assert_eq!((fleet.statuses().len(), requests.clients()), (0, 0));
    let mut called = log.take();
    called.sort();
    assert_eq!(called, ["fails", "hangs", "panics"], "not one that has never answered");
    let text = lines.text();
    for part in ["the finalizer stays", "it panicked: no such object", "it did not end within 30 s"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    stop.cancel();
    running.await.unwrap().unwrap();
    drop(away);
}

#[tokio::test(start_paused = true)]
async fn the_leader_cleans_up_and_a_cluster_that_comes_back_meanwhile_starts_anew() {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "a").await;
    let (hub, log): (Client, Log) = (hub(), Log::default());
    let (lines, _guard) = capture_log();
    let replica = |identity: &'static str| {
        let (sender, clusters) = Clusters::channel();
        let (cleaned, log) = (log.clone(), log.clone());
        let election = kube_operator::leader_election::Config::new("op", "default").identity(identity);
        let manager = Manager::new(hub.clone())
            .leader_election_with(election)
            .cluster_options(options(&servers, &Requests::default()))
            .clusters(clusters)
            .controller_on_each("maps", maps, reconcile, Arc::new(log))
            .on_cluster_removed(move |_| {
                let cleaned = cleaned.clone();
                async move {
                    sleep(seconds(3)).await;
                    cleaned.add(format!("cleaned up by {identity}"));
                    Ok::<_, Infallible>(())
                }
            });
        (sender, run(manager))
    };
    let (first, (stop_first, running_first)) = replica("first");
    sleep(seconds(20)).await;
    let (second, (stop_second, running_second)) = replica("second");
    for sender in [&first, &second] {
        sender.send(cluster("east").into()).await.unwrap();
    }
    sleep(seconds(20)).await;
    assert_eq!(log.take(), ["east a"]);
    for sender in [&first, &second] {
        remove(sender, "east").await;
    }
    sleep(seconds(2)).await;
    first.send(cluster("east").into()).await.unwrap();
    sleep(seconds(60)).await;
    assert_eq!(log.take(), ["cleaned up by first", "east a"]);
    assert!(!lines.text().contains("did not clean up"), "{}", lines.text());
    for (stop, running) in [(stop_first, running_first), (stop_second, running_second)] {
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_does_not_clean_up_on_a_cluster_that_is_announced_again() {
    let servers = TestFleet::new(["east"]);
    let (hub, cleaned): (Client, Log) = (hub(), Log::default());
    let replica = |identity: &'static str| {
        let (sender, clusters) = Clusters::channel();
        let cleaned = cleaned.clone();
        let election = kube_operator::leader_election::Config::new("op", "default").identity(identity);
        let manager = Manager::new(hub.clone())
            .leader_election_with(election)
            .cluster_options(options(&servers, &Requests::default()))
            .clusters(clusters)
            .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()))
            .on_cluster_removed(move |_| {
                cleaned.add(identity);
                std::future::ready(Ok::<_, Infallible>(()))
            });
        (sender, run(manager))
    };
    let (first, (stop_first, running_first)) = replica("first");
    sleep(seconds(20)).await;
    let (second, (stop_second, running_second)) = replica("second");
    let step = async |event: ClusterEvent| {
        for sender in [&first, &second] {
            sender.send(event.clone()).await.unwrap();
        }
        sleep(seconds(2)).await;
    };
    step(cluster("east").into()).await;
    sleep(seconds(20)).await;
    step(ClusterEvent::Removed(name("east"))).await;
    step(cluster("east").into()).await;
    stop_first.cancel();
    running_first.await.unwrap().unwrap();
    sleep(seconds(30)).await;
    assert_eq!(cleaned.take(), ["first"]);

    // One that ends does not wait for a turn that cannot come.
    let (third, (stop_third, running_third)) = replica("third");
    drop(first);
    sleep(seconds(20)).await;
    third.send(cluster("east").into()).await.unwrap();
    sleep(seconds(20)).await;
    remove(&third, "east").await;
    sleep(seconds(1)).await;
    stop_third.cancel();
    tokio::time::timeout(seconds(2), running_third).await.unwrap().unwrap().unwrap();
    stop_second.cancel();
    running_second.await.unwrap().unwrap();
}
