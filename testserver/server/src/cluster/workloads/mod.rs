//! Carries out the plans of the workload controllers, which [`workloads`](crate::workloads) makes.

mod enqueue;
mod reconcile;
mod task;

pub(super) use task::WorkloadTask;
