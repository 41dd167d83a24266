//! The choice between the sources of tokens.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::cached_token::CachedToken;
use super::command::GcpCommand;
use crate::auth::AuthError;
use crate::auth::cache::FetchedCredential;
#[cfg(feature = "oauth")]
use crate::auth::oauth::OAuth;
use crate::time::now;

/// The settings of the auth provider.
#[derive(Debug)]
pub(in crate::auth) struct Gcp {
    cached_token: CachedToken,
    next: Next,
}

#[derive(Debug)]
enum Next {
    Command(GcpCommand),
    #[cfg(feature = "oauth")]
    DefaultCredentials(OAuth),
}

impl Gcp {
    pub(in crate::auth) fn new(
        settings: &HashMap<String, String>,
        timeout: Option<Duration>,
    ) -> Result<Self, AuthError> {
        let next = match settings.contains_key("cmd-path") {
            true => Next::Command(GcpCommand::new(settings, timeout)?),
            false => default_credentials(settings)?,
        };
        Ok(Self { cached_token: CachedToken::of(settings)?, next })
    }

    pub(in crate::auth) async fn fetch(&self) -> Result<FetchedCredential, AuthError> {
        if let Some(cached_token) = self.cached_token.take(now(), Instant::now()) {
            return Ok(cached_token);
        }
        match &self.next {
            Next::Command(command) => command.run().await,
            #[cfg(feature = "oauth")]
            Next::DefaultCredentials(oauth) => oauth.fetch().await,
        }
    }
}

#[cfg(feature = "oauth")]
#[expect(clippy::unnecessary_wraps, reason = "it fails without the feature")]
fn default_credentials(settings: &HashMap<String, String>) -> Result<Next, AuthError> {
    Ok(Next::DefaultCredentials(OAuth::new(settings)))
}

#[cfg(not(feature = "oauth"))]
fn default_credentials(_: &HashMap<String, String>) -> Result<Next, AuthError> {
    Err(AuthError::needs_feature("gcp", "oauth"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_token_of_the_kubeconfig_is_used_once_before_the_command() {
        let settings = |expiry: &str| {
            let pairs = [
                ("access-token", "cached_token"),
                ("expiry", expiry),
                ("cmd-path", "echo"),
                ("cmd-args", r#"{"access_token":"printed"}"#),
            ];
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
        };
        let fresh = Gcp::new(&settings("2999-01-01T00:00:00Z"), None).unwrap();
        assert_eq!(fresh.fetch().await.unwrap().header.unwrap(), "Bearer cached_token");
        assert_eq!(fresh.fetch().await.unwrap().header.unwrap(), "Bearer printed");
        let expired = Gcp::new(&settings("2021-06-01T10:00:00Z"), None).unwrap();
        assert_eq!(expired.fetch().await.unwrap().header.unwrap(), "Bearer printed");
    }
}
