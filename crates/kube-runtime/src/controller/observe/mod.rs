//! What a controller does, for people, probes and metrics.
//!
//! - `observer`: what the runner calls; `outcome`: how a reconcile ended.
//! - `observation`: the state that runner and monitors share; `failures`: objects whose last reconcile failed.
//! - `name`: the names of the controllers of a process.
//! - `monitor`, `snapshot`, `progress`: what programs read.
//! - `trace_parent`: the trace that a change belongs to.

mod failures;
mod monitor;
mod name;
mod observation;
mod observer;
mod outcome;
mod progress;
mod snapshot;
mod trace_parent;

pub use monitor::Monitor;
pub use progress::{ProgressLimits, Stalled};
pub use snapshot::{
    ControllerState, FailingObject, QueueSnapshot, RunningObject, Snapshot, Totals, WatchSnapshot,
};

pub use trace_parent::{InvalidTraceParent, TraceParent};

pub(super) use observation::Observation;
pub(super) use observer::Observer;
