//! Faults of a genuine API server: how long each library takes until everything is reconciled again.
//!
//! The programs are those of `hello/`, side by side on one server. A writer, which is connected directly, changes objects all the time.

mod observer;
mod proxy;
mod scenario;
mod server;
mod writer;

pub(crate) use scenario::run;
