//! The whole of it against an issuer that runs here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::Oidc;
use super::errors::{Error, RefreshError, RefreshInitError};
use crate::auth::AuthError;

fn token(expiry: i64, name: &str) -> String {
    let payload = format!(r#"{{"exp":{expiry},"sub":"{name}"}}"#);
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
}

const PAST: i64 = 1_000_000_000;
const FUTURE: i64 = 32_000_000_000;

fn settings(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// What the issuer was asked: the head and body of each request to its token endpoint.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// An issuer whose token endpoint answers so, request by request.
async fn issuer(answers: Vec<(u16, String)>) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, base) = (Asked::default(), url.clone());
    let heard = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut answers = answers.into_iter();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut read = Vec::new();
            let (head, body) = loop {
                let mut chunk = [0; 4096];
                let length = stream.read(&mut chunk).await.unwrap();
                read.extend_from_slice(&chunk[..length]);
                let text = String::from_utf8(read.clone()).unwrap();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let expected = head.lines().find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                });
                if body.len() >= expected.unwrap_or(0) {
                    break (head.to_owned(), body.to_owned());
                }
            };
            let (code, answer) = if head.starts_with("GET /.well-known/openid-configuration") {
                (200, format!(r#"{{"token_endpoint":"{base}/token"}}"#))
            } else {
                heard.lock().unwrap().push((head, body));
                answers.next().unwrap()
            };
            let answer = format!(
                "HTTP/1.1 {code} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, asked)
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
