//! A Kubernetes API server in the process: for tests, demos and offline development.
//!
//! [`ApiServer`] is the server as a tower service; [`TestServer`] puts it behind a real socket, plain or TLS, for
//! `kubectl` and any other client. Both speak the real protocol: discovery, the built-in kinds, custom resources,
//! watches, patches, garbage collection.

mod apply;
mod clock;
mod failure;
mod gc;
mod ids;
mod meta;
mod names;
mod patch;
mod registry;
mod render;
mod route;
mod schema;
mod selector;
mod server;
mod socket;
mod store;
mod strategy;
mod verb;
mod watch;
mod world;

pub use server::{ApiServer, Body, Builder};
pub use socket::{StartError, TestServer, TestServerBuilder};
