//! Sessions in a cluster of the user, for which a test server stands.

use k8s_openapi::api::coordination::v1::Lease;
use kube_core::DynamicObject;
use kube_core::discovery::ApiResource;
use serde_json::json;

use super::*;

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: op, namespace: ops }
spec:
  replicas: 0
  selector: { matchLabels: { app: op } }
  template:
    metadata: { labels: { app: op } }
    spec:
      serviceAccountName: op
      containers: [{ name: op, image: op, ports: [{ name: webhook, containerPort: 9443 }] }]
---
{ apiVersion: v1, kind: ServiceAccount, metadata: { name: op, namespace: ops } }
---
{ apiVersion: v1, kind: Namespace, metadata: { name: ops } }
---
";

const CALLED: &str = "
apiVersion: v1
kind: Service
metadata: { name: op, namespace: ops }
spec: { selector: { app: op }, ports: [{ name: webhook, port: 443, targetPort: webhook }] }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: op, labels: { installed: by } }
webhooks:
  - name: things.example.com
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
    clientConfig: { service: { name: op, namespace: ops } }
    rules: [{ apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things] }]
---
";

/// A definition with these versions, the last of which is stored.
fn definition(versions: &[&str]) -> String {
    let version = |name: &&str| {
        json!({
            "name": name, "served": true, "storage": Some(name) == versions.last(),
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { *name: { "type": "string" } } } },
        })
    };
    let versions: Vec<_> = versions.iter().map(version).collect();
    let names = json!({ "kind": "Thing", "plural": "things", "singular": "thing" });
    let spec = json!({ "group": "example.com", "scope": "Namespaced", "names": names, "versions": versions });
    let kind = "CustomResourceDefinition";
    let metadata = json!({ "name": "things.example.com" });
    let definition =
        json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec });
    format!("{definition}\n---\n")
}

async fn users_cluster() -> TestServer {
    TestServer::builder().with(BuiltInController::ServiceAccounts).with_rbac().tls().start().await.unwrap()
}

async fn session(server: &TestServer) -> Cluster {
    let admin = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    let reach = Some("192.0.2.7".parse().unwrap());
    Cluster::with(admin, None, Place::Cluster { reach }, None).await.unwrap()
}

async fn admin(server: &TestServer) -> Client {
    let config = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Applies what `kubectl apply --server-side` would.
async fn installed(server: &TestServer, text: &str) {
    let params = PatchParams::apply("kubectl");
    let applied = Applier::new(admin(server).await).apply(&Objects::parse(text).unwrap(), &params).await;
    applied.into_result().unwrap();
}

async fn register(cluster: &Cluster, text: &str) {
    let objects = Objects::parse(text).unwrap();
    let deployed = Deployed::read(objects.iter(), &[], cluster.place).unwrap();
    cluster.take_lease(&deployed).await.unwrap();
    cluster.apply_deployed(&deployed).await.unwrap();
    cluster.take_lease(&deployed).await.unwrap();
    cluster.write_operator_kubeconfig(&deployed).await.unwrap();
}

/// A session that was killed, and whose Lease has expired.
async fn killed(server: &TestServer, cluster: Cluster) {
    drop(cluster);
    let leases: Api<Lease> = Api::namespaced(admin(server).await, "ops");
    leases.delete("cargo-kube-dev-op", &Default::default()).await.unwrap();
}

async fn all(server: &TestServer, api_version: &str, kind: &str) -> Vec<DynamicObject> {
    let types = kube_core::TypeMeta { api_version: api_version.into(), kind: kind.into() };
    let resource = ApiResource::from_gvk(&types.try_into().unwrap());
    let api: Api<DynamicObject> = Api::all_with(admin(server).await, &resource);
    let objects = api.list(&Default::default()).await.unwrap().items;
    objects.into_iter().filter(|object| object.name_any().starts_with("op")).collect()
}

/// Labels, annotations and all fields of the kind.
fn content(objects: &[DynamicObject]) -> Vec<Value> {
    let content = |object: &DynamicObject| json!([object.labels(), object.annotations(), object.data]);
    objects.iter().map(content).collect()
}

const WEBHOOKS: (&str, &str) = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
const SERVICES: (&str, &str) = ("v1", "Service");
const ROLES: &str = "rbac.authorization.k8s.io/v1";
const SLICES: (&str, &str) = ("discovery.k8s.io/v1", "EndpointSlice");

/// Who owns which fields, without times.
fn owners(objects: &[DynamicObject]) -> Vec<Value> {
    let mut owners = Vec::new();
    for entry in objects.iter().flat_map(|object| object.metadata.managed_fields.iter().flatten()) {
        owners.push(json!([entry.manager, entry.operation, entry.fields_v1]));
    }
    owners
}

/// Otherwise the next release of the manifests would be refused, for fields that nobody uses any more.
#[tokio::test]
async fn fields_that_are_put_back_belong_to_whom_they_belonged_before() {
    let server = users_cluster().await;
    let newer = ROLE.replace("[get]", "[get, patch]");
    installed(&server, &[DEPLOYMENT, CALLED, &newer].concat()).await;
    let kinds = [WEBHOOKS, SERVICES, (ROLES, "ClusterRole")];
    let mut before = Vec::new();
    for (api_version, kind) in kinds {
        before.push(owners(&all(&server, api_version, kind).await));
    }
    let cluster = session(&server).await;
    for _change_of_the_sources in 0..2 {
        register(&cluster, &[DEPLOYMENT, CALLED, ROLE].concat()).await;
    }
    cluster.stop().await.unwrap();
    for ((api_version, kind), before) in kinds.into_iter().zip(before) {
        assert!(!before.is_empty());
        assert_eq!(owners(&all(&server, api_version, kind).await), before, "{kind}");
    }
    // Without `--force-conflicts`.
    installed(&server, &CALLED.replace("failurePolicy: Fail", "failurePolicy: Ignore")).await;
    server.shutdown().await;
}

/// A session that slept for a while ends after another one has begun.
#[tokio::test]
async fn what_another_session_has_replaced_stays_when_one_ends_that_has_lost_its_lease() {
    let server = users_cluster().await;
    installed(&server, &[DEPLOYMENT, CALLED].concat()).await;
    let before = content(&all(&server, WEBHOOKS.0, WEBHOOKS.1).await);
    let slept = session(&server).await;
    register(&slept, &[DEPLOYMENT, CALLED].concat()).await;
    let leases: Api<Lease> = Api::namespaced(admin(&server).await, "ops");
    leases.delete("cargo-kube-dev-op", &Default::default()).await.unwrap();
    let other = session(&server).await;
    register(&other, &[DEPLOYMENT, CALLED].concat()).await;
    let during = content(&all(&server, WEBHOOKS.0, WEBHOOKS.1).await);
    slept.stop().await.unwrap();
    assert_eq!(content(&all(&server, WEBHOOKS.0, WEBHOOKS.1).await), during);
    assert!(leases.get_opt("cargo-kube-dev-op").await.unwrap().is_some());
    other.stop().await.unwrap();
    assert_eq!(content(&all(&server, WEBHOOKS.0, WEBHOOKS.1).await), before);
    server.shutdown().await;
}

#[tokio::test]
async fn what_was_installed_is_put_back_and_what_was_not_is_deleted() {
    for is_installed in [true, false] {
        let server = users_cluster().await;
        installed(&server, DEPLOYMENT).await;
        if is_installed {
            installed(&server, CALLED).await;
        }
        let mut before = Vec::new();
        for (api_version, kind) in [WEBHOOKS, SERVICES] {
            before.push(content(&all(&server, api_version, kind).await));
        }
        // One that is killed, and one that ends.
        let killed = session(&server).await;
        register(&killed, &[DEPLOYMENT, CALLED].concat()).await;
        self::killed(&server, killed).await;
        let cluster = session(&server).await;
        for _change_of_the_sources in 0..2 {
            register(&cluster, &[DEPLOYMENT, CALLED].concat()).await;
        }
        let webhooks = all(&server, WEBHOOKS.0, WEBHOOKS.1).await;
        assert_eq!(webhooks[0].data["webhooks"][0]["failurePolicy"], "Ignore");
        let slices = all(&server, SLICES.0, SLICES.1).await;
        assert_eq!(slices[0].data["endpoints"][0]["addresses"][0], "192.0.2.7");

        cluster.stop().await.unwrap();
        for ((api_version, kind), before) in [WEBHOOKS, SERVICES].into_iter().zip(before) {
            assert_eq!(content(&all(&server, api_version, kind).await), before, "{kind}");
            assert_eq!(before.len(), usize::from(is_installed));
        }
        assert!(all(&server, SLICES.0, SLICES.1).await.is_empty());
        server.shutdown().await;
    }
}

const ROLE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: op }
rules: [{ apiGroups: [example.com], resources: [things], verbs: [get] }]
---
";

#[tokio::test]
async fn what_others_have_changed_meanwhile_stays() {
    let server = users_cluster().await;
    installed(&server, &[DEPLOYMENT, CALLED].concat()).await;
    let cluster = session(&server).await;
    register(&cluster, &[DEPLOYMENT, CALLED].concat()).await;
    let services: Api<k8s_openapi::api::core::v1::Service> = Api::namespaced(admin(&server).await, "ops");
    let change =
        json!({ "metadata": { "labels": { "release": "next" } }, "spec": { "sessionAffinity": "ClientIP" } });
    services.patch("op", &PatchParams::default(), &kube_client::api::Patch::Merge(change)).await.unwrap();
    cluster.stop().await.unwrap();
    let service = services.get("op").await.unwrap();
    let spec = service.spec.clone().unwrap();
    assert_eq!(spec.selector.unwrap()["app"], "op", "of the session");
    assert_eq!(
        (spec.session_affinity.unwrap().as_str(), service.labels()["release"].as_str()),
        ("ClientIP", "next")
    );
    assert!(service.annotations().is_empty(), "{service:?}");
    server.shutdown().await;
}

/// The operator of the session, or cert-manager, injects a CA into the webhooks.
#[tokio::test]
async fn a_ca_that_was_injected_is_no_change_of_others() {
    for is_installed in [true, false] {
        let server = users_cluster().await;
        installed(&server, DEPLOYMENT).await;
        if is_installed {
            installed(&server, CALLED).await;
        }
        let cluster = session(&server).await;
        register(&cluster, &[DEPLOYMENT, CALLED].concat()).await;
        let resource = ApiResource::erase::<
            k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration,
        >(&());
        let webhooks: Api<DynamicObject> = Api::all_with(admin(&server).await, &resource);
        let mut object = webhooks.get("op").await.unwrap();
        object.data["webhooks"][0]["clientConfig"]["caBundle"] = json!("eA==");
        webhooks.replace("op", &Default::default(), &object).await.unwrap();
        cluster.stop().await.unwrap();
        let left = all(&server, WEBHOOKS.0, WEBHOOKS.1).await;
        let policies: Vec<_> = left.iter().map(|it| &it.data["webhooks"][0]["failurePolicy"]).collect();
        assert_eq!(policies.len(), usize::from(is_installed));
        assert!(policies.iter().all(|policy| **policy == "Fail"), "{policies:?}");
        server.shutdown().await;
    }
}

/// An object of the sources is refused after others were applied.
#[tokio::test]
async fn a_registration_that_fails_is_put_back_too() {
    let server = users_cluster().await;
    installed(&server, &[DEPLOYMENT, CALLED].concat()).await;
    let before = content(&all(&server, WEBHOOKS.0, WEBHOOKS.1).await);
    let cluster = session(&server).await;
    register(&cluster, &[DEPLOYMENT, CALLED].concat()).await;
    let refused = "{apiVersion: v1, kind: ConfigMap, metadata: {name: op, namespace: none}}\n---\n";
    let text = [DEPLOYMENT, &CALLED.replace("[CREATE]", "[CREATE, UPDATE]"), refused].concat();
    let objects = Objects::parse(&text).unwrap();
    let deployed = Deployed::read(objects.iter(), &[], cluster.place).unwrap();
    cluster.apply_deployed(&deployed).await.unwrap_err();
    cluster.stop().await.unwrap();
    assert_eq!(content(&all(&server, WEBHOOKS.0, WEBHOOKS.1).await), before);
    server.shutdown().await;
}

#[tokio::test]
async fn roles_that_are_there_are_put_back_and_others_stay() {
    let server = users_cluster().await;
    let newer = ROLE.replace("[get]", "[get, patch]");
    installed(&server, &[DEPLOYMENT, &newer].concat()).await;
    let before = content(&all(&server, "rbac.authorization.k8s.io/v1", "ClusterRole").await);
    let cluster = session(&server).await;
    let binding = ROLE.replace("name: op", "name: op-new");
    register(&cluster, &[DEPLOYMENT, ROLE, &binding].concat()).await;
    // The sources change: the role that was not there is as they say now.
    register(&cluster, &[DEPLOYMENT, ROLE, &binding.replace("[get]", "[get, list]")].concat()).await;
    cluster.stop().await.unwrap();
    let after = content(&all(&server, "rbac.authorization.k8s.io/v1", "ClusterRole").await);
    assert_eq!((&after[0], after.len()), (&before[0], 2));
    assert_eq!(after[1][2]["rules"][0]["verbs"], json!(["get", "list"]));
    server.shutdown().await;
}

/// The next one has other sources: nothing of them is called.
#[tokio::test]
async fn what_a_killed_session_has_left_is_put_back_at_the_begin_of_the_next_one() {
    let server = users_cluster().await;
    installed(&server, &[DEPLOYMENT, CALLED].concat()).await;
    let before = content(&all(&server, WEBHOOKS.0, WEBHOOKS.1).await);
    let killed = session(&server).await;
    register(&killed, &[DEPLOYMENT, CALLED].concat()).await;
    self::killed(&server, killed).await;
    let cluster = session(&server).await;
    register(&cluster, DEPLOYMENT).await;
    assert_eq!(content(&all(&server, WEBHOOKS.0, WEBHOOKS.1).await), before);
    assert!(all(&server, SLICES.0, SLICES.1).await.is_empty());
    cluster.stop().await.unwrap();
    server.shutdown().await;
}

#[tokio::test]
async fn definitions_of_older_sources_take_nothing_from_newer_ones() {
    let server = users_cluster().await;
    installed(&server, &[DEPLOYMENT, &definition(&["v1", "v2"])].concat()).await;
    let cluster = session(&server).await;
    register(&cluster, &[DEPLOYMENT, &definition(&["v1"])].concat()).await;
    cluster.stop().await.unwrap();
    let definitions: Api<DynamicObject> = Api::all_with(
        admin(&server).await,
        &ApiResource::erase::<
            k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        >(&()),
    );
    let definition = definitions.get("things.example.com").await.unwrap();
    let versions = definition.data["spec"]["versions"].as_array().unwrap();
    let shown: Vec<_> = versions.iter().map(|version| (&version["name"], &version["storage"])).collect();
    assert!(shown.contains(&(&json!("v2"), &json!(true))), "{shown:?}");
    server.shutdown().await;
}

#[tokio::test]
async fn the_operator_runs_by_a_token_in_a_file_that_is_renewed() {
    let server = users_cluster().await;
    let cluster = session(&server).await;
    register(&cluster, DEPLOYMENT).await;
    let config = Kubeconfig::read_from(cluster.operator_kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    assert_eq!(config.default_namespace, "ops");
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
        Api::default_namespaced(Client::try_from(config).unwrap());
    let refused = accounts.list(&Default::default()).await.unwrap_err().to_string();
    assert!(refused.contains("system:serviceaccount:ops:op"), "{refused}");
    cluster.stop().await.unwrap();
    server.shutdown().await;
}
