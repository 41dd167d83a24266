//! Jobs that run against genuine API servers.
//!
//! `realapi` starts the servers. `generated` writes tables from them, `conformance` and `e2e` run suites, `etcd_restore` a watcher while
//! one is restored. `operator` runs an operator on them, `deployed` with its manifests alone, and `pages` has what both ask
//! of it; `fleet` runs one for several servers.

mod conformance;
mod deployed;
mod e2e;
mod etcd_restore;
mod fleet;
mod generated;
mod operator;
mod pages;
mod realapi;

pub(crate) use conformance::conformance;
pub(crate) use deployed::Deployed;
pub(crate) use e2e::{beside_kubectl, e2e, restart};
pub(crate) use etcd_restore::etcd_restore;
pub(crate) use fleet::{FleetServer, fleet};
pub(crate) use generated::{from_go, generated};
pub(crate) use operator::operator;
pub(crate) use realapi::{Server, kubectl, program};
