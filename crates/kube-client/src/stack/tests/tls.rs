//! Server verification and client certificates, by each library of the build.

use std::time::Duration;

use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::TokioExecutor;
use tempfile::TempDir;
use tower::{BoxError, ServiceBuilder};

use super::servers::{CertificateAuthority, Https, TestCertificate, acceptor};
use super::{backends, client, client_certificate, error_text};
use crate::Client;
use crate::config::{AuthInfo, Config, ExecConfig, ExecInteractiveMode};
use crate::stack::ConfigExt;

const LOCAL: &[&str] = &["127.0.0.1"];

fn config(server: &Https, trusted: &CertificateAuthority) -> Config {
    let mut config = Config::new(server.url().parse().unwrap());
    config.root_cert = Some(vec![trusted.der()]);
    config
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Lets the next check of files happen: they are checked every 10 s.
async fn advance_past_check_interval() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_server_of_the_configured_ca_is_trusted_and_another_one_is_an_error() {
    let (ours, other) = (CertificateAuthority::new("ours"), CertificateAuthority::new("other"));
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    for (name, backend) in backends() {
        let client = |trusted| client(&config(&server, trusted), backend).unwrap();
        assert_eq!(client_certificate(&client(&ours)).await.unwrap(), "anonymous", "{name}");
        let text = error_text(&client_certificate(&client(&other)).await.unwrap_err());
        assert!(text.contains("cannot connect to 127.0.0.1"), "{name}: {text}");
        assert!(text.contains("certificate"), "{name}: {text}");
        let mut insecure = config(&server, &other);
        insecure.accept_invalid_certs = true;
        assert!(client_certificate(&super::client(&insecure, backend).unwrap()).await.is_ok(), "{name}");
    }
}

#[tokio::test]
async fn a_port_without_tls_is_an_error_that_says_so() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let response = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            tokio::io::AsyncWriteExt::write_all(&mut stream, response).await.unwrap();
            // Unread data would turn the close into a reset, and the client would lose the response.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        }
    });
    for (name, backend) in backends() {
        let client = client(&Config::new(url.parse().unwrap()), backend).unwrap();
        let text = client_certificate(&client).await.unwrap_err().to_string();
        assert!(text.contains("the server does not speak TLS on this port"), "{name}: {text}");
    }
}

/// Asserts that `own`, the server's certificate, is trusted if configured, and `other` is not. `cas` signs client certificates.
async fn assert_trusts_only_own(own: &TestCertificate, other: &TestCertificate, cas: &CertificateAuthority) {
    let server = Https::start(acceptor(own, cas)).await;
    for (name, backend) in backends() {
        let mut config = config(&server, cas);
        for (configured, trusted) in [(own.der(), true), (other.der(), false)] {
            config.root_cert = Some(vec![configured]);
            let result = client_certificate(&client(&config, backend).unwrap()).await;
            assert_eq!(result.is_ok(), trusted, "{name}: {result:?}");
        }
    }
}

/// As kubectl does.
#[tokio::test]
async fn a_self_signed_certificate_is_trusted_if_configured() {
    let (own, other) = (TestCertificate::self_signed(LOCAL), TestCertificate::self_signed(LOCAL));
    assert_trusts_only_own(&own, &other, &CertificateAuthority::new("clients")).await;
}

/// As kubectl does.
#[tokio::test]
async fn a_servers_own_certificate_is_trusted_if_configured() {
    let ours = CertificateAuthority::new("ours");
    assert_trusts_only_own(&ours.sign(LOCAL), &ours.sign(LOCAL), &ours).await;
}

#[tokio::test]
async fn tls_server_name_replaces_the_host() {
    let ours = CertificateAuthority::new("ours");
    let server = Https::start(acceptor(&ours.sign(&["api.internal"]), &ours)).await;
    for (name, backend) in backends() {
        let mut config = config(&server, &ours);
        let text = error_text(&client_certificate(&client(&config, backend).unwrap()).await.unwrap_err());
        assert!(text.contains("certificate"), "{name}: {text}");
        config.tls_server_name = Some("api.internal".into());
        assert_eq!(
            client_certificate(&client(&config, backend).unwrap()).await.unwrap(),
            "anonymous",
            "{name}"
        );
        config.tls_server_name = Some("other.internal".into());
        assert!(client_certificate(&client(&config, backend).unwrap()).await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn a_changed_ca_file_is_used_without_a_restart() {
    let (old, new) = (CertificateAuthority::new("old"), CertificateAuthority::new("new"));
    for (name, backend) in backends() {
        let folder = tempfile::tempdir().unwrap();
        let server = Https::start(acceptor(&old.sign(LOCAL), &old)).await;
        let mut config = config(&server, &old);
        config.root_cert_file = Some(write(&folder, "ca.crt", &old.pem()).into());
        let before = client(&config, backend).unwrap();
        assert!(client_certificate(&before).await.is_ok(), "{name}");

        // An open connection stays in use; a client without one behaves as after a broken connection.
        let without_connection = client(&config, backend).unwrap();
        server.replace(acceptor(&new.sign(LOCAL), &new));
        assert!(client_certificate(&before).await.is_ok(), "{name}");
        assert!(client_certificate(&without_connection).await.is_err(), "{name}");
        write(&folder, "ca.crt", &format!("{}{}", old.pem(), new.pem()));
        assert!(client_certificate(&without_connection).await.is_ok(), "{name}");
    }
}

#[tokio::test]
async fn a_tls_session_is_not_resumed_after_the_cas_changed() {
    let (old, new) = (CertificateAuthority::new("old"), CertificateAuthority::new("new"));
    for (name, backend) in backends() {
        let folder = tempfile::tempdir().unwrap();
        let server = Https::start(acceptor(&old.sign(LOCAL), &old)).await;
        let mut config = config(&server, &old);
        config.root_cert_file = Some(write(&folder, "ca.crt", &old.pem()).into());
        let client = client(&config, backend).unwrap();
        // Each request uses a new connection.
        let request = async || {
            let request = http::Request::get("/").header("connection", "close").body(Vec::new());
            client.request_text(request.unwrap()).await
        };
        for _ in 0..3 {
            assert!(request().await.is_ok(), "{name}");
        }
        write(&folder, "ca.crt", &format!("{}\n", new.pem()));
        assert!(request().await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn a_wildcard_matches_only_a_whole_label() {
    let ours = CertificateAuthority::new("ours");
    let server = Https::start(acceptor(&ours.sign(&["*.whole.test", "api*.part.test"]), &ours)).await;
    for (name, backend) in backends() {
        let mut config = config(&server, &ours);
        for (host, matches) in [("api1.whole.test", true), ("api1.part.test", false)] {
            config.tls_server_name = Some(host.to_owned());
            assert_eq!(
                client_certificate(&client(&config, backend).unwrap()).await.is_ok(),
                matches,
                "{name}: {name}"
            );
        }
    }
}

#[tokio::test]
async fn a_changed_client_certificate_file_is_presented() {
    let ours = CertificateAuthority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    for (name, backend) in backends() {
        let folder = tempfile::tempdir().unwrap();
        let put = |signed: &TestCertificate, more: &str| AuthInfo {
            client_certificate: Some(write(&folder, "crt", &format!("{}{more}", signed.certificate))),
            client_key: Some(write(&folder, "key", &format!("{}{more}", signed.key))),
            ..AuthInfo::default()
        };
        let (first, second) = (ours.sign(&["me"]), ours.sign(&["me"]));
        let mut config = config(&server, &ours);
        config.auth_info = put(&first, "");
        let client = client(&config, backend).unwrap();
        for _ in 0..2 {
            assert_eq!(client_certificate(&client).await.unwrap(), first.as_reported(), "{name}");
        }
        put(&second, "\n");
        advance_past_check_interval().await;
        for _ in 0..2 {
            assert_eq!(client_certificate(&client).await.unwrap(), second.as_reported(), "{name}");
        }
    }
}

/// An exec plugin that prints the file `credential`.
fn exec_plugin(folder: &TempDir) -> AuthInfo {
    let exec = ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".into()),
        command: Some("cat".into()),
        args: Some(vec![folder.path().join("credential").to_str().unwrap().to_owned()]),
        interactive_mode: Some(ExecInteractiveMode::Never),
        ..ExecConfig::default()
    };
    AuthInfo { exec: Some(exec), ..AuthInfo::default() }
}

/// Writes an expired credential, so that each request runs the plugin again.
fn write_credential(folder: &TempDir, signed: &TestCertificate) {
    let credential = serde_json::json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {
            "clientCertificateData": signed.certificate,
            "clientKeyData": signed.key,
            "expirationTimestamp": "2020-01-01T00:00:00Z",
        },
    });
    write(folder, "credential", &credential.to_string());
}

#[tokio::test]
async fn each_certificate_of_an_exec_plugin_is_presented() {
    let ours = CertificateAuthority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    for (name, backend) in backends() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(&server, &ours);
        config.auth_info = exec_plugin(&folder);
        let client = client(&config, backend).unwrap();
        for _ in 0..2 {
            let signed = ours.sign(&["me"]);
            write_credential(&folder, &signed);
            for _ in 0..2 {
                assert_eq!(client_certificate(&client).await.unwrap(), signed.as_reported(), "{name}");
            }
        }
    }
}

/// A stack as users build it.
fn custom_stack<C>(config: &Config, connector: C) -> Client
where
    C: hyper_util::client::legacy::connect::Connect + Clone + Send + Sync + 'static,
{
    let http = HyperClient::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().unwrap())
        .map_err(BoxError::from)
        .service(http);
    Client::new(service, "default")
}

#[tokio::test]
async fn the_certificate_of_an_exec_plugin_is_presented_in_custom_stacks() {
    let ours = CertificateAuthority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&server, &ours);
    config.auth_info = exec_plugin(&folder);
    let signed = ours.sign(&["me"]);
    write_credential(&folder, &signed);
    #[cfg(feature = "rustls-tls")]
    {
        let client = custom_stack(&config, config.rustls_https_connector().unwrap());
        assert_eq!(client_certificate(&client).await.unwrap(), signed.as_reported());
    }
    #[cfg(feature = "openssl-tls")]
    {
        let client = custom_stack(&config, config.openssl_https_connector().unwrap());
        assert_eq!(client_certificate(&client).await.unwrap(), signed.as_reported());
    }
}

#[tokio::test]
async fn custom_stacks_use_http1_even_if_the_server_prefers_http2() {
    let ours = CertificateAuthority::new("ours");
    let mut settings = acceptor(&ours.sign(LOCAL), &ours).config().as_ref().clone();
    settings.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // It sends HTTP/1.1 responses whatever was negotiated.
    let server = Https::start(std::sync::Arc::new(settings).into()).await;
    let config = config(&server, &ours);
    #[cfg(feature = "rustls-tls")]
    {
        let client = custom_stack(&config, config.rustls_https_connector().unwrap());
        assert_eq!(client_certificate(&client).await.unwrap(), "anonymous");
    }
    #[cfg(feature = "openssl-tls")]
    {
        let client = custom_stack(&config, config.openssl_https_connector().unwrap());
        assert_eq!(client_certificate(&client).await.unwrap(), "anonymous");
        let client = custom_stack(&config, openssl_connector_of_the_builder(&config));
        assert_eq!(client_certificate(&client).await.unwrap(), "anonymous");
    }
}

#[cfg(feature = "openssl-tls")]
fn openssl_connector_of_the_builder(
    config: &Config,
) -> hyper_openssl::client::legacy::HttpsConnector<hyper_util::client::legacy::connect::HttpConnector> {
    let mut tcp = hyper_util::client::legacy::connect::HttpConnector::new();
    tcp.enforce_http(false);
    let settings = config.openssl_ssl_connector_builder().unwrap();
    hyper_openssl::client::legacy::HttpsConnector::with_connector(tcp, settings).unwrap()
}

#[cfg(feature = "openssl-tls")]
#[tokio::test]
async fn the_openssl_builder_alone_connects() {
    let ours = CertificateAuthority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    let folder = tempfile::tempdir().unwrap();
    let signed = ours.sign(&["me"]);
    let mut config = config(&server, &ours);
    config.auth_info.client_certificate = Some(write(&folder, "crt", &signed.certificate));
    config.auth_info.client_key = Some(write(&folder, "key", &signed.key));
    let client = custom_stack(&config, openssl_connector_of_the_builder(&config));
    assert_eq!(client_certificate(&client).await.unwrap(), signed.as_reported());
}

#[test]
fn invalid_certificates_are_an_error_before_the_first_request() {
    let ours = CertificateAuthority::new("ours");
    let (mine, other) = (ours.sign(&["me"]), ours.sign(&["other"]));
    let folder = tempfile::tempdir().unwrap();
    for (name, backend) in backends() {
        let mut config = Config::new("https://127.0.0.1:1".parse().unwrap());
        config.root_cert = Some(vec![b"garbage".to_vec()]);
        assert!(error_text(&client(&config, backend).err().unwrap()).contains("CA certificate"), "{name}");
        config.root_cert = Some(vec![ours.der()]);
        config.auth_info.client_certificate = Some(write(&folder, "crt", &mine.certificate));
        config.auth_info.client_key = Some(write(&folder, "key", &other.key));
        let text = error_text(&client(&config, backend).err().unwrap());
        assert!(text.contains("client key"), "{name}: {text}");
    }
}
