//! Waits until objects are ready, and shows their progress.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::time::Duration;

use futures::stream::{self, BoxStream, Stream, StreamExt};
use kube_client::Client;
use kube_core::DynamicObject;

use super::error::{NotReady, WaitError};
use super::states::{ObjectState, object_states};
use super::target::WaitTarget;
use super::until::{first, gone};
use crate::ready::{Readiness, ReadyState};

/// How many objects of a set are watched at the same time. The next ones are looked at as soon as earlier ones are ready.
const MAX_WATCHES: usize = 64;

/// The readiness of each of these objects, at first and after each change of its message, until it is ready, has failed, is being
/// deleted, or cannot be watched. The stream ends when this is so for all of them.
///
/// ```
/// use futures::StreamExt;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube_client::{Client, api::ApiResource};
/// use kube_tools::wait::{WaitTarget, readiness_of};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let namespaces = ApiResource::erase::<Namespace>(&());
/// let targets = ["default", "kube-system"].map(|name| WaitTarget::new(&namespaces, None, name));
/// let mut progress = std::pin::pin!(readiness_of(client, targets));
/// while let Some((target, readiness)) = progress.next().await {
///     println!("{target}: {}", readiness?);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Cost
/// A list and a watch for each object that is not ready, at most 64 at the same time.
///
/// # Cancellation
/// It has no time limit: dropping the stream ends all watches.
pub fn readiness_of(
    client: Client,
    targets: impl IntoIterator<Item = WaitTarget>,
) -> impl Stream<Item = (WaitTarget, Result<Readiness, WaitError>)> + Send {
    let targets: Vec<_> = targets.into_iter().collect();
    stream::iter(targets).flat_map_unordered(MAX_WATCHES, move |target| {
        let states = progress(client.clone(), target.clone());
        states.map(move |readiness| (target.clone(), readiness)).boxed()
    })
}

/// Waits until all of these objects are ready. One that fails does not end the waiting for the others.
///
/// ```
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube_client::{Client, api::ApiResource};
/// use kube_tools::wait::{WaitTarget, until_ready};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let namespaces = ApiResource::erase::<Namespace>(&());
/// let targets = ["default", "no-such-one"].map(|name| WaitTarget::new(&namespaces, None, name));
/// let err = until_ready(client, targets, Duration::from_secs(60)).await.unwrap_err();
/// assert_eq!(err.to_string(), r#"1 of 2 objects are not ready: namespaces "no-such-one" does not exist"#);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`NotReady`] when the state of each object is final, or after `timeout`: it has an error for each object that is not ready.
///
/// # Cost
/// As [`readiness_of`].
pub async fn until_ready(
    client: Client,
    targets: impl IntoIterator<Item = WaitTarget>,
    timeout: Duration,
) -> Result<(), NotReady> {
    let targets: BTreeSet<_> = targets.into_iter().collect();
    let total = targets.len();
    let mut errors = Vec::new();
    let mut progress = std::pin::pin!(readiness_within(client, targets, timeout));
    while let Some((_, readiness)) = progress.next().await {
        errors.extend(readiness.err());
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(NotReady { ready: total - errors.len(), errors }),
    }
}

/// As [`readiness_of`], where each object that does not become ready ends with an error: it has failed, is being deleted, cannot be
/// watched, or is not ready after `timeout`.
pub(crate) fn readiness_within(
    client: Client,
    targets: BTreeSet<WaitTarget>,
    timeout: Duration,
) -> impl Stream<Item = (WaitTarget, Result<Readiness, WaitError>)> + Send {
    let unready = Unready {
        progress: readiness_of(client, targets.clone()).boxed(),
        objects: targets.into_iter().map(|target| (target, "its state is not known".to_owned())).collect(),
        timer: Box::pin(tokio::time::sleep(timeout)),
        timeout,
        is_late: false,
    };
    stream::unfold(unready, async |mut unready| unready.next().await.map(|next| (next, unready)))
}

/// Objects that are not ready yet, with their last messages.
struct Unready {
    progress: BoxStream<'static, (WaitTarget, Result<Readiness, WaitError>)>,
    objects: BTreeMap<WaitTarget, String>,
    timer: Pin<Box<tokio::time::Sleep>>,
    timeout: Duration,
    is_late: bool,
}

impl Unready {
    async fn next(&mut self) -> Option<(WaitTarget, Result<Readiness, WaitError>)> {
        if !self.is_late {
            tokio::select! {
                biased;
                next = self.progress.next() => return next.map(|(target, readiness)| self.note(target, readiness)),
                () = &mut self.timer => self.is_late = true,
            }
        }
        let (object, message) = self.objects.pop_first()?;
        Some((object.clone(), Err(WaitError::Timeout { object, timeout: self.timeout, message })))
    }

    fn note(
        &mut self,
        target: WaitTarget,
        readiness: Result<Readiness, WaitError>,
    ) -> (WaitTarget, Result<Readiness, WaitError>) {
        let result = readiness.and_then(|readiness| match outcome(&target, &readiness) {
            Some(Err(err)) => Err(err),
            _ => Ok(readiness),
        });
        match &result {
            Ok(readiness) if !readiness.is_ready() => {
                self.objects.insert(target.clone(), readiness.message.clone());
            }
            _ => drop(self.objects.remove(&target)),
        }
        (target, result)
    }
}

/// Waits until the object is ready, and returns it.
pub(crate) async fn until_object_ready(
    client: Client,
    target: &WaitTarget,
    timeout: Duration,
) -> Result<Box<DynamicObject>, WaitError> {
    let mut existed = false;
    first(object_states(client, target.clone()), target, timeout, |state| {
        let object = state.ok_or_else(|| gone(target, existed))?;
        existed = true;
        let readiness = Readiness::of_dynamic(&object);
        Ok(match outcome(target, &readiness) {
            Some(result) => result.map(|()| ControlFlow::Break(object))?,
            None => ControlFlow::Continue(readiness.message),
        })
    })
    .await
}

/// The result of waiting, if the state is final.
fn outcome(target: &WaitTarget, readiness: &Readiness) -> Option<Result<(), WaitError>> {
    let (object, message) = (target.clone(), readiness.message.clone());
    match readiness.state {
        ReadyState::Ready => Some(Ok(())),
        ReadyState::InProgress => None,
        ReadyState::Failed => Some(Err(WaitError::Failed { object, message })),
        ReadyState::Terminating => Some(Err(WaitError::Deleted { object, message })),
    }
}

/// The readiness of the object, at first and after each change of its message, up to a final state.
pub(crate) fn progress(
    client: Client,
    target: WaitTarget,
) -> impl Stream<Item = Result<Readiness, WaitError>> + Send {
    let states = object_states(client, target.clone()).boxed();
    stream::unfold(Some(Progress { states, target, last: None }), async |progress| {
        let mut progress = progress?;
        let next = progress.next().await;
        let is_final = next.as_ref().map_or(true, |readiness| readiness.state != ReadyState::InProgress);
        Some((next, (!is_final).then_some(progress)))
    })
}

struct Progress {
    states: BoxStream<'static, ObjectState>,
    target: WaitTarget,
    last: Option<Readiness>,
}

impl Progress {
    async fn next(&mut self) -> Result<Readiness, WaitError> {
        loop {
            let state = self
                .states
                .next()
                .await
                .expect("invariant: the stream of object states ends after an error")?;
            let object = state.ok_or_else(|| gone(&self.target, self.last.is_some()))?;
            let readiness = Readiness::of_dynamic(&object);
            if self.last.as_ref() != Some(&readiness) {
                self.last = Some(readiness.clone());
                return Ok(readiness);
            }
        }
    }
}
