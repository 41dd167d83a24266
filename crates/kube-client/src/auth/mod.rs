//! Who we are: credentials planned once from the configuration, and renewed without doing anything twice.

mod cache;
mod error;
mod exec;
mod file;
mod gcp;
mod header;
#[cfg(any(feature = "oidc", feature = "oauth"))]
mod http;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "oidc")]
mod oidc;
mod plan;
mod program;
mod renew;
mod shared;
#[cfg(test)]
#[cfg(any(feature = "oidc", feature = "oauth"))]
mod token_endpoint;

pub use error::AuthError;
#[cfg(fuzzing)]
pub(crate) use exec::judge;
#[cfg(feature = "oauth")]
pub use oauth::OAuthError;
#[cfg(feature = "oidc")]
pub use oidc::errors as oidc_errors;
pub(crate) use plan::Credential;
pub(crate) use renew::Renewing;
