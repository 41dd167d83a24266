//! Waiting for one object of an [`Api`].

use std::ops::ControlFlow;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::autoscaling::v1 as autoscaling;
use kube_client::client::{Client, with_verb};
use kube_client::{Api, Error};
use kube_core::params::{GetParams, Patch, PatchParams};
use kube_core::util::Restart;
use kube_core::{DynamicObject, Request, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use super::error::WaitError;
use super::machine::{Patience, Reaction};
use super::progress::ReadyJudge;
use super::readiness::{outcome, progress, until_object_ready};
use super::states::{Seen, backoff, pause, sights};
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
    let mut judge = ReadyJudge::new(target.clone(), None);
    let object = first(scaled(&api, &target), &target, timeout, |(seen, scale)| {
        let (readiness, object) = judge.judge(seen)?;
        Ok(match (outcome(&target, &readiness), scale) {
            (None, _) => ControlFlow::Continue(readiness.message),
            (Some(result), None) => result.map(|()| ControlFlow::Break(object))?,
            (Some(result), Some(unsettled)) => result.map(|()| ControlFlow::Continue(unsettled))?,
        })
    });
    typed(&target, *object.await?)
}

/// The states, each with what its scale still waits for.
fn scaled<K: Resource + Clone + DeserializeOwned>(
    api: &Api<K>,
    target: &WaitTarget,
) -> impl Stream<Item = Result<(Seen, Option<String>), WaitError>> + Send {
    let states = Box::pin(sights(Client::from(api.clone()), target.clone()));
    let scale = Scale { api: api.clone(), target: target.clone(), was_read: false };
    stream::unfold((states, scale), async |(mut states, mut scale)| {
        let seen = states.next().await?;
        let unsettled = match &seen {
            Ok(Seen::Is(object)) if Readiness::of_dynamic(object).is_ready() => scale.unsettled(object).await,
            _ => Ok(None),
        };
        let next = seen.and_then(|seen| Ok((seen, unsettled?)));
        Some((next, (states, scale)))
    })
}

/// The scale of an object.
struct Scale<K> {
    api: Api<K>,
    target: WaitTarget,
    was_read: bool,
}

impl<K: Resource + Clone + DeserializeOwned> Scale<K> {
    /// What the scale still waits for: a controller counts the replicas that it has before all others are gone.
    async fn unsettled(&mut self, object: &DynamicObject) -> Result<Option<String>, WaitError> {
        let scale = self.read().await?;
        let desired = scale.spec.and_then(|spec| spec.replicas).unwrap_or(0);
        let present = scale.status.map_or(0, |status| status.replicas);
        let version = scale.metadata.resource_version;
        Ok(if present != desired {
            Some(format!("there are {present} replicas, {desired} are wanted"))
        } else if version.is_some() && version != object.metadata.resource_version {
            // The next state is on its way.
            Some("its replicas have just changed".to_owned())
        } else {
            None
        })
    }

    /// Reads it, with the patience of the watch.
    async fn read(&mut self) -> Result<autoscaling::Scale, WaitError> {
        let (mut patience, mut backoff) = (Patience::default(), backoff());
        loop {
            let source = match self.api.get_scale(self.target.name()).await {
                Ok(scale) => {
                    self.was_read = true;
                    return Ok(scale);
                }
                Err(source) => source,
            };
            let reaction = patience.failed(&source, self.was_read, Instant::now());
            if reaction == Reaction::GiveUp {
                return Err(WaitError::Request { object: self.target.clone(), source });
            }
            tracing::debug!(object = %self.target, error = %source, "its scale cannot be read; waiting continues");
            pause(&mut backoff, &reaction).await;
        }
    }
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
