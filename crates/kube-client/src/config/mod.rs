//! The configuration of a client: the cluster, the credentials and the connection settings.
//!
//! [`Config::infer`] does what most programs want. A [`Config`] is plain data: change its fields, then make a
//! [`Client`](crate::Client) of it.

// `infer` finds the source: `files`, which `kubeconfig` decodes and from which `loader` takes one context, or `incluster`.
// `contradictions` are refused, `url` is the parser of every URL, `proxy` that of the environment, with `ip_range` for exceptions.
// `settings` is the result, with its `warnings` handler; `access` is the part of it that changes when a client has to `follow` the source.
// `decode` and `error_context` say where a value is wrong, `redact` prints without secrets, `error` has what the caller gets.

#[cfg(feature = "client")]
mod access;
mod contradictions;
mod decode;
mod files;
#[cfg(feature = "client")]
mod follow;
mod incluster;
mod infer;
mod ip_range;
mod kubeconfig;
mod loader;
mod proxy;
mod url;

mod settings;
mod warnings;

mod error;
mod error_context;
mod redact;

#[cfg(feature = "client")]
pub(crate) use decode::WithPath;
#[cfg(feature = "client")]
pub use error::FollowError;
pub use error::{InClusterError, InferConfigError, KubeconfigError, LoadDataError, NoProxyError};
pub(crate) use kubeconfig::UserOrigin;
#[cfg(any(feature = "client", feature = "oidc"))]
pub(crate) use kubeconfig::certificates_from_pem;
pub use kubeconfig::decode_text;
pub use kubeconfig::{
    AuthInfo, AuthProviderConfig, Cluster, Context, ExecAuthCluster, ExecConfig, ExecInteractiveMode,
    KubeConfigOptions, Kubeconfig, KubeconfigAllowList, NamedAuthInfo, NamedCluster, NamedContext,
    NamedExtension, Preferences, RefusedSetting, UntrustedKubeconfigError,
};
#[cfg(feature = "client")]
pub(crate) use kubeconfig::{ClientIdentityPem, KEY_IS_ENCRYPTED, is_encrypted, sorted};
#[cfg(any(feature = "oidc", feature = "oauth"))]
pub(crate) use proxy::proxy_from_env;
#[cfg(any(feature = "oidc", feature = "oauth"))]
pub(crate) use redact::{Redacted, without_user};
#[cfg(feature = "client")]
pub(crate) use redact::{
    credentials_of, host_of, origin_of, redacted_args, without_credentials, without_quoted_value,
    write_origin, write_query,
};
pub use settings::*;
#[cfg(feature = "oidc")]
pub(crate) use url::parse_url;
#[cfg(feature = "client")]
pub(crate) use url::{Schemes, check_url};
pub use warnings::{Warning, WarningHandler};
