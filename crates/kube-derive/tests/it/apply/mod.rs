//! `apply!`: what it writes, and which names its fields have on the wire.
//!
//! `evaluation` and `control_flow` are about what is written, `values` about what fields take. `names` are found by reference, or else by
//! what a field changes (`unattributed`); `attributes` of serde have a table, `flattened` a file of its own.

/// `kube_derive::apply!` with the path of `kube_core` in this package.
macro_rules! apply {
    ($($literal:tt)*) => {
        ::kube_derive::apply! { #[kube(crates(kube_core = ::kube_core))] $($literal)* }
    };
}

mod attributes;
mod control_flow;
mod evaluation;
mod flattened;
mod names;
mod unattributed;
mod values;

use kube_core::Sparse;
use serde_json::Value;

/// The JSON of a value without an error.
fn json<T>(sparse: &Sparse<T>) -> Value {
    sparse.json().unwrap_or_else(|error| panic!("{error}"))
}

/// The error that a value carries.
fn error<T>(sparse: &Sparse<T>) -> String {
    match sparse.json() {
        Ok(json) => panic!("expected an error, found {json}"),
        Err(error) => error.to_string(),
    }
}
