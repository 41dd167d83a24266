//! Kubeconfig files, in the order in which they are processed:
//!
//! - `types`, `auth_info`, `exec_config`, `extension`: the document
//! - `values`, `last_key`: how its single values and equal keys are read and written
//! - `named`: its lists
//! - `read`: parses text, files and `KUBECONFIG`
//! - `untrusted`: refuses what an untrusted text must not have
//! - `merge`: merges several documents
//! - `select`: selects the context to use
//! - `save`: writes new tokens of a user back to the file
//! - `data`: loads the certificates and keys of its cluster and user

mod auth_info;
mod data;
mod exec_config;
mod extension;
mod last_key;
mod merge;
mod named;
mod read;
#[cfg(feature = "oidc")]
mod save;
mod select;
mod types;
mod untrusted;
mod values;

pub use auth_info::{AuthInfo, AuthProviderConfig};
pub(crate) use data::certificates_from_pem;
#[cfg(feature = "client")]
pub(crate) use data::{ClientIdentityPem, KEY_IS_ENCRYPTED, is_encrypted};
pub use exec_config::{ExecAuthCluster, ExecConfig, ExecInteractiveMode};
pub use extension::NamedExtension;
pub(crate) use merge::UserOrigin;
pub(super) use merge::{MergedFile, merge_files};
pub use read::decode_text;
pub(super) use read::{kubeconfig_paths, read_paths};
pub use select::KubeConfigOptions;
pub(super) use select::Selection;
pub use types::{Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext, Preferences};
pub use untrusted::{KubeconfigAllowList, RefusedSetting, UntrustedKubeconfigError};
#[cfg(feature = "client")]
pub(crate) use values::sorted;
