//! Bad input of a manager with many clusters: one clear error each, and nothing else is affected.

use crate::{
    clusters::{
        Requests, client_of, cluster, config, hub, kubeconfig, maps, name, options, reconcile, secret, state,
    },
    manager::{Log, add, run, seconds},
    manager_logs::capture_log,
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_operator::{
    clusters::{ClusterEvent, ClusterSpec, ClusterState, Clusters, SecretClusters},
    manager::Manager,
};
use kube_testserver::{Fault, FaultResponse, Match, TestFleet};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn of_two_names_for_one_cluster_the_first_is_used_until_it_leaves() {
    let servers = TestFleet::new(["east", "west"]);
    add(&client_of(&servers, "east"), "a").await;
    add(&client_of(&servers, "west"), "b").await;
    servers.insert("alias", servers.server("east").unwrap());
    let (sender, clusters) = Clusters::channel();
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(clusters)
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let announce = async |name_of_cluster: &str, host: &str| {
        let spec = ClusterSpec::new(name(name_of_cluster), config(host, "one"));
        sender.send(spec.into()).await.unwrap();
        sleep(seconds(10)).await;
    };
    announce("one", "east").await;
    announce("two", "alias").await;
    announce("three", "west").await;
    assert_eq!(log.take(), ["one a", "three b"], "each object is reconciled once");
    let refused = fleet.status(&name("two")).unwrap();
    let reason = refused.reason.unwrap();
    assert!(reason.starts_with("cluster two is the same as cluster one, by the uid of "), "{reason}");
    assert_eq!((refused.state, state(&fleet, "one")), (ClusterState::Failed, Some(ClusterState::Synced)));

    // The address of a third one leads to the same cluster now.
    announce("three", "alias").await;
    assert_eq!(state(&fleet, "three"), Some(ClusterState::Synced), "where it was");
    announce("three", "west").await;
    assert_eq!(state(&fleet, "three"), Some(ClusterState::Synced));
    log.take();

    sender.send(ClusterEvent::Removed(name("one"))).await.unwrap();
    sleep(seconds(10)).await;
    let states = ["one", "two", "three"].map(|cluster| state(&fleet, cluster));
    assert_eq!(states, [None, Some(ClusterState::Synced), Some(ClusterState::Synced)]);
    assert_eq!(log.take(), ["two a"]);
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Another program, or an older version of the type: the object is there, and nobody knows what it says.
#[tokio::test(start_paused = true)]
async fn a_secret_that_cannot_be_decoded_in_a_list_keeps_its_cluster() {
    let servers = TestFleet::new(["east", "west", "hub"]);
    for host in ["east", "west"] {
        add(&client_of(&servers, host), "a").await;
    }
    let (hub, server) = (client_of(&servers, "hub"), servers.server("hub").unwrap());
    let secrets: Api<Secret> = Api::default_namespaced(hub.clone());
    for host in ["east", "west"] {
        let secret = secret(host, kubeconfig(host, r#"{"token": "one"}"#));
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub.clone())
        .cluster_options(options(&servers, &requests))
        .clusters(SecretClusters::new(hub.clone()).labels("fleet=yes").key("value"))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (lines, _guard) = capture_log();
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    log.take();

    let listed = secrets.list(&ListParams::default()).await.unwrap();
    let mut listed = serde_json::to_value(listed).unwrap();
    listed["items"].as_array_mut().unwrap().retain(|item| item["metadata"]["name"] != "west");
    listed["items"][0]["data"] = "odd".into();
    let odd = FaultResponse::status(200, "").body(listed.to_string());
    let odd = server.fault(Match::list::<Secret>(), odd);
    server.fault(Match::watch::<Secret>().times(1), Fault::Expired);
    server.end_watches();
    sleep(seconds(20)).await;
    assert_eq!(state(&fleet, "default/west"), None, "it is not in the list: {}", lines.text());
    assert_eq!((state(&fleet, "default/east"), log.take()), (Some(ClusterState::Synced), vec![]));
    assert!(lines.text().contains("default/east"), "{}", lines.text());

    odd.remove();
    secrets.delete("east", &DeleteParams::default()).await.unwrap();
    sleep(seconds(20)).await;
    assert_eq!(state(&fleet, "default/east"), None);
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Not under paused time: the plugin is a process.
#[tokio::test]
async fn an_exec_plugin_that_fails_is_a_state_of_its_cluster() {
    let servers = TestFleet::new(["east", "west"]);
    add(&client_of(&servers, "east"), "a").await;
    let mut failing = config("west", "");
    failing.auth_info.token = None;
    let plugin = r#"{"apiVersion": "client.authentication.k8s.io/v1", "command": "false", "interactiveMode": "Never"}"#;
    failing.auth_info.exec = Some(serde_json::from_str(plugin).unwrap());
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(Clusters::fixed([ClusterSpec::new(name("west"), failing), cluster("east")]))
        .controller_on_each("maps", maps, reconcile, Arc::new(log.clone()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    let reason = async {
        loop {
            if let Some(reason) = fleet.status(&name("west")).and_then(|status| status.reason) {
                return reason;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let reason = tokio::time::timeout(seconds(20), reason).await.unwrap();
    assert!(reason.contains("false"), "it names the command: {reason}");
    while state(&fleet, "east") != Some(ClusterState::Synced) {
        sleep(Duration::from_millis(10)).await;
    }
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(log.take(), ["east a"]);
}

/// The values of the gauges with this label now.
fn gauges(recorder: &metrics_util::debugging::Snapshotter, label: &str) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for (key, _unit, _description, value) in recorder.snapshot().into_vec() {
        if let DebugValue::Gauge(value) = value
            && key.key().labels().any(|of| of.key() == "controller" && of.value().starts_with(label))
        {
            let controller = key.key().labels().find(|of| of.key() == "controller").unwrap().value();
            values.insert(format!("{} {controller}", key.key().name()), value.into_inner());
        }
    }
    values
}

#[tokio::test(start_paused = true)]
async fn the_controllers_of_all_clusters_are_one_in_metrics_and_logs() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recorder = metrics::set_default_local_recorder(&recorder);
    let servers = TestFleet::new(["east", "west"]);
    for (host, map) in [("east", "a"), ("west", "a"), ("west", "b")] {
        add(&client_of(&servers, host), map).await;
    }
    let (log, requests) = (Log::default(), Requests::default());
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &requests))
        .clusters(Clusters::fixed([cluster("east"), cluster("west")]))
        .controller_on_each("one-name", maps, reconcile, Arc::new(log.clone()));
    let (lines, _guard) = capture_log();
    let (stop, running) = run(manager);
    sleep(seconds(3600)).await;
    kube_runtime::metrics::refresh();
    let values = gauges(&snapshotter, "one-name");
    assert!(values.keys().all(|name| name.ends_with(" one-name")), "{values:#?}");
    assert_eq!(values["kube_runtime_store_objects one-name"], 3.0, "{values:#?}");
    assert_eq!(values["kube_runtime_watch_objects one-name"], 3.0);
    assert_eq!(values["controller_runtime_max_concurrent_reconciles one-name"], 64.0);
    assert!(!lines.text().contains("the same name"), "{}", lines.text());
    stop.cancel();
    running.await.unwrap().unwrap();
    let maps = Api::<ConfigMap>::default_namespaced(client_of(&servers, "west"));
    assert_eq!(maps.list(&ListParams::default()).await.unwrap().items.len(), 2);
}

/// The garbage collector of a cluster deletes objects whose owner is not there.
#[tokio::test(start_paused = true)]
async fn an_object_of_another_cluster_owns_no_children() {
    use kube_operator::children::{ChildSet, Children};
    let servers = TestFleet::new(["east", "hub"]);
    let (east, hub) = (client_of(&servers, "east"), client_of(&servers, "hub"));
    add(&east, "owner").await;
    let owner = Api::<ConfigMap>::default_namespaced(east).get("owner").await.unwrap();
    let mut children = Children::of(ChildSet::new("copier", "1.0.0"), &owner);
    let mut child = ConfigMap::default();
    child.metadata.name = Some("child".into());
    children.add("child", &child);
    let error = children.apply(&hub).await.unwrap_err().to_string();
    assert!(error.contains("owner") && error.contains("an object of another cluster"), "{error}");
    let maps = Api::<ConfigMap>::default_namespaced(hub);
    assert!(maps.list(&ListParams::default()).await.unwrap().items.is_empty(), "none is created");
}

/// Many strangers that start at once could have the memory of the program.
#[tokio::test(start_paused = true)]
async fn what_a_server_says_of_itself_has_a_limit() {
    let servers = TestFleet::new(["east", "west"]);
    let mut kube_system = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "1"}});
    kube_system["metadata"]["annotations"] = serde_json::json!({"long": "x".repeat(1 << 20)});
    let long = FaultResponse::status(200, "").body(kube_system.to_string());
    servers.server("east").unwrap().fault(Match::any(), long);
    let status = serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 401, "message": "x".repeat(1 << 14),
    });
    let long = FaultResponse::status(401, "Unauthorized").body(status.to_string());
    servers.server("west").unwrap().fault(Match::any(), long);
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east"), cluster("west")]))
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    let why = ["east", "west"].map(|host| fleet.status(&name(host)).unwrap().reason.unwrap());
    assert!(why[0].contains("more than 1048576 bytes"), "{}", why[0]);
    assert!(why[1].len() < 1_100 && why[1].contains("xxx"), "{}", why[1].len());
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Tools put whole policies into annotations.
#[tokio::test(start_paused = true)]
async fn a_cluster_whose_kube_system_has_much_metadata_says_who_it_is() {
    let servers = TestFleet::new(["east"]);
    add(&client_of(&servers, "east"), "a").await;
    let namespaces: Api<Namespace> = Api::all(client_of(&servers, "east"));
    let annotations = serde_json::json!({"metadata": {"annotations": {"policy": "p".repeat(200 << 10)}}});
    namespaces.patch("kube-system", &PatchParams::default(), &Patch::Merge(annotations)).await.unwrap();
    let manager = Manager::new(hub())
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east")]))
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    assert_eq!(state(&fleet, "east"), Some(ClusterState::Synced), "{:?}", fleet.statuses());
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Members that are the hub would be reconciled twice, and nothing would say why.
#[tokio::test(start_paused = true)]
async fn a_hub_that_cannot_be_asked_who_it_is_is_one_warning() {
    let servers = TestFleet::new(["hub", "east"]);
    servers.server("hub").unwrap().fault(Match::get::<Namespace>(), Fault::status(500, "the disk is full"));
    let manager = Manager::new(client_of(&servers, "hub"))
        .cluster_options(options(&servers, &Requests::default()))
        .clusters(Clusters::fixed([cluster("east")]))
        .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
    let (lines, _guard) = capture_log();
    let (stop, running) = run(manager);
    sleep(seconds(300)).await;
    let text = lines.text();
    assert_eq!(text.matches("the hub cannot be asked which cluster it is").count(), 1, "{text}");
    stop.cancel();
    running.await.unwrap().unwrap();
}
