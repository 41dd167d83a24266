//! A Kubernetes API server in the process: for tests, demos and offline development.
//!
//! [`ApiServer`] is the server as a tower service; [`TestServer`] puts it behind a real socket, plain or TLS, for
//! `kubectl` and any other client. Both speak the real protocol: discovery, the built-in kinds, custom resources,
//! watches, patches, garbage collection.
//!
//! [`Builder`] starts either with objects of your own. [`ApiServer::fault`] makes it fail on purpose,
//! [`ApiServer::advance`] moves its clock, [`ApiServer::snapshot`] keeps its state.
//!
//! Webhooks, of admission and of conversion, are asked over HTTPS as their configurations say: by URL, or by a service
//! that has an external name or endpoints. What the server does by itself (its controllers, garbage collection, the
//! objects it is started with) nobody is asked about, nor about `CONNECT`.

mod admission;
mod apply;
mod auth;
mod body;
mod builder;
mod clock;
mod cluster;
mod controllers;
mod conversion;
mod fault;
mod gc;
mod handlers;
mod ids;
mod journal;
mod kubelet;
mod manifest;
mod meta;
mod names;
mod patch;
mod render;
mod route;
mod schema;
mod scheme;
mod selector;
mod server;
mod socket;
mod status_error;
mod store;
mod strategy;
mod stream;
mod watch;
mod webhook;

pub use auth::User;
pub use body::Body;
pub use builder::Builder;
pub use cluster::BuiltInController;
pub use fault::{Fault, FaultResponse, FaultRule, Match};
pub use journal::DataError;
pub use kubelet::{Connection, Container, ContainerState, Exit, Kubelet, Process, Session, TerminalSize};
pub use manifest::{LoadError, Manifests};
pub use server::{ApiServer, RequestRecord, RewindError};
pub use socket::{StartError, TestServer};
