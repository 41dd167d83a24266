//! Rules of single types that compare several fields.
//!
//! `types` says which type has which; the other files have the rules by topic, `values` what they share.

mod autoscalers;
mod certificates;
mod claims;
mod cluster;
mod containers;
mod disks;
mod fields;
mod host;
mod jobs;
mod network;
mod pods;
mod projections;
mod resources;
mod scheduling;
mod security;
mod types;
mod values;
mod volumes;
mod workloads;

pub(super) use types::of;
