//! The whole of it against an issuer that runs here.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::Oidc;
use super::errors::{Error, RefreshError, RefreshInitError};
use crate::auth::AuthError;
use crate::auth::token_endpoint::{Asked, endpoint};

fn token(expiry: i64, name: &str) -> String {
    let payload = format!(r#"{{"exp":{expiry},"sub":"{name}"}}"#);
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
}

const PAST: i64 = 1_000_000_000;
const FUTURE: i64 = 32_000_000_000;

fn settings(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// An issuer whose token endpoint answers so, request by request.
async fn issuer(answers: Vec<(u16, String)>) -> (String, Asked) {
    endpoint(answers, None).await
}

async fn header(oidc: &Oidc) -> Result<String, AuthError> {
    Ok(oidc.fetch().await?.header.unwrap().to_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_token_that_holds_is_used_first_and_then_another_one_is_asked_for() {
    let (first, second, third) = (token(FUTURE, "first"), token(FUTURE, "second"), token(FUTURE, "third"));
    let (url, asked) = issuer(vec![
        (200, format!(r#"{{"id_token":"{second}","refresh_token":"next one"}}"#)),
        (200, format!(r#"{{"id_token":"{third}"}}"#)),
    ])
    .await;
    let oidc = Oidc::new(&settings(&[
        ("id-token", &first),
        ("refresh-token", "one/1"),
        ("idp-issuer-url", &format!("{url}/")),
        ("client-id", "me"),
        ("client-secret", "p:w"),
    ]))
    .unwrap();
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {first}"));
    assert!(asked.lock().unwrap().is_empty());
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {second}"));
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {third}"));
    let asked = asked.lock().unwrap();
    // base64 of me:p%3Aw
    assert!(asked[0].0.contains("Basic bWU6cCUzQXc="), "{}", asked[0].0);
    assert_eq!(asked[0].1, "grant_type=refresh_token&refresh_token=one%2F1");
    assert_eq!(asked[1].1, "grant_type=refresh_token&refresh_token=next%20one");
}

#[tokio::test]
async fn an_issuer_that_wants_the_secret_in_the_form_gets_it_there() {
    let fresh = token(FUTURE, "fresh");
    let refused = || (401, r#"{"error":"invalid_client"}"#.to_owned());
    let (url, asked) =
        issuer(vec![refused(), (200, format!(r#"{{"id_token":"{fresh}"}}"#)), refused(), refused()]).await;
    let oidc = Oidc::new(&settings(&[
        ("id-token", &token(PAST, "old")),
        ("refresh-token", "r"),
        ("idp-issuer-url", &url),
        ("client-id", "me"),
        ("client-secret", "s"),
    ]))
    .unwrap();
    assert_eq!(header(&oidc).await.unwrap(), format!("Bearer {fresh}"));
    assert!(asked.lock().unwrap()[1].1.ends_with("&client_id=me&client_secret=s"));
    let refused = header(&oidc).await.unwrap_err();
    assert!(
        matches!(refused, AuthError::Oidc(Error::Refresh(RefreshError::AuthorizationFailure))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn what_the_issuer_does_wrong_is_said() {
    let of = |code: u16, body: &str| {
        let answers = vec![(code, body.to_owned())];
        async move {
            let (url, _) = issuer(answers).await;
            let pairs = [("refresh-token", "r"), ("idp-issuer-url", url.as_str()), ("client-id", "me")];
            match header(&Oidc::new(&settings(&pairs)).unwrap()).await.unwrap_err() {
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
    let err = header(&Oidc::new(&settings(&unreachable)).unwrap()).await.unwrap_err();
    assert!(matches!(err, AuthError::Oidc(Error::Refresh(RefreshError::HyperUtilError(_)))), "{err:?}");
}

#[tokio::test]
async fn what_is_missing_is_said_as_soon_as_it_matters() {
    let new = |pairs: &[(&str, &str)]| Oidc::new(&settings(pairs));
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
    let shown = format!(
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
    assert!(!shown.contains("hush"), "{shown}");
}

#[cfg(feature = "rustls-tls")]
mod over_tls {
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::auth::token_endpoint::self_signed;

    /// What comes of an issuer over TLS, of whose authority these settings tell.
    async fn outcome(
        authority: impl FnOnce(&str) -> Vec<(&'static str, String)>,
    ) -> Result<String, AuthError> {
        let (acceptor, pem) = self_signed();
        let fresh = token(FUTURE, "fresh");
        let answers = vec![(200, format!(r#"{{"id_token":"{fresh}"}}"#))];
        let (url, _) = endpoint(answers, Some(acceptor)).await;
        let mut given = settings(&[
            ("id-token", &token(PAST, "old")),
            ("refresh-token", "r"),
            ("idp-issuer-url", &url),
            ("client-id", "me"),
            ("client-secret", "s"),
        ]);
        given.extend(authority(&pem).into_iter().map(|(key, value)| (key.to_owned(), value)));
        let outcome = header(&Oidc::new(&given)?).await?;
        assert_eq!(outcome, format!("Bearer {fresh}"));
        Ok(outcome)
    }

    #[tokio::test]
    async fn the_issuer_s_authority_is_a_file_or_stands_in_place() {
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
    async fn an_issuer_of_an_unknown_authority_is_not_told_the_secret() {
        for authority in [None, Some(self_signed().1)] {
            let other = |_: &str| {
                let given = authority.map(|pem| ("idp-certificate-authority-data", STANDARD.encode(pem)));
                given.into_iter().collect()
            };
            let err = outcome(other).await.unwrap_err();
            let AuthError::Oidc(Error::Refresh(RefreshError::HyperUtilError(cause))) = err else {
                panic!("{err:?}");
            };
            assert!(format!("{cause:?}").contains("InvalidCertificate"), "{cause:?}");
        }
    }
}
