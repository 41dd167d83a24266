//! What leads a cluster of the user to this machine for the time of a session: webhook configurations, Services and their slices. At the
//! end, what was not there before is deleted, and what was there is put back.
//!
//! How it was is in an annotation of the object, so that the next session can put back what one that was killed has left.

use anyhow::{Context as _, Result};
use kube_client::api::{DeleteParams, PostParams};
use kube_client::error::{Error, ErrorClass};
use kube_client::{Api, Client};
use kube_core::params::Preconditions;
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, ResourceExt as _, TypeMeta};
use serde_json::{Value, json};

/// The object as it was before the session, as JSON; empty if there was none.
const BEFORE: &str = "cargo-kube/before-dev";
/// How often an object that others change meanwhile is put back anew.
const ATTEMPTS: usize = 5;

/// Whether an object leads calls to where the operator is.
pub(super) fn leads_to_operator(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    match object["apiVersion"].as_str().unwrap_or_default() {
        "admissionregistration.k8s.io/v1" => kind.ends_with("WebhookConfiguration"),
        "discovery.k8s.io/v1" => kind == "EndpointSlice",
        "v1" => kind == "Service",
        _ => false,
    }
}

/// An object that leads to this machine.
#[derive(Clone)]
pub(super) struct Detour {
    api: Api<DynamicObject>,
    name: String,
    /// For messages.
    text: String,
}

impl Detour {
    fn of(client: &Client, object: &Value) -> Result<Self> {
        let types: TypeMeta = serde_json::from_value(object.clone())?;
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types)?);
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().context("an object has no name")?.to_owned();
        let text = format!("{} {name}", resource.kind);
        let api = match metadata["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        Ok(Self { api, name, text })
    }

    /// Notes in an object that will be applied how it is now, unless an earlier application has noted it.
    pub(super) async fn begin(client: &Client, object: &mut Value) -> Result<Self> {
        let detour = Self::of(client, object)?;
        let live = ErrorClass::absent_as_none(detour.api.get(&detour.name).await);
        let live = live.with_context(|| detour.text.clone())?;
        let before = match live {
            None => String::new(),
            Some(live) => match live.annotations().get(BEFORE) {
                Some(before) => before.clone(),
                None => serde_json::to_string(&as_written(live))?,
            },
        };
        object["metadata"]["annotations"][BEFORE] = json!(before);
        Ok(detour)
    }

    /// Puts back what was there. An object that somebody else has deleted or created again stays as it is.
    pub(super) async fn end(&self) -> Result<()> {
        for _ in 1..ATTEMPTS {
            match self.put_back().await {
                Err(Error::Api(status)) if status.is_conflict() => {}
                result => return result.with_context(|| self.text.clone()),
            }
        }
        self.put_back().await.with_context(|| self.text.clone())
    }

    async fn put_back(&self) -> Result<(), Error> {
        let live = ErrorClass::absent_as_none(self.api.get(&self.name).await)?;
        let Some(live) = live else { return Ok(()) };
        let Some(before) = live.annotations().get(BEFORE) else { return Ok(()) };
        if before.is_empty() {
            let preconditions = Preconditions { uid: live.uid(), resource_version: live.resource_version() };
            let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            self.api.delete(&self.name, &params).await.map(drop)
        } else {
            let mut object: DynamicObject = serde_json::from_str(before).map_err(Error::SerdeError)?;
            object.metadata.resource_version = live.resource_version();
            self.api.replace(&self.name, &PostParams::default(), &object).await.map(drop)
        }
    }
}

/// Without what the server sets.
fn as_written(mut object: DynamicObject) -> DynamicObject {
    let metadata = &mut object.metadata;
    (metadata.managed_fields, metadata.resource_version, metadata.uid) = (None, None, None);
    (metadata.creation_timestamp, metadata.generation) = (None, None);
    if let Some(fields) = object.data.as_object_mut() {
        fields.remove("status");
    }
    object
}
