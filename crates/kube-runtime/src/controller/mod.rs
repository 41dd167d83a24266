//! Reconciling objects whenever they, or objects related to them, change.
//!
//! A [`Controller`] watches objects of one kind and the objects related to them, keeps a queue of the objects to reconcile,
//! and calls a reconciler for each. See [`Controller`] for its guarantees. A change passes through these modules:
//!
//! - `builder`, `namespaces`, `related`, `filtered`, `owned_store`: the [`Controller`] and its sources; `config`: its configuration.
//! - `source`: merges the sources, and backs off failing ones; `initial_sync`: reports first lists that are missing.
//! - `compact`: the sources of a controller whose cache is compact.
//! - `own_filter`: drops changes of own objects that do not matter.
//! - `trigger`, `request`: from changed objects to reconcile requests and their reasons.
//! - `related_watch`, `related_sync`, `owner_map`: from changed related objects to reconcile requests.
//! - `runner`: takes due objects from the queue and starts their reconciles, with `runner_event`; `run` and `applier` start the runner.
//! - `assignment`: which objects this replica reconciles, where several share the work.
//! - `pending_writes`: holds an object back until the store shows the last write to it.
//! - `guard`, `reconcile`, `resolution`: isolate a reconcile, and decide what happens after its outcome.
//! - `observe`: what the controller does, for people, probes and metrics.
//! - `action`, `error`, `runner_error`: the items of the output; `shutdown`: when it ends.

mod action;
mod applier;
mod assignment;
mod builder;
#[cfg(feature = "compact-cache")]
mod compact;
mod config;
mod error;
mod filtered;
mod guard;
mod initial_sync;
mod namespaces;
mod observe;
mod own_filter;
mod owned_store;
mod owner_map;
mod pending_writes;
mod reconcile;
mod related;
mod related_sync;
mod related_watch;
mod request;
mod resolution;
mod run;
mod runner;
mod runner_error;
mod runner_event;
mod running;
mod shutdown;
mod source;
mod trigger;
mod work_queue;

pub use action::Action;
pub use applier::applier;
pub use assignment::{Assigner, Assignment, Assignments};
pub use builder::*;
pub use config::*;
pub use error::Error;
pub use observe::{
    ControllerState, FailingObject, InvalidTraceParent, Monitor, ProgressLimits, QueueSnapshot,
    RunningObject, Snapshot, Stalled, Totals, TraceParent, WatchSnapshot,
};
pub use reconcile::{Outcome, Reconcile};
pub use request::{ReconcileReason, ReconcileRequest};
pub use runner_error::RunnerError;
pub use trigger::{trigger_owners, trigger_self, trigger_with};

pub use crate::watcher::WatchState;
