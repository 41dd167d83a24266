//! Authentication: credentials chosen once from the configuration, refreshed when needed, and shared by all requests.
//!
//! From the entry of a kubeconfig to the header of a request:
//!
//! ```text
//!  file ──► config::kubeconfig::read ──► select ──► AuthInfo ──► Credential::from_config ──► layer::auth ──► Authorization
//!           (serde; names the field)     (one user)                   │            ▲
//!                                                                     ▼            │ header, or an error that names the source
//!                                                             RefreshingCredential ─┘
//!                                                             (token file, exec plugin, gcp, oidc, oauth)
//! ```

// Which credential a user has, and its refresh.
mod cache;
mod credential;
mod refreshing;
// The sources of refreshed credentials.
mod exec;
mod gcp;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "oidc")]
mod oidc;
mod token_file;
// What the sources share.
mod error;
mod header;
mod subprocess;
#[cfg(test)]
#[cfg(any(feature = "oidc", feature = "oauth"))]
mod token_endpoint;
#[cfg(any(feature = "oidc", feature = "oauth"))]
mod token_request;

pub(crate) use credential::Credential;
pub use error::AuthError;
#[cfg(fuzzing)]
pub(crate) use exec::check_output;
#[cfg(feature = "oauth")]
pub use oauth::OAuthError;
#[cfg(feature = "oidc")]
pub use oidc::errors as oidc_errors;
pub(crate) use refreshing::RefreshingCredential;
