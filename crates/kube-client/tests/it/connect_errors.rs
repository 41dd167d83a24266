//! Errors of configurations that do not work.

use std::net::TcpListener;

use kube_client::config::Kubeconfig;
use kube_client::{Client, Config, Error};
use kube_testserver::TestServer;

use crate::server::{config_of, create};
use crate::transport::chain;

#[tokio::test]
async fn a_certificate_of_another_ca_is_a_certificate_error() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let other = rcgen::generate_simple_self_signed(vec!["other".to_owned()]).unwrap();
    let mut config = config_of(&server);
    config.root_cert = Some(vec![other.cert.der().to_vec()]);
    config.root_cert_file = None;
    let err = create(&Client::try_from(config.clone()).unwrap(), "a").await.unwrap_err();
    assert!(matches!(err, Error::Service(_)), "{err:?}");
    assert!(chain(&err).contains("invalid peer certificate"), "{}", chain(&err));
    config.accept_invalid_certs = true;
    create(&Client::try_from(config).unwrap(), "a").await.unwrap();
}

#[tokio::test]
async fn a_refused_connection_is_an_error_with_the_address() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut config = Config::new(format!("https://{free}").parse().unwrap());
    config.accept_invalid_certs = true;
    let err = create(&Client::try_from(config).unwrap(), "a").await.unwrap_err();
    let text = chain(&err);
    assert!(text.contains("refused") && text.contains(&free.to_string()), "{text}");
}

#[tokio::test]
async fn tls_against_a_plain_server_is_an_error() {
    let server = TestServer::start().await.unwrap();
    let mut config = config_of(&server);
    config.cluster_url = server.url().replace("http://", "https://").parse().unwrap();
    config.accept_invalid_certs = true;
    let err = create(&Client::try_from(config).unwrap(), "a").await.unwrap_err();
    assert!(matches!(err, Error::Service(_)), "{err:?}");
}

#[tokio::test]
async fn an_unusable_configuration_is_an_error_before_any_request() {
    let kubeconfig = |user: &str| {
        Kubeconfig::from_yaml(&format!(
            "clusters: [{{name: c, cluster: {{server: 'https://localhost:1', insecure-skip-tls-verify: true}}}}]\n\
             users: [{{name: u, user: {user}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        ))
        .unwrap()
    };
    let text = |user: &str| chain(&Client::try_from(kubeconfig(user)).unwrap_err());
    assert!(text("{exec: {}}").contains("no `command`"));
    assert!(text("{auth-provider: {name: azure}}").contains("\"azure\""));
    assert!(text("{token: \"a\\nb\"}").contains("bearer token"));
    let pem = "client-certificate-data: bm90IHBlbQ==, client-key-data: bm90IHBlbQ==";
    assert!(text(&format!("{{{pem}}}")).contains("no certificate"), "{}", text(&format!("{{{pem}}}")));
    let mut config = Config::new("http://localhost:1".parse().unwrap());
    config.proxy_url = Some("ftp://localhost:2".parse().unwrap());
    assert!(matches!(Client::try_from(config), Err(Error::ProxyProtocolUnsupported { .. })));
}
