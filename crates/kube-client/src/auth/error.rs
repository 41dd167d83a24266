//! Why credentials could not be obtained.

use std::path::PathBuf;
use std::process::Output;

use thiserror::Error;

use crate::chain::{ErrorChain, one_line};

/// Credentials are missing, unusable, or their source failed.
#[derive(Debug, Error)]
pub enum AuthError {
    /// The user name or password is not valid in a header.
    #[error("the user name or password has characters that are not valid in a header: {}", ErrorChain(.0))]
    InvalidBasicAuth(#[source] http::header::InvalidHeaderValue),
    /// The token is not valid in a header.
    #[error("the bearer token has characters that are not valid in a header (a line break in the middle?): {}", ErrorChain(.0))]
    InvalidBearerToken(#[source] http::header::InvalidHeaderValue),
    /// The server refused a token that cannot be refreshed.
    #[error("the credentials were refused and cannot be refreshed")]
    UnrefreshableTokenResponse,
    /// The exec plugin failed.
    #[error("the exec plugin `{cmd}` failed ({}): {}", .out.status, tail(&.out.stderr))]
    AuthExecRun {
        /// The command and its arguments, without values that look like secrets.
        cmd: String,
        /// The exit status and the end of stderr. stdout is left out: it may contain credentials.
        out: Box<Output>,
    },
    /// The output of the exec plugin is not an `ExecCredential`.
    #[error("the exec plugin did not print an ExecCredential: {}", ErrorChain(.0.as_ref()))]
    AuthExecParse(#[source] Box<serde_saphyr::Error>),
    /// The input of the exec plugin (`KUBERNETES_EXEC_INFO`) could not be encoded.
    #[error("the input of the exec plugin cannot be encoded: {}", ErrorChain(.0))]
    AuthExecSerialize(#[source] serde_json::Error),
    /// The exec plugin could not be started.
    #[error("the exec plugin cannot be started: {}", ErrorChain(.0))]
    AuthExecStart(#[source] std::io::Error),
    /// The credentials are not valid, or the exec plugin violated the protocol.
    #[error("{0}")]
    AuthExec(String),
    /// The exec plugin requires the cluster's settings, which are missing.
    #[error("the exec plugin requires the cluster's settings (`provideClusterInfo`), which are missing")]
    ExecMissingClusterInfo,
    /// The exec plugin returned no credential.
    #[error("the exec plugin returned neither a token nor a client certificate")]
    ExecPluginFailed,
    /// The exec plugin has no command.
    #[error("the user's `exec` has no `command`")]
    MissingCommand,
    /// The expiry of the credential is not a valid time.
    #[error("the credential's `expirationTimestamp` is not an RFC 3339 time: {}", ErrorChain(.0))]
    MalformedTokenExpirationDate(#[source] jiff::Error),
    /// The platform has no CA certificates.
    #[error("the platform has no CA certificates: {}", ErrorChain(.0))]
    NoValidNativeRootCA(#[source] std::io::Error),
    /// The output of the auth provider's command is not JSON.
    #[error("the output of the auth provider's command is not JSON: {}", ErrorChain(.0))]
    ParseTokenKey(#[source] serde_json::Error),
    /// The auth provider `gcp` returned no token.
    #[cfg(feature = "oauth")]
    #[error("the auth provider \"gcp\" returned no token: {}", ErrorChain(.0))]
    OAuth(#[source] super::OAuthError),
    /// The auth provider `oidc` returned no token.
    #[cfg(feature = "oidc")]
    #[error("the auth provider \"oidc\" returned no token: {}", ErrorChain(.0))]
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

/// The end of `text`, where programs print the reason, in one line.
pub(super) fn tail(text: &[u8]) -> String {
    const MAX_CHARS: usize = 2048;
    let text = String::from_utf8_lossy(text);
    let text = one_line(&text);
    let start = text.char_indices().rev().take(MAX_CHARS).last().map_or(0, |(index, _)| index);
    text[start..].to_owned()
}
