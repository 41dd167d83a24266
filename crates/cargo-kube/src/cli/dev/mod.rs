//! `cargo kube dev`.
//!
//! - `command`: the subcommand.
//! - `machine`: what happens next, without I/O.
//! - `session`: performs it.
//! - `sources`: says when a source changes.
//! - `cluster`: the embedded server or the user's cluster, the kubeconfigs, and the manifests of the program there.
//! - `deployed`: what the manifests say about running the operator; `listens`: where it listens.

mod cluster;
mod command;
mod deployed;
mod listens;
mod machine;
mod session;
mod sources;

pub(super) use command::Dev;
