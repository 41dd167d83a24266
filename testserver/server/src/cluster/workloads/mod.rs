//! The workload controllers: [`controllers`](crate::pods) makes the plans, these files carry them out.

mod enqueue;
mod reconcile;
mod task;

pub(super) use task::WorkloadTask;
