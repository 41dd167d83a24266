//! Where the next token comes from.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::command::GcpCommand;
use super::standing::StandingToken;
use crate::auth::AuthError;
use crate::auth::cache::Renewed;
#[cfg(feature = "oauth")]
use crate::auth::oauth::OAuth;

/// The provider's settings, and whether the token that stands in them has been used.
#[derive(Debug)]
pub(in crate::auth) struct Gcp {
    standing: StandingToken,
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
        Ok(Self { standing: StandingToken::of(settings)?, next })
    }

    pub(in crate::auth) async fn fetch(&self) -> Result<Renewed, AuthError> {
        if let Some(standing) = self.standing.take(Timestamp::now(), Instant::now()) {
            return Ok(standing);
        }
        match &self.next {
            Next::Command(command) => command.run().await,
            #[cfg(feature = "oauth")]
            Next::DefaultCredentials(oauth) => oauth.fetch().await,
        }
    }
}

#[cfg(feature = "oauth")]
#[expect(clippy::unnecessary_wraps, reason = "its twin fails")]
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
    async fn the_standing_token_comes_first_and_then_the_command() {
        let settings = |expiry: &str| {
            let pairs = [
                ("access-token", "standing"),
                ("expiry", expiry),
                ("cmd-path", "echo"),
                ("cmd-args", r#"{"access_token":"printed"}"#),
            ];
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
        };
        let fresh = Gcp::new(&settings("2999-01-01T00:00:00Z"), None).unwrap();
        assert_eq!(fresh.fetch().await.unwrap().header.unwrap(), "Bearer standing");
        assert_eq!(fresh.fetch().await.unwrap().header.unwrap(), "Bearer printed");
        let expired = Gcp::new(&settings("2021-06-01T10:00:00Z"), None).unwrap();
        assert_eq!(expired.fetch().await.unwrap().header.unwrap(), "Bearer printed");
    }
}
