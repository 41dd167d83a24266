//! Why credentials could not be obtained.

use std::path::PathBuf;
use std::process::Output;

use thiserror::Error;

use crate::chain::{ErrorChain, one_line};

/// Credentials are missing, unusable, or their source failed.
#[derive(Debug, Error)]
pub enum AuthError {
    /// User name or password cannot be sent in a header.
    #[error("the user name or password has characters that a header cannot hold: {}", ErrorChain(.0))]
    InvalidBasicAuth(#[source] http::header::InvalidHeaderValue),
    /// The token cannot be sent in a header.
    #[error("the bearer token has characters that a header cannot hold (a line break in the middle?): {}", ErrorChain(.0))]
    InvalidBearerToken(#[source] http::header::InvalidHeaderValue),
    /// The server refused a token that cannot be renewed.
    #[error("the credentials were refused and cannot be renewed")]
    UnrefreshableTokenResponse,
    /// The credential program ended with a failure.
    #[error("the credential program `{cmd}` failed ({}): {}", .out.status, tail(&.out.stderr))]
    AuthExecRun {
        /// The program and its arguments, without values that look like secrets.
        cmd: String,
        /// How it ended, and the end of what it printed on its standard error. Its standard output is left out: it may hold credentials.
        out: Box<Output>,
    },
    /// What the credential program printed is not an `ExecCredential`.
    #[error("the credential program did not print an ExecCredential: {}", ErrorChain(.0.as_ref()))]
    AuthExecParse(#[source] Box<serde_saphyr::Error>),
    /// What the credential program is to be told could not be written.
    #[error("cannot write what the credential program is told: {}", ErrorChain(.0))]
    AuthExecSerialize(#[source] serde_json::Error),
    /// The credential program could not be started.
    #[error("the credential program cannot be started: {}", ErrorChain(.0))]
    AuthExecStart(#[source] std::io::Error),
    /// The credentials' settings cannot be used, or the program broke its side of the protocol.
    #[error("{0}")]
    AuthExec(String),
    /// The program is to be told about the cluster, but the cluster is not known.
    #[error(
        "the credential program is to be told about the cluster (`provideClusterInfo`), which is not known"
    )]
    ExecMissingClusterInfo,
    /// The credential program gave nothing to go on with.
    #[error("the credential program gave neither a token nor a client certificate")]
    ExecPluginFailed,
    /// No program is named.
    #[error("the user's `exec` has no `command`")]
    MissingCommand,
    /// The expiry of the credentials is no time.
    #[error("the credential's `expirationTimestamp` is not an RFC 3339 time: {}", ErrorChain(.0))]
    MalformedTokenExpirationDate(#[source] jiff::Error),
    /// The platform has no authorities.
    #[error("the platform has no certificate authorities: {}", ErrorChain(.0))]
    NoValidNativeRootCA(#[source] std::io::Error),
    /// A provider's settings do not lead to a token.
    #[error("the auth provider's token cannot be read: {}", ErrorChain(.0))]
    ParseTokenKey(#[source] serde_json::Error),
    /// Google's tokens could not be obtained.
    #[cfg(feature = "oauth")]
    #[error("the auth provider \"gcp\" gave no token: {}", ErrorChain(.0))]
    OAuth(#[source] super::OAuthError),
    /// OpenID Connect's tokens could not be obtained.
    #[cfg(feature = "oidc")]
    #[error("the auth provider \"oidc\" gave no token: {}", ErrorChain(.0))]
    Oidc(#[source] super::oidc_errors::Error),
    /// The token file could not be read.
    #[error("cannot read the token from {}: {}", .1.display(), ErrorChain(.0))]
    ReadTokenFile(#[source] std::io::Error, PathBuf),
}

impl AuthError {
    #[cfg(not(all(feature = "oidc", feature = "oauth")))]
    pub(super) fn needs_feature(provider: &str, feature: &str) -> Self {
        Self::AuthExec(format!(
            "the user's auth-provider {provider:?} needs the feature `{feature}` of kube, which is not enabled"
        ))
    }
}

/// The end of a text, where programs put their reason, in one line.
fn tail(text: &[u8]) -> String {
    const SHOWN: usize = 2048;
    let text = String::from_utf8_lossy(text);
    let text = one_line(&text);
    let start = text.char_indices().rev().take(SHOWN).last().map_or(0, |(index, _)| index);
    text[start..].to_owned()
}
