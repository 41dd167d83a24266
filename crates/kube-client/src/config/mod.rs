//! Which cluster to talk to, as whom and how: from kubeconfig files, from inside a pod, or by hand.
//!
//! [`Config::infer`] does what most programs want. A [`Config`] is plain data: change its fields, then make a
//! [`Client`](crate::Client) of it.

mod error;
mod incluster;
mod infer;
mod kubeconfig;
mod loader;
mod settings;

pub use error::{InClusterError, InferConfigError, KubeconfigError, LoadDataError};
#[cfg(feature = "client")]
pub(crate) use kubeconfig::ClientIdentityPem;
#[cfg(feature = "rustls-tls")]
pub(crate) use kubeconfig::certificates_from_pem;
pub use kubeconfig::{
    AuthInfo, AuthProviderConfig, Cluster, Context, ExecAuthCluster, ExecConfig, ExecInteractiveMode,
    KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext, NamedExtension, Preferences,
};
pub use settings::*;
