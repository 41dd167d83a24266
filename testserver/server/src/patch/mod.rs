//! The patch formats besides server-side apply.
//!
//! Pure functions that change the target in place; after an error the target is unspecified and must be discarded.

pub(crate) mod error;
pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod strategic;

pub(crate) use error::PatchError;
