//! Behaviour of the server as its clients see it: raw HTTP requests to the in-process service.

// Everything here is a test, helpers included.
#![allow(clippy::unwrap_used)]

mod access;
mod accounts;
mod beginnings;
mod crds;
mod crud;
mod deletion;
mod documents;
mod evictions;
mod faults;
mod fuzz;
mod garbage;
mod input;
mod lists;
mod namespaces;
mod patches;
mod pods;
mod reviews;
mod rig;
mod sockets;
mod standalone;
mod timers;
mod twins;
mod views;
mod watches;
mod workloads;
