//! End-to-end scenarios, one file per behaviour. They run on the embedded server and, on request, on a genuine one.
//!
//! `cargo test -p e2e` uses the embedded server. `KUBE_E2E=cluster KUBECONFIG=file cargo test -p e2e` uses the cluster of
//! that kubeconfig instead; without `KUBE_E2E=cluster`, `cargo test --workspace` never connects to a cluster. A scenario is skipped where
//! the server lacks what it requires. Rust's test runner counts it as passed; the jobs that run the suite list the skipped ones.

// In a test binary, `pub` only marks what other files of the binary use.
#![allow(unreachable_pub)]

mod apply;
mod apply_set;
mod compact_cache;
mod controller;
mod crd_deleted;
mod crd_install;
mod credentials;
#[path = "../../../crates/kube-tools/tests/it/definition.rs"]
mod definition;
mod discovery;
mod etcd_restore;
mod events;
mod expired;
mod finalizer;
mod finalizer_race;
mod fleet_outage;
mod generated_types;
mod guide;
mod kubectl;
mod leader_election;
mod managed_fields;
mod metadata;
mod migration;
mod namespaces;
mod own_writes;
mod predicates;
mod priorities;
mod read_your_writes;
mod reconcile_failures;
mod relations;
mod rotation;
mod schema_table;
mod served_kinds;
mod server_restart;
#[cfg(unix)]
mod signals;
mod single_object;
mod store;
mod subresource;
#[path = "../../../crates/kube-derive/tests/it/table.rs"]
mod table;
mod tables;
mod test_env;
mod traffic;
mod triggers;
mod users;
mod verbs;
mod waiting;
mod watcher;
mod widget;
mod yaml;

// `table.rs` uses these crate names; it is shared with kube-derive.
use kube::core as kube_core;
mod kube_derive {
    pub use kube::{CustomResource, KubeSchema};
}
