//! Waits until objects are ready, and shows their progress.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt};
use kube_client::Client;
use kube_core::DynamicObject;
use tokio::time::Instant;

use super::error::{NotReady, WaitError};
use super::progress::{ReadyJudge, ReadyWatch, is_final};
use super::rotation::Rotation;
use super::states::sights;
use super::target::WaitTarget;
use super::until::first;
use crate::ready::{Readiness, ReadyState};

/// How long those objects are looked at once more that were not watched when the time was over.
const LAST_LOOK: Duration = Duration::from_secs(10);

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
/// A list and a watch for each object that is not ready, at most 64 at the same time: of more objects, each is looked at once, and then
/// those that are not ready are watched in turns of 10 s, each going on where it was.
///
/// # Cancellation
/// It has no time limit: dropping the stream ends all watches.
pub fn readiness_of(
    client: Client,
    targets: impl IntoIterator<Item = WaitTarget>,
) -> impl Stream<Item = (WaitTarget, Result<Readiness, WaitError>)> + Send {
    let objects = targets.into_iter().map(|target| ReadyWatch::new(client.clone(), target, None));
    stream::unfold(Rotation::new(objects), async |mut rotation| {
        rotation.next().await.map(|next| (next, rotation))
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
/// [`NotReady`] when the state of each object is final, or after `timeout`: it has an error for each object that is not ready. With a
/// timeout of zero, the present states are looked at once.
///
/// # Cost
/// As [`readiness_of`]. After the timeout, those of more than 64 objects that were not watched just then are looked at once more, for 10 s
/// at most.
pub async fn until_ready(
    client: Client,
    targets: impl IntoIterator<Item = WaitTarget>,
    timeout: Duration,
) -> Result<(), NotReady> {
    let targets: BTreeMap<_, _> = targets.into_iter().map(|target| (target, None)).collect();
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
/// watched, or is not ready after `timeout`. Each target is given with a state from before and when it was seen, if there is one.
pub(crate) fn readiness_within(
    client: Client,
    targets: BTreeMap<WaitTarget, Option<(Box<DynamicObject>, Instant)>>,
    timeout: Duration,
) -> impl Stream<Item = (WaitTarget, Result<Readiness, WaitError>)> + Send {
    let unknown = |target: &WaitTarget| (target.clone(), "its state is not known".to_owned());
    let objects = targets.keys().map(unknown).collect();
    let watches = targets
        .into_iter()
        .map(|(target, earlier_state)| ReadyWatch::new(client.clone(), target, earlier_state));
    let mut unready = Unready {
        rotation: Rotation::new(watches),
        objects,
        timer: Box::pin(tokio::time::sleep(timeout)),
        timeout,
        stage: Stage::Watch,
    };
    if timeout.is_zero() {
        unready.look_once_more();
    }
    stream::unfold(unready, async |mut unready| unready.next().await.map(|next| (next, unready)))
}

/// Objects that are not ready yet, with their last messages.
struct Unready {
    rotation: Rotation,
    objects: BTreeMap<WaitTarget, String>,
    timer: Pin<Box<tokio::time::Sleep>>,
    timeout: Duration,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Watch,
    LastLook,
    TimeOver,
}

impl Unready {
    async fn next(&mut self) -> Option<(WaitTarget, Result<Readiness, WaitError>)> {
        while self.stage != Stage::TimeOver {
            tokio::select! {
                biased;
                next = self.rotation.next() => match next {
                    Some((target, readiness)) => return Some(self.note(target, readiness)),
                    None => self.stage = Stage::TimeOver,
                },
                () = &mut self.timer => match self.stage {
                    Stage::Watch => self.look_once_more(),
                    Stage::LastLook | Stage::TimeOver => self.stage = Stage::TimeOver,
                },
            }
        }
        let (object, message) = self.objects.pop_first()?;
        Some((object.clone(), Err(WaitError::Timeout { object, timeout: self.timeout, message })))
    }

    fn look_once_more(&mut self) {
        self.stage = Stage::LastLook;
        self.rotation.look_once_more();
        self.timer.as_mut().reset(Instant::now() + LAST_LOOK);
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
    let mut judge = ReadyJudge::new(target.clone(), None);
    first(sights(client, target.clone()), target, timeout, |seen| {
        let (readiness, object) = judge.judge(seen)?;
        Ok(match outcome(target, &readiness) {
            Some(result) => result.map(|()| ControlFlow::Break(object))?,
            None => ControlFlow::Continue(readiness.message),
        })
    })
    .await
}

/// The result of waiting, if the state is final.
pub(super) fn outcome(target: &WaitTarget, readiness: &Readiness) -> Option<Result<(), WaitError>> {
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
    stream::unfold(Some(ReadyWatch::new(client, target, None)), async |watch| {
        let mut watch = watch?;
        let step = watch.next(None).await.expect("invariant: only a deadline ends the waiting for a state");
        let goes_on = !is_final(&step);
        Some((step, goes_on.then_some(watch)))
    })
}
