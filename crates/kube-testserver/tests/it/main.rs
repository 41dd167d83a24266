//! Integration tests: raw HTTP requests to the in-process service.

// Test code only.
#![allow(clippy::unwrap_used)]

mod access;
mod accounts;
mod admission;
mod client;
mod crds;
mod crud;
mod data_dir;
mod deletion;
mod determinism;
mod documents;
mod evictions;
mod faults;
mod fuzz;
mod garbage;
mod initial_state;
mod input;
mod lists;
mod namespaces;
mod patches;
mod pods;
mod recorded_patches;
mod reviews;

mod representations;
mod sockets;
mod standalone;
mod storage_equivalents;
mod timers;
mod watches;
mod workloads;
