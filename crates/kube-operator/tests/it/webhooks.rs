//! An API server calls the webhooks: validation, mutation, and conversion between two versions, with a self-signed certificate.

use std::time::Duration;

use k8s_openapi::{
    api::{
        admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
        core::v1::Service,
        discovery::v1::EndpointSlice,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{
    Api, Client, Error,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_core::{CustomResourceExt, ResourceExt, admission::AdmissionRequest, crd::merge_crds};
use kube_derive::CustomResource;
use kube_operator::webhook::{
    Denial, Versions, WebhookServer, Webhooks, certificates::SelfSigned, mutate_path, validate_path,
};
use kube_testserver::ApiServer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{sync::oneshot, task::JoinHandle};

mod v1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Page", namespaced, crates(kube_core = kube_core))]
    pub(crate) struct PageSpec {
        /// Width and height: `640x480`.
        pub(crate) size: String,
    }
}

mod v2 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "example.com", version = "v2", kind = "Page", namespaced, crates(kube_core = kube_core))]
    pub(crate) struct PageSpec {
        pub(crate) width: u32,
        pub(crate) height: u32,
    }
}

impl TryFrom<v1::Page> for v2::Page {
    type Error = String;

    fn try_from(page: v1::Page) -> Result<Self, String> {
        let side = |side: &str| {
            side.parse().map_err(|_| format!("spec.size: expected 640x480, found {:?}", page.spec.size))
        };
        let (width, height) = page.spec.size.split_once('x').unwrap_or((&page.spec.size, ""));
        let spec = v2::PageSpec { width: side(width)?, height: side(height)? };
        Ok(Self { metadata: page.metadata, spec })
    }
}

impl From<v2::Page> for v1::Page {
    fn from(page: v2::Page) -> Self {
        let size = format!("{}x{}", page.spec.width, page.spec.height);
        Self { metadata: page.metadata, spec: v1::PageSpec { size } }
    }
}

async fn check_page(request: AdmissionRequest<v2::Page>) -> Result<(), Denial> {
    match request.object {
        Some(page) if page.spec.width == 0 => Err(Denial::invalid("spec.width", "must be at least 1")),
        Some(page) if page.name_any() == "panic" => panic!("on purpose"),
        None if request.old_object.is_some_and(|page| page.name_any() == "home") => {
            Err("the home page stays".into())
        }
        _ => Ok(()),
    }
}

async fn default_page(mut page: v2::Page, request: AdmissionRequest<v2::Page>) -> Result<v2::Page, Denial> {
    let author = request.user_info.username.unwrap_or_default();
    page.labels_mut().entry("author".into()).or_insert(author.replace(':', "."));
    Ok(page)
}

struct Operator {
    client: Client,
    stop: oneshot::Sender<()>,
    task: JoinHandle<bool>,
}

/// A cluster with the CRD in both versions, and an operator with its webhooks behind a Service.
async fn operator() -> Operator {
    let client = Client::new(ApiServer::new(), "default");
    let certificate = SelfSigned::new(client.clone(), "default", "pages")
        .validating("pages")
        .mutating("pages")
        .crd("pages.example.com")
        .interval(Duration::from_secs(1));
    let webhooks = Webhooks::new()
        .validate(check_page)
        .mutate(default_page)
        .convert(Versions::<v2::Page>::new().version::<v1::Page>());
    register(&client).await;
    let server = WebhookServer::bind(([127, 0, 0, 1], 0).into(), webhooks, certificate).await.unwrap();
    expose(&client, server.local_addr().port()).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(async move { server.serve(async { drop(stopped.await) }).await.drained });
    Operator { client, stop, task }
}

async fn register(client: &Client) {
    let params = PostParams::default();
    let service = |path: &str| json!({"service": {"namespace": "default", "name": "pages", "path": path}});
    let mut crd = merge_crds(vec![v1::Page::crd(), v2::Page::crd()], "v2").unwrap();
    crd.spec.conversion = serde_json::from_value(json!({"strategy": "Webhook",
        "webhook": {"clientConfig": service("/convert"), "conversionReviewVersions": ["v1"]}}))
    .unwrap();
    Api::<CustomResourceDefinition>::all(client.clone()).create(&params, &crd).await.unwrap();
    // With `Equivalent`, the embedded server renames the version of an object for admission and does not convert it.
    let hook = |path: String| {
        json!({"metadata": {"name": "pages"}, "webhooks": [{"name": "pages.example.com", "sideEffects": "None", "matchPolicy": "Exact",
            "admissionReviewVersions": ["v1"], "clientConfig": service(&path), "rules": [{"apiGroups": ["example.com"],
            "apiVersions": ["v2"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["pages"]}]}]})
    };
    let validating = serde_json::from_value(hook(validate_path::<v2::Page>())).unwrap();
    Api::<ValidatingWebhookConfiguration>::all(client.clone()).create(&params, &validating).await.unwrap();
    let mutating = serde_json::from_value(hook(mutate_path::<v2::Page>())).unwrap();
    Api::<MutatingWebhookConfiguration>::all(client.clone()).create(&params, &mutating).await.unwrap();
}

async fn expose(client: &Client, port: u16) {
    let service: Service = serde_json::from_value(json!({"metadata": {"name": "pages"},
        "spec": {"ports": [{"port": 443, "targetPort": port}]}}))
    .unwrap();
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &service).await.unwrap();
    let slice: EndpointSlice = serde_json::from_value(json!({
        "metadata": {"name": "pages", "labels": {"kubernetes.io/service-name": "pages"}},
        "addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1"]}], "ports": [{"port": port}]}))
    .unwrap();
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &slice).await.unwrap();
}

fn status(error: Error) -> (u16, String) {
    match error {
        Error::Api(status) => (status.code, status.message.clone()),
        other => panic!("expected a response of the API server, found {other}"),
    }
}

#[tokio::test]
async fn an_api_server_validates_mutates_and_converts_by_the_webhooks() {
    let Operator { client, stop, task } = operator().await;
    let old: Api<v1::Page> = Api::default_namespaced(client.clone());
    let new: Api<v2::Page> = Api::default_namespaced(client.clone());
    let params = PostParams::default();

    // Sent in v1, converted to v2 for storage.
    let home =
        old.create(&params, &v1::Page::new("home", v1::PageSpec { size: "640x480".into() })).await.unwrap();
    assert_eq!(home.spec.size, "640x480");
    let stored = new.get("home").await.unwrap();
    assert_eq!((stored.spec.width, stored.spec.height, stored.uid()), (640, 480, home.uid()));
    let small = v2::Page::new("small", v2::PageSpec { width: 1, height: 2 });
    let small = new.create(&params, &small).await.unwrap();
    assert!(small.labels().contains_key("author"), "defaulted: {:?}", small.labels());
    let sizes: Vec<_> =
        old.list(&ListParams::default()).await.unwrap().into_iter().map(|page| page.spec.size).collect();
    assert_eq!(sizes, ["640x480", "1x2"]);

    let denied =
        new.create(&params, &v2::Page::new("none", v2::PageSpec { width: 0, height: 2 })).await.unwrap_err();
    let expected = "admission webhook \"pages.example.com\" denied the request: Page.example.com \"none\" is invalid: spec.width: must be at least 1";
    assert_eq!(status(denied), (422, expected.into()));
    let size = json!({"spec": {"width": 0}});
    let denied = new.patch("home", &PatchParams::default(), &Patch::Merge(size)).await.unwrap_err();
    assert_eq!(status(denied).0, 422);
    let (code, message) = status(new.delete("home", &DeleteParams::default()).await.unwrap_err());
    assert!(code == 403 && message.ends_with("denied the request: the home page stays"), "{message}");
    new.delete("small", &DeleteParams::default()).await.unwrap();

    let (code, message) = status(
        old.create(&params, &v1::Page::new("bad", v1::PageSpec { size: "big".into() })).await.unwrap_err(),
    );
    let expected = "cannot convert Page \"default/bad\" from example.com/v1 to example.com/v2: spec.size: expected 640x480, found \"big\"";
    assert!(code == 500 && message.contains(expected), "{message}");
    let (code, message) = status(
        new.create(&params, &v2::Page::new("panic", v2::PageSpec { width: 1, height: 2 })).await.unwrap_err(),
    );
    assert!(
        code == 500 && message.contains("Page \"default/panic\": the admission handler panicked"),
        "{message}"
    );

    stop.send(()).unwrap();
    assert!(task.await.unwrap());
    let unreachable =
        new.create(&params, &v2::Page::new("late", v2::PageSpec { width: 1, height: 2 })).await.unwrap_err();
    assert_eq!(status(unreachable).0, 500, "failurePolicy Fail");
}
