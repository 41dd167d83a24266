//! All state of a server behind one lock, and the consequences of every change.
//!
//! Verbs read and write through [`World`]. What a change entails (garbage collection, namespaces and CRDs that
//! empty themselves) is queued and done by [`World::settle`] before the lock is released, so nobody sees half of it. What is to be done at a
//! time waits among the timers, until a request, a watch or the clock brings it about.

mod access;
mod accounts;
mod addresses;
mod bootstrap;
mod collect;
mod contents;
mod delete;
mod refill;
mod saved;
mod services;
mod settings;
mod state;
mod storage;
mod timers;
mod workloads;

pub(crate) use delete::{Deletion, Propagation};
pub use settings::BuiltInController;

pub(crate) use refill::Object;
pub(crate) use settings::Settings;
pub(crate) use state::World;
