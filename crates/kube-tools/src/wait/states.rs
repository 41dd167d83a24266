//! The states of one object as a stream: sends the requests that the machine asks for.

use std::pin::Pin;

use futures::stream::{self, Stream, StreamExt};
use kube_client::client::{Client, with_verb};
use kube_client::error::Error;
use kube_core::params::{ListParams, WatchParams};
use kube_core::{DynamicObject, WatchEvent};
use tokio::time::{Duration, Instant};
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::util::rng::HasherRng;

use super::error::WaitError;
use super::machine::{Effect, Next, ObjectWatch, Reaction};
use super::target::WaitTarget;

const MIN_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(10);
const JITTER: f64 = 0.5;

/// A state of an object, `None` if it does not exist, or why it is not known.
pub(crate) type ObjectState = Result<Option<Box<DynamicObject>>, WaitError>;

/// What is known of an object.
#[derive(Debug)]
pub(super) enum Seen {
    Is(Box<DynamicObject>),
    /// It was deleted in this state, after all others were seen.
    Deleted(Box<DynamicObject>),
    /// It is not there. It was not watched since then, if it was at all.
    Absent {
        watched_until: Option<Instant>,
    },
}

impl Seen {
    fn object(self) -> Option<Box<DynamicObject>> {
        match self {
            Self::Is(object) => Some(object),
            Self::Deleted(_) | Self::Absent { .. } => None,
        }
    }
}

/// The states of an object: the present one, then one after each change. It ends only after an error.
///
/// Dropping it ends the watch.
pub(crate) fn object_states(client: Client, target: WaitTarget) -> impl Stream<Item = ObjectState> + Send {
    sights(client, target).map(|seen| seen.map(Seen::object))
}

/// As [`object_states`], with the ends of objects.
pub(super) fn sights(
    client: Client,
    target: WaitTarget,
) -> impl Stream<Item = Result<Seen, WaitError>> + Send {
    stream::unfold(Some(ObjectStates::new(client, target)), async |states| {
        let mut states = states?;
        let seen = states.next(None).await.expect("invariant: only a deadline ends the waiting for a state");
        let goes_on = seen.is_ok();
        Some((seen, goes_on.then_some(states)))
    })
}

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<DynamicObject>, Error>> + Send>>;

/// The states of one object, as [`object_states`], read by turns.
pub(super) struct ObjectStates {
    client: Client,
    target: WaitTarget,
    machine: ObjectWatch,
    /// The open watch.
    events: Option<Events>,
    /// When the last watch ended.
    watched_until: Option<Instant>,
    backoff: ExponentialBackoff,
}

impl ObjectStates {
    pub(super) fn new(client: Client, target: WaitTarget) -> Self {
        let machine = ObjectWatch::default();
        Self { client, target, machine, events: None, watched_until: None, backoff: backoff() }
    }

    pub(super) fn target(&self) -> &WaitTarget {
        &self.target
    }

    /// Closes the watch. The next one goes on where it was.
    pub(super) fn park(&mut self) {
        self.close();
    }

    /// The next state is the present one.
    pub(super) fn look_again(&mut self) {
        self.close();
        self.machine.forget();
    }

    fn close(&mut self) {
        if self.events.take().is_some() {
            self.watched_until = Some(Instant::now());
        }
    }

    /// The next state, or `None` if none comes until then; requests are not cut off. After an error there is no other state.
    pub(super) async fn next(&mut self, until: Option<Instant>) -> Option<Result<Seen, WaitError>> {
        loop {
            let result = match &mut self.events {
                Some(events) => match before(until, events.next()).await? {
                    Some(Ok(event)) => match self.machine.event(event) {
                        Effect::State(object) => {
                            self.backoff = backoff();
                            return Some(Ok(Seen::Is(object)));
                        }
                        Effect::Deleted(object) => {
                            self.backoff = backoff();
                            return Some(Ok(Seen::Deleted(object)));
                        }
                        Effect::Continue => continue,
                        Effect::Failed(status) => Err(Error::Api(status)),
                    },
                    Some(Err(err)) => Err(err),
                    None => {
                        self.watch_over();
                        let reaction = self.machine.watch_ended(Instant::now());
                        pause(&mut self.backoff, &reaction).await;
                        continue;
                    }
                },
                None => match self.machine.next() {
                    Next::List => match self.list().await {
                        Ok(state) => return Some(state),
                        Err(err) => Err(err),
                    },
                    Next::Watch { version } => self.watch(&version).await,
                },
            };
            if let Err(err) = result {
                self.watch_over();
                let reaction = self.machine.failed(&err, Instant::now());
                if reaction == Reaction::GiveUp {
                    return Some(Err(WaitError::Request { object: self.target.clone(), source: err }));
                }
                tracing::debug!(object = %self.target, error = %err, "the watch failed; waiting continues");
                pause(&mut self.backoff, &reaction).await;
            }
        }
    }

    fn watch_over(&mut self) {
        self.close();
        if self.machine.watch_lasted(Instant::now()) {
            self.backoff = backoff();
        }
    }

    async fn list(&mut self) -> Result<Result<Seen, WaitError>, Error> {
        let lp = ListParams::default().fields(&self.selector());
        let request = with_verb("list", self.target.request().list(&lp))?;
        let mut list = self.client.request_list::<DynamicObject>(request).await?;
        self.machine.listed(list.metadata.resource_version.take());
        Ok(match list.items.len() {
            0 | 1 => Ok(match list.items.pop() {
                Some(object) => Seen::Is(Box::new(object)),
                None => Seen::Absent { watched_until: self.watched_until },
            }),
            _ => Err(WaitError::Ambiguous(self.target.clone())),
        })
    }

    async fn watch(&mut self, version: &str) -> Result<(), Error> {
        let wp = WatchParams::default().fields(&self.selector());
        let request = with_verb("watch", self.target.request().watch(&wp, version))?;
        self.events = Some(Box::pin(self.client.request_events(request).await?));
        self.machine.watch_started(Instant::now());
        Ok(())
    }

    fn selector(&self) -> String {
        format!("metadata.name={}", self.target.name())
    }
}

/// The output of the future, or `None` if it is not ready until then.
async fn before<T>(until: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match until {
        Some(until) => tokio::time::timeout_at(until, future).await.ok(),
        None => Some(future.await),
    }
}

/// Waits before the next request.
pub(super) async fn pause(backoff: &mut ExponentialBackoff, reaction: &Reaction) {
    match reaction {
        Reaction::Retry { after: Some(time) } => tokio::time::sleep(*time).await,
        Reaction::Retry { after: None } => backoff.next_backoff().await,
        Reaction::Continue | Reaction::GiveUp => {}
    }
}

pub(super) fn backoff() -> ExponentialBackoff {
    let maker = ExponentialBackoffMaker::new(MIN_BACKOFF, MAX_BACKOFF, JITTER, HasherRng::new());
    maker.expect("invariant: the constants are in order").make_backoff()
}
