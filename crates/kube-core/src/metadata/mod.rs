//! Object metadata, and objects reduced to it.

mod partial;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
pub use partial::*;

pub use crate::type_meta::*;

mod private {
    /// Keeps [`PartialObjectMetaExt`](super::PartialObjectMetaExt) to this crate's implementations.
    pub trait Sealed {}

    impl Sealed for super::ObjectMeta {}
}
