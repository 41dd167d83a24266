//! Providers that have something that cannot be used, or cannot be read themselves.

use crate::{
    clusters::{Requests, cluster, config, hub, kubeconfig, maps, name, options, reconcile, secret, state},
    manager::{Log, run, seconds},
    manager_logs::capture_log,
};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube_client::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use kube_operator::{
    clusters::{ClusterEvent, ClusterSpec, ClusterState, Clusters, Fleet, SecretClusters},
    manager::{Manager, ManagerError},
};
use kube_testserver::TestFleet;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use std::{convert::Infallible, sync::Arc};
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

/// The value of a gauge without labels now.
fn gauge(snapshotter: &Snapshotter, name: &str) -> f64 {
    let metrics = snapshotter.snapshot().into_vec().into_iter();
    let mut values = metrics.filter(|(key, ..)| key.key().name() == name);
    let Some((.., DebugValue::Gauge(value))) = values.next() else { panic!("{name}") };
    value.into_inner()
}

struct Started {
    snapshotter: Snapshotter,
    fleet: Fleet,
    stop: CancellationToken,
    running: JoinHandle<Result<(), ManagerError>>,
    _recorder: metrics::LocalRecorderGuard<'static>,
}

impl Started {
    async fn new(hub: Client, servers: &TestFleet, clusters: impl Into<Clusters>) -> Self {
        let recorder: &'static DebuggingRecorder = Box::leak(Box::default());
        let _recorder = metrics::set_default_local_recorder(recorder);
        let manager = Manager::new(hub)
            .cluster_options(options(servers, &Requests::default()))
            .clusters(clusters)
            .controller_on_each("maps", maps, reconcile, Arc::new(Log::default()));
        let fleet = manager.fleet();
        let (stop, running) = run(manager);
        sleep(seconds(12)).await;
        Self { snapshotter: recorder.snapshotter(), fleet, stop, running, _recorder }
    }

    fn unusable(&self) -> f64 {
        gauge(&self.snapshotter, "kube_operator_clusters_unusable")
    }

    async fn end(mut self) {
        self.stop.cancel();
        (&mut self.running).await.unwrap().unwrap();
        assert_eq!(self.unusable(), 0.0);
    }
}

/// A rotation that breaks the Secret would be found when the token expires, and a Secret that never was right not at all.
#[tokio::test(start_paused = true)]
async fn a_secret_that_cannot_be_used_is_counted_and_one_that_could_before_is_outdated() {
    let (servers, hub) = (TestFleet::new(["east"]), hub());
    let secrets: Api<Secret> = Api::default_namespaced(hub.clone());
    let create = async |secret: Secret| drop(secrets.create(&PostParams::default(), &secret).await.unwrap());
    let replace = async |secret: Secret| {
        let name = secret.metadata.name.clone().unwrap();
        secrets.replace(&name, &PostParams::default(), &secret).await.unwrap();
        sleep(seconds(5)).await;
    };
    let usable = || kubeconfig("east", r#"{"token": "one"}"#);
    create(secret("east", usable())).await;
    create(secret("empty", None)).await;
    let long = "n".repeat(64);
    create(secret(&long, usable())).await;
    let clusters = SecretClusters::new(hub.clone()).labels("fleet=yes").key("value");
    let (lines, _guard) = capture_log();
    let started = Started::new(hub.clone(), &servers, clusters).await;
    assert!(lines.text().contains(&long), "{}", lines.text());
    assert_eq!(
        (started.unusable(), started.fleet.statuses().len()),
        (1.0, 1),
        "one that can be no cluster is in the log only"
    );

    replace(secret("east", kubeconfig("east", r#"{"exec": {"command": "rm"}}"#))).await;
    let status = started.fleet.status(&name("default/east")).unwrap();
    let outdated = status.outdated.unwrap();
    assert!(outdated.contains("Secret default/east") && outdated.contains("exec"), "{outdated}");
    assert_eq!((status.state, started.unusable()), (ClusterState::Synced, 1.0));
    sleep(seconds(2)).await; // a snapshot takes the values away
    assert_eq!(gauge(&started.snapshotter, "kube_operator_clusters_outdated"), 1.0);

    replace(secret("east", usable())).await;
    assert_eq!(started.fleet.status(&name("default/east")).unwrap().outdated, None);
    secrets.delete(&long, &DeleteParams::default()).await.unwrap();
    sleep(seconds(5)).await;
    assert_eq!(started.unusable(), 1.0);
    replace(secret("empty", usable())).await;
    assert_eq!(started.unusable(), 0.0, "it is a name for one that another has, which is a cluster");
    assert_eq!(state(&started.fleet, "default/empty"), Some(ClusterState::Failed));
    started.end().await;
}

/// As Secrets: what is there and no cluster.
#[tokio::test(start_paused = true)]
async fn files_and_contexts_that_cannot_be_used_are_counted() {
    let servers = TestFleet::new(["east"]);
    let folder = tempfile::tempdir().unwrap();
    for file in ["east.yaml", "a b.yaml"] {
        std::fs::write(folder.path().join(file), "no kubeconfig").unwrap();
    }
    let started = Started::new(hub(), &servers, Clusters::directory(folder.path())).await;
    assert_eq!(started.unusable(), 1.0, "the name of the other can be that of no cluster");
    std::fs::remove_file(folder.path().join("east.yaml")).unwrap();
    sleep(seconds(12)).await;
    assert_eq!(started.unusable(), 0.0);
    started.end().await;

    let contexts =
        r#"{"contexts": [{"name": "a b", "context": {"cluster": "c", "user": "u"}}, {"name": "x"}]}"#;
    let contexts = Clusters::contexts("the test", serde_json::from_str(contexts).unwrap());
    let started = Started::new(hub(), &servers, contexts).await;
    assert_eq!(started.unusable(), 1.0);
    started.end().await;
}

/// An alert would last for what the program does not want.
#[tokio::test(start_paused = true)]
async fn a_secret_whose_labels_do_not_match_is_not_counted() {
    let (servers, hub) = (TestFleet::new(["east"]), hub());
    let secrets: Api<Secret> = Api::default_namespaced(hub.clone());
    for (text, stage) in [("east", "test"), ("west", "production")] {
        let mut secret = secret(text, None);
        secret.metadata.labels.get_or_insert_default().insert("stage".into(), stage.into());
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }
    let clusters: Clusters = SecretClusters::new(hub.clone()).labels("fleet=yes").key("value").into();
    let clusters = clusters.matching("stage".parse().unwrap()).matching("stage=production".parse().unwrap());
    let started = Started::new(hub, &servers, clusters).await;
    assert_eq!(started.unusable(), 1.0);
    started.end().await;
}

const FAILING: &str = "kube_operator_cluster_providers_failing";

/// No addition, rotation or removal would be seen.
#[tokio::test(start_paused = true)]
async fn a_directory_that_cannot_be_read_is_a_failing_provider_until_it_can() {
    let servers = TestFleet::new(["east"]);
    let folder = tempfile::tempdir().unwrap();
    let (lines, _guard) = capture_log();
    let started = Started::new(hub(), &servers, Clusters::directory(folder.path())).await;
    assert_eq!(gauge(&started.snapshotter, FAILING), 0.0);
    let moved = folder.path().with_extension("moved");
    std::fs::rename(folder.path(), &moved).unwrap();
    sleep(seconds(12)).await;
    assert_eq!(gauge(&started.snapshotter, FAILING), 1.0);
    std::fs::rename(&moved, folder.path()).unwrap();
    sleep(seconds(12)).await;
    assert_eq!(gauge(&started.snapshotter, FAILING), 0.0);
    let text = lines.text();
    assert!(!text.contains("a cluster cannot be used") && text.contains("can be read again"), "{text}");
    started.end().await;
}

/// It is not asked again: what there is is never known.
#[tokio::test(start_paused = true)]
async fn a_provider_that_panicked_is_a_failing_one_and_its_clusters_stay() {
    let servers = TestFleet::new(["east"]);
    let events = stream::iter([false, true]).map(|panics| match panics {
        false => Ok::<_, Infallible>(cluster("east").into()),
        true => panic!("no inventory"),
    });
    let (lines, _guard) = capture_log();
    let started = Started::new(hub(), &servers, Clusters::new("the inventory", events)).await;
    sleep(seconds(60)).await;
    assert_eq!(gauge(&started.snapshotter, FAILING), 1.0);
    let is_known = (started.fleet.providers_have_synced(), state(&started.fleet, "east"));
    assert_eq!(is_known, (false, Some(ClusterState::Synced)));
    let text = lines.text();
    let line = text.lines().find(|line| line.contains("it panicked: no inventory")).unwrap();
    assert!(line.contains("the inventory") && line.contains("a provider of clusters ends"), "{line}");
    started.end().await;
}

/// A task that panics drops its sender, before it has sent all clusters.
#[tokio::test(start_paused = true)]
async fn a_channel_whose_sender_is_dropped_has_not_said_that_it_is_complete() {
    let servers = TestFleet::new(["east"]);
    for says_so in [false, true] {
        let (sender, clusters) = Clusters::channel();
        sender.send(cluster("east").into()).await.unwrap();
        if says_so {
            sender.send(ClusterEvent::InitDone).await.unwrap();
        }
        drop(sender);
        let (lines, _guard) = capture_log();
        let started = Started::new(hub(), &servers, clusters).await;
        let synced = (started.fleet.providers_have_synced(), state(&started.fleet, "east"));
        assert_eq!(synced, (says_so, Some(ClusterState::Synced)));
        sleep(seconds(60)).await;
        let failing = u8::from(!says_so);
        assert_eq!(gauge(&started.snapshotter, FAILING), f64::from(failing));
        let text = lines.text();
        let said = text.matches("dropped before it sent ClusterEvent::InitDone").count();
        assert_eq!(said, usize::from(failing), "{text}");
        started.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_twice_in_a_list_is_an_error_and_the_first_is_used() {
    let servers = TestFleet::new(["east", "west"]);
    let (lines, _guard) = capture_log();
    let twice = ["east", "west"].map(|host| ClusterSpec::new(name("x"), config(host, "one")));
    let started = Started::new(hub(), &servers, Clusters::fixed(twice)).await;
    let client = started.fleet.cluster(&name("x")).unwrap().client();
    assert!(client.has_server_of(&config("east", "one")));
    let expected = "cluster x of the fixed list is not used: an earlier entry has announced this name before";
    assert!(lines.text().contains(expected), "{}", lines.text());
    assert!(started.fleet.providers_have_synced());
    started.end().await;
}
