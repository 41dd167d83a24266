//! Waits until the server serves the kind of a definition: it is established, and discovery lists each served version.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::discovery::{RestMapper, RestMapperError};
use kube_client::error::{Error, ErrorClass};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use tokio::time::{Instant, sleep, timeout_at};

use super::outcome::CrdError;
use crate::ready::{Readiness, ReadyState};
use crate::wait::{ObjectState, WaitTarget, object_states};

/// A condition of an earlier state may be shown this long after a definition was written.
const STALE_CONDITION: Duration = Duration::from_secs(2);
/// No watch tells that discovery has changed: it is asked again after this time at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Waits until the kind of the definition `name`, which was just written, is served in all its served versions, and returns the definition.
///
/// The definition is watched; once it is established, `mapper` is asked until it finds the kind. There is no time limit: `state` says what
/// is waited for.
///
/// # Errors
/// [`CrdError`] for what does not pass with time: names that others have, a definition that was deleted, requests that are refused.
pub(crate) async fn until_served(
    client: &Client,
    mapper: &RestMapper,
    name: &str,
    state: &mut String,
) -> Result<CustomResourceDefinition, CrdError> {
    "its state is not known".clone_into(state);
    let stale_until = Instant::now() + STALE_CONDITION;
    let mut states = pin!(object_states(client.clone(), target(name)));
    let mut crd = existing(states.next().await, name)?;
    loop {
        let Readiness { state: ready, message } = Readiness::of_dynamic(&crd);
        crd = match ready {
            ReadyState::Ready => {
                let established = parse(&crd, name)?;
                tokio::select! {
                    biased;
                    changed = states.next() => existing(changed, name)?,
                    listed = until_listed(mapper, &established, name, state) => return listed.map(|()| established),
                }
            }
            ReadyState::Failed => match timeout_at(stale_until, states.next()).await {
                Ok(changed) => existing(changed, name)?,
                Err(_) => return Err(CrdError::NamesTaken { name: name.to_owned(), message }),
            },
            ReadyState::Terminating => {
                *state = format!("it {message}");
                existing(states.next().await, name)?
            }
            ReadyState::InProgress => {
                *state = message;
                existing(states.next().await, name)?
            }
        };
    }
}

/// The definition `name`, to be watched.
fn target(name: &str) -> WaitTarget {
    WaitTarget::new(&ApiResource::erase::<CustomResourceDefinition>(&()), None, name)
}

fn existing(state: Option<ObjectState>, name: &str) -> Result<Box<DynamicObject>, CrdError> {
    match state.expect("invariant: the stream of object states ends after an error") {
        Ok(Some(crd)) => Ok(crd),
        Ok(None) => Err(CrdError::Deleted { name: name.to_owned() }),
        Err(error) => Err(CrdError::Watch(error)),
    }
}

fn parse(crd: &DynamicObject, name: &str) -> Result<CustomResourceDefinition, CrdError> {
    let parsed = serde_json::to_value(crd).and_then(serde_json::from_value);
    parsed.map_err(|error| CrdError::Request { name: name.to_owned(), error: Error::SerdeError(error) })
}

/// Waits until discovery lists the kind in all served versions.
async fn until_listed(
    mapper: &RestMapper,
    crd: &CustomResourceDefinition,
    name: &str,
    state: &mut String,
) -> Result<(), CrdError> {
    let (mut pause, mut has_answered) = (FIRST_PAUSE, false);
    loop {
        *state = match missing_version(mapper, crd).await {
            Ok(None) => return Ok(()),
            Ok(Some(version)) => {
                has_answered = true;
                format!("discovery does not list it in {version}")
            }
            // What was allowed before will be again.
            Err(error) if is_final(&error) && !has_answered => {
                return Err(CrdError::Discovery { name: name.to_owned(), error });
            }
            Err(error) => error.to_string(),
        };
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        mapper.invalidate();
    }
}

/// A served version in which discovery does not list the kind, or lists an earlier one of this name.
async fn missing_version(
    mapper: &RestMapper,
    crd: &CustomResourceDefinition,
) -> Result<Option<String>, RestMapperError> {
    let (group, names) = (&crd.spec.group, &crd.spec.names);
    for version in crd.spec.versions.iter().filter(|version| version.served) {
        let gvk = GroupVersionKind::gvk(group, &version.name, &names.kind);
        let listed = match mapper.kind(&gvk).await {
            Ok(mapping) => {
                let scope = if mapping.is_namespaced() { "Namespaced" } else { "Cluster" };
                mapping.resource.plural == names.plural && scope == crd.spec.scope
            }
            Err(error) if error.is_no_match() => false,
            Err(error) => return Err(error),
        };
        if !listed {
            return Ok(Some(gvk.api_version()));
        }
    }
    Ok(None)
}

/// Whether discovery is refused, as opposed to not available.
fn is_final(error: &RestMapperError) -> bool {
    let RestMapperError::Discovery(error) = error else { return false };
    error.status().is_some_and(|status| ErrorClass::of_status(status).is_permanent())
}
