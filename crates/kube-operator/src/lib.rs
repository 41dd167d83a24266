//! What an operator needs around its controllers.
//!
//! For reconcilers and replicas, always available; `kube` re-exports these modules as `kube::runtime::*` too:
//!
//! - [`apply`](mod@apply): creates and updates the children of an object by server-side apply.
//! - [`status`]: the conditions of an object, and writing its status.
//! - [`leader_election`]: of several replicas of a program, one is active.
//! - [`sharding`]: several replicas of a program share the objects among them.
//!
//! With the feature `manager`, which is on by default:
//!
//! - [`children`]: the children of an object as one set, applied in order, waited for, and deleted once they are no longer wanted.
//! - [`manager`]: all of it, with controllers and replicas, under one start and stop order.
//! - [`clusters`]: many clusters in one program, each with its own controllers.
//! - [`health`]: `/livez`, `/readyz` and `/healthz` with named checks.
//! - [`metrics`]: `/metrics` for Prometheus.
//! - [`debug`]: `/debug/controllers`, for people and programs.
//! - [`webhook`]: typed admission and conversion webhooks over HTTPS, and their certificates.
//! - [`rbac`]: the roles that a program needs, recorded from its requests.
//! - [`manifests`]: its CRDs, webhook configurations, roles, Deployment and what belongs to it, from the values that run.
//!
//! `health`, `metrics`, `debug` and `webhook` are axum routers that mount beside the routes of the program. Each module is usable without
//! the manager.

// For `leader_election` and `sharding`: `clock` goes on while the machine sleeps; `simulation` has processes in simulated time.

pub mod apply;
mod clock;
pub mod leader_election;
pub mod sharding;
#[cfg(test)]
mod simulation;
pub mod status;

#[cfg(feature = "manager")]
pub mod children;
#[cfg(feature = "manager")]
pub mod clusters;
#[cfg(feature = "manager")]
pub mod debug;
#[cfg(feature = "manager")]
pub mod health;
#[cfg(feature = "manager")]
pub mod manager;
#[cfg(feature = "manager")]
pub mod manifests;
#[cfg(feature = "manager")]
pub mod metrics;
#[cfg(feature = "manager")]
pub mod rbac;
#[cfg(feature = "manager")]
pub mod webhook;
