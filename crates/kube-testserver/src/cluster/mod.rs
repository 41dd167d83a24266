//! The state of a server behind one lock, and the controllers that react to every change.
//!
//! Handlers read and write through [`ClusterState`]. A change enqueues tasks (garbage collection, namespace and CRD deletion, workloads); [`ClusterState::run_tasks`] runs them before the lock is released, so no request sees a half-finished change. Tasks with a due time wait in `timers` until a request, a watch or the clock runs them.

mod admission;
mod allocator;
mod create;
mod delete;
mod finalize;
mod garbage;
mod persistence;
mod quotas;
mod rbac;
mod replace;
mod schedule;
mod service_accounts;
mod services;
mod settings;
mod state;
mod storage_protection;
mod task;
mod timers;
mod workloads;

pub(crate) use delete::{Deletion, Propagation, Written};
pub use settings::BuiltInController;

pub(crate) use replace::StateEntry;
pub(crate) use settings::Settings;
pub(crate) use state::ClusterState;
