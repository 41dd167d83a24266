//! An in-process Kubernetes API server for tests, demos and offline development.
//!
//! [`ApiServer`] is the server as a tower service; [`TestServer`] opens a socket for it, plain or TLS, for `kubectl` and any other client.
//! Both serve the Kubernetes API: discovery, the built-in kinds, custom resources, watches, patches, garbage collection.
//!
//! [`Builder`] configures either, with initial objects. [`ApiServer::fault`] injects faults, [`ApiServer::advance`] advances its clock,
//! [`ApiServer::snapshot`] saves its state.
//!
//! Admission and conversion webhooks are called over HTTPS at their URL, or at a service with an external name or endpoints; in the
//! process, and in paused time, with [`ApiServer::service_backend`].
//!
#![doc = include_str!("../support.md")]

// The modules, in the order in which a request passes:
//
// - In: `socket` has connections, `server` the tower service, `route` reads paths and options, `fault` answers in place of the server,
//   `call` is a request with its body, `rbac` says who sends it and what it may do.
// - What it is about: `scheme` has the kinds and their discovery, `crd` custom resources, `schema` their structure, `gotypes` the structs
//   of built-in kinds, `object` what all objects have. `text_table` finds lines of the tables of these.
// - What it does: `handlers` has a function a verb, `write` the path of a write. Its stages use `patch` and `apply` (changes), `strategy`
//   (defaults, fields of the server), `admission` (plugins, policies), `webhook` with each `backend` in the process, and `validation`.
// - The state: `storage` has the objects, `watch` tells of changes, `cluster` is the state behind one lock, with controllers, of which
//   `workloads` has the decisions; `pods` is the node.
// - Out: `response` encodes, `protobuf` as well, `status_error` refuses.
// - Around: `builder` and `manifest` begin with options and objects; `fleet` has several servers, and `served_fleet` has them on
//   ports; `clock`, `ids` and `secret` are small.
mod admission;
mod apply;
mod backend;
mod builder;
mod call;
mod clock;
mod cluster;
mod crd;
mod fault;
mod fleet;
mod gotypes;
mod handlers;
mod ids;
mod manifest;
mod object;
mod patch;
mod pods;
mod protobuf;
mod rbac;
mod response;
mod route;
mod schema;
mod scheme;
mod secret;
mod served_fleet;
mod server;
mod socket;
mod status_error;
mod storage;
mod strategy;
mod text_table;
mod validation;
mod watch;
mod webhook;
#[cfg(feature = "workloads")]
mod workloads;
mod write;

pub use admission::{AdmissionPlugin, UnknownPlugin};
pub use backend::ServiceBackend;
pub use builder::Builder;
pub use cluster::BuiltInController;
pub use fault::{Fault, FaultResponse, FaultRule, Match};
pub use fleet::TestFleet;
pub use manifest::{LoadError, Manifests};
pub use pods::{Connection, Container, ContainerState, Exit, Kubelet, Process, Session, TerminalSize};
pub use rbac::User;
pub use response::Body;
pub use served_fleet::ServedFleet;
pub use server::{ApiServer, RequestRecord, RewindError};
pub use socket::{StartError, TestServer};
pub use storage::DataError;
#[doc(hidden)] // for the program of this package
pub use storage::replace_private;
