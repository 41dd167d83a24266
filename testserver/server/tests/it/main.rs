//! Integration tests: raw HTTP requests to the in-process service.

// Test code only.
#![allow(clippy::unwrap_used)]

#[cfg(not(all(
    feature = "spdy",
    feature = "shell",
    feature = "tables",
    feature = "descriptions",
    feature = "cel"
)))]
mod absent;
mod access;
mod accounts;
mod admission;
mod built_in;
mod client;
mod crds;
#[cfg(feature = "workloads")]
mod cron_jobs;
mod crud;
#[cfg(feature = "workloads")]
mod daemon_sets;
mod data_dir;
mod delays;
mod deletion;
#[cfg(feature = "workloads")]
mod determinism;
mod documents;
#[cfg(feature = "workloads")]
mod endpoints;
#[cfg(feature = "workloads")]
mod events;
#[cfg(feature = "workloads")]
mod evictions;
mod faults;
#[cfg(feature = "cel")]
mod findings;
#[cfg(feature = "workloads")]
mod fuzz;
mod garbage;
mod initial_state;
mod input;
#[cfg(feature = "workloads")]
mod jobs;
mod lists;
mod namespaces;
mod patches;
mod pods;
mod protobuf;
mod recorded_patches;
#[cfg(feature = "workloads")]
mod replication;
mod representations;
mod requests;
mod reviews;
mod sockets;
#[cfg(feature = "workloads")]
mod stateful_sets;
// The binary needs all features.
#[cfg(all(
    feature = "spdy",
    feature = "shell",
    feature = "tables",
    feature = "descriptions",
    feature = "workloads",
    feature = "cel"
))]
mod standalone;
mod storage_equivalents;
mod strict;
#[cfg(feature = "tables")]
mod tables;
#[cfg(feature = "workloads")]
mod timers;
mod watches;
#[cfg(feature = "workloads")]
mod workloads;
