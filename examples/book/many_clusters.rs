//! A program with a controller on each cluster of a fleet.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::operator::clusters::{OnCluster, SecretClusters};
use kube::operator::manager::Manager;
use kube::runtime::{Controller, controller::Action, watcher::Config};
use kube::{Api, Client, ResourceExt};
use std::sync::Arc;

/// What the controllers of all clusters share.
struct Shared {
    hub: Client,
}

/// Copies the data of each ConfigMap to the namespace of the hub that is named as its cluster. A namespace has no dot in its name, so each
/// map has a copy of its own.
async fn reconcile(map: Arc<ConfigMap>, context: Arc<OnCluster<Shared>>) -> Result<Action, kube::Error> {
    let cluster = context.cluster();
    let copies = Api::<ConfigMap>::namespaced(context.hub.clone(), cluster.name().name());
    let mut copy = ConfigMap { data: map.data.clone(), ..ConfigMap::default() };
    copy.metadata.name = Some(format!("{}.{}", map.namespace().unwrap_or_default(), map.name_any()));
    let params = kube::api::PatchParams::apply("copier").force();
    copies.patch(&copy.name_any(), &params, &kube::api::Patch::Apply(&copy)).await?;
    Ok(Action::await_change())
}

fn manager(hub: Client) -> Manager {
    // The Secrets of the namespace `fleet` with this label, each with a kubeconfig.
    let members = SecretClusters::new(hub.clone()).namespace("fleet").labels("example.com/fleet=prod");
    Manager::new(hub.clone()).clusters(members).controller_on_each(
        "maps",
        |cluster| {
            Controller::new(Api::<ConfigMap>::all(cluster.client()), Config::default().labels("copy=yes"))
        },
        reconcile,
        Arc::new(Shared { hub }),
    )
}
// ANCHOR_END: all

// ANCHOR: test
#[tokio::test]
async fn each_cluster_of_a_secret_is_copied() {
    use kube::operator::clusters::ClusterOptions;
    use kube_testserver::TestFleet;

    let fleet = TestFleet::new(["hub", "east"]);
    let client = |name: &str| Client::new(fleet.server(name).unwrap(), "default");
    let secret = r#"
apiVersion: v1
kind: Namespace
metadata: {name: fleet}
---
apiVersion: v1
kind: Namespace
metadata: {name: east}
---
apiVersion: v1
kind: Secret
metadata: {name: east, namespace: fleet, labels: {example.com/fleet: prod}}
stringData:
  kubeconfig: |
    {current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}],
     clusters: [{name: c, cluster: {server: 'https://east'}}], users: [{name: u, user: {token: t}}]}
"#;
    fleet.server("hub").unwrap().load(secret).unwrap();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {copy: 'yes'}}\ndata: {k: v}\n";
    fleet.server("east").unwrap().load(map).unwrap();

    let servers = fleet.clone();
    let options =
        ClusterOptions::new().connect(move |config| Client::with_transport(config, servers.clone()));
    let manager = manager(client("hub")).cluster_options(options);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(manager.run_until(async { stopped.await.unwrap_or_default() }));
    let copies = Api::<ConfigMap>::namespaced(client("hub"), "east");
    while copies.get_opt("default.a").await.unwrap().is_none() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}
// ANCHOR_END: test
