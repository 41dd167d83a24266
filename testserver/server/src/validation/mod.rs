//! Validation of objects before they are stored.
//!
//! Most rules of built-in kinds are rows of `data/checks.txt` and `data/tags.txt`, which `types` reads. So an object is judged in three
//! places: a Pod by the rows of its types (`types`), by what looks at the whole Pod (`kinds/pod.rs`, `kinds/pod_spec.rs`), and in an
//! update by what stays as it is (`immutable/pods.rs`).
//!
//! `validate` composes it: `metadata` of every object; then `custom_resource`, by its schema, or `built_in`: the rules of `kinds` for the
//! whole object, those of Go `types` wherever these occur, and fields that are `immutable`. Each error has one rule, and no rule takes back
//! what another one reports. `errors`, `selectors` and `values` are what many rules need.

mod built_in;
mod custom_resource;
mod errors;
mod immutable;
mod kinds;
mod metadata;
mod selectors;
mod types;
mod validate;
mod values;

pub(crate) use validate::validate;
