//! The auth provider `oidc`: an OpenID Connect ID token, refreshed with a refresh token.

pub mod errors;
mod id_token;
mod provider;
mod refresh;

pub(super) use provider::Oidc;

#[cfg(test)]
mod tests;
