//! Carries out the plans of the workload controllers, which [`workloads`](crate::workloads) makes.
//!
//! A change enqueues tasks (`enqueue`, `task`), which `reconcile`, `adoption` and `endpoints` run. `service_index` finds the services of a pod.

mod adoption;
mod endpoints;
mod enqueue;
mod reconcile;
mod service_index;
mod task;

pub(super) use service_index::ServiceIndex;
pub(super) use task::WorkloadTask;
