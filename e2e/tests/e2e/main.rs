//! End-to-end behaviours: one file each, every one run on the embedded server and, on demand, on a genuine one.
//!
//! `cargo test -p e2e` uses the embedded server. `KUBE_E2E=cluster KUBECONFIG=file cargo test -p e2e` uses the cluster of
//! that kubeconfig instead; the extra variable keeps a plain `cargo test --workspace` away from whatever cluster the
//! developer happens to be logged in to. A scenario that needs what a server lacks is skipped: it says so in
//! one line, and `.ci/e2e-report` counts those lines, as Rust's test runner counts such a scenario as passed.

// A test binary has no outside: `pub` marks here what another file uses.
#![allow(unreachable_pub)]

mod bad_input;
mod bounced;
mod controller;
mod crd;
mod credentials;
mod crud;
mod delete;
mod discovery;
mod events;
mod expired;
mod failures;
mod finalizer;
mod finalizer_race;
mod garbage;
mod kind_deleted;
mod list;
mod metadata;
mod namespaces;
mod own_writes;
mod patch;
mod predicates;
mod priorities;
mod pruned;
mod reflector;
mod relations;
mod rewound;
mod schema_table;
#[cfg(unix)]
mod signals;
mod single_object;
mod spec_generic;
mod spec_pipeline;
mod spec_reconciler;
mod status;
mod store;
mod subresource;
#[path = "../../../crates/kube-derive/tests/it/table.rs"]
mod table;
mod traffic;
mod triggers;
mod watch;
mod watcher;
mod widget;
mod world;

// The table names its crates through the root of whoever includes it.
use kube::core as kube_core;
mod kube_derive {
    pub use kube::{CustomResource, KubeSchema};
}
