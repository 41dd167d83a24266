//! Create and update strategies: what the server sets, defaults and validates in objects of built-in kinds before they are stored.

mod allocate;
mod built_in;
mod checks;
mod create;
mod defaults;
mod immutable;
mod label_keys;
mod metadata;
mod part;
mod rules;
mod scale;
mod selectors;
mod update;
mod warnings;

pub(crate) use allocate::{CLAIM_IN_USE, CLASS_IN_USE, VOLUME_IN_USE};
pub(crate) use built_in::{created_by_put, needs_version, orphans_dependents, status_has_metadata};
pub(crate) use checks::validate as validate_type;
pub(crate) use create::prepare as prepare_create;
pub(crate) use defaults::default;
pub(crate) use immutable::validate as validate_immutable;
pub(crate) use metadata::{
    finalizer_warnings, validate as validate_metadata, validate_embedded, validate_labels,
};
pub(crate) use part::{WritePart, validate as validate_part};
pub(crate) use rules::{SYSTEM_CLASSES, validate as validate_kind, validate_mounts};
pub(crate) use scale::validate as validate_scale;
pub(crate) use update::{count as count_change, prepare as prepare_update};
pub(crate) use warnings::warnings;
