//! [`Rotation`]: many objects are watched in turns, so that those that never become ready keep no other one waiting.

use std::collections::VecDeque;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Duration, Instant};

use super::error::WaitError;
use super::progress::{ReadyWatch, is_final};
use super::target::WaitTarget;
use crate::ready::Readiness;

/// How many objects are watched at the same time.
pub(super) const MAX_WATCHES: usize = 64;

/// How long an object is watched while others wait for their turn.
const TURN: Duration = Duration::from_secs(10);

type Step = Result<Readiness, WaitError>;

/// Objects that are watched, and those whose turn comes.
pub(super) struct Rotation {
    waiting: VecDeque<ReadyWatch>,
    turns: FuturesUnordered<BoxFuture<'static, (ReadyWatch, Option<Step>)>>,
    /// Whether this is the last turn of each.
    is_last: bool,
}

impl Rotation {
    pub(super) fn new(objects: impl IntoIterator<Item = ReadyWatch>) -> Self {
        Self { waiting: objects.into_iter().collect(), turns: FuturesUnordered::new(), is_last: false }
    }

    /// Each object that waits is looked at once more, the others no more.
    pub(super) fn look_once_more(&mut self) {
        self.is_last = true;
        self.turns.clear();
        self.waiting.iter_mut().for_each(ReadyWatch::look_again);
    }

    /// The next change of an object. `None` if nothing follows. No change is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Option<(WaitTarget, Step)> {
        loop {
            while self.turns.len() < MAX_WATCHES
                && let Some(object) = self.waiting.pop_front()
            {
                self.turns.push(turn(object).boxed());
            }
            let (mut object, step) = self.turns.next().await?;
            let target = object.target().clone();
            if !self.is_last && !step.as_ref().is_some_and(is_final) {
                if !self.waiting.is_empty() {
                    object.park();
                }
                self.waiting.push_back(object);
            }
            if let Some(step) = step {
                return Some((target, step));
            }
        }
    }
}

/// An object that was not seen yet is looked at as long as that takes.
async fn turn(mut object: ReadyWatch) -> (ReadyWatch, Option<Step>) {
    let until = object.is_known().then(|| Instant::now() + TURN);
    let step = object.next(until).await;
    (object, step)
}
