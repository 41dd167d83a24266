//! What `cargo kube` does, as a library: [`types`] makes Rust types from definitions of custom resources.
//!
//! The program is described in the [README](https://docs.rs/crate/cargo-kube). A build script uses this crate with `default-features = false`.

pub mod types;
