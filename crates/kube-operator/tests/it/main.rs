//! The crate against the embedded API server.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod apply;
#[cfg(feature = "manager")]
mod children;
#[cfg(feature = "manager")]
mod children_fences;
#[cfg(feature = "manager")]
mod children_served;
#[cfg(feature = "manager")]
mod clusters;
#[cfg(feature = "manager")]
mod clusters_addresses;
#[cfg(feature = "manager")]
mod clusters_announced;
#[cfg(feature = "manager")]
mod clusters_blocked;
#[cfg(feature = "manager")]
mod clusters_exchanged;
#[cfg(feature = "manager")]
mod clusters_flood;
#[cfg(feature = "manager")]
mod clusters_input;
#[cfg(feature = "manager")]
mod clusters_memory;
#[cfg(feature = "manager")]
mod clusters_providers;
#[cfg(feature = "manager")]
mod clusters_removal;
#[cfg(feature = "manager")]
mod clusters_replaced;
#[cfg(feature = "manager")]
mod clusters_selected;
#[cfg(feature = "manager")]
mod clusters_shards;
#[cfg(feature = "manager")]
mod clusters_stores;
#[cfg(feature = "manager")]
mod clusters_triggers;
#[cfg(feature = "manager")]
mod clusters_twins;
#[path = "../../../kube-runtime/tests/it/common.rs"]
mod common;
#[cfg(feature = "manager")]
mod deploy;
#[path = "../../../kube-runtime/tests/it/layers.rs"]
mod layers;
mod leader_election;
#[cfg(feature = "manager")]
mod manager;
#[cfg(feature = "manager")]
mod manager_caches;
#[cfg(feature = "manager")]
mod manager_faults;
#[cfg(feature = "manager")]
mod manager_lists;
#[cfg(feature = "manager")]
mod manager_logs;
#[cfg(feature = "manager")]
mod manager_servers;
#[cfg(feature = "metrics")]
mod metrics;
mod outage;
#[cfg(feature = "manager")]
mod rbac;
#[cfg(feature = "manager")]
#[path = "../../src/simulation/seeds.rs"]
mod seeds;
#[cfg(feature = "manager")]
mod served;
mod sharding;
mod status;
#[cfg(feature = "manager")]
mod two_managers;
#[cfg(feature = "manager")]
mod webhooks;
