//! Waiting for objects, as `kubectl wait` and `kubectl rollout status` do: by watches, never by polling.
//!
//! - One object: [`Api::wait_ready`](crate::ApiExt::wait_ready), [`Api::wait_for`](crate::ApiExt::wait_for), and as a stream of progress
//!   [`Api::watch_readiness`](crate::ApiExt::watch_readiness) and [`Api::rollout_status`](crate::ApiExt::rollout_status).
//! - Objects of several kinds: [`until_ready`], and as a stream [`readiness_of`].
//!
//! What is ready is decided by [`Readiness`](crate::ready::Readiness), other conditions by [`WaitFor`].

// `target` is the object, `wait_for` the condition, for instance by a `json_path`. `machine` decides what to request, `states` does it;
// `progress` judges the states, `rotation` those of many objects by turns. `until` waits for a state, `object` for one object by an `Api`,
// `readiness` for many. `error` says why it failed.

// What to wait for.
mod json_path;
mod wait_for;

// The states of one object: what to request next, and the requests.
mod machine;
mod states;

// The readiness of one object, and of many.
mod progress;
mod rotation;

// Waiting for a state.
mod object;
mod readiness;
mod until;

// Whose states, and why waiting fails.
mod error;
mod target;

pub use error::{NotReady, WaitError};
pub use json_path::{JsonPath, JsonPathError};
pub use readiness::{readiness_of, until_ready};
pub use target::WaitTarget;
pub use wait_for::{InvalidWaitFor, WaitFor, WaitForError};

pub(crate) use object::{restart_and_wait, scale_and_wait, wait_for_condition, wait_ready, watch_readiness};
pub(crate) use readiness::readiness_within;
pub(crate) use states::{ObjectState, object_states};
pub(crate) use until::first;
