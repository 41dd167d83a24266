//! The rules of CustomResourceDefinitions, with the messages of the genuine server.
//!
//! `rules` composes them, in this order: `group`, `names`, `versions`, `columns`, `subresources`, `selectable`, `conversion`; schemas are
//! checked by [`schema`](crate::schema). `formats` has what is accepted with a warning.

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
pub(crate) use rules::validate;
pub(crate) use versions::schema_path;
