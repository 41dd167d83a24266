//! Reconciling objects whenever they, or objects related to them, change.
//!
//! A [`Controller`] watches objects of one kind and the objects related to them, keeps a queue of the objects to reconcile,
//! and calls a reconciler for each. See [`Controller`] for its guarantees.
//!
//! # Nouns
//!
//! - An *own object* is of the kind that the controller reconciles. A *related object* is of another kind; own objects own it
//!   ([`owns`](Controller::owns)) or depend on it ([`watches`](Controller::watches)).
//! - A *source* says where objects come from: watches that the controller makes, a stream of the program, or a subscription to a shared
//!   [`Store`](crate::reflector::Store). It may have a *filter*, a [predicate](crate::Predicate) that drops changes.
//! - A *mapper* returns the own objects to reconcile after the change of a related object.
//! - A *trigger* is what a source emits: the key of an own object, and the [reason](ReconcileReason). In the public API it is a
//!   [`ReconcileRequest`].
//! - The *queue* has each key at most once. It delays keys ([debounce](Config::debounce), requeues, retries), and takes changes before
//!   what runs in the background; where it is [fair](Config::fair_by), in turn from the *lanes* of tenants. An object whose last reconcile
//!   wrote it is held back until the store shows that *pending write*.
//! - A reconcile may run in a *scope*, which records its *own writes*: see [`wait_for_own_writes`](Config::wait_for_own_writes).
//! - An [`Assignment`] says which objects this replica reconciles, where several replicas share the work.
//! - The *runner* takes keys that are due, finds their objects in the store, and runs the *reconciler*, a function or a [`Reconcile`].
//! - A reconcile is *guarded*: a panic or a timeout is an error of its object. Its *outcome* leads to an [`Action`], which says when to
//!   reconcile the object again. An *error policy* chooses the action after an error.
//! - The *store* is the controller's cache of its own objects. A [`Monitor`] shows what the controller does.
//!
//! # From an event to a reconcile
//!
//! ```text
//!  own watch ──► store ──► filter ──┐
//!                                   ├──► trigger ──► queue ──► runner ──► reconciler
//!  related watch ──► mapper ────────┘                  ▲                      │
//!                                                      └─────── action ◄──────┘
//! ```

// In the order in which data passes:
// - `builder`, `config`: the `Controller`; `lanes`: what it is fair by. `source_methods`: its methods of kube 5.0 that name sources; `own`,
//   `related`, `filter`: what else can be said of a source.
// - `source`: from watches to triggers. `run`: queue and runner, with the `workers` that controllers share. `reconcile`: one reconcile.
// - `scope`: what a reconcile writes, so that the next one sees it.
// - `assignment`: what this replica reconciles. `assigned_work`: what runs because of that.
// - `observe`: what the controller shows of itself. `error`, `runner_error`: the errors of the output. `shutdown`: when it ends.

mod assigned_work;
mod assignment;
mod builder;
mod config;
mod error;
mod filter;
mod lanes;
mod observe;
mod own;
mod reconcile;
mod related;
mod run;
mod runner_error;
mod scope;
mod shutdown;
mod source;
mod source_methods;
mod workers;

pub use assignment::{Assigner, Assignment, Assignments};
pub use builder::*;
pub use config::*;
pub use error::Error;
pub use observe::{
    ControllerState, FailingObject, InvalidTraceParent, LaneSnapshot, Monitor, ProgressLimits, QueueSnapshot,
    RunningObject, Snapshot, Stalled, Totals, TraceParent,
};
pub use own::Own;
pub use reconcile::{Action, Outcome, Reconcile, ReconcileReason, ReconcileRequest};
pub use related::Related;
pub use run::applier;
pub use runner_error::RunnerError;
pub use scope::ReadStore;
pub use source::{trigger_owners, trigger_self, trigger_with};
pub use workers::{WorkerLane, Workers};

pub use crate::watcher::{WatchSnapshot, WatchState};
pub use kube_client::reconcile::ReconcileScope;
