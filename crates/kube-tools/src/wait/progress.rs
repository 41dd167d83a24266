//! [`ReadyWatch`]: the readiness of one object while it changes.

use kube_client::Client;
use kube_core::DynamicObject;
use tokio::time::Instant;

use super::error::WaitError;
use super::states::{ObjectStates, Seen};
use super::target::WaitTarget;
use super::until::gone;
use crate::ready::{Readiness, ReadyState};

/// Judges the states of one object.
pub(super) struct ReadyJudge {
    target: WaitTarget,
    existed: bool,
    /// The last state of an object whose end may say that it is ready, and when it was seen.
    last: Option<(Box<DynamicObject>, Instant)>,
}

impl ReadyJudge {
    /// `earlier_state` is a state of the object from before, if there is one, and when it was seen.
    pub(super) fn new(target: WaitTarget, earlier_state: Option<(Box<DynamicObject>, Instant)>) -> Self {
        Self { target, existed: earlier_state.is_some(), last: earlier_state }
    }

    /// The readiness, and the object that was judged.
    pub(super) fn judge(&mut self, seen: Seen) -> Result<(Readiness, Box<DynamicObject>), WaitError> {
        let end = match seen {
            Seen::Is(object) => {
                self.existed = true;
                if Readiness::tells_its_end(&object) {
                    self.last = Some((object.clone(), Instant::now()));
                }
                return Ok((Readiness::of_dynamic(&object), object));
            }
            // Its last state says whether it had finished: all before it were seen.
            Seen::Deleted(object) => {
                self.existed = true;
                Readiness::of_gone(&object, None).map(|readiness| (readiness, object))
            }
            // It may have finished since it was seen or watched, if that is so long ago.
            Seen::Absent { watched_until } => self.last.take().and_then(|(last, seen)| {
                let unseen = watched_until.map_or(seen, |until| until.max(seen)).elapsed();
                Readiness::of_gone(&last, Some(unseen)).map(|readiness| (readiness, last))
            }),
        };
        end.ok_or_else(|| gone(&self.target, self.existed))
    }
}

/// The readiness of one object: at first, and after each change of its message, up to a final state.
pub(super) struct ReadyWatch {
    states: ObjectStates,
    judge: ReadyJudge,
    last: Option<Readiness>,
}

impl ReadyWatch {
    pub(super) fn new(
        client: Client,
        target: WaitTarget,
        earlier_state: Option<(Box<DynamicObject>, Instant)>,
    ) -> Self {
        Self {
            judge: ReadyJudge::new(target.clone(), earlier_state),
            states: ObjectStates::new(client, target),
            last: None,
        }
    }

    pub(super) fn target(&self) -> &WaitTarget {
        self.states.target()
    }

    /// Whether it has shown a state.
    pub(super) fn is_known(&self) -> bool {
        self.last.is_some()
    }

    /// Closes the watch until the next call of [`next`](Self::next), which misses nothing.
    pub(super) fn park(&mut self) {
        self.states.park();
    }

    /// Makes the next state the present one, whether or not it has changed.
    pub(super) fn look_again(&mut self) {
        self.states.look_again();
        self.last = None;
    }

    /// The next readiness, or `None` if there is none until then.
    pub(super) async fn next(&mut self, until: Option<Instant>) -> Option<Result<Readiness, WaitError>> {
        loop {
            let seen = self.states.next(until).await?;
            let readiness = match seen.and_then(|seen| self.judge.judge(seen)) {
                Ok((readiness, _)) => readiness,
                Err(err) => return Some(Err(err)),
            };
            if self.last.as_ref() != Some(&readiness) {
                self.last = Some(readiness.clone());
                return Some(Ok(readiness));
            }
        }
    }
}

/// Whether nothing follows.
pub(super) fn is_final(step: &Result<Readiness, WaitError>) -> bool {
    step.as_ref().map_or(true, |readiness| readiness.state != ReadyState::InProgress)
}
