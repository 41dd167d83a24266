//! Whom to trust and what to show, by each library.

use std::time::Duration;

use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::TokioExecutor;
use tempfile::TempDir;
use tower::{BoxError, ServiceBuilder};

use super::servers::{Authority, Https, Signed, acceptor};
use super::{ask, client, told, ways};
use crate::Client;
use crate::config::{AuthInfo, Config, ExecConfig, ExecInteractiveMode};
use crate::stack::ConfigExt;

const LOCAL: &[&str] = &["127.0.0.1"];

fn config(server: &Https, trusted: &Authority) -> Config {
    let mut config = Config::new(server.url().parse().unwrap());
    config.root_cert = Some(vec![trusted.der()]);
    config
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Files are looked at every few seconds at most.
async fn a_while() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn the_right_authority_is_trusted_and_a_wrong_one_is_named_as_the_reason() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    for (way, backend) in ways() {
        let client = |trusted| client(&config(&server, trusted), backend).unwrap();
        assert_eq!(ask(&client(&ours)).await.unwrap(), "nobody", "{way}");
        let text = told(&ask(&client(&other)).await.unwrap_err());
        assert!(text.contains("cannot connect to 127.0.0.1"), "{way}: {text}");
        assert!(text.contains("certificate"), "{way}: {text}");
        let mut careless = config(&server, &other);
        careless.accept_invalid_certs = true;
        assert!(ask(&super::client(&careless, backend).unwrap()).await.is_ok(), "{way}");
    }
}

#[tokio::test]
async fn tls_to_a_port_without_tls_says_so() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let answer = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
            // Reading what has come avoids a reset, which would take the answer away.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        }
    });
    for (way, backend) in ways() {
        let client = client(&Config::new(url.parse().unwrap()), backend).unwrap();
        let text = ask(&client).await.unwrap_err().to_string();
        assert!(text.contains("the server does not speak TLS on this port"), "{way}: {text}");
    }
}

/// As kubectl has it.
#[tokio::test]
async fn a_certificate_that_vouches_for_itself_is_trusted_where_it_is_given() {
    let (clients, own) = (Authority::new("clients"), Signed::by_itself(LOCAL));
    let server = Https::start(acceptor(&own, &clients)).await;
    for (way, backend) in ways() {
        let mut config = config(&server, &clients);
        for (given, trusted) in [(own.der(), true), (Signed::by_itself(LOCAL).der(), false)] {
            config.root_cert = Some(vec![given]);
            let asked = ask(&client(&config, backend).unwrap()).await;
            assert_eq!(asked.is_ok(), trusted, "{way}: {asked:?}");
        }
    }
}

/// As kubectl has it.
#[tokio::test]
async fn a_servers_own_certificate_may_be_given_in_place_of_its_authority() {
    let ours = Authority::new("ours");
    let own = ours.sign(LOCAL);
    let server = Https::start(acceptor(&own, &ours)).await;
    for (way, backend) in ways() {
        let mut config = config(&server, &ours);
        for (given, trusted) in [(own.der(), true), (ours.sign(LOCAL).der(), false)] {
            config.root_cert = Some(vec![given]);
            let asked = ask(&client(&config, backend).unwrap()).await;
            assert_eq!(asked.is_ok(), trusted, "{way}: {asked:?}");
        }
    }
}

#[tokio::test]
async fn another_name_can_be_expected() {
    let ours = Authority::new("ours");
    let server = Https::start(acceptor(&ours.sign(&["api.internal"]), &ours)).await;
    for (way, backend) in ways() {
        let mut config = config(&server, &ours);
        let text = told(&ask(&client(&config, backend).unwrap()).await.unwrap_err());
        assert!(text.contains("certificate"), "{way}: {text}");
        config.tls_server_name = Some("api.internal".into());
        assert_eq!(ask(&client(&config, backend).unwrap()).await.unwrap(), "nobody", "{way}");
        config.tls_server_name = Some("other.internal".into());
        assert!(ask(&client(&config, backend).unwrap()).await.is_err(), "{way}");
    }
}

#[tokio::test]
async fn authorities_in_a_file_are_replaced_without_a_restart() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    for (way, backend) in ways() {
        let folder = tempfile::tempdir().unwrap();
        let server = Https::start(acceptor(&old.sign(LOCAL), &old)).await;
        let mut config = config(&server, &old);
        config.root_cert_file = Some(write(&folder, "ca.crt", &old.pem()).into());
        let before = client(&config, backend).unwrap();
        assert!(ask(&before).await.is_ok(), "{way}");

        // The connection that is open goes on; a client without one stands for a connection that broke.
        let without_connection = client(&config, backend).unwrap();
        server.replace(acceptor(&new.sign(LOCAL), &new));
        assert!(ask(&before).await.is_ok(), "{way}");
        assert!(ask(&without_connection).await.is_err(), "{way}");
        write(&folder, "ca.crt", &format!("{}{}", old.pem(), new.pem()));
        assert!(ask(&without_connection).await.is_ok(), "{way}");
    }
}

#[tokio::test]
async fn a_session_from_before_the_authorities_changed_is_not_resumed() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    for (way, backend) in ways() {
        let folder = tempfile::tempdir().unwrap();
        let server = Https::start(acceptor(&old.sign(LOCAL), &old)).await;
        let mut config = config(&server, &old);
        config.root_cert_file = Some(write(&folder, "ca.crt", &old.pem()).into());
        let client = client(&config, backend).unwrap();
        // Each over a connection of its own.
        let ask = async || {
            let request = http::Request::get("/").header("connection", "close").body(Vec::new());
            client.request_text(request.unwrap()).await
        };
        for _ in 0..3 {
            assert!(ask().await.is_ok(), "{way}");
        }
        write(&folder, "ca.crt", &format!("{}\n", new.pem()));
        assert!(ask().await.is_err(), "{way}");
    }
}

#[tokio::test]
async fn a_wildcard_stands_for_a_whole_label() {
    let ours = Authority::new("ours");
    let server = Https::start(acceptor(&ours.sign(&["*.whole.test", "api*.part.test"]), &ours)).await;
    for (way, backend) in ways() {
        let mut config = config(&server, &ours);
        for (name, fits) in [("api1.whole.test", true), ("api1.part.test", false)] {
            config.tls_server_name = Some(name.to_owned());
            assert_eq!(ask(&client(&config, backend).unwrap()).await.is_ok(), fits, "{way}: {name}");
        }
    }
}

#[tokio::test]
async fn a_client_certificate_in_files_is_shown_anew_when_it_changes() {
    let ours = Authority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    for (way, backend) in ways() {
        let folder = tempfile::tempdir().unwrap();
        let put = |signed: &Signed, more: &str| AuthInfo {
            client_certificate: Some(write(&folder, "crt", &format!("{}{more}", signed.certificate))),
            client_key: Some(write(&folder, "key", &format!("{}{more}", signed.key))),
            ..AuthInfo::default()
        };
        let (first, second) = (ours.sign(&["me"]), ours.sign(&["me"]));
        let mut config = config(&server, &ours);
        config.auth_info = put(&first, "");
        let client = client(&config, backend).unwrap();
        for _ in 0..2 {
            assert_eq!(ask(&client).await.unwrap(), first.told(), "{way}");
        }
        put(&second, "\n");
        a_while().await;
        for _ in 0..2 {
            assert_eq!(ask(&client).await.unwrap(), second.told(), "{way}");
        }
    }
}

/// A credential program that prints the file `credential`.
fn program(folder: &TempDir) -> AuthInfo {
    let exec = ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".into()),
        command: Some("cat".into()),
        args: Some(vec![folder.path().join("credential").to_str().unwrap().to_owned()]),
        interactive_mode: Some(ExecInteractiveMode::Never),
        ..ExecConfig::default()
    };
    AuthInfo { exec: Some(exec), ..AuthInfo::default() }
}

/// Expired ones are asked for anew with each request.
fn print(folder: &TempDir, signed: &Signed) {
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
async fn the_certificate_of_a_program_is_shown_and_so_is_the_next_one() {
    let ours = Authority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    for (way, backend) in ways() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(&server, &ours);
        config.auth_info = program(&folder);
        let client = client(&config, backend).unwrap();
        for _ in 0..2 {
            let signed = ours.sign(&["me"]);
            print(&folder, &signed);
            for _ in 0..2 {
                assert_eq!(ask(&client).await.unwrap(), signed.told(), "{way}");
            }
        }
    }
}

/// As users put together stacks of their own.
fn own_stack<C>(config: &Config, connector: C) -> Client
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
async fn the_certificate_of_a_program_is_shown_in_stacks_of_ones_own() {
    let ours = Authority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&server, &ours);
    config.auth_info = program(&folder);
    let signed = ours.sign(&["me"]);
    print(&folder, &signed);
    #[cfg(feature = "rustls-tls")]
    {
        let client = own_stack(&config, config.rustls_https_connector().unwrap());
        assert_eq!(ask(&client).await.unwrap(), signed.told());
    }
    #[cfg(feature = "openssl-tls")]
    {
        let client = own_stack(&config, config.openssl_https_connector().unwrap());
        assert_eq!(ask(&client).await.unwrap(), signed.told());
    }
}

#[cfg(feature = "openssl-tls")]
#[tokio::test]
async fn the_settings_of_openssl_alone_will_do() {
    use hyper_openssl::client::legacy::HttpsConnector;
    use hyper_util::client::legacy::connect::HttpConnector;

    let ours = Authority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    let folder = tempfile::tempdir().unwrap();
    let signed = ours.sign(&["me"]);
    let mut config = config(&server, &ours);
    config.auth_info.client_certificate = Some(write(&folder, "crt", &signed.certificate));
    config.auth_info.client_key = Some(write(&folder, "key", &signed.key));
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    let settings = config.openssl_ssl_connector_builder().unwrap();
    let client = own_stack(&config, HttpsConnector::with_connector(tcp, settings).unwrap());
    assert_eq!(ask(&client).await.unwrap(), signed.told());
}

#[test]
fn what_cannot_be_used_shows_before_the_first_request() {
    let ours = Authority::new("ours");
    let (mine, other) = (ours.sign(&["me"]), ours.sign(&["other"]));
    let folder = tempfile::tempdir().unwrap();
    for (way, backend) in ways() {
        let mut config = Config::new("https://127.0.0.1:1".parse().unwrap());
        config.root_cert = Some(vec![b"garbage".to_vec()]);
        assert!(told(&client(&config, backend).err().unwrap()).contains("authority"), "{way}");
        config.root_cert = Some(vec![ours.der()]);
        config.auth_info.client_certificate = Some(write(&folder, "crt", &mine.certificate));
        config.auth_info.client_key = Some(write(&folder, "key", &other.key));
        let text = told(&client(&config, backend).err().unwrap());
        assert!(text.contains("client key"), "{way}: {text}");
    }
}
