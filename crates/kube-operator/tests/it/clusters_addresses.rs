//! An address that is announced for a name: whose cluster is there, and what if it is that of another one.

use crate::{
    clusters::{Requests, client_of, config, maps, name, options, reconcile, state},
    clusters_announced::Started,
    clusters_removal::clean_up,
    manager::{Log, add, run, seconds},
    manager_logs::capture_log,
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::{Api, Client};
use kube_operator::{
    clusters::{ClusterEvent, ClusterOptions, ClusterSpec, ClusterState, Clusters},
    manager::Manager,
};
use kube_testserver::{Fault, FaultResponse, Match, TestFleet};
use std::sync::Arc;
use tokio::time::sleep;

/// Whose a new address is, is known before controllers work there.
#[tokio::test(start_paused = true)]
async fn an_address_that_leads_to_the_cluster_of_another_name_is_never_used() {
    let servers = TestFleet::new(["east", "west"]);
    add(&client_of(&servers, "east"), "a").await;
    servers.insert("alias", servers.server("east").unwrap());
    let (lines, _guard) = capture_log();
    let started = Started::new(&servers);
    started.announce("one", "east").await;
    started.announce("two", "west").await;
    sleep(seconds(10)).await;
    let busy = servers.server("east").unwrap().fault(Match::get::<Namespace>(), Fault::status(503, "busy"));
    started.announce("two", "alias").await;
    sleep(seconds(15)).await;
    assert_eq!(state(&started.fleet, "two"), Some(ClusterState::Synced), "on the old one");
    // A balancer before it, which does not know a server yet.
    let unknown = FaultResponse::status(404, "NotFound").body("404 page not found");
    let unknown = servers.server("east").unwrap().fault(Match::get::<Namespace>(), unknown);
    busy.remove();
    sleep(seconds(60)).await;
    assert_eq!(state(&started.fleet, "two"), Some(ClusterState::Synced), "on the old one");
    unknown.remove();
    sleep(seconds(60)).await;
    assert_eq!(state(&started.fleet, "two"), Some(ClusterState::Synced), "on the old one");
    let text = lines.text();
    let refused = "its new address is not used; it keeps the old one";
    let line = text.lines().find(|line| line.contains(refused)).unwrap();
    assert!(line.contains("cluster two is the same as cluster one"), "{line}");
    let outdated = started.fleet.status(&name("two")).unwrap().outdated.unwrap();
    assert!(outdated.starts_with("cluster two is the same as cluster one"), "{outdated}");
    for _ in 0..3 {
        started.announce("two", "alias").await; // by a provider that repeats itself
        sleep(seconds(10)).await;
    }
    assert_eq!(lines.text().matches(refused).count(), 1);
    assert_eq!((started.log.take(), started.requests.count("alias one")), (vec!["one a".into()], 0));

    // It is used when it is free.
    started.sender.send(ClusterEvent::Removed(name("one"))).await.unwrap();
    sleep(seconds(30)).await;
    assert_eq!(
        (started.log.take(), state(&started.fleet, "two")),
        (vec!["two a".into()], Some(ClusterState::Synced))
    );
    started.end().await;
}

/// Neither another cluster nor the same: nothing is listed anew there, and nobody gets the old one.
#[tokio::test(start_paused = true)]
async fn an_address_that_may_not_say_which_cluster_it_is_is_not_used_and_the_status_says_so() {
    let servers = TestFleet::new(["east", "west"]);
    for host in ["east", "west"] {
        add(&client_of(&servers, host), "a").await;
    }
    let west = servers.server("west").unwrap();
    let refusal = west.fault(Match::get::<Namespace>(), Fault::status(403, "Forbidden"));
    let started = Started::new(&servers);
    started.announce("one", "east").await;
    sleep(seconds(10)).await;
    started.announce("one", "west").await;
    started.announce("legacy", "east").await;
    sleep(seconds(300)).await;
    let states = ["one", "legacy"].map(|text| state(&started.fleet, text));
    assert_eq!(states, [Some(ClusterState::Synced), Some(ClusterState::Failed)]);
    let outdated = started.fleet.status(&name("one")).unwrap().outdated.unwrap();
    let expected = "its new address is not used yet: the cluster there does not say which it is: expected the permission to get \
                    the namespace kube-system";
    assert_eq!(outdated, expected);
    assert_eq!((started.log.take(), started.requests.count("west one")), (vec!["one a".to_owned()], 0));
    refusal.remove();
    sleep(seconds(90)).await;
    let states = ["one", "legacy"].map(|text| state(&started.fleet, text));
    assert_eq!(states, [Some(ClusterState::Synced); 2]);
    assert_eq!(started.fleet.status(&name("one")).unwrap().outdated, None);
    let mut entries = started.log.take();
    entries.sort();
    assert_eq!(entries, ["legacy a", "one a"]);
    started.end().await;
}

/// Its controllers have ended before: there is nothing that goes on.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_starts_anew_at_an_address_that_may_not_say_which_it_is_is_forbidden() {
    let servers = TestFleet::new(["east", "west"]);
    let west = servers.server("west").unwrap();
    let refusal = west.fault(Match::get::<Namespace>(), Fault::status(403, "Forbidden"));
    let started = Started::new(&servers);
    started.announce("one", "east").await;
    sleep(seconds(10)).await;
    let mut moved = config("west", "one");
    moved.default_namespace = "other".to_owned(); // its controllers start anew, with another client
    started.sender.send(ClusterSpec::new(name("one"), moved).into()).await.unwrap();
    sleep(seconds(30)).await;
    let status = started.fleet.status(&name("one")).unwrap();
    assert_eq!((status.state, status.outdated), (ClusterState::Forbidden, None), "{:?}", status.reason);
    refusal.remove();
    sleep(seconds(120)).await;
    assert_eq!(state(&started.fleet, "one"), Some(ClusterState::Synced));
    started.end().await;
}

/// Such as a kubeconfig of an administrator that is replaced by one with fewer permissions, and with the next CA.
#[tokio::test(start_paused = true)]
async fn the_same_address_with_another_ca_needs_not_say_which_cluster_it_is() {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "a").await;
    let started = Started::new(&servers);
    started.announce("one", "east").await;
    sleep(seconds(10)).await;
    servers.insert("alias", servers.server("east").unwrap());
    let refusal =
        servers.server("east").unwrap().fault(Match::get::<Namespace>(), Fault::status(403, "Forbidden"));
    let mut changed = config("east", "two");
    changed.root_cert = Some(vec![b"another".to_vec()]);
    started.sender.send(ClusterSpec::new(name("one"), changed.clone()).into()).await.unwrap();
    sleep(seconds(30)).await;
    assert!(started.requests.count("east two") + started.requests.count("east two *") > 1, "it is used");
    let status = started.fleet.status(&name("one")).unwrap();
    assert_eq!((status.state, status.outdated), (ClusterState::Synced, None), "{:?}", status.reason);
    started.log.take();

    // Its controllers start anew, with another client.
    changed.default_namespace = "other".to_owned();
    started.sender.send(ClusterSpec::new(name("one"), changed).into()).await.unwrap();
    sleep(seconds(30)).await;
    let status = started.fleet.status(&name("one")).unwrap();
    assert_eq!((status.state, status.outdated), (ClusterState::Synced, None), "{:?}", status.reason);

    // It is the cluster of this name still.
    refusal.remove();
    started.announce("two", "alias").await;
    sleep(seconds(30)).await;
    assert_eq!(state(&started.fleet, "two"), Some(ClusterState::Failed));
    started.end().await;
}

/// The reason stays until there is an answer: an alert that waits for 10 minutes would never fire.
#[tokio::test(start_paused = true)]
async fn a_new_announcement_does_not_hide_that_the_one_before_is_not_used() {
    let servers = TestFleet::new(["east", "west"]);
    servers.server("west").unwrap().fault(Match::get::<Namespace>(), Fault::Delay(seconds(60)));
    let (lines, _guard) = capture_log();
    let started = Started::new(&servers);
    started.announce("one", "east").await;
    sleep(seconds(10)).await;
    started.announce("one", "west").await;
    sleep(seconds(15)).await;
    let outdated = || started.fleet.status(&name("one")).unwrap().outdated;
    let reason = outdated().unwrap();
    for token in ["two", "three"] {
        started.sender.send(ClusterSpec::new(name("one"), config("west", token)).into()).await.unwrap();
        for _ in 0..30 {
            sleep(seconds(1) / 2).await;
            assert_eq!(outdated().as_ref(), Some(&reason));
        }
    }
    assert_eq!(lines.text().matches("its new address is not used until").count(), 1);
    started.announce("one", "east").await;
    sleep(seconds(10)).await;
    assert_eq!(outdated(), None, "it has what was announced");
    started.end().await;
}

/// A removal cleans up where the client of the name leads: not on the cluster of another name, which is alive, and not on the hub.
#[tokio::test(start_paused = true)]
async fn a_name_that_is_refused_has_the_clean_up_of_its_own_cluster_and_of_no_other() {
    let servers = TestFleet::new(["east", "west", "hub"]);
    for host in ["east", "west", "hub"] {
        add(&client_of(&servers, host), "a").await;
    }
    servers.insert("alias", servers.server("east").unwrap());
    servers.insert("self", servers.server("hub").unwrap());
    let hub_server = servers.remove("hub").unwrap();
    let hub = Client::with_transport(&config("hub", "one"), servers.clone()).unwrap();
    let (sender, clusters) = Clusters::channel();
    let (log, cleaned) = (Log::default(), Log::default());
    let logged = cleaned.clone();
    let manager = Manager::new(hub)
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()))
        .on_cluster_removed(move |cluster| clean_up(cluster, logged.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let announce = async |text: &str, host: &str| {
        sender.send(ClusterSpec::new(name(text), config(host, "one")).into()).await.unwrap();
        sleep(seconds(10)).await;
    };
    announce("self", "self").await;
    announce("one", "east").await;
    announce("three", "west").await;
    assert_eq!(log.take(), ["self a", "one a", "three a"]);
    announce("three", "alias").await;
    announce("four", "alias").await;
    servers.insert("hub", hub_server);
    sleep(seconds(60)).await;
    let states = ["self", "three", "four"].map(|text| (text, state(&fleet, text)));
    let expected = [ClusterState::Failed, ClusterState::Synced, ClusterState::Failed].map(Some);
    assert_eq!(states.map(|(_, state)| state), expected, "the second is on its own cluster still");
    for (text, _) in states {
        sender.send(ClusterEvent::Removed(name(text))).await.unwrap();
    }
    sleep(seconds(60)).await;
    assert_eq!((fleet.statuses().len(), cleaned.take()), (1, vec!["cleaned up three".to_owned()]));
    let west: Api<ConfigMap> = Api::default_namespaced(client_of(&servers, "west"));
    assert!(west.get_opt("a").await.unwrap().is_none());
    for host in ["east", "hub"] {
        Api::<ConfigMap>::default_namespaced(client_of(&servers, host)).get("a").await.unwrap();
    }
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// What it names may come later, such as a file.
#[tokio::test(start_paused = true)]
async fn a_new_address_whose_configuration_cannot_be_used_yet_is_tried_again() {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "a").await;
    servers.insert("new", servers.server("east").unwrap());
    let (requests, transport) = (Requests::default(), servers.clone());
    let usable = tokio::time::Instant::now() + seconds(30);
    let options = ClusterOptions::new().connect(move |config| {
        let is_new = config.cluster_url.host() == Some("new");
        let config = match is_new && tokio::time::Instant::now() < usable {
            true => Err(kube_client::Error::Service("no such file".into())),
            false => Ok(config),
        };
        Client::with_transport(config?, transport.clone())
    });
    let started = Started::with(options, requests);
    started.announce("one", "east").await;
    sleep(seconds(10)).await;
    started.announce("one", "new").await;
    sleep(seconds(120)).await;
    let client = started.fleet.cluster(&name("one")).unwrap().client();
    assert!(client.has_server_of(&config("new", "one")), "it has the new address");
    assert_eq!(started.log.take(), ["one a"], "of the same cluster");
    started.end().await;
}
