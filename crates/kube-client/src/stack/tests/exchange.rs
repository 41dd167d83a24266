//! Credentials, certificates and addresses that are exchanged while a client is in use.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::WatchEvent;
use kube_core::params::WatchParams;
use tower::BoxError;

use super::servers::{CertificateAuthority, Https, TestCertificate, acceptor};
use super::{backends, client, client_certificate, error_text};
use crate::body::Body;
use crate::config::{Config, KubeConfigOptions};
use crate::transport::NotProcessed;
use crate::{Api, Client};

const LOCAL: &[&str] = &["127.0.0.1"];

/// A CA, and a server with a certificate of it, which accepts client certificates of it.
async fn https() -> (CertificateAuthority, Https) {
    let ours = CertificateAuthority::new("ours");
    let server = Https::start(acceptor(&ours.sign(LOCAL), &ours)).await;
    (ours, server)
}

fn config(server: &Https, trusted: &CertificateAuthority) -> Config {
    let mut config = Config::new(server.url().parse().unwrap());
    config.root_cert = Some(vec![trusted.der()]);
    config
}

fn with_certificate(mut config: Config, own: &TestCertificate) -> Config {
    config.auth_info.client_certificate_data = Some(base64(&own.certificate));
    config.auth_info.client_key_data = Some(base64(&own.key).into());
    config
}

#[tokio::test]
async fn no_new_request_uses_a_connection_with_the_old_certificate_and_all_clones_follow() {
    let (ours, server) = https().await;
    for (name, backend) in backends() {
        let client = client(&config(&server, &ours), backend).unwrap();
        let clone = client.clone();
        assert_eq!(client_certificate(&clone).await.unwrap(), "anonymous", "{name}");
        for _ in 0..2 {
            let mine = ours.sign(&[]);
            let new = with_certificate(config(&server, &ours), &mine);
            client.set_credentials(new).await.unwrap();
            for client in [&client, &clone] {
                assert_eq!(client_certificate(client).await.unwrap(), mine.as_reported(), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn no_new_request_uses_a_connection_of_the_old_ca() {
    let (ours, server) = https().await;
    let other = CertificateAuthority::new("other");
    for (name, backend) in backends() {
        let client = client(&config(&server, &ours), backend).unwrap();
        client_certificate(&client).await.unwrap();
        // The server still has the certificate of the old CA, so only a request over the old connection could succeed.
        client.set_credentials(config(&server, &other)).await.unwrap();
        let text = error_text(&client_certificate(&client).await.unwrap_err());
        assert!(text.contains("certificate"), "{name}: {text}");
        client.set_credentials(config(&server, &ours)).await.unwrap();
        client_certificate(&client).await.unwrap();
    }
}

/// So a watcher has nothing to list again: its watch does not end, and the next one is of the same cluster.
#[tokio::test]
async fn watches_go_on_over_their_connection_while_certificate_and_ca_are_exchanged() {
    for (name, backend) in backends() {
        let (ours, server) = https().await;
        let [first, second] = [ours.sign(&[]), ours.sign(&[])];
        let client = client(&with_certificate(config(&server, &ours), &first), backend).unwrap();
        let mut cluster = client.cluster_change();
        let mut old = watch(&client).await;
        server.send_event();
        assert_eq!(certificate_of_event(&mut old).await, first.as_reported(), "{name}");

        let other = CertificateAuthority::new("other");
        server.replace(acceptor(&other.sign(LOCAL), &ours));
        client.set_credentials(with_certificate(config(&server, &other), &second)).await.unwrap();
        assert!(!cluster.take(), "{name}");
        let mut new = watch(&client).await;
        for _ in 0..2 {
            server.send_event();
            assert_eq!(certificate_of_event(&mut old).await, first.as_reported(), "{name}");
            assert_eq!(certificate_of_event(&mut new).await, second.as_reported(), "{name}");
        }
    }
}

type Watch = BoxStream<'static, crate::Result<WatchEvent<ConfigMap>>>;

async fn watch(client: &Client) -> Watch {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    maps.watch(&WatchParams::default(), "1").await.unwrap().boxed()
}

/// The client certificate of the connection from which the event comes.
async fn certificate_of_event(watch: &mut Watch) -> String {
    match watch.next().await.unwrap().unwrap() {
        WatchEvent::Modified(map) => map.data.unwrap().remove("certificate").unwrap(),
        other => panic!("{other:?}"),
    }
}

/// As for a CA in the configuration itself.
#[tokio::test]
async fn no_new_request_uses_a_connection_of_a_ca_file_that_was_replaced() {
    let (ours, server) = https().await;
    let other = CertificateAuthority::new("other");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.crt");
    for (name, backend) in backends() {
        std::fs::write(&path, ours.pem()).unwrap();
        let mut config = config(&server, &ours);
        config.root_cert_file = Some(path.clone());
        let client = client(&config, backend).unwrap();
        client_certificate(&client).await.unwrap();
        std::fs::write(&path, other.pem()).unwrap();
        until_files_are_looked_at().await;
        let text = error_text(&client_certificate(&client).await.unwrap_err());
        assert!(text.contains("certificate"), "{name}: {text}");
    }
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing() {
    let (ours, server) = https().await;
    for (name, backend) in backends() {
        let client = client(&config(&server, &ours), backend).unwrap();
        client_certificate(&client).await.unwrap();
        let broken: [fn(&mut Config); 4] = [
            |config| config.auth_info.client_certificate_data = Some("%".into()),
            |config| config.auth_info.token = Some("line\nbreak".to_owned().into()),
            |config| config.cluster_url = "https://h:99999".parse().unwrap(),
            |config| config.auth_info.impersonate = Some("line\nbreak".into()),
        ];
        for (number, breaks) in broken.into_iter().enumerate() {
            let mut new = config(&server, &ours);
            breaks(&mut new);
            assert!(client.set_credentials(new).await.is_err(), "{name}: {number}");
            assert_eq!(client_certificate(&client).await.unwrap(), "anonymous", "{name}: {number}");
        }
    }
}

async fn until_files_are_looked_at() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
}

/// Looks at a followed file, and sends a request by what was found.
async fn look(client: &Client) -> String {
    until_files_are_looked_at().await;
    let mut seen = String::new();
    for _ in 0..20 {
        seen = client_certificate(client).await.unwrap();
    }
    seen
}

/// The kubeconfig does not change again, so only another attempt can end the failure.
#[tokio::test]
async fn a_certificate_whose_key_is_written_after_it_is_tried_again() {
    let (ours, server) = https().await;
    for (name, backend) in backends() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
        let kubeconfig = |identity: &str| {
            format!(
                "current-context: x\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
                 clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: ca.crt}}}}]\n\
                 users: [{{name: u, user: {{client-certificate: {identity}.crt, client-key: {identity}.key}}}}]\n",
                server.url()
            )
        };
        let [first, second] = [ours.sign(&[]), ours.sign(&[])];
        write("ca.crt", &ours.pem());
        write("1.crt", &first.certificate);
        write("1.key", &first.key);
        write("config", &kubeconfig("1"));
        let path = folder.path().join("config");
        let config = Config::from_kubeconfig_file(path, &KubeConfigOptions::default()).await.unwrap();
        let client = client(&config.follow().unwrap(), backend).unwrap();
        assert_eq!(client_certificate(&client).await.unwrap(), first.as_reported(), "{name}");
        write("2.crt", &second.certificate);
        write("2.key", &first.key);
        write("config", &kubeconfig("2"));
        assert_eq!(look(&client).await, first.as_reported(), "{name}");
        write("2.key", &second.key);
        let mut seen = String::new();
        for _ in 0..20 {
            seen = look(&client).await;
            if seen == second.as_reported() {
                break;
            }
        }
        assert_eq!(seen, second.as_reported(), "{name}");
    }
}

/// What a closing HTTP/2 connection did not process is sent again, whatever it is.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_not_processed_is_not_sent_to_another_cluster() {
    for (host, expected) in [("a", 1), ("b", 0)] {
        let client: Arc<Mutex<Option<Client>>> = Arc::default();
        let received = Arc::new(AtomicU32::new(0));
        let (of_server, counter) = (Arc::clone(&client), Arc::clone(&received));
        let config = |host: &str, token: &str| {
            let mut config = Config::new(format!("https://{host}").parse().unwrap());
            config.auth_info.token = Some(token.to_owned().into());
            config
        };
        let transport = tower::service_fn(move |request: Request<Body>| {
            let client = of_server.lock().unwrap().clone();
            let counter = Arc::clone(&counter);
            async move {
                let is_lookup = request.uri().path().ends_with("kube-system");
                if is_lookup || request.headers()["authorization"] == "Bearer new" {
                    counter.fetch_add(u32::from(!is_lookup), Ordering::Relaxed);
                    return Ok(Response::new(Body::empty()));
                }
                client.unwrap().set_credentials(config(host, "new")).await.unwrap();
                Err(BoxError::from(NotProcessed::new()))
            }
        });
        let used = Client::with_transport(&config("a", "old"), transport).unwrap();
        *client.lock().unwrap() = Some(used.clone());
        let outcome = used.request_text(Request::delete("/").body(b"{}".to_vec()).unwrap()).await;
        client.lock().unwrap().take();
        assert_eq!(received.load(Ordering::Relaxed), expected, "{host}: {outcome:?}");
    }
}

#[tokio::test]
async fn other_settings_stay() {
    let (ours, server) = https().await;
    for (_, backend) in backends() {
        let mut config = config(&server, &ours);
        config.collect_limit = 3;
        let client = client(&config, backend).unwrap().with_collect_limit(3);
        config.collect_limit = 100;
        client.set_credentials(config).await.unwrap();
        let request = Request::get("/").body(Vec::new()).unwrap();
        assert!(
            client.request_text(request).await.is_err(),
            "the limit of the client, not of the new configuration"
        );
    }
}

fn base64(text: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.encode(text)
}
