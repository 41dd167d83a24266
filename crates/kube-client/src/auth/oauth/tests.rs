//! Google's default credentials against a local token endpoint.
//!
//! They are found through the environment, which a test must not change for others: each case runs this test again in a child process.

use std::path::Path;
use std::process::Stdio;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::process::Command;

use super::*;
use crate::auth::Credential;
use crate::auth::token_endpoint::endpoint;
use crate::config::{AuthInfo, AuthProviderConfig};

/// Set in the child process: how often to fetch the header.
const CHILD: &str = "KUBE_CLIENT_TEST_OAUTH";

/// An RSA key for this test only.
const KEY: &str = include_str!("service-account.pem");

/// Fetches the header `times` times and prints the results.
async fn find(times: &str) {
    let config = [
        ("access-token", "ya29.expired"),
        ("expiry", "2021-06-01T10:00:00Z"),
        ("scopes", "https://a, https://b"),
    ];
    let config = config.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let provider = AuthProviderConfig { name: "gcp".into(), config, ..AuthProviderConfig::default() };
    let user = AuthInfo { auth_provider: Some(provider), ..AuthInfo::default() };
    let config = Config { auth_info: user, ..Config::new("https://h".parse().unwrap()) };
    let Ok(Some(Credential::Refreshing(refreshing))) = Credential::from_config(&config) else {
        panic!("no credential")
    };
    for _ in 0..times.parse().unwrap() {
        match Arc::clone(&refreshing).header().await {
            Ok(header) => println!("\nFOUND {}", header.unwrap().to_str().unwrap()),
            Err(err) => {
                let causes = std::iter::successors(std::error::Error::source(&err), |err| err.source());
                let text: Vec<_> =
                    std::iter::once(err.to_string()).chain(causes.map(ToString::to_string)).collect();
                println!("\nFOUND {}", text.join(": "));
            }
        }
    }
}

/// The results of a child process with the home directory `home` and these credentials.
async fn found(times: usize, home: &Path, credentials: Option<&str>) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "auth::oauth::tests::default_credentials_give_tokens", "--nocapture"]);
    child.env(CHILD, times.to_string()).env("HOME", home);
    child.env_remove("CLOUDSDK_CONFIG").env_remove("GOOGLE_APPLICATION_CREDENTIALS");
    if let Some(credentials) = credentials {
        let file = home.join("credentials.json");
        std::fs::write(&file, credentials).unwrap();
        child.env("GOOGLE_APPLICATION_CREDENTIALS", file);
    }
    let output = child.stdin(Stdio::null()).output().await.unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout.lines().filter_map(|line| line.strip_prefix("FOUND ")).map(str::to_owned).collect()
}

fn service_account(key: &str, url: &str) -> String {
    let account = json!({"type": "service_account", "client_email": "robot@example.com", "private_key": key,
        "token_uri": format!("{url}/token")});
    account.to_string()
}

fn token_response(token: &str, seconds: u32) -> (u16, String) {
    (200, json!({"access_token": token, "token_type": "Bearer", "expires_in": seconds}).to_string())
}

#[tokio::test]
async fn default_credentials_give_tokens() {
    if let Ok(times) = std::env::var(CHILD) {
        return find(&times).await;
    }
    let home = tempfile::tempdir().unwrap();
    let (url, requests) = endpoint(vec![token_response("one", 0), token_response("two", 3600)], None).await;
    let all = found(3, home.path(), Some(&service_account(KEY, &url))).await;
    assert_eq!(all, ["Bearer one", "Bearer two", "Bearer two"]);
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    let (head, body) = &requests[0];
    assert!(head.starts_with("POST /token "), "{head}");
    assert!(body.starts_with("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&"), "{body}");
    let assertion = body.rsplit_once("assertion=").unwrap().1;
    let claims = URL_SAFE_NO_PAD.decode(assertion.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(claims["iss"], "robot@example.com");
    assert_eq!(claims["aud"], format!("{url}/token"));
    assert_eq!(claims["scope"], "https://a https://b");
}

#[tokio::test]
async fn invalid_default_credentials_are_errors_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    let nothing = found(1, home.path(), None).await;
    assert!(nothing[0].contains("there are no default credentials: set GOOGLE_APPLICATION_CREDENTIALS"));
    let odd = found(1, home.path(), Some("{}")).await;
    assert!(odd[0].contains("the default credentials cannot be used: "), "{odd:?}");
    assert!(odd[0].contains("credentials.json"), "{odd:?}");
    let keyless = found(1, home.path(), Some(&service_account("no key", "http://h"))).await;
    assert!(keyless[0].contains("cannot be used"), "{keyless:?}");

    let refusal = r#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#;
    let (url, _) = endpoint(vec![(400, refusal.to_owned())], None).await;
    let refused = found(1, home.path(), Some(&service_account(KEY, &url))).await;
    assert!(refused[0].contains("the token endpoint returned no token: "), "{refused:?}");
    assert!(refused[0].contains("invalid_grant"), "{refused:?}");
    let (url, _) = endpoint(vec![(503, "<html>try later</html>\n".to_owned())], None).await;
    let away = found(1, home.path(), Some(&service_account(KEY, &url))).await;
    let expected = "the token endpoint responded 503 Service Unavailable: <html>try later</html>";
    assert!(away[0].ends_with(expected), "{away:?}");
    let gone = found(1, home.path(), Some(&service_account(KEY, "http://127.0.0.1:1"))).await;
    assert!(gone[0].contains("the token endpoint cannot be reached: "), "{gone:?}");
}
