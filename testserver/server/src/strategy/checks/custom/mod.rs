//! Rules of single types that compare several fields.
//!
//! `types` says which type has which; the other files have the rules by topic, `values` what they share.

mod autoscalers;
mod cluster;
mod devices;
mod disks;
mod flow;
mod host;
mod network;
mod pods;
mod resources;
mod services;
mod slices;
mod storage;
mod types;
mod values;
mod volumes;
mod workloads;

pub(super) use types::{judges_forbidden, of};
