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
//!
//! `credential` chooses among those of a user. One that ends is `refreshing`, when `cache` says so, from its source: `token_file`, `exec`,
//! `gcp`, `oauth` or `oidc`. Sources run a `subprocess` or send a `token_request` (to a `token_endpoint` in tests). `header` makes the
//! value of a request, `error` says why there is none.

mod cache;
mod credential;
mod error;
mod exec;
mod gcp;
mod header;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "oidc")]
mod oidc;
mod refreshing;
mod subprocess;
#[cfg(test)]
#[cfg(any(feature = "oidc", feature = "oauth"))]
mod token_endpoint;
mod token_file;
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
