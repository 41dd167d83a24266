//! The rules of CustomResourceDefinitions, with the messages of the genuine server. Schemas are checked by `schema`.
//!
//! `rules` validates a definition part by part: its `group` and `names`, `versions`, `columns`, `subresources`, `selectable` fields and
//! `conversion`; `formats` warns.

mod columns;
mod conversion;
mod formats;
mod group;
mod names;
mod rules;
mod selectable;
mod subresources;
mod versions;

pub(crate) use conversion::unusable_ca_bundle;
pub(crate) use formats::warnings as format_warnings;
pub(crate) use group::approval;
pub(crate) use rules::{validate, validate_update};
pub(crate) use versions::schema_path;
