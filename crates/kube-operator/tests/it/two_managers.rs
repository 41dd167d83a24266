//! Two managers apply one object in two versions. With `KUBE_E2E=cluster`, on the server of the kubeconfig, which has to reach this
//! machine.

use k8s_openapi::{
    ByteString, api::core::v1::Secret,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_core::{ApiResource, CustomResourceExt, DynamicObject, crd::merge_crds};
use kube_derive::CustomResource;
use kube_operator::webhook::{Versions, WebhookServer, Webhooks, certificates::SelfSigned};
use kube_testserver::ApiServer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

mod v1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "managers.example.com", version = "v1", kind = "Poster", namespaced, crates(kube_core = kube_core))]
    pub(crate) struct PosterSpec {
        pub(crate) size: u32,
        pub(crate) title: String,
        pub(crate) note: Option<String>,
    }
}

mod v2 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "managers.example.com", version = "v2", kind = "Poster", namespaced, crates(kube_core = kube_core))]
    pub(crate) struct PosterSpec {
        pub(crate) pixels: u32,
        pub(crate) heading: String,
        pub(crate) remark: Option<String>,
    }
}

impl From<v1::Poster> for v2::Poster {
    fn from(v1::Poster { metadata, spec: v1::PosterSpec { size, title, note } }: v1::Poster) -> Self {
        Self { metadata, spec: v2::PosterSpec { pixels: size * 10, heading: title, remark: note } }
    }
}

impl From<v2::Poster> for v1::Poster {
    fn from(v2::Poster { metadata, spec: v2::PosterSpec { pixels, heading, remark } }: v2::Poster) -> Self {
        Self { metadata, spec: v1::PosterSpec { size: pixels / 10, title: heading, note: remark } }
    }
}

async fn client() -> Client {
    match std::env::var("KUBE_E2E").is_ok_and(|value| value == "cluster") {
        true => Client::try_default().await.unwrap(),
        false => Client::new(ApiServer::new(), "default"),
    }
}

/// Serves the conversion, and registers the kind with it.
async fn serve(client: &Client) -> (WebhookServer, Api<CustomResourceDefinition>) {
    let certificate = SelfSigned::new(client.clone(), "default", "posters").name("127.0.0.1");
    let webhooks = Webhooks::new().convert(Versions::<v2::Poster>::new().version::<v1::Poster>());
    let server = WebhookServer::bind(([127, 0, 0, 1], 0).into(), webhooks, certificate).await.unwrap();
    let secret =
        Api::<Secret>::namespaced(client.clone(), "default").get("posters-certificate").await.unwrap();
    let ByteString(authority) = &secret.data.unwrap()["ca.crt"];
    let mut crd = merge_crds(vec![v1::Poster::crd(), v2::Poster::crd()], "v2").unwrap();
    let url = format!("https://{}/convert", server.local_addr());
    crd.spec.conversion = serde_json::from_value(json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"url": url, "caBundle": ByteString(authority.clone())}, "conversionReviewVersions": ["v1"]}}))
    .unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &crd).await.unwrap();
    let established = kube_runtime::wait::conditions::is_crd_established();
    kube_runtime::wait::await_condition(crds.clone(), v1::Poster::crd_name(), established).await.unwrap();
    (server, crds)
}

struct Manager {
    posters: Api<DynamicObject>,
    version: &'static str,
    name: &'static str,
}

impl Manager {
    fn new(client: &Client, resource: &ApiResource, version: &'static str, name: &'static str) -> Self {
        Self { posters: Api::default_namespaced_with(client.clone(), resource), version, name }
    }

    async fn apply(&self, spec: Value) -> DynamicObject {
        let object = json!({"apiVersion": format!("managers.example.com/{}", self.version), "kind": "Poster",
            "metadata": {"name": "a"}, "spec": spec});
        let applied = self.posters.patch("a", &PatchParams::apply(self.name), &Patch::Apply(&object)).await;
        applied.unwrap_or_else(|error| panic!("{} applies {spec}: {error}", self.name))
    }

    async fn spec(&self) -> Value {
        self.posters.get("a").await.unwrap().data["spec"].clone()
    }
}

/// What each manager owns in the spec.
fn owned(object: &DynamicObject) -> Value {
    let entries = object.metadata.managed_fields.iter().flatten();
    Value::Object(
        entries
            .map(|entry| {
                let fields = &entry.fields_v1.as_ref().unwrap().0["f:spec"];
                (entry.manager.clone().unwrap(), fields.clone())
            })
            .collect(),
    )
}

#[tokio::test]
async fn two_managers_that_apply_in_two_versions_add_and_lose_nothing() {
    let client = client().await;
    let (server, crds) = serve(&client).await;
    let scenario = async {
        let alice = Manager::new(&client, &ApiResource::erase::<v1::Poster>(&()), "v1", "alice");
        let bob = Manager::new(&client, &ApiResource::erase::<v2::Poster>(&()), "v2", "bob");
        alice.apply(json!({"size": 3, "title": "t", "note": "n"})).await;
        bob.apply(json!({"pixels": 30, "heading": "t", "remark": "n"})).await;
        // Each gives up what the other one owns too: without it, its object lacks a required field.
        alice.apply(json!({"size": 3, "note": "n"})).await;
        let both = bob.apply(json!({"heading": "t"})).await;
        assert_eq!(owned(&both), json!({"alice": {"f:size": {}, "f:note": {}}, "bob": {"f:heading": {}}}));
        alice.apply(json!({"size": 4})).await;
        let both = bob.apply(json!({"heading": "u"})).await;
        assert_eq!(owned(&both), json!({"alice": {"f:size": {}}, "bob": {"f:heading": {}}}));
        assert_eq!(alice.spec().await, json!({"size": 4, "title": "u"}));
        assert_eq!(bob.spec().await, json!({"pixels": 40, "heading": "u"}));
    };
    let result = tokio::select! {
        result = futures::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(scenario)) => result,
        _ = server.serve(std::future::pending()) => unreachable!("it serves until the end"),
    };
    crds.delete(v1::Poster::crd_name(), &DeleteParams::default()).await.unwrap();
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
