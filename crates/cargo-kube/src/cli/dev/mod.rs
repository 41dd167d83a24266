//! `cargo kube dev`.
//!
//! - `command`: the subcommand.
//! - `machine`: what happens next, without I/O.
//! - `session`: performs it.
//! - `sources`: says when a source changes.
//! - `cluster`: the embedded server or the user's cluster, the kubeconfigs, and the manifests of the program there; `kubeconfig` is that
//!   for the user.
//! - `deployed`: what the manifests say about running the operator; `listens`: where it listens.
//! - `port`: whether another program has the operator's port, and when it answers.
//! - `account`: the kubeconfig and the token as which it runs.
//! - `lease`: only one session of an operator at a time in a cluster of the user.
//! - `detour`: what is replaced in a cluster of the user, and put back; `put_back`: how, beside changes of others.
//! - `say`: messages.

mod account;
mod cluster;
mod command;
mod deployed;
mod detour;
mod kubeconfig;
mod lease;
mod listens;
mod machine;
mod port;
mod put_back;
mod say;
mod session;
mod sources;

pub(super) use command::Dev;
