//! Waiting for one object of an [`Api`].

use std::ops::ControlFlow;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube_client::client::{Client, with_verb};
use kube_client::{Api, Error};
use kube_core::params::{GetParams, Patch, PatchParams};
use kube_core::util::Restart;
use kube_core::{DynamicObject, Request, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::error::WaitError;
use super::progress::ReadyJudge;
use super::readiness::{outcome, progress, until_object_ready};
use super::states::{ObjectState, object_states};
use super::target::WaitTarget;
use super::until::{first, until};
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
    let target = target(&api, name);
    let scale = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    let result = api.patch_scale(name, &PatchParams::default(), &scale).await;
    result.map_err(|source| WaitError::Request { object: target.clone(), source })?;
    let client = Client::from(api.clone());
    let states = object_states(client, target.clone()).then(|state| with_scale(&api, &target, state));
    let mut judge = ReadyJudge::new(target.clone(), None);
    let object = first(states, &target, timeout, |(state, scale)| {
        let (readiness, object) = judge.judge(state)?;
        Ok(match (outcome(&target, &readiness), scale) {
            (None, _) => ControlFlow::Continue(readiness.message),
            (Some(result), None) => result.map(|()| ControlFlow::Break(object))?,
            (Some(result), Some(unsettled)) => result.map(|()| ControlFlow::Continue(unsettled))?,
        })
    });
    typed(&target, *object.await?)
}

/// The state, and what its scale still waits for: a controller counts the replicas that it has before all others are gone.
async fn with_scale<K: Resource + Clone + DeserializeOwned>(
    api: &Api<K>,
    target: &WaitTarget,
    state: ObjectState,
) -> Result<(Option<Box<DynamicObject>>, Option<String>), WaitError> {
    let state = state?;
    let Some(object) = state.as_deref().filter(|object| Readiness::of_dynamic(object).is_ready()) else {
        return Ok((state, None));
    };
    let scale = api.get_scale(target.name()).await;
    let scale = scale.map_err(|source| WaitError::Request { object: target.clone(), source })?;
    let wanted = scale.spec.and_then(|spec| spec.replicas).unwrap_or(0);
    let present = scale.status.map_or(0, |status| status.replicas);
    let version = scale.metadata.resource_version;
    let unsettled = if present != wanted {
        Some(format!("there are {present} replicas, {wanted} are wanted"))
    } else if version.is_some() && version != object.metadata.resource_version {
        // The next state is on its way.
        Some("its replicas have just changed".to_owned())
    } else {
        None
    };
    Ok((state, unsettled))
}

pub(crate) async fn restart_and_wait<K: Restart + Resource + DeserializeOwned>(
    api: Api<K>,
    name: &str,
    timeout: Duration,
) -> Result<K, WaitError> {
    let target = target(&api, name);
    let failed = |source| WaitError::Request { object: target.clone(), source };
    let request = with_verb("get", Request::new(api.resource_url()).get(name, &GetParams::default()));
    let client = Client::from(api.clone());
    let present: DynamicObject = client.request(request.map_err(failed)?).await.map_err(failed)?;
    if let Some(message) = Readiness::no_restart(&present) {
        return Err(WaitError::NoRestart { object: target, message });
    }
    // The object itself is not needed.
    api.restart(name).await.map(drop).map_err(failed)?;
    wait_ready(api, name, timeout).await
}

fn target<K: Resource>(api: &Api<K>, name: &str) -> WaitTarget {
    WaitTarget::in_collection(api.resource_url(), name)
}

fn typed<K: DeserializeOwned>(target: &WaitTarget, object: DynamicObject) -> Result<K, WaitError> {
    let result = serde_json::to_value(object).and_then(serde_json::from_value);
    result.map_err(|err| WaitError::Request { object: target.clone(), source: Error::SerdeError(err) })
}
