//! The samples of the book. Each is a test; `cargo xtask samples --update` writes the parts between the `ANCHOR` comments into its pages.

// A panic fails the test. Types are public, as in a program, and samples have fields that no test reads.
#![allow(clippy::unwrap_used, unreachable_pub, dead_code)]

mod apply;
mod apply_yaml;
mod caches;
mod children;
mod crds;
mod custom_stack;
mod debugging;
mod defaults;
mod errors;
mod events;
mod fair;
mod foreign;
mod manager;
mod many_clusters;
mod reconciler;
mod replicas;
mod roles;
mod rotation;
mod scripting;
mod served;
mod stale_caches;
mod testing;
mod typed_apply;
