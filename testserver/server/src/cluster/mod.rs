//! The state of a server behind one lock, and the controllers that react to every change.
//!
//! Handlers read and write through [`ClusterState`]: `storage` holds the objects and kinds, `work` the tasks of controllers, `access` who may use the server, `admission` what decides about writes, `services` their addresses. A change is announced to each of them and enqueues tasks (garbage collection, namespace and CRD deletion, workloads); [`ClusterState::run_tasks`] runs them before the lock is released, so no request sees a half-finished change. Tasks with a due time wait in `timers` until a request, a watch or the clock runs them.

mod allocator;
mod create;
mod data_dir;
mod delete;
mod finalize;
mod garbage;
mod owners;
mod pods;
mod priority_classes;
mod quotas;
mod replace;
mod roles;
mod schedule;
mod service_accounts;
mod services;
mod settings;
mod state;
mod storage_protection;
mod task;
mod timers;
mod work;
#[cfg_attr(not(feature = "workloads"), path = "workloads/disabled.rs")]
mod workloads;

pub(crate) use delete::{Deletion, Written};
pub use settings::BuiltInController;

pub(crate) use settings::Settings;
pub(crate) use state::ClusterState;
