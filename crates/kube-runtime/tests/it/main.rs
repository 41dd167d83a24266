//! The runtime against an API server in the process, and against scripted answers where a real one never misbehaves.

#![allow(clippy::unwrap_used)] // a panic in here is a failed test

mod churn;
mod common;
mod controller;
mod controller_namespaces;
mod controller_related;
mod errors;
mod events;
mod finalizer;
mod layers;
mod lifetime;
mod log;
mod longest_delays;
mod namespaces;
mod own_writes;
mod pages;
mod panics;
mod reasons;
mod related_gaps;
mod retry;
mod rewound;
mod script;
mod scripted;
mod shutdown;
mod simulation;
mod spec_watcher;
mod undecodable;
mod undecodable_in_store;
mod urgency;
mod wait;
mod watcher;
