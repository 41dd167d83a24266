//! The samples of the users' guide, compiled against this workspace. The samples that are tests also run: `cargo test -p kube-examples`.
//!
//! There is one module per chapter. Each sample is inside a function or module that defines what the guide assumes (a client, an API, a
//! reconciler); shared definitions are in `prelude`. The `coverage` test fails if a sample of the guide is missing here.
#![allow(
    dead_code,
    deprecated,
    unused_variables,
    unused_imports,
    unused_must_use,
    unreachable_code,
    missing_docs
)]
#![allow(clippy::all, clippy::unwrap_used, unreachable_pub)]

mod coverage;
mod prelude;

// Formatted as in the guide.
#[rustfmt::skip]
mod introduction;
#[rustfmt::skip]
mod client;
#[rustfmt::skip]
mod watcher;
#[rustfmt::skip]
mod controller;
#[rustfmt::skip]
mod reconciler;
#[rustfmt::skip]
mod server_side_apply;
#[rustfmt::skip]
mod third_party;
#[rustfmt::skip]
mod error_handling;
#[rustfmt::skip]
mod generic_controllers;
#[rustfmt::skip]
mod derive;
#[rustfmt::skip]
mod admission;
#[rustfmt::skip]
mod testing;
#[rustfmt::skip]
mod monitoring;
#[rustfmt::skip]
mod operation;
