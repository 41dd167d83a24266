//! Server-side apply and field ownership, as pure functions.
//!
//! Field sets (`fields`, `path`, `wire`) are computed from values and schema (`shape`, `typed`, `compare`; `keys` are completed), values
//! are merged (`merge`), and `ownership` is updated (`managed`, `conflict`, across `versions`) by apply requests (`server_side`) or other
//! writes (`update`). `scale`: who owns the replicas that a Scale shows.

mod compare;
pub(crate) mod conflict;
pub(crate) mod fields;
mod keys;
pub(crate) mod managed;
mod merge;
pub(crate) mod ownership;
pub(crate) mod path;
mod scale;
mod server_side;
mod shape;
mod typed;
mod update;
mod versions;
pub(crate) mod wire;

pub(crate) use keys::complete as complete_keys;
pub(crate) use managed::{ManagedFieldsEntry, requested};
pub(crate) use ownership::Ownership;
pub(crate) use scale::{owners_in_object, owners_in_scale};
pub(crate) use server_side::{Applied, Apply, ApplyError, apply, merged};
pub(crate) use update::{Update, update};
pub(crate) use versions::Versions;
