//! The state of a server behind one lock, and the controllers that react to every change.
//!
//! Handlers read and write through [`ClusterState`]: `storage` holds the objects and kinds, `work` the tasks of controllers, `access` who
//! may use the server, `admission` what decides about writes, `services` their addresses. A change is announced to each of them and
//! enqueues tasks (garbage collection, namespace and CRD deletion, workloads); [`ClusterState::run_tasks`] runs them before the lock is
//! released, so no request sees a half-finished change. Tasks with a due time wait in `timers` until a request, a watch or the clock runs
//! them.
//!
//! In the order in which data passes:
//!
//! - `settings`: how the server was configured.
//! - `state`: its parts; announces each change to all of them. `roles`: who may send a request.
//! - `commit`: writes of clients. `create`: new objects of controllers. `delete`: deletions of both.
//! - `replace`: the whole state at once. `data_dir`: the state on disk.
//! - `work`, `timers`: the tasks that follow from a change, now and later. `task`: their order. `schedule`: runs them. `compaction`: how
//!   long earlier states can be listed.
//! - `owners`, `garbage`: dependents without owners. `namespaces`, `remaining`: terminating namespaces. `definitions`: terminating CRDs.
//! - `services`: the service of the server. `quotas`, `priority_classes`, `service_accounts`, `storage_protection` (with `claims`): the
//!   controllers of these kinds.
//! - `events`, `event_index`: what they record about objects. `workloads`: carries out the plans of the workload controllers. `pods`: the
//!   node of the kubelet, and its pods.

mod claims;
mod commit;
mod compaction;
mod create;
mod data_dir;
mod definitions;
mod delete;
mod event_index;
mod events;
mod garbage;
mod namespaces;
mod owners;
mod pods;
mod priority_classes;
mod quotas;
mod remaining;
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

pub(crate) use delete::{Deletion, Written, has_propagation};
pub use settings::BuiltInController;

pub(crate) use settings::Settings;
pub(crate) use state::ClusterState;
