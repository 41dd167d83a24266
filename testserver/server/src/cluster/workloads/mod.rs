//! Carries out the plans of the workload controllers, which [`workloads`](crate::workloads) makes.
//!
//! A change enqueues tasks (`enqueue`, `task`), which `reconcile`, `stateful_sets`, `daemon_sets`, `jobs`, `cron_jobs`, `adoption` and `endpoints` run. `history` stores former templates, `notes` Events. `service_index` finds the services of a pod.

mod adoption;
mod cron_jobs;
mod daemon_sets;
mod endpoints;
mod enqueue;
mod history;
mod jobs;
mod notes;
mod reconcile;
mod service_index;
mod stateful_sets;
mod task;

pub(super) use service_index::ServiceIndex;
pub(super) use task::WorkloadTask;
