//! Rules of single types that compare several fields.
//!
//! `table` says which type has which; the other files have the rules by topic.
//!
//! - Pods: `pods`, `containers`, `fields`, `host`, `security`, `scheduling`, `resources`.
//! - Their volumes: `storage`, `disks`, `projections`, `claims`.
//! - What makes pods: `workloads`, `jobs`, `autoscalers`.
//! - The network: `services`, `network`.
//! - The cluster: `cluster`, `flow`, `certificates`, and `devices` with their `slices`.

mod autoscalers;
mod certificates;
mod claims;
mod cluster;
mod containers;
mod devices;
mod disks;
mod fields;
mod flow;
mod host;
mod jobs;
mod network;
mod pods;
mod projections;
mod resources;
mod scheduling;
mod security;
mod services;
mod slices;
mod storage;
mod table;
mod workloads;

pub(super) use table::{judges_forbidden, of, unjudged};

use super::super::values;
