//! Server-side apply, and ownership of fields, as pure functions.
//!
//! Sets of field paths (`fields`, `path`, `wire`) are computed from values along a schema (`shape`, `typed`, `compare`),
//! values are combined (`merge`), and owners settled (`managed`, `conflict`), by a request of either kind
//! (`server_side`, `update`).

mod compare;
pub(crate) mod conflict;
pub(crate) mod fields;
pub(crate) mod managed;
mod merge;
pub(crate) mod path;
mod server_side;
mod shape;
mod typed;
mod update;
pub(crate) mod wire;

pub(crate) use managed::{ManagedFieldsEntry, requested};
pub(crate) use server_side::{Applied, Apply, ApplyError, apply};
pub(crate) use update::update;
