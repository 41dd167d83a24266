//! Names that lead to the clusters of one another, and names that get the cluster of one that is removed.

use crate::{
    clusters::{Requests, client_of, config, hub, maps, name, options, state},
    clusters_announced::Started,
    clusters_removal::{clean_up, remove},
    common::ApiExt,
    manager::{Log, add, run, seconds},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Api;
use kube_core::ResourceExt;
use kube_operator::{
    clusters::{ClusterEvent, ClusterOptions, ClusterSpec, ClusterState, Clusters, Fleet, OnCluster},
    manager::Manager,
};
use kube_runtime::controller::Action;
use kube_testserver::TestFleet;
use parking_lot::Mutex;
use std::{collections::BTreeSet, convert::Infallible, sync::Arc};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};

/// Which objects are being reconciled, and what was.
#[derive(Default)]
struct Seen {
    running: Mutex<BTreeSet<String>>,
    log: Log,
}

/// Takes 3 s. Two reconciles of one object at once are an entry.
async fn slowly(map: Arc<ConfigMap>, context: Arc<OnCluster<Seen>>) -> Result<Action, Infallible> {
    let object = format!("{:?} {}", map.uid(), map.name_any());
    if !context.running.lock().insert(object.clone()) {
        context.log.add("twice at once");
    }
    sleep(seconds(3)).await;
    context.running.lock().remove(&object);
    context.log.add(format!("{} {}", context.cluster().name(), map.name_any()));
    Ok(Action::await_change())
}

fn sorted(log: &Log) -> Vec<String> {
    let mut entries = log.take();
    entries.sort();
    entries
}

fn are_synced(fleet: &Fleet, names: &[&str]) -> bool {
    names.iter().all(|text| state(fleet, text) == Some(ClusterState::Synced))
}

/// Such as two Secrets whose kubeconfigs were mixed up.
#[tokio::test(start_paused = true)]
async fn names_whose_addresses_are_exchanged_exchange_their_clusters() {
    let hosts = ["a", "b", "c"];
    for count in [2, 3] {
        let servers = TestFleet::new(hosts);
        for host in hosts {
            add(&client_of(&servers, host), host).await;
        }
        let (sender, clusters) = Clusters::channel();
        let seen = Arc::new(Seen::default());
        let manager = Manager::new(hub())
            .cluster_options(options(&servers, &Requests::default()))
            .clusters(clusters)
            .controller_on_each("maps", maps, slowly, Arc::clone(&seen));
        let fleet = manager.fleet();
        let (stop, running) = run(manager);
        let announce = async |text: &str, host: &str| {
            sender.send(ClusterSpec::new(name(text), config(host, "one")).into()).await.unwrap();
        };
        let hosts = &hosts[..count];
        for host in hosts {
            announce(host, host).await;
        }
        sleep(seconds(20)).await;
        assert_eq!(seen.log.take().len(), count);
        for at in 0..count {
            announce(hosts[at], hosts[(at + 1) % count]).await;
        }
        sleep(seconds(60)).await;
        assert!(are_synced(&fleet, hosts), "{count}: {:?}", fleet.statuses());
        let expected: Vec<_> =
            (0..count).map(|at| format!("{} {}", hosts[at], hosts[(at + 1) % count])).collect();
        assert_eq!(sorted(&seen.log), expected);
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

/// One of them leads to its own cluster again before the other is asked for it.
#[tokio::test(start_paused = true)]
async fn a_name_that_has_its_own_address_again_keeps_its_cluster() {
    let servers = TestFleet::new(["a", "b"]);
    for host in ["a", "b"] {
        add(&client_of(&servers, host), host).await;
    }
    let started = Started::new(&servers);
    for (text, host) in [("a", "a"), ("b", "b"), ("a", "b"), ("a", "a"), ("b", "a")] {
        started.announce(text, host).await;
        sleep(seconds(10)).await;
    }
    sleep(seconds(60)).await;
    assert_eq!(sorted(&started.log), ["a a", "b b"], "nothing starts anew");
    let outdated = ["a", "b"].map(|text| started.fleet.status(&name(text)).unwrap().outdated.is_some());
    assert_eq!((are_synced(&started.fleet, &["a", "b"]), outdated), (true, [false, true]));
    started.end().await;
}

/// A manager whose clusters are cleaned up on, with what happened.
async fn renamed(
    options: ClusterOptions,
    first: &[(&str, &str)],
    events: impl AsyncFnOnce(mpsc::Sender<ClusterEvent>),
) -> (Vec<String>, Vec<String>) {
    let (sender, clusters) = Clusters::channel();
    let (seen, cleaned) = (Arc::new(Seen::default()), Log::default());
    let logged = cleaned.clone();
    let manager = Manager::new(hub())
        .cluster_options(options)
        .clusters(clusters)
        .controller_on_each("maps", maps, slowly, Arc::clone(&seen))
        .on_cluster_removed(move |cluster| clean_up(cluster, logged.clone()));
    let (stop, running) = run(manager);
    for (text, host) in first {
        sender.send(ClusterSpec::new(name(text), config(host, "one")).into()).await.unwrap();
    }
    sleep(seconds(20)).await;
    seen.log.take();
    events(sender).await;
    sleep(seconds(90)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    (cleaned.take(), seen.log.take())
}

/// The Secret of a cluster was renamed: what the program wrote there is wanted by its new name.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_another_name_waits_for_is_not_cleaned_up_on() {
    let servers = TestFleet::new(["east", "west"]);
    let east = client_of(&servers, "east");
    add(&east, "a").await;
    let options = || options(&servers, &Requests::default());
    let new = || ClusterEvent::from(ClusterSpec::new(name("new"), config("east", "two")));
    let old = || ClusterEvent::Removed(name("old"));
    // The new one has answered before the old one is removed; it has not; it comes while the old one stops.
    for (wait, reversed) in [(20_000, false), (0, false), (0, true), (500, true)] {
        let map: Api<ConfigMap> = Api::default_namespaced(east.clone());
        let result = renamed(options(), &[("old", "east")], async |sender| {
            let events = if reversed { [old(), new()] } else { [new(), old()] };
            for event in events {
                if reversed {
                    touch(&map).await;
                }
                sender.send(event).await.unwrap();
                sleep(seconds(1) * wait / 1_000).await;
            }
        });
        let (cleaned, reconciled) = result.await;
        assert_eq!((cleaned, reconciled.last()), (vec![], Some(&"new a".to_owned())), "{wait} {reversed}");
        assert!(!reconciled.contains(&"twice at once".to_owned()), "{reconciled:?}");
        map.get("a").await.unwrap();
    }
    // It is told another certificate of the server, and it has run on another cluster until now.
    let (cleaned, _) = renamed(options(), &[("old", "east")], async |sender| {
        let mut config = config("east", "two");
        config.root_cert = Some(vec![b"another".to_vec()]);
        sender.send(ClusterSpec::new(name("new"), config).into()).await.unwrap();
        remove(&sender, "old").await;
    })
    .await;
    assert_eq!(cleaned, Vec::<String>::new());
    let (cleaned, _) = renamed(options(), &[("old", "east")], async |sender| {
        sender.send(ClusterSpec::new(name("new"), config("west", "one")).into()).await.unwrap();
        sleep(seconds(20)).await;
        sender.send(new()).await.unwrap();
        remove(&sender, "old").await;
    })
    .await;
    assert_eq!(cleaned, Vec::<String>::new());
    // Another cluster is none that has it.
    let (cleaned, _) = renamed(options(), &[("old", "east")], async |sender| {
        sender.send(ClusterSpec::new(name("new"), config("west", "one")).into()).await.unwrap();
        sleep(seconds(10)).await;
        remove(&sender, "old").await;
    })
    .await;
    assert_eq!(cleaned, ["cleaned up old"]);
}

/// Two Secrets were deleted and created again, each with the kubeconfig of the other.
#[tokio::test(start_paused = true)]
async fn names_that_come_back_with_the_clusters_of_one_another_are_not_cleaned_up_on() {
    for is_busy in [false, true] {
        let servers = TestFleet::new(["east", "west"]);
        let clients = ["east", "west"].map(|host| client_of(&servers, host));
        let maps = clients.clone().map(Api::<ConfigMap>::default_namespaced);
        for client in &clients {
            add(client, "a").await;
        }
        let first = [("one", "east"), ("two", "west")];
        let result = renamed(options(&servers, &Requests::default()), &first, async |sender| {
            for map in maps.iter().filter(|_| is_busy) {
                touch(map).await;
            }
            let upsert = |text: &str, host| ClusterSpec::new(name(text), config(host, "two")).into();
            let removed = ["one", "two"].map(|text| ClusterEvent::Removed(name(text)));
            for event in removed.into_iter().chain([upsert("one", "west"), upsert("two", "east")]) {
                sender.send(event).await.unwrap();
            }
        });
        let (cleaned, mut reconciled) = result.await;
        reconciled.sort();
        reconciled.dedup();
        assert_eq!(cleaned, Vec::<String>::new(), "{is_busy}");
        assert_eq!(reconciled, ["one a", "two a"], "{is_busy}");
        for map in maps {
            map.get("a").await.unwrap();
        }
    }
}

/// Has it reconciled, which takes 3 s.
async fn touch(maps: &Api<ConfigMap>) {
    maps.touch("a", &format!("{:?}", Instant::now())).await;
    sleep(seconds(1)).await;
}
