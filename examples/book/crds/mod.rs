//! Custom resources: the page "Custom resources" shows these samples.
//!
//! `document` is the whole way from a struct to a CRD. `rules`, `overrides`, `merge`, `rewritten` and `recursive` are about its schema,
//! `versions` about a second version.

mod document;
mod merge;
mod overrides;
mod recursive;
mod rewritten;
mod rules;
mod versions;
