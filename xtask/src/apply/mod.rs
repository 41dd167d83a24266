//! Jobs of the macro `apply!`: the names of fields, and editors.
//!
//! - `names`: the names with every version of Kubernetes, optimized, and under Miri.
//! - `editor`: what rust-analyzer shows inside the macro; `server`: how it is asked.

mod editor;
mod names;
mod server;

pub(crate) use editor::rust_analyzer;
pub(crate) use names::apply_names;
