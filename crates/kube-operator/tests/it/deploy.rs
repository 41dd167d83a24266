//! The manifests in `deploy/`: a server accepts them, and their roles permit what an operator does and nothing else.

use futures::StreamExt;
use http::{HeaderValue, Request};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Secret},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{Api, Client, Error, client::Body};
use kube_core::{
    ApiResource, DynamicObject, Resource,
    params::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_operator::{
    apply::{Apply, ApplyError, InvalidChild},
    leader_election::{Config, LeaderElector},
    webhook::certificates::{CertificateSource, SelfSigned},
};
use kube_runtime::{
    Controller,
    controller::Action,
    events::{Event, EventType, Recorder, Reporter},
    watcher,
};
use kube_testserver::ApiServer;
use kube_tools::crds::install;
use serde_json::json;
use std::{fs, path::PathBuf, sync::Arc, time::Duration};
use tokio::time::timeout;
use tower::{ServiceExt, service_fn};

const NAMESPACE: &str = "my-operator";

pub(crate) fn manifest(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/manifests").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn named<K: Default + Resource>(name: &str) -> K {
    let mut object = K::default();
    object.meta_mut().name = Some(name.to_owned());
    object
}

/// A client that acts as a service account.
fn account(server: &ApiServer, name: &str) -> Client {
    let (server, user) = (server.clone(), format!("system:serviceaccount:{NAMESPACE}:{name}"));
    let service = service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert("impersonate-user", HeaderValue::from_str(&user).unwrap());
        server.clone().oneshot(request)
    });
    Client::new(service, NAMESPACE)
}

/// Applies each object of a manifest. A field that the server does not know is an error.
async fn apply(client: &Client, yaml: &str) -> usize {
    let documents: Vec<_> = yaml.split("\n---\n").collect();
    for document in &documents {
        let field = |name: &str| {
            document
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
                .unwrap_or_default()
                .to_owned()
        };
        let (version, name) = (field("apiVersion:"), field("  name:"));
        let collection = match field("kind:").as_str() {
            "NetworkPolicy" => "networkpolicies".to_owned(),
            kind => format!("{}s", kind.to_lowercase()),
        };
        let namespace = match field("  namespace:") {
            none if none.is_empty() => String::new(),
            namespace => format!("namespaces/{namespace}/"),
        };
        let group =
            if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let path = format!("{group}/{namespace}{collection}/{name}?fieldManager=test&fieldValidation=Strict");
        let request = Request::patch(&path).header("content-type", "application/apply-patch+yaml");
        let applied = client.request_text(request.body(document.as_bytes().to_vec()).unwrap()).await;
        applied.unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    documents.len()
}

fn pages() -> ApiResource {
    serde_json::from_value(json!({
        "group": "example.com", "version": "v1", "api_version": "example.com/v1", "kind": "Page", "plural": "pages",
    }))
    .unwrap()
}

fn definition() -> CustomResourceDefinition {
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
    });
    serde_json::from_value(json!({
        "metadata": { "name": "pages.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": { "kind": "Page", "plural": "pages", "singular": "page" },
        },
    }))
    .unwrap()
}

async fn installed() -> (ApiServer, Client) {
    let server = ApiServer::builder().with_rbac().service().unwrap();
    let admin = Client::new(server.clone(), NAMESPACE);
    assert_eq!(apply(&admin, &manifest("registration.yaml")).await, 4);
    assert_eq!(apply(&admin, &manifest("operator.yaml")).await, 8);
    assert_eq!(apply(&admin, &manifest("network-policy.yaml")).await, 1);
    (server, admin)
}

#[track_caller]
fn forbidden<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(result.as_ref().is_err_and(|error| error.is_forbidden()), "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn registration_and_run_time_have_roles_of_their_own() {
    let (server, _admin) = installed().await;
    let (registration, operator) =
        (account(&server, "my-operator-registration"), account(&server, "my-operator"));
    forbidden(Api::all(operator.clone()).create(&PostParams::default(), &definition()).await);
    install(&registration, "registration", [definition()]).await.unwrap();
    assert_eq!(apply(&registration, &manifest("webhooks.yaml")).await, 2);
    forbidden(Api::<Secret>::all(registration.clone()).list(&ListParams::default()).await);
    forbidden(Api::<DynamicObject>::all_with(registration, &pages()).list(&ListParams::default()).await);

    // What the operator needs for the CA bundle of its webhooks, and nothing else of them.
    let certificate = SelfSigned::new(operator.clone(), NAMESPACE, "my-operator")
        .validating("my-operator")
        .mutating("my-operator")
        .crd("pages.example.com");
    drop(certificate.start().await.unwrap());
    let bundle = Patch::Merge(json!({ "metadata": { "annotations": { "patched": "yes" } } }));
    let of_operator: Api<CustomResourceDefinition> = Api::all(operator.clone());
    forbidden(of_operator.delete("pages.example.com", &DeleteParams::default()).await);
    forbidden(of_operator.patch("other.example.com", &PatchParams::default(), &bundle).await);
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum ReconcileError {
    Request(#[from] Error),
    Owner(#[from] InvalidChild),
    Child(#[from] ApplyError),
}

/// What a reconciler does: finalizer, owned object, status, event.
async fn reconcile(page: Arc<DynamicObject>, client: Arc<Client>) -> Result<Action, ReconcileError> {
    let (kind, namespace) = (pages(), page.metadata.namespace.clone().unwrap_or_default());
    let name = page.metadata.name.clone().unwrap_or_default();
    let objects: Api<DynamicObject> = Api::namespaced_with((*client).clone(), &namespace, &kind);
    let finalizer = json!({ "metadata": { "finalizers": ["example.com/cleanup"] } });
    objects.patch(&name, &PatchParams::default(), &Patch::Merge(finalizer)).await?;
    let manager = PatchParams::apply("my-operator").force();
    let mut child = named::<ConfigMap>(&name);
    child.data = Some([("of".to_owned(), name.clone())].into());
    Apply::owned_by_with((*client).clone(), "my-operator", &*page, &kind)?.apply(&child).await?;
    let status = json!({ "apiVersion": "example.com/v1", "kind": "Page", "status": { "ready": true } });
    objects.patch_status(&name, &manager, &Patch::Apply(status)).await?;
    let event = Event {
        type_: EventType::Normal,
        reason: "Reconciled".into(),
        note: None,
        action: "Reconcile".into(),
        secondary: None,
    };
    Recorder::new((*client).clone(), Reporter::from("example.com/my-operator"))
        .publish(&event, &page.object_ref(&kind))
        .await?;
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn the_role_of_the_operator_is_enough_to_lead_and_to_reconcile() {
    let (server, admin) = installed().await;
    Api::all(admin.clone()).create(&PostParams::default(), &definition()).await.unwrap();
    let shop: k8s_openapi::api::core::v1::Namespace = named("shop");
    Api::all(admin.clone()).create(&PostParams::default(), &shop).await.unwrap();
    let page = DynamicObject::new("home", &pages());
    Api::namespaced_with(admin, "shop", &pages()).create(&PostParams::default(), &page).await.unwrap();

    let operator = account(&server, "my-operator");
    let elector = LeaderElector::start(operator.clone(), Config::new("my-operator", NAMESPACE)).unwrap();
    elector.wait_for_leadership().await.unwrap();
    let output = Controller::new_with(
        Api::<DynamicObject>::all_with(operator.clone(), &pages()),
        watcher::Config::default(),
        pages(),
    )
    .owns(Api::<ConfigMap>::all(operator.clone()), watcher::Config::default())
    .run(reconcile, |_, _, _| Action::await_change(), Arc::new(operator.clone()));
    let mut output = Box::pin(output);
    let (object, _) = timeout(Duration::from_secs(60), output.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(object.name, "home");
    drop(output);
    elector.release().await;

    forbidden(
        Api::<DynamicObject>::namespaced_with(operator.clone(), "shop", &pages())
            .delete("home", &DeleteParams::default())
            .await,
    );
    forbidden(Api::<Secret>::namespaced(operator.clone(), "shop").list(&ListParams::default()).await);
    forbidden(Api::<Secret>::namespaced(operator.clone(), NAMESPACE).get("other").await);
    forbidden(Api::<Lease>::namespaced(operator.clone(), "kube-system").get("my-operator").await);
    forbidden(Api::<ConfigMap>::namespaced(operator, "shop").delete("home", &DeleteParams::default()).await);
}
