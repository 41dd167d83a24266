//! Waits until a condition holds for one object.

use std::ops::ControlFlow;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube_client::Client;
use kube_core::DynamicObject;

use super::error::WaitError;
use super::states::object_states;
use super::target::WaitTarget;
use super::wait_for::WaitFor;

/// Waits until the condition holds, and returns the object in that state, if it exists.
pub(crate) async fn until(
    client: Client,
    target: &WaitTarget,
    condition: &WaitFor,
    timeout: Duration,
) -> Result<Option<Box<DynamicObject>>, WaitError> {
    let mut waiting = Waiting { target, condition, first_uid: None };
    first(object_states(client, target.clone()), target, timeout, |state| waiting.judge(state)).await
}

struct Waiting<'a> {
    target: &'a WaitTarget,
    condition: &'a WaitFor,
    /// The uid of the object that was there at first.
    first_uid: Option<String>,
}

impl Waiting<'_> {
    fn judge(
        &mut self,
        state: Option<Box<DynamicObject>>,
    ) -> Result<ControlFlow<Option<Box<DynamicObject>>, String>, WaitError> {
        let uid = state.as_ref().and_then(|object| object.metadata.uid.clone());
        let is_another = self.first_uid.is_some() && uid.is_some() && self.first_uid != uid;
        let is_first_state = self.first_uid.is_none();
        if is_first_state {
            self.first_uid = uid;
        }
        let holds = match self.condition {
            WaitFor::Delete if is_another => true,
            condition => condition
                .holds(state.as_deref())
                .map_err(|source| WaitError::Condition { object: self.target.clone(), source })?,
        };
        match (holds, self.condition, &state) {
            (true, _, _) => Ok(ControlFlow::Break(state)),
            (false, WaitFor::Condition { .. } | WaitFor::JsonPath { .. }, None) => {
                Err(gone(self.target, !is_first_state))
            }
            (false, WaitFor::Create, _) => Ok(ControlFlow::Continue("it does not exist".into())),
            (false, condition, state) => {
                let missing = state.as_deref().and_then(|object| condition.missing(object));
                let missing = missing.map_or_else(String::new, |missing| format!(": {missing}"));
                Ok(ControlFlow::Continue(format!("waiting for {condition}{missing}")))
            }
        }
    }
}

/// The error of an object that does not exist, or no longer.
pub(super) fn gone(target: &WaitTarget, existed: bool) -> WaitError {
    match existed {
        true => WaitError::Deleted { object: target.clone(), message: "was deleted".into() },
        false => WaitError::NotFound(target.clone()),
    }
}

/// The first result of `judge`, which otherwise says what is still missing. With a timeout of zero, the present state is judged.
pub(crate) async fn first<S, T>(
    states: impl Stream<Item = Result<S, WaitError>>,
    target: &WaitTarget,
    timeout: Duration,
    mut judge: impl FnMut(S) -> Result<ControlFlow<T, String>, WaitError>,
) -> Result<T, WaitError> {
    let mut states = std::pin::pin!(states);
    let mut timer = std::pin::pin!(tokio::time::sleep(timeout));
    let mut last = None;
    loop {
        let once = timeout.is_zero() && last.is_none();
        tokio::select! {
            biased;
            state = states.next() => {
                // It ends only after an error, which is returned.
                let state = state.expect("invariant: the stream of object states ends after an error")?;
                match judge(state)? {
                    ControlFlow::Break(result) => return Ok(result),
                    ControlFlow::Continue(message) => last = Some(message),
                }
            }
            () = &mut timer, if !once => {
                let message = last.unwrap_or_else(|| "its state is not known, the server has not answered".into());
                return Err(WaitError::Timeout { object: target.clone(), timeout, message });
            }
        }
    }
}
