//! Definitions that the guide's samples assume: imports, a custom resource, a context, a reconciler.

pub(crate) use std::borrow::Cow;
pub(crate) use std::collections::{BTreeMap, HashMap};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use futures::{Stream, StreamExt, TryStreamExt};
pub(crate) use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret, Service};
pub(crate) use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
pub(crate) use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
pub(crate) use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchParams,
};
pub(crate) use kube::core::{GroupVersionKind, PartialObjectMeta, Rule, TypeMeta};
pub(crate) use kube::runtime::controller::Action;
pub(crate) use kube::runtime::reflector::{ObjectRef, ReflectHandle, Store};
pub(crate) use kube::runtime::{
    Controller, Predicate, PredicateConfig, WatchStreamExt, predicates, reflector, watcher,
};
pub(crate) use kube::{
    Api, Client, Config, CustomResource, CustomResourceExt, KubeSchema, Resource, ResourceExt,
};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "MyResource", namespaced, status = "MyStatus")]
pub(crate) struct MySpec {
    pub(crate) value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MyStatus {
    pub(crate) phase: String,
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Document", namespaced)]
pub(crate) struct DocumentSpec {
    pub(crate) title: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("Kubernetes API error: {0}")]
    KubeApi(#[from] kube::Error),

    #[error("Missing spec field: {0}")]
    MissingField(String),
}

pub(crate) struct Context {
    pub(crate) client: Client,
}

/// The work of a reconciler, in samples that wrap it.
pub(crate) async fn reconcile_inner<C>(obj: &MyResource, ctx: &C) -> Result<Action, Error> {
    Ok(Action::await_change())
}

/// Creates the ConfigMap of a resource where it does not exist.
pub(crate) async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Error> {
    let maps =
        Api::<ConfigMap>::namespaced(ctx.client.clone(), obj.namespace().as_deref().unwrap_or("default"));
    let name = format!("{}-config", obj.name_any());
    if maps.get_opt(&name).await?.is_none() {
        let map = serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "key": obj.spec.value } });
        maps.patch(&name, &PatchParams::apply("guide"), &Patch::Apply(map)).await?;
    }
    Ok(Action::await_change())
}

pub(crate) fn error_policy<K>(_obj: Arc<K>, _error: &Error, _ctx: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}
