//! Watching one object until a condition holds.

use super::Condition;
use crate::watcher::{self, ObjectState, object_states};
use futures::StreamExt;
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{fmt::Debug, pin::pin, time::Duration};
use tokio::time::Instant;

/// How long the watch may fail before waiting ends with the error.
const MAX_FAILURE_TIME: Duration = Duration::from_secs(60);

/// A watch that is refused is refused right after its list. One that has lasted was allowed.
const MIN_WATCH_TIME: Duration = Duration::from_secs(1);

/// Why waiting for a condition failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object cannot be watched.
    #[error("failed to probe for whether the condition is fulfilled yet: {0}")]
    ProbeFailed(#[source] watcher::Error),
}

/// Waits until `cond` holds for the object of this name, and returns the object in that state; `None` if it does not
/// exist then.
///
/// There is no timeout: wrap the call in [`tokio::time::timeout`].
///
/// # Errors
///
/// [`Error::ProbeFailed`] as soon as the server refuses the watch (forbidden, unknown kind) or the object cannot be
/// decoded, or when every attempt has failed for a minute. Shorter outages and single undecodable responses are retried, and
/// so are refusals of what was allowed before: a server that starts has not read its roles and definitions yet. An idle watch
/// is not a failure.
///
/// ```
/// # use kube_client::{Api, Client};
/// # use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// use kube_runtime::{conditions, wait::{self, await_condition}};
/// use std::time::Duration;
///
/// async fn established(client: Client) -> Result<(), wait::Error> {
///     let crds: Api<CustomResourceDefinition> = Api::all(client);
///     let established = await_condition(crds, "foos.example.com", conditions::is_crd_established());
///     match tokio::time::timeout(Duration::from_secs(10), established).await {
///         Ok(outcome) => outcome.map(drop),
///         Err(_elapsed) => Ok(println!("still not there")),
///     }
/// }
/// ```
pub async fn await_condition<K>(api: Api<K>, name: &str, cond: impl Condition<K>) -> Result<Option<K>, Error>
where
    K: Clone + Debug + Send + DeserializeOwned + Resource + 'static,
{
    let mut states = pin!(object_states(api, name));
    let (mut failing_since, mut known_since) = (None, None);
    loop {
        match states.next().await.expect("invariant: the stream of object states never ends") {
            Ok(ObjectState::Known(object)) if cond.matches_object(object.as_ref()) => return Ok(object),
            Ok(state) => {
                failing_since = None;
                if matches!(state, ObjectState::Known(_)) {
                    known_since.get_or_insert_with(Instant::now);
                }
            }
            Err(error) => {
                let since = *failing_since.get_or_insert_with(Instant::now);
                let allowed_before =
                    known_since.is_some_and(|known: Instant| known.elapsed() >= MIN_WATCH_TIME);
                let is_final = error.is_permanent() && (error.is_about_objects() || !allowed_before);
                if is_final || since.elapsed() >= MAX_FAILURE_TIME {
                    return Err(Error::ProbeFailed(error));
                }
                tracing::debug!(%error, "the watch failed; waiting continues");
            }
        }
    }
}
