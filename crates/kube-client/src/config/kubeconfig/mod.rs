//! Kubeconfig files: their types, reading, merging, and selecting one context.

mod auth_info;
mod data;
mod flag;
mod merge;
mod paths;
mod read;
mod select;
mod types;

pub use auth_info::{AuthInfo, AuthProviderConfig, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
#[cfg(feature = "client")]
pub(crate) use data::ClientIdentityPem;
pub(crate) use data::certificates_from_pem;
pub(super) use read::{merge_all, read_files};
pub use select::KubeConfigOptions;
pub(super) use select::{Selected, Selection};
pub use types::{
    Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext, NamedExtension, Preferences,
};
