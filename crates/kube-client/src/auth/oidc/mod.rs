//! The provider `oidc`: an ID token of OpenID Connect, and a refresh token to get the next one with.

mod id_token;
mod provider;
mod refresh;

/// What can be wrong with tokens of OpenID Connect.
pub mod errors;

pub(super) use provider::Oidc;

#[cfg(test)]
mod tests;
