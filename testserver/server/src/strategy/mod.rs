//! Create and update strategies: what the server sets and defaults in objects of built-in kinds before they are stored, and what it
//! warns of.
//!
//! `defaults` sets what depends on other fields. `create` and `update` prepare the object: `part` is what a write changes, `allocate` has
//! values and first states, `label_keys` the terms of pods, `built_in` what single kinds do. `priority_class` has the classes of every
//! cluster, `warnings` what a response warns of.

mod allocate;
mod built_in;
mod create;
mod defaults;
mod label_keys;
mod part;
mod priority_class;
mod update;
mod warnings;

pub(crate) use allocate::{CLAIM_IN_USE, CLASS_IN_USE, VOLUME_IN_USE, number};
pub(crate) use built_in::{created_by_put, needs_version, orphans_dependents, status_has_metadata};
pub(crate) use create::prepare as prepare_create;
pub(crate) use defaults::default;
pub(crate) use label_keys::validate as validate_label_keys;
pub(crate) use part::{WritePart, validate as validate_part};
pub(crate) use priority_class::{HIGHEST_USER_PRIORITY, SYSTEM_CLASSES};
pub(crate) use update::{count as count_change, prepare as prepare_update};
pub(crate) use warnings::warnings;
