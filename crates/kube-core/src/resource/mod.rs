//! The [`Resource`] trait: the kind and scope of a Rust type, and accessors of its metadata.

mod ext;
mod kind;
mod owner;
mod scope;

pub use ext::ResourceExt;
pub use kind::{Resource, api_version_from_group_version};
pub use owner::{OwnerError, OwnerExt};
pub use scope::{
    ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope, NamespaceScope, ResourceScope,
    SubResourceScope,
};
