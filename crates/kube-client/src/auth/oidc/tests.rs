//! The auth provider `oidc` against a local issuer.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::Oidc;
use super::errors::{Error, RefreshError, RefreshInitError};
use crate::auth::AuthError;
use crate::auth::token_endpoint::{ReceivedRequests, endpoint};
use crate::config::{Config, KubeConfigOptions, UserOrigin};

fn token(expiry: i64, name: &str) -> String {
    let payload = format!(r#"{{"exp":{expiry},"sub":"{name}"}}"#);
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
}

const PAST: i64 = 1_000_000_000;
const FUTURE: i64 = 32_000_000_000;

fn settings(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// An issuer whose token endpoint sends these responses in order.
async fn issuer(responses: Vec<(u16, String)>) -> (String, ReceivedRequests) {
    endpoint(responses, None).await
}

async fn header(oidc: &Oidc) -> Result<String, AuthError> {
    Ok(oidc.fetch().await?.header.unwrap().to_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_valid_token_is_used_first_and_then_refreshed() {
    let (first, second, third) = (token(FUTURE, "first"), token(FUTURE, "second"), token(FUTURE, "third"));
    let (url, requests) = issuer(vec![
        (200, format!(r#"{{"id_token":"{second}","refresh_token":"next one"}}"#)),
        (200, format!(r#"{{"id_token":"{third}"}}"#)),
    ])
    .await;
    let oidc = Oidc::new(
        &settings(&[
            ("id-token", &first),
            ("refresh-token", "one/1"),
            ("idp-issuer-url", &format!("{url}/")),
            ("client-id", "me"),
            ("client-secret", "p:w"),
        ]),
        None,
    )
    .unwrap();
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {first}"));
    assert!(requests.lock().unwrap().is_empty());
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {second}"));
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {third}"));
    let requests = requests.lock().unwrap();
    // base64 of me:p%3Aw
    assert!(requests[0].0.contains("Basic bWU6cCUzQXc="), "{}", requests[0].0);
    assert_eq!(requests[0].1, "grant_type=refresh_token&refresh_token=one%2F1");
    assert_eq!(requests[1].1, "grant_type=refresh_token&refresh_token=next%20one");
}

#[tokio::test]
async fn the_client_secret_is_sent_in_the_body_if_the_header_is_refused() {
    let fresh = token(FUTURE, "fresh");
    let refused = || (401, r#"{"error":"invalid_client"}"#.to_owned());
    let (url, requests) =
        issuer(vec![refused(), (200, format!(r#"{{"id_token":"{fresh}"}}"#)), refused(), refused()]).await;
    let oidc = Oidc::new(
        &settings(&[
            ("id-token", &token(PAST, "old")),
            ("refresh-token", "r"),
            ("idp-issuer-url", &url),
            ("client-id", "me"),
            ("client-secret", "s"),
        ]),
        None,
    )
    .unwrap();
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {fresh}"));
    assert!(requests.lock().unwrap()[1].1.ends_with("&client_id=me&client_secret=s"));
    let refused = header(&oidc).await.unwrap_err();
    assert!(
        matches!(refused, AuthError::Oidc(Error::Refresh(RefreshError::AuthorizationFailure))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn each_failure_of_the_issuer_has_its_error() {
    let of = |code: u16, body: &str| {
        let responses = vec![(code, body.to_owned())];
        async move {
            let (url, _) = issuer(responses).await;
            let pairs = [("refresh-token", "r"), ("idp-issuer-url", url.as_str()), ("client-id", "me")];
            match header(&Oidc::new(&settings(&pairs), None).unwrap()).await.unwrap_err() {
                AuthError::Oidc(err) => err,
                other => panic!("{other:?}"),
            }
        }
    };
    assert!(matches!(of(500, "").await, Error::Refresh(RefreshError::RequestFailed(code)) if code == 500));
    assert!(matches!(of(200, "no json").await, Error::Refresh(RefreshError::InvalidTokenResponse(_))));
    assert!(matches!(of(200, "{}").await, Error::Refresh(RefreshError::NoIdTokenReceived)));
    assert!(matches!(of(200, r#"{"id_token":"no token"}"#).await, Error::IdToken(_)));
    let unreachable = [("refresh-token", "r"), ("idp-issuer-url", "http://127.0.0.1:1"), ("client-id", "me")];
    let err = header(&Oidc::new(&settings(&unreachable), None).unwrap()).await.unwrap_err();
    assert!(matches!(err, AuthError::Oidc(Error::Refresh(RefreshError::HyperUtilError(_)))), "{err:?}");
    for issuer in ["http://127.0.0.1:180990", "https://issuer:443x", "issuer", "ftp://issuer"] {
        let pairs = [("refresh-token", "r"), ("idp-issuer-url", issuer), ("client-id", "me")];
        let err = header(&Oidc::new(&settings(&pairs), None).unwrap()).await.unwrap_err();
        assert!(matches!(err, AuthError::Oidc(Error::Refresh(RefreshError::InvalidURI(_)))), "{err:?}");
    }
}

#[tokio::test]
async fn missing_settings_are_an_error_once_they_are_needed() {
    let new = |pairs: &[(&str, &str)]| Oidc::new(&settings(pairs), None);
    assert!(matches!(new(&[]), Err(AuthError::Oidc(Error::IdTokenMissing))));
    let missing = new(&[("refresh-token", "r"), ("client-id", "me")]).unwrap_err();
    let AuthError::Oidc(Error::RefreshInit(RefreshInitError::MissingField("idp-issuer-url"))) = missing
    else {
        panic!("{missing:?}");
    };
    let alone = new(&[("id-token", &token(FUTURE, "alone"))]).unwrap();
    assert!(header(&alone).await.is_ok());
    let expired = header(&new(&[("id-token", &token(PAST, "old"))]).unwrap()).await.unwrap_err();
    assert!(matches!(expired, AuthError::Oidc(Error::RefreshInit(_))), "{expired:?}");
    let odd = header(&new(&[("id-token", "odd")]).unwrap()).await.unwrap_err();
    assert!(matches!(odd, AuthError::Oidc(Error::IdToken(_))), "{odd:?}");
    let authority = [
        ("refresh-token", "r"),
        ("idp-issuer-url", "https://h"),
        ("client-id", "me"),
        ("idp-certificate-authority", "/no/such"),
    ];
    assert!(matches!(
        new(&authority),
        Err(AuthError::Oidc(Error::RefreshInit(RefreshInitError::NoValidNativeRootCA)))
    ));
    let debug = format!(
        "{:?}",
        new(&[
            ("id-token", "hush"),
            ("refresh-token", "hush"),
            ("client-secret", "hush"),
            ("idp-issuer-url", "https://h"),
            ("client-id", "me")
        ])
        .unwrap()
    );
    assert!(!debug.contains("hush"), "{debug}");
}

#[cfg(feature = "rustls-tls")]
mod over_tls {
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::auth::token_endpoint::self_signed;

    /// Refreshes a token of an issuer over TLS. `authority` returns the settings of its CA.
    async fn outcome(
        authority: impl FnOnce(&str) -> Vec<(&'static str, String)>,
    ) -> Result<String, AuthError> {
        let (acceptor, pem) = self_signed();
        let fresh = token(FUTURE, "fresh");
        let responses = vec![(200, format!(r#"{{"id_token":"{fresh}"}}"#))];
        let (url, _) = endpoint(responses, Some(acceptor)).await;
        let mut pairs = settings(&[
            ("id-token", &token(PAST, "old")),
            ("refresh-token", "r"),
            ("idp-issuer-url", &url),
            ("client-id", "me"),
            ("client-secret", "s"),
        ]);
        pairs.extend(authority(&pem).into_iter().map(|(key, value)| (key.to_owned(), value)));
        let outcome = header(&Oidc::new(&pairs, None)?).await?;
        assert_eq!(outcome, format!("Bearer {fresh}"));
        Ok(outcome)
    }

    #[tokio::test]
    async fn the_issuers_ca_is_read_from_a_file_or_inline_data() {
        let data = |pem: &str| vec![("idp-certificate-authority-data", STANDARD.encode(pem))];
        outcome(data).await.unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let write = |pem: &str| {
            std::fs::write(file.path(), pem).unwrap();
            vec![("idp-certificate-authority", path)]
        };
        outcome(write).await.unwrap();
    }

    #[tokio::test]
    async fn an_issuer_of_an_unknown_ca_does_not_receive_the_secret() {
        for authority in [None, Some(self_signed().1)] {
            let other = |_: &str| {
                let setting = authority.map(|pem| ("idp-certificate-authority-data", STANDARD.encode(pem)));
                setting.into_iter().collect()
            };
            let err = outcome(other).await.unwrap_err();
            let AuthError::Oidc(Error::Refresh(RefreshError::HyperUtilError(cause))) = err else {
                panic!("{err:?}");
            };
            assert!(format!("{cause:?}").contains("InvalidCertificate"), "{cause:?}");
        }
    }
}

/// A kubeconfig whose user has the refresh token `one`, as it is read from a file.
fn kubeconfig(folder: &tempfile::TempDir, issuer: &str) -> (HashMap<String, String>, UserOrigin) {
    let path = folder.path().join("config");
    let text = format!(
        "clusters: [{{name: c, cluster: {{server: 'https://h'}}}}]
contexts: [{{name: x, context: {{cluster: c, user: jane}}}}]
current-context: x
users:
- name: jane
  user: {{auth-provider: {{name: oidc, config: {{refresh-token: one, client-id: me, idp-issuer-url: '{issuer}'}}}}}}
"
    );
    std::fs::write(&path, text).unwrap();
    let config = Config::of_files(&[path], &KubeConfigOptions::default()).unwrap();
    (config.auth_info.auth_provider.unwrap().config, config.user_origin.unwrap())
}

/// The kubeconfig has the new tokens afterwards, and a token that another program has saved meanwhile is used.
#[tokio::test]
async fn new_tokens_are_saved_to_the_kubeconfig_and_read_from_it() {
    let (first, second) = (token(FUTURE, "first"), token(FUTURE, "second"));
    let (url, requests) = issuer(vec![
        (200, format!(r#"{{"id_token":"{first}","refresh_token":"two"}}"#)),
        (200, format!(r#"{{"id_token":"{second}"}}"#)),
    ])
    .await;
    let folder = tempfile::tempdir().unwrap();
    let (settings, origin) = kubeconfig(&folder, &url);
    let oidc = Oidc::new(&settings, Some(origin.clone())).unwrap();
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {first}"));
    let saved = origin.provider_settings().unwrap();
    assert_eq!((saved["id-token"].as_str(), saved["refresh-token"].as_str()), (first.as_str(), "two"));

    origin.save_provider_settings(&[("refresh-token", "of kubectl")]).unwrap();
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {second}"));
    let requests = requests.lock().unwrap();
    assert_eq!(requests[0].1, "grant_type=refresh_token&refresh_token=one&client_id=me");
    assert_eq!(requests[1].1, "grant_type=refresh_token&refresh_token=of%20kubectl&client_id=me");
    assert_eq!(origin.provider_settings().unwrap()["id-token"], second);
}

#[tokio::test]
async fn a_token_that_cannot_be_saved_stays_in_use() {
    let (first, second) = (token(FUTURE, "first"), token(FUTURE, "second"));
    let (url, requests) = issuer(vec![
        (200, format!(r#"{{"id_token":"{first}","refresh_token":"two"}}"#)),
        (200, format!(r#"{{"id_token":"{second}","refresh_token":"three"}}"#)),
    ])
    .await;
    let folder = tempfile::tempdir().unwrap();
    let (settings, origin) = kubeconfig(&folder, &url);
    let oidc = Oidc::new(&settings, Some(origin.clone())).unwrap();
    let lock = folder.path().join("config.lock");
    std::fs::write(&lock, "").unwrap();
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {first}"));
    assert_eq!(origin.provider_settings().unwrap()["refresh-token"], "one");
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {second}"));
    assert!(requests.lock().unwrap()[1].1.contains("refresh_token=two&"));
    assert_eq!(origin.provider_settings().unwrap()["refresh-token"], "three");
}
