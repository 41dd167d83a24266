//! The runtime against an API server in the process, and against scripted answers where a real one never misbehaves.

mod common;
mod controller;
mod controller_related;
mod finalizer;
mod scripted;
mod shutdown;
mod wait;
mod watcher;
