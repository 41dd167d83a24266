//! kube-runtime against an in-process API server, and against scripted responses for failures that the server does not
//! produce.

#![allow(clippy::unwrap_used)] // a panic fails the test

mod assignment;
mod churn;
mod common;
#[cfg(feature = "compact-cache")]
mod compact;
mod controller;
mod controller_namespaces;
mod controller_related;
mod during_relists;
mod error_messages;
mod events;
mod exchanged_credentials;
mod fair;
mod filters;
mod finalizer;
mod initial_sync;
mod layers;
mod leaks;
mod logging;
mod max_durations;
#[cfg(feature = "metrics")]
mod metrics;
mod missed_related_events;
mod monitor;
mod namespaces;
mod outage;
mod own_writes;
mod owned_store;
mod pages;
mod panics;
mod priority;
mod read_your_writes;
mod reasons;
mod relists;
mod restored_storage;
mod retry;
mod scripted_server;
mod served;
mod shutdown;
mod simulation;
mod spec_watcher;
mod starts;
mod undecodable;
mod undecodable_in_store;
mod wait;
mod watcher;
mod watcher_faults;
