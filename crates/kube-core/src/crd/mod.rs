//! Custom resource definitions.

mod ext;
mod merge;

pub use v1::{CustomResourceExt, MergeError, merge_crds};

/// What concerns `apiextensions.k8s.io/v1`.
pub mod v1 {
    pub use super::ext::CustomResourceExt;
    pub use super::merge::{MergeError, merge_crds};
}
