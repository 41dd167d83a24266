//! What a controller shows of itself: its state, its metrics and its logs.
//!
//! - `observer`: what the runner calls; `outcome`: how a reconcile ended, as all three show it.
//! - State: `state` is kept by the observer, with `failures`, `lanes` and `name`; programs read it by `monitor`, `snapshot` and `progress`.
//! - Metrics: the observer writes those of [`crate::metrics`].
//! - `told`: the same for a tool that observes reconciles ([`kube_core::reconcile::ReconcileObserver`]).
//! - Logs: `log` has the span and the log lines of a reconcile; `trace_parent` reads the trace that a change belongs to.

mod failures;
mod lanes;
pub(super) mod log;
mod monitor;
mod name;
mod observer;
mod outcome;
mod progress;
mod snapshot;
mod state;
mod told;
mod trace_parent;

pub use lanes::LaneSnapshot;
pub use monitor::Monitor;
pub use progress::{ProgressLimits, Stalled};
pub use snapshot::{FailingObject, QueueSnapshot, RunningObject, Snapshot};
pub use state::{ControllerState, Totals};
pub use trace_parent::{InvalidTraceParent, TraceParent};

pub(super) use lanes::LaneSample;
pub(super) use name::{ControllerName, SharedNames};
pub(super) use observer::{Limits, Observer};
pub(super) use state::Observation;
pub(super) use told::Told;
