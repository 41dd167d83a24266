//! Custom resource definitions.

mod ext;

pub use v1::CustomResourceExt;

/// What concerns `apiextensions.k8s.io/v1`.
pub mod v1 {
    pub use super::ext::CustomResourceExt;
}
