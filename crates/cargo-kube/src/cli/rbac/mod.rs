//! `cargo kube rbac`.
//!
//! - `files`: the roles and bindings in the files of a folder.
//! - `grants`: from roles and bindings to single permissions.
//! - `compare`: permissions as lines, with the parts of the program that need them.
//! - `command`: what the program needs, and the comparison with a folder.

mod command;
mod compare;
mod files;
mod grants;

pub(super) use command::Rbac;
