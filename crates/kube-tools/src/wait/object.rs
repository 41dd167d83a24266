//! Waiting for one object of an [`Api`].

use std::time::Duration;

use futures::Stream;
use kube_client::{Api, Error};
use kube_core::params::{Patch, PatchParams};
use kube_core::util::Restart;
use kube_core::{DynamicObject, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::error::WaitError;
use super::readiness::{progress, until_object_ready};
use super::target::WaitTarget;
use super::until::until;
use super::wait_for::WaitFor;
use crate::ready::Readiness;

pub(crate) async fn wait_ready<K: Resource + DeserializeOwned>(
    api: Api<K>,
    name: &str,
    timeout: Duration,
) -> Result<K, WaitError> {
    let target = target(&api, name);
    let object = until_object_ready(api.into(), &target, timeout).await?;
    typed(&target, *object)
}

pub(crate) fn watch_readiness<K: Resource>(
    api: Api<K>,
    name: &str,
) -> impl Stream<Item = Result<Readiness, WaitError>> + Send + use<K> {
    let target = target(&api, name);
    progress(api.into(), target)
}

pub(crate) async fn wait_for_condition<K: Resource + DeserializeOwned>(
    api: Api<K>,
    name: &str,
    condition: &WaitFor,
    timeout: Duration,
) -> Result<Option<K>, WaitError> {
    let target = target(&api, name);
    let object = until(api.into(), &target, condition, timeout).await?;
    object.map(|object| typed(&target, *object)).transpose()
}

pub(crate) async fn scale_and_wait<K: Resource + Clone + DeserializeOwned>(
    api: Api<K>,
    name: &str,
    replicas: u32,
    timeout: Duration,
) -> Result<K, WaitError> {
    let scale = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    let result = api.patch_scale(name, &PatchParams::default(), &scale).await;
    result.map_err(|source| WaitError::Request { object: target(&api, name), source })?;
    wait_ready(api, name, timeout).await
}

pub(crate) async fn restart_and_wait<K: Restart + Resource + DeserializeOwned>(
    api: Api<K>,
    name: &str,
    timeout: Duration,
) -> Result<K, WaitError> {
    // The object itself is not needed.
    let result = api.restart(name).await.map(drop);
    result.map_err(|source| WaitError::Request { object: target(&api, name), source })?;
    wait_ready(api, name, timeout).await
}

fn target<K: Resource>(api: &Api<K>, name: &str) -> WaitTarget {
    WaitTarget::in_collection(api.resource_url(), name)
}

fn typed<K: DeserializeOwned>(target: &WaitTarget, object: DynamicObject) -> Result<K, WaitError> {
    let result = serde_json::to_value(object).and_then(serde_json::from_value);
    result.map_err(|err| WaitError::Request { object: target.clone(), source: Error::SerdeError(err) })
}
