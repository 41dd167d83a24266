//! The parts of the texts that depend on whether the operator works on other clusters.

use crate::cli::project::description::Clusters;

/// Placeholders, which have others in them: they come first.
pub(super) fn values(clusters: Option<Clusters>) -> Vec<(&'static str, String)> {
    let either = |alone: &'static str, many: &'static str| -> String {
        let text = if clusters.is_some() { many } else { alone };
        text.to_owned()
    };
    let entry = clusters.map(|clusters| format!("clusters = \"{clusters}\"\n"));
    vec![
        ("CLUSTERS_ENTRY", entry.unwrap_or_default()),
        ("CLUSTERS_README", either("", README)),
        ("CLUSTERS_IMPORT", either("", "        clusters::SecretClusters,\n")),
        ("CLUSTERS", either("", CLUSTERS)),
        ("FOR_MEMBERS", either("", "    manifests = manifests.for_members(NAME);\n")),
        ("OPERATOR", either("    operator::manager::{Manager, Writes},\n", OPERATOR)),
        ("CONTROLLER", either(CONTROLLER, "    let controller = controller_of(client);\n")),
        ("ON_MEMBERS", either("", ON_MEMBERS)),
        ("MEMBERS", either("", MEMBERS)),
        ("TEST_IMPORTS", either(TEST_IMPORTS, TEST_IMPORTS_OF_MANY)),
        ("MEMBER_TEST", either("", TEST)),
    ]
}

const README: &str = "\
## Other clusters

The operator does the same on each cluster whose kubeconfig is in a Secret of its namespace, `__NAME__`, in the key `kubeconfig`,
with the label `sigs.k8s.io/multicluster-runtime-kubeconfig=true`. Such a cluster needs the definitions, and the kubeconfig the
namespace `__NAME__` and a user with the roles of `deploy/members`, such as a token of the ServiceAccount `__NAME__` there:

```sh
kubectl --context EAST apply --server-side -f deploy/base/customresourcedefinition-__PLURAL__.__GROUP__.yaml
kubectl --context EAST apply -f deploy/members/install.yaml
```

Then a Secret on the operator's own cluster makes it one of its clusters:

```sh
(umask 077; kubectl config view --context EAST --minify --flatten > east.yaml)
kubectl --kubeconfig east.yaml config unset users   # not those of an administrator
kubectl --kubeconfig east.yaml config set-credentials __NAME__ \\
  --token=\"$(kubectl --context EAST -n __NAME__ create token __NAME__ --duration=8760h)\"
kubectl --kubeconfig east.yaml config set-context --current --user=__NAME__ --namespace=__NAME__
kubectl -n __NAME__ create secret generic east --from-file=kubeconfig=east.yaml
kubectl -n __NAME__ label secret east sigs.k8s.io/multicluster-runtime-kubeconfig=true
rm east.yaml
```

`cargo run -- --embedded` and `cargo kube dev` have no other clusters; a test in `tests/operator.rs` has one.

Webhooks and conversions are those of the operator's own cluster only, because others cannot call it. A definition with a
conversion (`cargo kube add version`) needs this there, after each time that it is applied:

```sh
kubectl --context EAST patch customresourcedefinition __PLURAL__.__GROUP__ --type=json \\
  --patch='[{\"op\": \"remove\", \"path\": \"/spec/conversion\"}]'
```

";

const CLUSTERS: &str = "    \
    // The other clusters: those whose kubeconfigs are in Secrets of this namespace.
    let clusters = SecretClusters::new(client.clone()).namespace(client.default_namespace());
    manager = manager.clusters(clusters);
";

const OPERATOR: &str = "    \
    operator::{
        clusters::{Cluster, OnCluster},
        manager::{Manager, Writes},
    },
";

const CONTROLLER: &str = "    \
    // Only the children, not all ConfigMaps.
    let children = Config::default().labels(&format!(\"app.kubernetes.io/managed-by={NAME}\"));
    let controller = Controller::new(objects.clone(), Config::default())
        .owns(maps.clone(), children)
        // What a reconcile writes itself does not start another.
        .with_config(kube::runtime::Config::default().skip_own_writes());
";

const ON_MEMBERS: &str = "        \
        .controller_on_each(
            \"__PLURAL__-of-members\",
            |cluster| controller_of(&cluster.client()),
            reconcile_on,
            Arc::new(()),
        )
        .writes_on_each(objects_of, Writes::Status)
        .writes_on_each(objects_of, Writes::OwnerReferences)
        .writes_on_each(maps_of, Writes::Objects)
";

const MEMBERS: &str = "
/// The controller of one cluster.
fn controller_of(client: &Client) -> Controller<__KIND__> {
    let maps: Api<ConfigMap> = Api::__MAPS__(client.clone());
    // Only the children, not all ConfigMaps.
    let children = Config::default().labels(&format!(\"app.kubernetes.io/managed-by={NAME}\"));
    Controller::new(Api::all(client.clone()), Config::default())
        .owns(maps, children)
        // What a reconcile writes itself does not start another.
        .with_config(kube::runtime::Config::default().skip_own_writes())
}

fn objects_of(cluster: &Cluster) -> Api<__KIND__> {
    Api::all(cluster.client())
}

fn maps_of(cluster: &Cluster) -> Api<ConfigMap> {
    Api::__MAPS__(cluster.client())
}

/// The same on another cluster, with the client of that.
async fn reconcile_on(object: Arc<__KIND__>, on: Arc<OnCluster<()>>) -> Result<Action, Error> {
    let client = on.cluster().client();
    reconcile(object, Arc::new(Context { client })).await
}
";

const TEST_IMPORTS: &str = "\
use kube::{
    Api, ApiExt, Client, ResourceExt, api::DynamicObject, client::Body,
    operator::rbac::RbacRecorder, wait::WaitFor, yaml::Applier,
};
use kube_testserver::ApiServer;
";

const TEST_IMPORTS_OF_MANY: &str = "\
use kube::{
    Api, ApiExt, Client, ResourceExt,
    api::DynamicObject,
    client::Body,
    operator::{clusters::ClusterOptions, rbac::RbacRecorder},
    wait::WaitFor,
    yaml::{Applier, Objects},
};
use kube_testserver::{ApiServer, TestFleet};
use serde_json::json;
";

const TEST: &str = r#"
/// With the definitions and what is in `deploy/members`, whose roles permit all requests.
#[tokio::test]
async fn on_a_cluster_whose_kubeconfig_is_in_a_secret_the_samples_become_ready() {
    let servers = TestFleet::new(["hub", "east"]);
    for name in ["hub", "east"] {
        servers.insert(name, embedded::server().service().unwrap());
    }
    let client = |name: &str| Client::new(servers.server(name).unwrap(), NAME);
    let (hub, east) = (client("hub"), client("east"));
    embedded::install(&hub).await.unwrap();
    embedded::apply(&hub, &secret()).await.unwrap();
    embedded::apply(&east, &of_member()).await.unwrap();
    let samples = embedded::samples().unwrap();
    embedded::apply(&east, &samples).await.unwrap();

    let (recorder, transport) = (RbacRecorder::default(), servers.clone());
    let recorded = recorder.clone();
    let options = ClusterOptions::new()
        .connect(move |config| Client::with_transport(config, recorded.layer(transport.clone())));
    let addresses = Addresses::at(Ipv4Addr::LOCALHOST);
    let manager = manager(hub, addresses).cluster_options(options);
    let (stop, stopped) = oneshot::channel::<()>();
    let manager = manager.without_servers();
    let running = tokio::spawn(manager.run_until(async { drop(stopped.await) }));
    for (resource, sample) in Applier::new(east.clone()).resolve(&samples).await.unwrap() {
        let objects: Api<DynamicObject> = match sample.namespace() {
            Some(namespace) => Api::namespaced_with(east.clone(), &namespace, &resource),
            None => Api::all_with(east.clone(), &resource),
        };
        let (name, ready) = (sample.name_any(), WaitFor::condition("Ready"));
        let reconciled = objects.wait_for(&name, &ready, LIMIT).await;
        reconciled.unwrap_or_else(|error| panic!("{error}"));
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();

    let granted = manifests(NAME).unwrap().granted_on_members().unwrap();
    let recorded = recorder
        .permissions()
        .with_resource_names()
        .in_namespace(NAME);
    let missing = recorded.missing_from(&granted);
    assert!(
        missing.is_empty(),
        "the roles of members lack:
{}",
        missing.to_yaml(NAME)
    );
}

/// What makes `east` a cluster of the operator.
fn secret() -> Objects {
    let kubeconfig = json!({
        "current-context": "east",
        "contexts": [{
            "name": "east",
            "context": { "cluster": "east", "user": "u", "namespace": NAME },
        }],
        "clusters": [{ "name": "east", "cluster": { "server": "https://east" } }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
    });
    let mut objects = Objects::default();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "east",
            "namespace": NAME,
            "labels": { "sigs.k8s.io/multicluster-runtime-kubeconfig": "true" },
        },
        "stringData": { "kubeconfig": kubeconfig.to_string() },
    });
    objects.add(&secret).unwrap();
    objects
}

/// What another cluster has before the operator works there.
fn of_member() -> Objects {
    let manifests = manifests(NAME).unwrap();
    let mut definitions = manifests.objects().unwrap();
    definitions.retain(|object| object["kind"] == "CustomResourceDefinition");
    let mut objects = Objects::default();
    for mut object in definitions {
        // Another cluster cannot call the operator.
        object["spec"].as_object_mut().unwrap().remove("conversion");
        objects.add(&object).unwrap();
    }
    for object in manifests.member_objects().unwrap() {
        objects.add(&object).unwrap();
    }
    objects
}
"#;
