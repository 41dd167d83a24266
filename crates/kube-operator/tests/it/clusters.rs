//! A manager with many clusters.

use crate::{
    manager::{Log, add, run, seconds},
    manager_logs::capture_log,
};
use http::Request;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube_client::{
    Api, Client, Config,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
    client::Body,
};
use kube_core::ResourceExt;
use kube_operator::{
    clusters::{
        ClusterEvent, ClusterName, ClusterNotReady, ClusterOptions, ClusterSpec, ClusterState, Clusters,
        Fleet, OnCluster, SecretClusters,
    },
    manager::Manager,
};
use kube_runtime::{Controller, controller::Action, watcher};
use kube_testserver::{ApiServer, Fault, Match, TestFleet};
use parking_lot::Mutex;
use std::{
    convert::Infallible,
    sync::{Arc, Weak},
};
use tokio::time::sleep;
use tower::ServiceExt;

/// Requests that reached a cluster: `HOST TOKEN` for each list of ConfigMaps, and `HOST TOKEN *` for all others, such as those for the
/// present version by a watch that is quiet.
#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<Vec<String>>>, Arc<Mutex<Vec<Weak<()>>>>);

impl Requests {
    pub(crate) fn count(&self, entry: &str) -> usize {
        self.0.lock().iter().filter(|known| *known == entry).count()
    }

    /// How many clients exist.
    pub(crate) fn clients(&self) -> usize {
        self.1.lock().iter().filter(|client| client.strong_count() > 0).count()
    }
}

/// Clients of the servers of a fleet.
pub(crate) fn options(servers: &TestFleet, requests: &Requests) -> ClusterOptions {
    let (servers, requests) = (servers.clone(), requests.clone());
    ClusterOptions::new().connect(move |config| {
        let (servers, requests, alive) = (servers.clone(), requests.clone(), Arc::new(()));
        requests.1.lock().push(Arc::downgrade(&alive));
        let transport = tower::service_fn(move |request: Request<Body>| {
            let _of_this_client = &alive;
            let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
            let token = token.unwrap_or_default().trim_start_matches("Bearer ").to_owned();
            let host = request.uri().host().unwrap_or_default().to_owned();
            let is_list = request.uri().path().ends_with("/configmaps")
                && request.method() == http::Method::GET
                && !request
                    .uri()
                    .query()
                    .is_some_and(|query| query.contains("watch=") || query.ends_with("limit=1"));
            requests.0.lock().push(format!("{host} {token}{}", if is_list { "" } else { " *" }));
            servers.clone().oneshot(request)
        });
        Client::with_transport(config, transport)
    })
}

pub(crate) fn name(text: &str) -> ClusterName {
    text.parse().unwrap()
}

pub(crate) fn config(host: &str, token: &str) -> Config {
    let mut config = Config::new(format!("https://{host}").parse().unwrap());
    config.auth_info.token = Some(token.to_owned().into());
    config
}

pub(crate) fn cluster(host: &str) -> ClusterSpec {
    ClusterSpec::new(name(host), config(host, "one"))
}

pub(crate) fn client_of(servers: &TestFleet, host: &str) -> Client {
    Client::new(servers.server(host).unwrap(), "default")
}

pub(crate) fn maps(cluster: &kube_operator::clusters::Cluster) -> Controller<ConfigMap> {
    Controller::new(Api::default_namespaced(cluster.client()), watcher::Config::default())
}

/// Logs `CLUSTER NAME`.
pub(crate) async fn reconcile(
    map: Arc<ConfigMap>,
    context: Arc<OnCluster<Log>>,
) -> Result<Action, Infallible> {
    context.add(format!("{} {}", context.cluster().name(), map.name_any()));
    Ok(Action::await_change())
}

pub(crate) fn state(fleet: &Fleet, cluster: &str) -> Option<ClusterState> {
    fleet.status(&name(cluster)).map(|status| status.state)
}

pub(crate) fn hub() -> Client {
    Client::new(ApiServer::new(), "default")
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_refuses_does_not_keep_the_others_from_their_work() {
    let servers = TestFleet::new(["east", "west", "away"]);
    for host in ["east", "west", "away"] {
        add(&client_of(&servers, host), "a").await;
    }
    let away = servers.remove("away").unwrap();
    let (sender, clusters) = Clusters::channel();
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub())
        .without_streaming_lists()
        .cluster_options(options(&servers, &requests))
        .clusters(Clusters::fixed([cluster("east"), cluster("away")]))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let (fleet, health) = (manager.fleet(), manager.health().clone());
    let (stop, running) = run(manager);
    sender.send(cluster("west").into()).await.unwrap();
    sleep(seconds(5)).await;
    let mut entries = log.take();
    entries.sort();
    assert_eq!(entries, ["east a", "west a"]);
    let checks = health.report().await;
    assert!(
        checks.iter().all(|check| check.state == "ok"),
        "ready without the cluster that is away: {checks:?}"
    );
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Synced));
    let refused = fleet.cluster(&name("away")).unwrap_err();
    let text = refused.to_string();
    assert!(text.starts_with("cluster away is unreachable: ") && text.contains("refused"), "{text}");
    assert_eq!(fleet.cluster(&name("north")).unwrap_err(), ClusterNotReady::Unknown(name("north")));

    // It comes back.
    servers.insert("away", away);
    sleep(seconds(10)).await;
    assert_eq!((log.take(), state(&fleet, "away")), (vec!["away a".into()], Some(ClusterState::Synced)));

    // Another one goes away while it runs, and is the same when it is back.
    let east = servers.remove("east").unwrap();
    sleep(seconds(10)).await;
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Unreachable));
    add(&client_of(&servers, "west"), "b").await;
    add(&Client::new(east.clone(), "default"), "c").await;
    sleep(seconds(1)).await;
    assert_eq!(log.take(), ["west b"], "no cluster waits for another");
    servers.insert("east", east);
    sleep(seconds(10)).await;
    assert_eq!((log.take(), state(&fleet, "east")), (vec!["east c".into()], Some(ClusterState::Synced)));

    // One is removed.
    sender.send(ClusterEvent::Removed(name("west"))).await.unwrap();
    sleep(seconds(2)).await;
    assert_eq!(state(&fleet, "west"), None);
    let before = requests.0.lock().iter().filter(|request| request.starts_with("west ")).count();
    add(&client_of(&servers, "west"), "d").await;
    sleep(seconds(600)).await;
    let after = requests.0.lock().iter().filter(|request| request.starts_with("west ")).count();
    assert_eq!((log.take(), after - before, requests.clients()), (vec![], 0, 2), "nothing of it is kept");

    // And comes back.
    sender.send(cluster("west").into()).await.unwrap();
    sleep(seconds(5)).await;
    let mut entries = log.take();
    entries.sort();
    assert_eq!(entries, ["west a", "west b", "west d"]);
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(fleet.statuses().is_empty());
    assert_eq!(requests.clients(), 0);
}

#[tokio::test(start_paused = true)]
async fn other_credentials_are_exchanged_without_a_list_and_another_cluster_is_listed_anew() {
    let servers = TestFleet::new(["east", "new"]);
    add(&client_of(&servers, "east"), "a").await;
    add(&client_of(&servers, "new"), "b").await;
    servers.insert("alias", servers.server("east").unwrap());
    let (sender, clusters) = Clusters::channel();
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub())
        .without_streaming_lists()
        .cluster_options(options(&servers, &requests))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let announce = async |host: &str, token: &str| {
        let spec = ClusterSpec::new(name("east"), config(host, token)).label("token", token);
        sender.send(spec.into()).await.unwrap();
        sleep(seconds(5)).await;
    };
    announce("east", "one").await;
    assert_eq!((log.take(), requests.count("east one")), (vec!["east a".into()], 1));
    let client = fleet.cluster(&name("east")).unwrap().client();

    announce("east", "two").await;
    announce("alias", "two").await;
    announce("alias", "two").await;
    let member = fleet.cluster(&name("east")).unwrap();
    assert_eq!(member.labels()["token"], "two");
    Api::<ConfigMap>::default_namespaced(client).get("a").await.unwrap();
    assert!(requests.count("alias two *") > 0, "the client that the program has uses the newest");
    let lists = ["east one", "east two", "alias two"].map(|entry| requests.count(entry));
    assert_eq!((lists, log.take()), ([1, 0, 0], vec![]));
    add(&client_of(&servers, "east"), "c").await;
    sleep(seconds(1)).await;
    assert_eq!(log.take(), ["east c"], "the watch goes on");

    announce("new", "two").await;
    sleep(seconds(30)).await;
    assert_eq!(requests.count("new two"), 1);
    assert!(log.take().contains(&"east b".to_owned()));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_in_which_everything_hangs_takes_its_share_of_workers() {
    let servers = TestFleet::new(["east", "west"]);
    for host in ["east", "west"] {
        for number in 0..10 {
            add(&client_of(&servers, host), &format!("m{number}")).await;
        }
    }
    let (log, requests) = (Log::default(), Requests::default());
    let hanging = async |map: Arc<ConfigMap>, context: Arc<OnCluster<Log>>| {
        context.add(format!("{} {}", context.cluster().name(), map.name_any()));
        if context.cluster().name().name() == "west" {
            std::future::pending::<()>().await;
        }
        Ok::<_, Infallible>(Action::await_change())
    };
    let options = options(&servers, &requests).concurrency(3).concurrency_per_cluster(2);
    let manager = Manager::new(hub())
        .cluster_options(options.grace_period(seconds(4)))
        .clusters(Clusters::fixed([cluster("west"), cluster("east")]))
        .grace_period(seconds(10))
        .controller_on_each("maps", maps, hanging, Arc::new(log.clone()));
    let (stop, running) = run(manager);
    sleep(seconds(30)).await;
    let entries = log.take();
    let of = |host: &str| entries.iter().filter(|entry| entry.starts_with(host)).count();
    assert_eq!((of("east "), of("west ")), (10, 2), "{entries:?}");
    stop.cancel();
    running.await.unwrap().unwrap(); // what hangs is aborted within the grace period of its cluster
}

pub(crate) fn kubeconfig(host: &str, user: &str) -> Option<std::collections::BTreeMap<String, ByteString>> {
    let text = format!(
        r#"{{"current-context": "x", "contexts": [{{"name": "x", "context": {{"cluster": "c", "user": "u"}}}}],
        "clusters": [{{"name": "c", "cluster": {{"server": "https://{host}"}}}}], "users": [{{"name": "u", "user": {user}}}]}}"#
    );
    Some([("value".to_owned(), ByteString(text.into()))].into())
}

pub(crate) fn secret(name: &str, data: Option<std::collections::BTreeMap<String, ByteString>>) -> Secret {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some([("fleet".to_owned(), "yes".to_owned())].into()),
        ..ObjectMeta::default()
    };
    Secret { metadata, data, ..Secret::default() }
}

/// What is wrong with a cluster is one error that names it; nothing else is affected.
#[tokio::test(start_paused = true)]
async fn secrets_that_cannot_be_used_affect_no_other_cluster() {
    let servers = TestFleet::new(["east", "west", "late", "hub"]);
    for host in ["east", "west", "late", "hub"] {
        add(&client_of(&servers, host), "a").await;
    }
    let hub = client_of(&servers, "hub");
    let secrets: Api<Secret> = Api::default_namespaced(hub.clone());
    let create = async |secret: Secret| drop(secrets.create(&PostParams::default(), &secret).await.unwrap());
    let token = r#"{"token": "one"}"#;
    create(secret("east", kubeconfig("east", token))).await;
    create(secret("empty", None)).await;
    create(secret("exec", kubeconfig("west", r#"{"exec": {"command": "rm"}}"#))).await;
    create(secret("self", kubeconfig("hub", token))).await;
    create(secret(&"n".repeat(64), kubeconfig("west", token))).await;
    create(Secret {
        metadata: ObjectMeta { name: Some("other".into()), ..ObjectMeta::default() },
        ..secret("other", kubeconfig("west", token))
    })
    .await;
    let (log, requests) = (Log::default(), Requests::default());
    let of_secrets = || SecretClusters::new(hub.clone()).labels("fleet=yes").key("value");
    let manager = Manager::new(hub.clone())
        .without_streaming_lists()
        .cluster_options(options(&servers, &requests))
        .clusters(of_secrets())
        .clusters(Clusters::fixed([ClusterSpec::new(name("default/east"), config("late", "late"))]))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    let states: Vec<_> =
        fleet.statuses().into_iter().map(|status| (status.name.to_string(), status.state)).collect();
    let failed = fleet.status(&name("default/self")).unwrap().reason.unwrap();
    assert!(failed.starts_with("cluster default/self is the hub itself: "), "{failed}");
    assert_eq!(
        states,
        [
            ("default/east".to_owned(), ClusterState::Synced),
            ("default/self".to_owned(), ClusterState::Failed)
        ]
    );
    let of_east = log.take();
    assert_eq!(of_east.iter().filter(|entry| entry.starts_with("default/east")).count(), of_east.len());

    // What becomes unusable keeps what it has; what becomes usable is used.
    let replace = async |name: &str, secret: Secret| {
        let patch = Patch::Merge(&secret);
        secrets.patch(name, &PatchParams::default(), &patch).await.unwrap();
        sleep(seconds(20)).await;
    };
    replace("empty", secret("empty", kubeconfig("west", token))).await;
    assert_eq!(
        (log.take(), state(&fleet, "default/empty")),
        (vec!["default/empty a".into()], Some(ClusterState::Synced))
    );
    replace("empty", secret("empty", kubeconfig("west", r#"{"exec": {"command": "rm"}}"#))).await;
    assert_eq!(state(&fleet, "default/empty"), Some(ClusterState::Synced));
    secrets.delete("empty", &DeleteParams::default()).await.unwrap();
    sleep(seconds(5)).await;
    assert_eq!(state(&fleet, "default/empty"), None);
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_a_state_until_others_are_announced() {
    let servers = TestFleet::new(["east"]);
    let server = servers.server("east").unwrap();
    add(&client_of(&servers, "east"), "a").await;
    let refusal = server.fault(Match::any(), Fault::status(401, "Unauthorized"));
    let (sender, clusters) = Clusters::channel();
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sender.send(cluster("east").into()).await.unwrap();
    sleep(seconds(200)).await;
    assert_eq!((state(&fleet, "east"), log.take()), (Some(ClusterState::Forbidden), vec![]));
    assert!(requests.0.lock().len() < 40, "it is tried ever more seldom");
    refusal.remove();
    sender.send(ClusterSpec::new(name("east"), config("east", "two")).into()).await.unwrap();
    sleep(seconds(3)).await;
    assert_eq!((state(&fleet, "east"), log.take()), (Some(ClusterState::Synced), vec!["east a".into()]));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_clusters_for_tests() {
    let servers = TestFleet::new(["hub"]);
    let hub = client_of(&servers, "hub");
    let log = Log::default();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(hub.clone());
    for tenant in ["red", "blue"] {
        let mut namespace = k8s_openapi::api::core::v1::Namespace::default();
        namespace.metadata.name = Some(tenant.to_owned());
        namespace.metadata.labels = Some([("fleet".to_owned(), "yes".to_owned())].into());
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        let map = ConfigMap {
            metadata: ObjectMeta { name: Some(format!("of-{tenant}")), ..ObjectMeta::default() },
            ..ConfigMap::default()
        };
        Api::<ConfigMap>::namespaced(hub.clone(), tenant).create(&PostParams::default(), &map).await.unwrap();
    }
    let manager = Manager::new(hub.clone())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::namespaces(hub, config("hub", "one"), "fleet=yes"))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    let mut entries = log.take();
    entries.retain(|entry| !entry.contains("kube-root-ca"));
    entries.sort();
    assert_eq!(entries, ["blue of-blue", "red of-red"]);
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn while_the_hub_is_away_members_work_and_what_it_had_announced_stays() {
    let servers = TestFleet::new(["hub", "east", "west"]);
    for host in ["east", "west"] {
        add(&client_of(&servers, host), "a").await;
    }
    let secrets: Api<Secret> = Api::default_namespaced(client_of(&servers, "hub"));
    let of_west = secret("west", kubeconfig("west", r#"{"token": "one"}"#));
    secrets.create(&PostParams::default(), &of_west).await.unwrap();
    let hub_server = servers.remove("hub").unwrap();
    let hub = Client::with_transport(&config("hub", "one"), servers.clone()).unwrap();
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub.clone())
        .cluster_options(options(&servers, &requests))
        .clusters(SecretClusters::new(hub).labels("fleet=yes").key("value"))
        .clusters(Clusters::fixed([cluster("east")]))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    assert_eq!(log.take(), ["east a"], "it starts without the hub");
    servers.insert("hub", hub_server.clone());
    sleep(seconds(60)).await;
    assert_eq!(log.take(), ["default/west a"]);

    servers.remove("hub");
    sleep(seconds(120)).await;
    add(&client_of(&servers, "west"), "b").await;
    secrets_of(&hub_server).delete("west", &DeleteParams::default()).await.unwrap();
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["default/west b"]);
    servers.insert("hub", hub_server);
    sleep(seconds(60)).await;
    assert_eq!(state(&fleet, "default/west"), None, "what was deleted meanwhile is seen");
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Synced));
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// No Lease can be renewed, and another process might lead.
#[tokio::test(start_paused = true)]
async fn with_leader_election_members_stop_while_the_hub_is_away_and_go_on_without_a_list() {
    let servers = TestFleet::new(["hub", "east"]);
    add(&client_of(&servers, "east"), "a").await;
    let hub = Client::with_transport(&config("hub", "one"), servers.clone()).unwrap();
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub)
        .without_streaming_lists()
        .leader_election("op", "default")
        .cluster_options(options(&servers, &requests))
        .clusters(Clusters::fixed([cluster("east")]))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    assert_eq!(log.take(), ["east a"]);
    let hub_server = servers.remove("hub").unwrap();
    sleep(seconds(30)).await;
    add(&client_of(&servers, "east"), "b").await;
    sleep(seconds(60)).await;
    assert_eq!((log.take(), state(&fleet, "east")), (vec![], Some(ClusterState::Synced)), "it is watched");
    servers.insert("hub", hub_server);
    sleep(seconds(60)).await;
    let mut reconciled = log.take();
    reconciled.sort();
    assert_eq!((reconciled, requests.count("east one")), (vec!["east a".into(), "east b".into()], 1));
    stop.cancel();
    running.await.unwrap().unwrap();
}

fn secrets_of(server: &ApiServer) -> Api<Secret> {
    Api::default_namespaced(Client::new(server.clone(), "default"))
}

/// A function of the program that panics concerns its cluster, which is tried again.
#[tokio::test(start_paused = true)]
async fn a_function_that_panics_or_a_controller_that_cannot_run_is_a_failure_of_its_cluster() {
    let servers = TestFleet::new(["east", "west", "north"]);
    for host in ["east", "west", "north"] {
        add(&client_of(&servers, host), "a").await;
    }
    let (log, requests) = (Log::default(), Requests::default());
    let attempts = Log::default();
    let made = attempts.clone();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(Clusters::fixed([cluster("east"), cluster("west"), cluster("north")]))
        .controller_on_each(
            "maps",
            move |cluster| {
                let name = cluster.name().to_string();
                made.add(name.as_str());
                assert!(name != "west" || made.count("west") > 2, "at first");
                // Fair lanes without a limit contradict each other.
                let invalid = kube_runtime::Config::default().fair_by_namespace();
                if name == "north" { maps(cluster).with_config(invalid) } else { maps(cluster) }
            },
            reconcile,
            Arc::new(log.clone()),
        );
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(2)).await;
    assert_eq!((log.take(), state(&fleet, "west")), (vec!["east a".into()], Some(ClusterState::Failed)));
    let reason = fleet.status(&name("west")).unwrap().reason.unwrap();
    assert_eq!(reason, "making its controllers panicked: at first");
    sleep(seconds(20)).await;
    assert_eq!((log.take(), state(&fleet, "west")), (vec!["west a".into()], Some(ClusterState::Synced)));
    let reason = fleet.status(&name("north")).unwrap().reason.unwrap();
    assert!(reason.starts_with("controller maps: ") && attempts.count("north") > 3, "{reason}");
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// One cluster of many is always away: what its watches say each second would hide everything else.
#[tokio::test(start_paused = true)]
async fn an_outage_of_a_cluster_is_one_warning_and_its_end_a_line() {
    let (lines, _guard) = capture_log();
    let servers = TestFleet::new(["east", "west"]);
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(Clusters::fixed([cluster("east"), cluster("west")]))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let (stop, running) = run(manager);
    sleep(seconds(10)).await;
    let before = lines.text().lines().count();
    let east = servers.remove("east").unwrap();
    sleep(seconds(600)).await;
    servers.insert("east", east);
    sleep(seconds(10)).await;
    let text = lines.text();
    let of_outage: Vec<_> = text.lines().skip(before).collect();
    // At the end, the watch says that it works again, and the cluster that it is in sync.
    assert_eq!(of_outage.len(), 3, "{of_outage:#?}");
    for part in ["WARN", "cluster=east", "state=unreachable", "refused"] {
        assert!(of_outage[0].contains(part), "{part} in {}", of_outage[0]);
    }
    assert!(
        of_outage[2].contains("INFO") && of_outage[2].contains("cluster=east state=synced"),
        "{}",
        of_outage[2]
    );
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Not under paused time: over sockets, with the clients that programs have.
#[tokio::test]
async fn the_contexts_of_a_kubeconfig_are_clusters() {
    let servers = TestFleet::new(["east", "west"]);
    for host in ["east", "west"] {
        add(&client_of(&servers, host), "a").await;
    }
    let mut served = servers.serve().await.unwrap();
    let kubeconfig = kube_client::config::Kubeconfig::from_yaml(&served.kubeconfig()).unwrap();
    served.take("west").unwrap().shutdown().await;
    let log = Log::default();
    let manager = Manager::new(hub())
        .clusters(Clusters::contexts("the test", kubeconfig))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let both = async {
        while [state(&fleet, "east"), state(&fleet, "west")]
            != [Some(ClusterState::Synced), Some(ClusterState::Unreachable)]
        {
            sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(seconds(30), both).await.unwrap();
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(log.take(), ["east a"]);
}
