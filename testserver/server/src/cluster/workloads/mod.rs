//! Carries out the plans of the workload controllers: reads the objects, asks [`workloads`](crate::workloads) what to do, and writes it.
//! When a Job ends is decided there, in `workloads/job`.
//!
//! In the order in which data passes:
//!
//! - `task`: what the controllers have to do. `enqueue`: which tasks follow from a change; `adoption` and `endpoints` add theirs.
//! - `caches`: what is known between two runs: objects `decoded` once per version, a `selector_index` of services and budgets, and in
//!   `backoff` when a refused write is tried again.
//! - `run`: runs a task, and does what several controllers do. `adoption`: which objects an owner has. `history`: its former templates.
//! - `cron_jobs`, `jobs`, `deployments`, `replica_sets`, `stateful_sets`, `daemon_sets`, `endpoints`, `budgets`: one controller each.

mod adoption;
mod backoff;
mod budgets;
mod caches;
mod cron_jobs;
mod daemon_sets;
mod decoded;
mod deployments;
mod endpoints;
mod enqueue;
mod history;
mod jobs;
mod replica_sets;
mod run;
mod selector_index;
mod stateful_sets;
mod task;

pub(super) use caches::WorkloadCaches;
pub(super) use task::WorkloadTask;
