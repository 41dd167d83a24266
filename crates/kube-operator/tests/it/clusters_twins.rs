//! Several names that lead to one cluster: the first that answers has it until it leaves, and then another one that answers.

use crate::{
    clusters::{Requests, client_of, config, hub, maps, name, options, reconcile, state},
    clusters_announced::Started,
    manager::{Log, add, run, seconds},
};
use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use kube_client::{Client, client::Body};
use kube_operator::{
    clusters::{ClusterEvent, ClusterOptions, ClusterSpec, ClusterState, Clusters},
    manager::Manager,
};
use kube_testserver::{Fault, Match, TestFleet};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::time::sleep;
use tower::ServiceExt;

/// One server with the addresses `east` and `alias`.
async fn servers() -> TestFleet {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "m").await;
    servers.insert("alias", servers.server("east").unwrap());
    servers
}

/// As `options`; the address `alias` answers so many requests, and refuses connections then.
fn answering(servers: &TestFleet, requests: usize) -> ClusterOptions {
    let (servers, left) = (servers.clone(), Arc::new(AtomicUsize::new(requests)));
    ClusterOptions::new().connect(move |config| {
        let (servers, left) = (servers.clone(), Arc::clone(&left));
        let transport = tower::service_fn(move |request: Request<Body>| {
            let (servers, left) = (servers.clone(), Arc::clone(&left));
            async move {
                let take = |left: usize| left.checked_sub(1);
                let is_alias = request.uri().host() == Some("alias");
                if is_alias && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                }
                servers.oneshot(request).await
            }
        });
        Client::with_transport(config, transport)
    })
}

async fn remove(started: &Started, text: &str) {
    started.sender.send(ClusterEvent::Removed(name(text))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_first_name_that_answers_has_a_cluster_until_it_leaves_whatever_its_provider() {
    let servers = servers().await;
    let log = Log::default();
    let (sender, clusters) = Clusters::channel();
    let later = ClusterSpec::new(name("later"), config("east", "one"));
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(clusters)
        .clusters(Clusters::fixed([later]))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    for (text, host) in [("b", "alias"), ("a", "east")] {
        sender.send(ClusterSpec::new(name(text), config(host, "one")).into()).await.unwrap();
        sleep(seconds(20)).await;
    }
    let states = || ["later", "b", "a"].map(|text| state(&fleet, text));
    let [synced, failed] = [ClusterState::Synced, ClusterState::Failed].map(Some);
    assert_eq!((states(), log.take()), ([synced, failed, failed], vec!["later m".to_owned()]));
    let reason = fleet.status(&name("a")).unwrap().reason.unwrap();
    assert!(reason.starts_with("cluster a is the same as cluster later, by the uid of "), "{reason}");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_answer_any_more_keeps_a_free_cluster_from_no_other() {
    let servers = servers().await;
    let started = Started::with(options(&servers, &Requests::default()), Requests::default());
    for (text, host) in [("a", "east"), ("b", "alias"), ("c", "east")] {
        started.announce(text, host).await;
        sleep(seconds(20)).await;
    }
    let states = || ["a", "b", "c"].map(|text| state(&started.fleet, text));
    let [synced, failed] = [ClusterState::Synced, ClusterState::Failed].map(Some);
    assert_eq!((states(), started.log.take()), ([synced, failed, failed], vec!["a m".to_owned()]));

    let server = servers.remove("alias").unwrap();
    remove(&started, "a").await;
    sleep(seconds(90)).await;
    let unreachable = Some(ClusterState::Unreachable);
    assert_eq!((states(), started.log.take()), ([None, unreachable, synced], vec!["c m".to_owned()]));

    // It waits again once it answers.
    servers.insert("alias", server);
    sleep(seconds(90)).await;
    let reason = started.fleet.status(&name("b")).unwrap().reason.unwrap();
    assert!(reason.starts_with("cluster b is the same as cluster c, by the uid of "), "{reason}");
    remove(&started, "c").await;
    sleep(seconds(20)).await;
    assert_eq!((states(), started.log.take()), ([None, synced, None], vec!["b m".to_owned()]));
    started.end().await;
}

/// It would be down because somebody has announced a name that half works.
#[tokio::test(start_paused = true)]
async fn a_running_cluster_is_not_given_up_for_another_name() {
    let servers = servers().await;
    let started = Started::with(answering(&servers, 1), Requests::default());
    started.announce("b", "east").await;
    sleep(seconds(20)).await;
    started.announce("a", "alias").await;
    for _ in 0..90 {
        sleep(seconds(1)).await;
        assert_eq!(state(&started.fleet, "b"), Some(ClusterState::Synced));
    }
    assert_eq!(state(&started.fleet, "a"), Some(ClusterState::Failed), "it has answered");
    assert_eq!(started.log.take(), ["b m"], "nothing starts anew");
    started.end().await;
}

/// Names that start together: one that is slow is no twin before it has answered.
#[tokio::test(start_paused = true)]
async fn of_names_that_connect_at_once_one_reconciles() {
    let servers = servers().await;
    let server = servers.server("east").unwrap();
    server.fault(Match::get::<Namespace>().times(1), Fault::Delay(seconds(3)));
    let started = Started::with(options(&servers, &Requests::default()), Requests::default());
    for (text, host) in [("a", "east"), ("b", "alias"), ("c", "east"), ("d", "alias")] {
        started.announce(text, host).await;
    }
    sleep(seconds(60)).await;
    let states = ["a", "b", "c", "d"].map(|text| state(&started.fleet, text));
    let count = |expected| states.iter().filter(|state| **state == Some(expected)).count();
    assert_eq!((count(ClusterState::Synced), count(ClusterState::Failed)), (1, 3), "{states:?}");
    assert_eq!(started.log.take().len(), 1);
    started.end().await;
}
