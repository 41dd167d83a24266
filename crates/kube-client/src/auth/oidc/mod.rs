//! The auth provider `oidc`: an OpenID Connect ID token, refreshed with a refresh token.

mod id_token;
mod provider;
mod refresh;

/// Errors of the auth provider `oidc`.
pub mod errors;

pub(super) use provider::Oidc;

#[cfg(test)]
mod tests;
