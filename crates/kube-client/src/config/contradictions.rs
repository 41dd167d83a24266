//! What the selected cluster and user must not have together, and what is not sent over http. Both as by kubectl.

use http::Uri;
use http::uri::Scheme;

use super::url::is_loopback;
use super::{AuthInfo, Cluster, KubeconfigError};

/// Refuses CA certificates together with `insecure-skip-tls-verify: true`: which of them is meant is a guess.
pub(super) fn check_cluster(name: &str, cluster: &Cluster) -> Result<(), KubeconfigError> {
    let is_set = |value: &Option<String>| value.as_deref().is_some_and(|text| !text.is_empty());
    let has_ca = is_set(&cluster.certificate_authority) || is_set(&cluster.certificate_authority_data);
    if cluster.insecure_skip_tls_verify == Some(true) && has_ca {
        return Err(KubeconfigError::LoadClusterOfContext(format!(
            "cluster {name:?} has both `insecure-skip-tls-verify: true` and `certificate-authority`: expected one of them"
        )));
    }
    Ok(())
}

/// Refuses groups, a uid or extra attributes of a user to impersonate without that user: servers refuse each such request.
pub(super) fn check_user(name: &str, user: &AuthInfo) -> Result<(), KubeconfigError> {
    let is_set = |value: &Option<String>| value.as_deref().is_some_and(|text| !text.is_empty());
    let fields = [
        ("as-uid", is_set(&user.impersonate_uid)),
        ("as-groups", user.impersonate_groups.as_ref().is_some_and(|groups| !groups.is_empty())),
        ("as-user-extra", user.impersonate_user_extra.as_ref().is_some_and(|extra| !extra.is_empty())),
    ];
    match fields.iter().find(|(_, is_set)| *is_set) {
        Some((field, _)) if !is_set(&user.impersonate) => Err(KubeconfigError::LoadContext(format!(
            "user {name:?} has `{field}` without `as`: expected the user to impersonate"
        ))),
        _ => Ok(()),
    }
}

/// What may be sent to `server`: over http to another machine no credential, which everyone between could read, and so no plugin runs.
/// Credentials in the URL itself are sent.
pub(super) fn sendable(user: AuthInfo, server: &Uri) -> AuthInfo {
    if server.scheme() != Some(&Scheme::HTTP) || server.host().is_some_and(is_loopback) {
        return user;
    }
    let AuthInfo { impersonate, impersonate_uid, impersonate_groups, impersonate_user_extra, .. } = user;
    let has_credential = user.token.is_some()
        || user.token_file.is_some()
        || user.username.is_some()
        || user.exec.is_some()
        || user.auth_provider.is_some();
    if has_credential {
        let host = server.host().unwrap_or_default();
        tracing::warn!(%host, "the server's URL is http: the user's credentials are not sent, expected https");
    }
    let (extensions, other) = (user.extensions, user.other);
    AuthInfo {
        impersonate,
        impersonate_uid,
        impersonate_groups,
        impersonate_user_extra,
        extensions,
        other,
        ..AuthInfo::default()
    }
}
