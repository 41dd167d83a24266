//! All state of a server behind one lock, and the consequences of every change.
//!
//! Verbs read and write through [`ClusterState`]. What a change entails (garbage collection, namespaces and CRDs that
//! empty themselves) is queued and done by [`ClusterState::run_tasks`] before the lock is released, so nobody sees half of it. What is to be done at a
//! time waits among the timers, until a request, a watch or the clock brings it about.

mod allocator;
mod delete;
mod finalize;
mod garbage;
mod persistence;
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

pub(crate) use delete::{Deletion, Propagation};
pub use settings::BuiltInController;

pub(crate) use replace::StateEntry;
pub(crate) use settings::Settings;
pub(crate) use state::ClusterState;
