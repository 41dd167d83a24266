//! `cargo kube dev`.
//!
//! - `command`: the subcommand.
//! - `machine`: what happens next, without I/O.
//! - `session`: performs it.
//! - `sources`: says when a source changes.
//! - `cluster`: the embedded server or the user's cluster, the kubeconfigs, and the manifests of the program there.
//! - `deployed`: what the manifests say about running the operator; `listens`: where it listens.
//! - `account`: the kubeconfig and the token as which it runs; `detour`: what leads a cluster to this machine, and is put back.
//! - `say`: messages.

mod account;
mod cluster;
mod command;
mod deployed;
mod detour;
mod listens;
mod machine;
mod say;
mod session;
mod sources;

pub(super) use command::Dev;
