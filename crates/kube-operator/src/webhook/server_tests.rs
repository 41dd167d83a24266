//! The webhook server over TLS.

use std::{path::Path, sync::Arc};

use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Client, Config, client::Body};
use kube_core::admission::AdmissionRequest;
use kube_serve::listener::TlsSettings;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use super::*;
use crate::webhook::{certificates::CertificateFiles, router::tests::review};

/// A client that trusts one certificate.
pub(in crate::webhook) fn client(addr: SocketAddr, certificate: &str, name: &str) -> Client {
    client_with(addr, certificate, name, None)
}

/// The same, with a file that has its own certificate and key.
pub(in crate::webhook) fn client_with(
    addr: SocketAddr,
    certificate: &str,
    name: &str,
    identity: Option<&Path>,
) -> Client {
    let mut config = Config::new(format!("https://{addr}").parse().unwrap());
    config.root_cert = Some(
        CertificateDer::pem_slice_iter(certificate.as_bytes()).map(|der| der.unwrap().to_vec()).collect(),
    );
    config.tls_server_name = Some(name.into());
    let identity = identity.map(|file| file.display().to_string());
    (config.auth_info.client_certificate, config.auth_info.client_key) = (identity.clone(), identity);
    Client::try_from(config).unwrap()
}

/// Whether a client that trusts this certificate connects to a server with these settings.
pub(in crate::webhook) async fn connects(tls: &TlsSettings, certificate: &str, name: &str) -> bool {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap().tls(tls.clone());
    let client = client(listener.local_addr(), certificate, name);
    let serving = listener.serve(Router::new(), std::future::pending());
    tokio::select! {
        _ = serving => unreachable!(),
        response = client.send(Request::get("/").body(Body::empty()).unwrap()) => response.is_ok(),
    }
}

async fn posted(client: &Client, path: &str) -> Result<(u16, Value), kube_client::Error> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
    let body = review("CREATE", &object, &Value::Null).to_string().into_bytes();
    let request =
        Request::post(path).header("content-type", "application/json").body(Body::from(body)).unwrap();
    let response = client.send(request).await?;
    let code = response.status().as_u16();
    let body = http_body_util::BodyExt::collect(response.into_body()).await?.to_bytes();
    Ok((code, serde_json::from_slice(&body).unwrap_or_default()))
}

struct Running {
    client: Client,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<Served>,
    _folder: tempfile::TempDir,
}

async fn start(webhooks: Webhooks) -> Running {
    let made = rcgen::generate_simple_self_signed(["hooks.web.svc".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    let files = CertificateFiles::new(folder.path());
    let server = WebhookServer::bind(([127, 0, 0, 1], 0).into(), webhooks, files).await.unwrap();
    let own = Router::new().route("/own", axum::routing::get(async || "mine"));
    let server = server.routes(own).drain_deadline(Duration::from_secs(30));
    let client = client(server.local_addr(), &made.cert.pem(), "hooks.web.svc");
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(server.serve(async { drop(stopped.await) }));
    Running { client, stop, task, _folder: folder }
}

async fn check(_: AdmissionRequest<ConfigMap>) -> Result<(), String> {
    Err("not today".into())
}

const PATH: &str = "/validate--v1-configmap";

#[tokio::test]
async fn webhooks_and_own_routes_are_served_over_https() {
    let Running { client, stop, task, _folder } = start(Webhooks::new().validate(check)).await;
    let (code, review) = posted(&client, PATH).await.unwrap();
    assert_eq!((code, &review["response"]["status"]["message"]), (200, &json!("not today")));
    let own = client.request_text(Request::get("/own").body(Vec::new()).unwrap()).await.unwrap();
    assert_eq!(own, "mine");
    let unknown = client.send(Request::post("/convert").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(unknown.status(), 404, "no conversion was added");
    let wrong = client.send(Request::get(PATH).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(wrong.status(), 405);
    drop(client);
    stop.send(()).unwrap();
    assert!(task.await.unwrap().drained);
}

#[tokio::test]
async fn running_requests_finish_during_shutdown() {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let inside = (entered.clone(), leave.clone());
    let webhooks = Webhooks::new().validate(move |_: AdmissionRequest<ConfigMap>| {
        let (entered, leave) = inside.clone();
        async move {
            entered.notify_one();
            leave.notified().await;
            Ok::<_, String>(())
        }
    });
    let Running { client, stop, task, _folder } = start(webhooks).await;
    let request = tokio::spawn(async move { posted(&client, PATH).await });
    entered.notified().await;
    stop.send(()).unwrap();
    leave.notify_one();
    let (code, review) = request.await.unwrap().unwrap();
    assert_eq!((code, &review["response"]["allowed"]), (200, &json!(true)));
    assert!(task.await.unwrap().drained);
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let files = || CertificateFiles::new(folder.path());
    let addr = ([127, 0, 0, 1], 0).into();
    let error = WebhookServer::bind(addr, Webhooks::new(), files()).await.unwrap_err().to_string();
    assert!(
        error.starts_with("the webhook server has no certificate: ") && error.contains("tls.crt: "),
        "{error}"
    );
    let twice = Webhooks::new().validate(check).validate(check);
    let error = WebhookServer::bind(addr, twice, files()).await.unwrap_err();
    assert!(matches!(error, WebhookServerError::Webhooks(_)), "{error}");

    let made = rcgen::generate_simple_self_signed(["x".to_owned()]).unwrap();
    std::fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = taken.local_addr().unwrap();
    let error = WebhookServer::bind(addr, Webhooks::new(), files()).await.unwrap_err().to_string();
    assert!(error.contains(&addr.to_string()) && error.contains("in use"), "{error}");
}
