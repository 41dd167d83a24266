//! Several names that lead to one cluster: which of them has it does not depend on which connects first.

use crate::{
    clusters::{Requests, client_of, config, hub, maps, name, options, reconcile, state},
    common::ApiExt,
    manager::{Log, add, run, seconds},
};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, client::Body};
use kube_operator::{
    clusters::{ClusterEvent, ClusterOptions, ClusterSpec, ClusterState, Clusters},
    manager::Manager,
    sharding,
};
use kube_testserver::TestFleet;
use std::sync::Arc;
use tokio::time::sleep;
use tower::ServiceExt;

/// As `options`; the first request to this host takes 3 s, as a connection that is slow to be made.
fn slow(servers: &TestFleet, slow: &'static str) -> ClusterOptions {
    let servers = servers.clone();
    ClusterOptions::new().connect(move |config| {
        let servers = servers.clone();
        let is_first = Arc::new(std::sync::atomic::AtomicBool::new(true));
        let transport = tower::service_fn(move |request: Request<Body>| {
            let (servers, is_first) = (servers.clone(), Arc::clone(&is_first));
            async move {
                let is_slow = request.uri().host() == Some(slow);
                if is_slow && is_first.swap(false, std::sync::atomic::Ordering::Relaxed) {
                    sleep(seconds(3)).await;
                }
                servers.oneshot(request).await
            }
        });
        Client::with_transport(config, transport)
    })
}

fn spec(text: &str, host: &str) -> ClusterSpec {
    ClusterSpec::new(name(text), config(host, "one"))
}

/// One server with two addresses.
async fn servers() -> TestFleet {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "m").await;
    servers.insert("alias", servers.server("east").unwrap());
    servers
}

#[tokio::test(start_paused = true)]
async fn the_first_name_has_a_cluster_whichever_connects_first() {
    for host in ["east", "alias", "neither"] {
        let servers = servers().await;
        let log = Log::default();
        let (sender, clusters) = Clusters::channel();
        let manager = Manager::new(hub())
            .cluster_options(slow(&servers, host))
            .clusters(clusters)
            .clusters(Clusters::fixed([spec("0", "east")])) // a later provider
            .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
        let fleet = manager.fleet();
        let (stop, running) = run(manager);
        for (text, host) in [("b", "alias"), ("a", "east")] {
            sender.send(spec(text, host).into()).await.unwrap();
        }
        sleep(seconds(20)).await;
        let states = ["a", "b", "0"].map(|text| state(&fleet, text));
        let failed = Some(ClusterState::Failed);
        assert_eq!(states, [Some(ClusterState::Synced), failed, failed], "{host}");
        let reason = fleet.status(&name("b")).unwrap().reason.unwrap();
        assert!(reason.starts_with("cluster b is the same as cluster a, by the uid of "), "{reason}");
        log.take();
        let map: Api<ConfigMap> = Api::default_namespaced(client_of(&servers, "east"));
        map.touch("m", "1").await;
        sleep(seconds(5)).await;
        assert_eq!(log.take(), ["a m"], "{host}");

        // They get it in their order.
        for (gone, next) in [("a", "b"), ("b", "0")] {
            sender.send(ClusterEvent::Removed(name(gone))).await.unwrap();
            sleep(seconds(20)).await;
            assert_eq!((log.take(), state(&fleet, next)), (vec![format!("{next} m")], states[0]));
        }
        // One that comes back has it again.
        sender.send(spec("a", "east").into()).await.unwrap();
        sleep(seconds(20)).await;
        assert_eq!((log.take(), state(&fleet, "0")), (vec!["a m".to_owned()], failed));
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

/// Otherwise, if one has it as `a` and the other as `b`, both reconcile it or none does.
#[tokio::test(start_paused = true)]
async fn replicas_agree_on_the_name_of_a_cluster() {
    let (servers, hub, log) = (servers().await, hub(), Log::default());
    let names = ["a", "b", "c", "d"];
    let hosts = ["east", "alias", "alias", "east"];
    let replica = |identity, host| {
        let clusters = std::iter::zip(names, hosts).map(|(text, host)| spec(text, host));
        run(Manager::new(hub.clone())
            .sharding(sharding::Config::new("op", "default").identity(identity))
            .cluster_options(slow(&servers, host))
            .clusters(Clusters::fixed(clusters))
            .controller_on_each("maps", maps, reconcile, Arc::new(log.clone())))
    };
    let replicas = [replica("first", "east"), replica("second", "alias")];
    sleep(seconds(60)).await;
    log.take();
    let map: Api<ConfigMap> = Api::default_namespaced(client_of(&servers, "east"));
    for change in ["1", "2"] {
        map.touch("m", change).await;
        sleep(seconds(10)).await;
        assert_eq!(log.take(), ["a m"], "by one of them");
    }
    for (stop, running) in replicas {
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

/// What has run on a cluster of its own until now goes on there until the other has let go.
#[tokio::test(start_paused = true)]
async fn a_name_that_moves_to_a_cluster_of_a_later_name_has_it_once_that_has_stopped() {
    let servers = servers().await;
    let west = TestFleet::new(["west"]).server("west").unwrap();
    servers.insert("west", west);
    add(&client_of(&servers, "west"), "w").await;
    let log = Log::default();
    let (sender, clusters) = Clusters::channel();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let announce = async |text: &str, host: &str| {
        sender.send(spec(text, host).into()).await.unwrap();
        sleep(seconds(20)).await;
    };
    announce("a", "west").await;
    announce("b", "east").await;
    assert_eq!(log.take(), ["a w", "b m"]);
    announce("a", "alias").await;
    assert_eq!(log.take(), ["a m"]);
    let states = ["a", "b"].map(|text| state(&fleet, text));
    assert_eq!(states, [Some(ClusterState::Synced), Some(ClusterState::Failed)]);
    announce("b", "west").await;
    assert_eq!((log.take(), state(&fleet, "b")), (vec!["b w".to_owned()], Some(ClusterState::Synced)));
    stop.cancel();
    running.await.unwrap().unwrap();
}
