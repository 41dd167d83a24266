//! What providers say of clusters: the same again, all that they have, and another address.

use crate::{
    clusters::{
        Requests, client_of, cluster, config, hub, kubeconfig, maps, name, options, reconcile, secret, state,
    },
    manager::{Log, add, run, seconds},
    manager_logs::capture_log,
};
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Namespace, Secret, Service};
use kube_client::{Api, Client, api::PostParams};
use kube_core::ResourceExt;
use kube_operator::{
    clusters::{
        Cluster, ClusterEvent, ClusterOptions, ClusterSpec, ClusterState, Clusters, Fleet, OnCluster,
        SecretClusters,
    },
    manager::{Manager, Restart},
};
use kube_runtime::{controller::Action, watcher};
use kube_testserver::{Fault, Match, TestFleet};
use std::{convert::Infallible, sync::Arc};
use tokio::{sync::mpsc, task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

pub(crate) struct Started {
    pub(crate) sender: mpsc::Sender<ClusterEvent>,
    pub(crate) fleet: Fleet,
    pub(crate) log: Log,
    pub(crate) requests: Requests,
    stop: CancellationToken,
    running: JoinHandle<Result<(), kube_operator::manager::ManagerError>>,
}

impl Started {
    /// A controller on each cluster that is sent.
    pub(crate) fn new(servers: &TestFleet) -> Self {
        let requests = Requests::default();
        Self::with(options(servers, &requests), requests)
    }

    pub(crate) fn with(options: ClusterOptions, requests: Requests) -> Self {
        let (sender, clusters) = Clusters::channel();
        let log = Log::default();
        let manager = Manager::new(hub()).cluster_options(options).clusters(clusters).controller_on_each(
            "maps",
            maps,
            reconcile,
            Arc::new(log.clone()),
        );
        let fleet = manager.fleet();
        let (stop, running) = run(manager);
        Self { sender, fleet, log, requests, stop, running }
    }

    pub(crate) async fn announce(&self, text: &str, host: &str) {
        self.sender.send(ClusterSpec::new(name(text), config(host, "one")).into()).await.unwrap();
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

/// A provider that polls an inventory announces all clusters again each time.
#[tokio::test(start_paused = true)]
async fn a_provider_that_repeats_itself_neither_aborts_attempts_nor_makes_them_more_frequent() {
    let servers = TestFleet::new(["east"]);
    let server = servers.server("east").unwrap();
    add(&client_of(&servers, "east"), "a").await;
    server.fault(Match::get::<Namespace>(), Fault::Delay(seconds(3)));
    let started = Started::new(&servers);
    for _ in 0..300 {
        started.announce("east", "east").await;
        started.announce("away", "nowhere").await;
        sleep(seconds(2)).await;
    }
    assert_eq!(state(&started.fleet, "east"), Some(ClusterState::Synced));
    assert_eq!(state(&started.fleet, "away"), Some(ClusterState::Unreachable));
    let tries = started.requests.count("nowhere one *");
    assert!((8..40).contains(&tries), "{tries}");
    started.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_fleet_knows_whether_all_providers_have_announced_what_they_have() {
    let servers = TestFleet::new(["hub", "east"]);
    let server = servers.remove("hub").unwrap();
    let hub = Client::with_transport(&config("hub", "one"), servers.clone()).unwrap();
    let (sender, clusters) = Clusters::channel();
    let alone = Manager::new(hub.clone()).fleet();
    assert!(alone.providers_have_synced(), "there are none");
    let manager = Manager::new(hub.clone())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east")]))
        .clusters(SecretClusters::new(hub))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    sender.send(ClusterEvent::InitDone).await.unwrap();
    sender.send(ClusterEvent::InitDone).await.unwrap();
    sleep(seconds(60)).await;
    assert!(!fleet.providers_have_synced(), "the Secrets cannot be read");
    servers.insert("hub", server);
    sleep(seconds(60)).await;
    assert!(fleet.providers_have_synced());
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// What was written to it would count as gone.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_cannot_be_used_yet_is_waited_for_and_not_for_ever() {
    let servers = TestFleet::new(["hub", "east"]);
    let hub = client_of(&servers, "hub");
    let secrets: Api<Secret> = Api::default_namespaced(hub.clone());
    let create = async |secret: Secret| drop(secrets.create(&PostParams::default(), &secret).await.unwrap());
    create(secret("east", None)).await;
    let start = || {
        let manager = Manager::new(hub.clone())
            .cluster_options(options(&servers, &Requests::default()))
            .clusters(SecretClusters::new(hub.clone()).labels("fleet=yes").key("value"))
            .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
        (manager.fleet(), run(manager))
    };
    let (fleet, (stop, running)) = start();
    sleep(seconds(60)).await;
    assert!(!fleet.providers_have_synced(), "who fills the Secret has not done it yet");
    secrets.delete("east", &Default::default()).await.unwrap();
    create(secret("east", kubeconfig("east", r#"{"token": "one"}"#))).await;
    sleep(seconds(5)).await;
    assert!(fleet.providers_have_synced());
    assert_eq!(state(&fleet, "default/east"), Some(ClusterState::Synced));
    stop.cancel();
    running.await.unwrap().unwrap();

    create(secret("broken", None)).await;
    let (lines, _guard) = capture_log();
    let (fleet, (stop, running)) = start();
    sleep(seconds(290)).await;
    assert!(!fleet.providers_have_synced());
    sleep(seconds(20)).await;
    assert!(fleet.providers_have_synced());
    let text = lines.text();
    assert!(text.contains("count as not there: default/broken"), "{text}");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_cannot_be_read_is_one_warning_and_a_line_when_it_can() {
    let (lines, _guard) = capture_log();
    let servers = TestFleet::new(["hub"]);
    let server = servers.remove("hub").unwrap();
    let hub = Client::with_transport(&config("hub", "one"), servers.clone()).unwrap();
    let manager = Manager::new(hub.clone()).clusters(SecretClusters::new(hub)).controller_on_each(
        "maps",
        maps,
        reconcile,
        Arc::new(Log::default()),
    );
    let (stop, running) = run(manager);
    sleep(seconds(120)).await;
    let count = |text: &str| lines.text().matches(text).count();
    let said = ["cannot be read now; those that it has announced stay", "can be read again"];
    assert_eq!((said.map(count), count("a cluster cannot be used")), ([1, 0], 0), "{}", lines.text());
    servers.insert("hub", server);
    sleep(seconds(60)).await;
    assert_eq!(said.map(count), [1, 1], "{}", lines.text());
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Otherwise each that is away would delay those after it by 10 s.
#[tokio::test(start_paused = true)]
async fn clusters_that_do_not_answer_at_the_start_lend_their_places_to_others() {
    let away = ["a1", "a2", "a3", "a4"];
    let servers = TestFleet::new(["a1", "a2", "a3", "a4", "last"]);
    for host in away {
        let server = servers.server(host).unwrap();
        server.fault(Match::get::<Namespace>(), Fault::Delay(seconds(600)));
    }
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()).start_concurrency(1))
        .clusters(Clusters::fixed(away.into_iter().chain(["last"]).map(cluster)))
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(15)).await;
    assert_eq!(state(&fleet, "last"), Some(ClusterState::Synced));
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// As a region that swallows packets: a cluster is known to be away only when the first requests end, which takes a minute.
#[tokio::test(start_paused = true)]
async fn clusters_in_which_everything_hangs_leave_workers_to_the_others() {
    let hosts: Vec<String> = (0..20).map(|number| format!("h{number}")).chain(["alive".into()]).collect();
    let servers = TestFleet::new(hosts.iter().map(String::as_str));
    for host in &hosts[..20] {
        for number in 0..10 {
            add(&client_of(&servers, host), &format!("m{number}")).await;
        }
    }
    let (log, requests) = (Log::default(), Requests::default());
    let hanging = async |map: Arc<ConfigMap>, context: Arc<OnCluster<Log>>| {
        if context.cluster().name().name() != "alive" {
            std::future::pending::<()>().await;
        }
        context.add(map.name_any());
        Ok::<_, Infallible>(Action::await_change())
    };
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests).grace_period(seconds(4)))
        .clusters(Clusters::fixed(hosts.iter().map(|host| cluster(host))))
        .controller_on_each("maps", maps, hanging, Arc::new(log.clone()));
    let (stop, running) = run(manager);
    sleep(seconds(30)).await;
    add(&client_of(&servers, "alive"), "a").await;
    sleep(seconds(1)).await;
    assert_eq!(log.take(), ["a"]);
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn another_default_namespace_starts_the_cluster_anew() {
    let servers = TestFleet::new(["east"]);
    let started = Started::new(&servers);
    for namespace in ["default", "kube-public", "default"] {
        let mut spec = cluster("east");
        spec.config.default_namespace = namespace.into();
        started.sender.send(spec.into()).await.unwrap();
        sleep(seconds(20)).await;
        let client = started.fleet.cluster(&name("east")).unwrap().client();
        assert_eq!(client.default_namespace(), namespace);
    }
    assert_eq!(started.requests.clients(), 1);
    started.end().await;
}

/// What does not stop is aborted in time for the later phases of the manager.
#[tokio::test(start_paused = true)]
async fn with_the_default_grace_periods_a_reconcile_that_hangs_is_no_failure_of_the_stop() {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "a").await;
    let hanging = async |_: Arc<ConfigMap>, _: Arc<OnCluster<()>>| {
        std::future::pending::<()>().await;
        Ok::<_, Infallible>(Action::await_change())
    };
    let election = kube_operator::leader_election::Config::new("op", "default").identity("a");
    let manager = Manager::new(hub())
        .leader_election_with(election)
        .component("idle", Restart::Never, |stop: CancellationToken| async move {
            stop.cancelled().await;
            Ok::<_, Infallible>(())
        })
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east")]))
        .controller_on_each("maps", maps, hanging, Arc::new(()));
    let (stop, running) = run(manager);
    sleep(seconds(30)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// One watch says nothing of another one.
#[tokio::test(start_paused = true)]
async fn of_two_watches_that_fail_the_one_that_is_no_fault_hides_no_missing_permission() {
    let servers = TestFleet::new(["east"]);
    let east = servers.server("east").unwrap();
    east.fault(Match::path("/api/v1/secrets"), Fault::status(403, "Forbidden"));
    east.fault(Match::path("/api/v1/services"), Fault::status(403, "Forbidden"));
    east.fault(Match::path("/api/v1/endpoints"), Fault::status(404, "NotFound"));
    let all = |cluster: &Cluster| {
        let (client, config) = (cluster.client(), watcher::Config::default);
        maps(cluster)
            .owns(Api::<Secret>::all(client.clone()), config())
            .owns(Api::<Service>::all(client.clone()), config())
            .owns(Api::<Endpoints>::all(client), config())
    };
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east")]))
        .controller_on_each("maps", all, reconcile, Arc::new(Log::default()));
    let fleet = manager.fleet();
    let (lines, _guard) = capture_log();
    let (stop, running) = run(manager);
    sleep(seconds(120)).await;
    for _ in 0..780 {
        sleep(seconds(1)).await;
        assert_eq!(state(&fleet, "east"), Some(ClusterState::Forbidden));
    }
    assert!(fleet.status(&name("east")).unwrap().since > seconds(600));
    let text = lines.text();
    for kind in ["secrets", "services"] {
        // The initial sync says by itself what it waits for.
        let names = |line: &&str| line.contains(kind) && !line.contains("initial sync");
        let lines = text.lines().filter(names).count();
        assert!((1..=2).contains(&lines), "{kind}: {text}");
    }
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// The most usual mistake of a fleet: a member without the definition.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_have_the_kind_says_so_until_it_has() {
    let servers = TestFleet::new(["east"]);
    let missing = servers
        .server("east")
        .unwrap()
        .fault(Match::path("/api/v1/namespaces/default/configmaps"), Fault::status(404, "NotFound"));
    let started = Started::new(&servers);
    started.announce("east", "east").await;
    sleep(seconds(60)).await;
    let status = started.fleet.status(&name("east")).unwrap();
    assert_eq!(status.state, ClusterState::Failed);
    assert!(status.since > seconds(50), "{status:?}");
    let reason = status.reason.unwrap();
    assert!(reason.contains("404") && reason.contains("configmaps"), "{reason}");
    missing.remove();
    sleep(seconds(60)).await;
    assert_eq!(state(&started.fleet, "east"), Some(ClusterState::Synced));
    started.end().await;
}

/// What one watch met says nothing of the others, and nothing any more once that works.
#[tokio::test(start_paused = true)]
async fn an_outage_that_is_over_is_forgotten_also_while_another_watch_fails_for_a_reason_of_its_own() {
    let servers = TestFleet::new(["east"]);
    let east = servers.server("east").unwrap();
    let both = |cluster: &Cluster| {
        maps(cluster).owns(Api::<Secret>::all(cluster.client()), watcher::Config::default())
    };
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east")]))
        .controller_on_each("maps", both, reconcile, Arc::new(Log::default()));
    let fleet = manager.fleet();
    let (lines, _guard) = capture_log();
    let (stop, running) = run(manager);
    sleep(seconds(30)).await;
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Synced));
    // Its kind was uninstalled.
    let uninstalled = east.fault(Match::path("/api/v1/secrets"), Fault::status(404, "NotFound"));
    let busy = Match::path("/api/v1/namespaces/default/configmaps");
    let busy = east.fault(busy, Fault::status(503, "ServiceUnavailable"));
    east.end_watches();
    sleep(seconds(6)).await;
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Unreachable));
    busy.remove();
    sleep(seconds(20)).await;
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Synced));

    // Another cause of the same state is in the log, too.
    uninstalled.remove();
    sleep(seconds(60)).await;
    let limited = east.fault(Match::path("/api/v1/secrets"), Fault::status(503, "ServiceUnavailable"));
    east.end_watches();
    sleep(seconds(30)).await;
    limited.remove();
    east.fault(Match::path("/api/v1/secrets"), Fault::status(500, "the disk is full"));
    sleep(seconds(120)).await;
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Unreachable));
    let text = lines.text();
    assert_eq!(text.matches("the disk is full").count(), 1, "{text}");
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// One refusal at the start, as before a role is there, does not switch the guard off.
#[tokio::test(start_paused = true)]
async fn a_hub_that_may_not_say_who_it_is_is_asked_again_and_the_log_says_so() {
    let servers = TestFleet::new(["hub"]);
    let server = servers.server("hub").unwrap();
    servers.insert("self", server.clone());
    let hub = client_of(&servers, "hub");
    let refusal = server.fault(Match::get::<Namespace>().times(1), Fault::status(403, "Forbidden"));
    let manager = Manager::new(hub)
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::channel().1)
        .clusters(Clusters::new("late", late(cluster("self"))))
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
    let fleet = manager.fleet();
    let (lines, _guard) = capture_log();
    let (stop, running) = run(manager);
    sleep(seconds(30)).await;
    let text = lines.text();
    assert_eq!(text.matches("get the namespace kube-system").count(), 1, "{text}");
    assert_eq!(state(&fleet, "self"), Some(ClusterState::Synced));
    sleep(seconds(60)).await;
    assert_eq!(state(&fleet, "self"), Some(ClusterState::Failed));
    stop.cancel();
    running.await.unwrap().unwrap();
    refusal.remove();
}

/// Announced after 10 s.
fn late(spec: ClusterSpec) -> impl futures::Stream<Item = Result<ClusterEvent, Infallible>> + Send {
    futures::stream::once(async move {
        sleep(seconds(10)).await;
        Ok(spec.into())
    })
}
