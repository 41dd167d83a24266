//! An in-process Kubernetes API server for tests, demos and offline development.
//!
//! [`ApiServer`] is the server as a tower service; [`TestServer`] opens a socket for it, plain or TLS, for `kubectl` and any other client. Both serve the Kubernetes API: discovery, the built-in kinds, custom resources, watches, patches, garbage collection.
//!
//! [`Builder`] configures either, with initial objects. [`ApiServer::fault`] injects faults, [`ApiServer::advance`] advances its clock, [`ApiServer::snapshot`] saves its state.
//!
//! Admission and conversion webhooks are called over HTTPS at their URL, or at a service with an external name or endpoints.
//!
#![doc = include_str!("../support.md")]

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
mod quantity;
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

pub use admission::{AdmissionPlugin, UnknownPlugin};
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
