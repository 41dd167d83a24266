//! Jobs about the crates as other projects get them: packed, as a dependency, with their features, their public API and their versions.
//!
//! `package` packs the crates, `install` depends on them as the README says, `shown` as other pages do. `surface` compares the API
//! with that of 5.0, `shared_features` the features; `versions` the API with earlier commits, and the oldest compiler.
//! `dependencies` checks what they depend on. `release` runs them before a tag.

mod dependencies;
mod install;
mod package;
mod release;
mod shared_features;
mod shown;
mod surface;
mod versions;

pub(crate) use dependencies::dependencies;
pub(crate) use install::install;
pub(crate) use package::package;
pub(crate) use release::release;
pub(crate) use shared_features::shared_features;
pub(crate) use surface::surface;
pub(crate) use versions::{msrv, semver};
