//! What makes a Rust type an API resource, and where it lives.

mod ext;
mod kind;
mod scope;

pub use ext::ResourceExt;
pub use kind::{Resource, api_version_from_group_version};
pub use scope::{
    ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope, NamespaceScope, ResourceScope,
    SubResourceScope,
};
