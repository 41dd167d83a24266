//! What a program does on a cluster that is removed.

use crate::{
    clusters::{Requests, client_of, cluster, config, hub, maps, name, options, reconcile, state},
    manager::{Log, add, run, seconds},
    manager_logs::capture_log,
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::{Api, Client, api::DeleteParams};
use kube_operator::{
    clusters::{Cluster, ClusterEvent, ClusterSpec, ClusterState, Clusters, OnCluster},
    leader_election,
    manager::{Manager, ManagerError},
};
use kube_runtime::controller::Action;
use kube_testserver::{Fault, Match, TestFleet};
use std::{convert::Infallible, io, sync::Arc, time::Duration};
use tokio::{sync::mpsc, task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

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
        let election = leader_election::Config::new("op", "default").identity(identity);
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
    sleep(seconds(3)).await;
    first.send(cluster("east").into()).await.unwrap();
    sleep(seconds(60)).await;
    assert_eq!(log.take(), ["cleaned up by first", "east a"]);
    assert!(!lines.text().contains("did not clean up"), "{}", lines.text());
    for (stop, running) in [(stop_first, running_first), (stop_second, running_second)] {
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

type Running = JoinHandle<Result<(), ManagerError>>;

/// A replica of a program that notes who has cleaned up.
fn replica(
    hub: &Client,
    servers: &TestFleet,
    cleaned: &Log,
    identity: &'static str,
    lease: Duration,
) -> (mpsc::Sender<ClusterEvent>, (CancellationToken, Running)) {
    let (sender, clusters) = Clusters::channel();
    let cleaned = cleaned.clone();
    let election = leader_election::Config::new("op", "default").identity(identity).lease_duration(lease);
    let manager = Manager::new(hub.clone())
        .leader_election_with(election)
        .cluster_options(options(servers, &Requests::default()))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()))
        .on_cluster_removed(move |_| {
            cleaned.add(identity);
            std::future::ready(Ok::<_, Infallible>(()))
        });
    (sender, run(manager))
}

/// The Lease decides how long another replica waits, and not a time of its own.
#[tokio::test(start_paused = true)]
async fn another_replica_cleans_up_for_one_that_has_crashed_however_long_its_lease_is() {
    let servers = TestFleet::new(["east"]);
    let (hub, cleaned): (Client, Log) = (hub(), Log::default());
    let replica = |identity| replica(&hub, &servers, &cleaned, identity, seconds(60));
    let (first, (_stop_first, running_first)) = replica("first");
    sleep(seconds(20)).await;
    let (second, (stop_second, running_second)) = replica("second");
    for sender in [&first, &second] {
        sender.send(cluster("east").into()).await.unwrap();
    }
    sleep(seconds(20)).await;
    running_first.abort();
    remove(&second, "east").await;
    sleep(seconds(90)).await;
    assert_eq!(cleaned.take(), ["second"]);
    stop_second.cancel();
    running_second.await.unwrap().unwrap();
}

/// A Secret that is replaced is deleted and there again.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_announced_again_at_once_is_not_cleaned_up_on() {
    let servers = TestFleet::new(["east"]);
    let (sender, clusters) = Clusters::channel();
    let cleaned = Log::default();
    let logged = cleaned.clone();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(clusters)
        .on_cluster_removed(move |cluster| {
            logged.add(cluster.name().name());
            async { Ok::<_, Infallible>(()) }
        });
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sender.send(cluster("east").into()).await.unwrap();
    sleep(seconds(10)).await;
    remove(&sender, "east").await;
    sleep(seconds(1)).await;
    sender.send(cluster("east").into()).await.unwrap();
    sleep(seconds(60)).await;
    assert_eq!((cleaned.take(), state(&fleet, "east")), (vec![], Some(ClusterState::Synced)));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_standby_does_not_clean_up_on_a_cluster_that_is_announced_again() {
    let servers = TestFleet::new(["east"]);
    let (hub, cleaned): (Client, Log) = (hub(), Log::default());
    let replica = |identity| replica(&hub, &servers, &cleaned, identity, seconds(15));
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

/// The client of the name leads to its old cluster until the exchange is complete, and only then another name has that.
#[tokio::test(start_paused = true)]
async fn a_removal_during_an_exchange_cleans_up_on_the_new_cluster_only() {
    let servers = TestFleet::new(["east", "west"]);
    let clients = ["east", "west"].map(|host| client_of(&servers, host));
    for client in &clients {
        add(client, "a").await;
    }
    let (sender, clusters) = Clusters::channel();
    let (log, cleaned) = (Log::default(), Log::default());
    let logged = cleaned.clone();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()))
        .on_cluster_removed(move |cluster| clean_up(cluster, logged.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let announce = async |text: &str, host: &str| {
        sender.send(ClusterSpec::new(name(text), config(host, "one")).into()).await.unwrap();
    };
    announce("old", "east").await;
    sleep(seconds(10)).await;
    announce("new", "east").await;
    sleep(seconds(10)).await;
    // It takes 4 s to ask which cluster is there, and as long to exchange.
    servers.server("west").unwrap().fault(Match::get::<Namespace>(), Fault::Delay(seconds(4)));
    announce("old", "west").await;
    sleep(seconds(6)).await;
    assert_eq!(state(&fleet, "new"), Some(ClusterState::Failed), "requests of the old name go there still");
    // A removal is stronger than what was wanted before it.
    sender.send(ClusterSpec::new(name("old"), config("west", "two")).into()).await.unwrap();
    sleep(seconds(1) / 2).await;
    remove(&sender, "old").await;
    sleep(seconds(30)).await;
    let [east, west] = clients.map(Api::<ConfigMap>::default_namespaced);
    let are_there = (east.get_opt("a").await.unwrap().is_some(), west.get_opt("a").await.unwrap().is_some());
    assert_eq!((are_there, cleaned.take()), ((true, false), vec!["cleaned up old".to_owned()]));
    assert_eq!((state(&fleet, "old"), state(&fleet, "new")), (None, Some(ClusterState::Synced)));

    // The end of the program does not wait for an exchange.
    announce("third", "west").await;
    sleep(seconds(10)).await;
    servers.insert("alias", servers.server("west").unwrap());
    announce("third", "alias").await;
    sleep(seconds(6)).await;
    sender.send(ClusterSpec::new(name("third"), config("alias", "two")).into()).await.unwrap();
    sleep(seconds(1) / 2).await;
    remove(&sender, "third").await;
    sleep(seconds(1)).await;
    let began = tokio::time::Instant::now();
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(began.elapsed() < seconds(1) / 2, "{:?}", began.elapsed());
}

/// The client with the new default namespace has not answered yet; the one before leads to the same cluster.
#[tokio::test(start_paused = true)]
async fn a_removal_before_another_default_namespace_is_used_cleans_up_with_the_one_before() {
    let servers = TestFleet::new(["east"]);
    let client = client_of(&servers, "east");
    add(&client, "a").await;
    let (sender, clusters) = Clusters::channel();
    let (log, cleaned, requests) = (Log::default(), Log::default(), Requests::default());
    let logged = cleaned.clone();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()))
        .on_cluster_removed(move |cluster| clean_up(cluster, logged.clone()));
    let (stop, running) = run(manager);
    sender.send(cluster("east").into()).await.unwrap();
    sleep(seconds(10)).await;
    servers.server("east").unwrap().fault(Match::get::<Namespace>(), Fault::Delay(seconds(60)));
    let mut config = config("east", "one");
    config.default_namespace = "other".to_owned();
    sender.send(ClusterSpec::new(name("east"), config).into()).await.unwrap();
    sleep(seconds(5)).await;
    remove(&sender, "east").await;
    sleep(seconds(30)).await;
    assert_eq!((cleaned.take(), requests.clients()), (vec!["cleaned up east".to_owned()], 0));
    assert!(Api::<ConfigMap>::default_namespaced(client).get_opt("a").await.unwrap().is_none());
    stop.cancel();
    running.await.unwrap().unwrap();
}
