//! Credentials that change while a client is in use: set by the program, or followed in a file or a Secret. Under paused time.

#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use http::{Request, Response};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube_client::api::{DeleteParams, ObjectMeta, PostParams};
use kube_client::client::{Body, KubeconfigSecret, KubeconfigSecretError};
use kube_client::config::{KubeConfigOptions, Kubeconfig, KubeconfigAllowList};
use kube_client::{Api, Client, Config};
use kube_testserver::ApiServer;
use tokio::time::{Instant, sleep};

/// Accepts some tokens, and answers with what it received: host, token and user to impersonate.
#[derive(Clone, Default)]
struct Server {
    accepted: Arc<Mutex<BTreeSet<String>>>,
    /// Requests of `kube-system`, and all others.
    requests: Arc<Mutex<(u32, u32)>>,
}

impl Server {
    fn accept(&self, tokens: &[&str]) {
        *self.accepted.lock().unwrap() = tokens.iter().map(ToString::to_string).collect();
    }

    fn client(&self, config: &Config) -> Client {
        let server = self.clone();
        let transport = tower::service_fn(move |request: Request<Body>| {
            let response = server.respond(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        Client::with_transport(config, transport).unwrap()
    }

    fn respond(&self, request: &Request<Body>) -> Response<Body> {
        let header = |name| request.headers().get(name).map_or("", |value| value.to_str().unwrap());
        let token = header("authorization").trim_start_matches("Bearer ");
        let mut requests = self.requests.lock().unwrap();
        if request.uri().path().ends_with("kube-system") {
            requests.0 += 1;
        } else {
            requests.1 += 1;
        }
        if !self.accepted.lock().unwrap().contains(token) {
            return Response::builder().status(401).body(Body::empty()).unwrap();
        }
        let text = format!("{} {token} {}", request.uri().host().unwrap(), header("impersonate-user"));
        Response::new(Body::from(text.trim().as_bytes().to_vec()))
    }
}

async fn seen(client: &Client) -> kube_client::Result<String> {
    client.request_text(Request::get("/").body(Vec::new()).unwrap()).await
}

fn kubeconfig(host: &str, token: &str) -> String {
    format!(
        r#"{{"current-context": "x", "contexts": [{{"name": "x", "context": {{"cluster": "c", "user": "u"}}}}],
        "clusters": [{{"name": "c", "cluster": {{"server": "https://{host}"}}}}],
        "users": [{{"name": "u", "user": {{"token": "{token}"}}}}]}}"#
    )
}

fn with_token(host: &str, token: &str) -> Config {
    let mut config = Config::new(format!("https://{host}").parse().unwrap());
    config.auth_info.token = Some(token.to_owned().into());
    config
}

struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl File {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        Self { _folder: folder, path }
    }

    /// As editors and atomic writers do.
    fn replace(&self, text: &str) {
        let next = self.path.with_extension("next");
        std::fs::write(&next, text).unwrap();
        std::fs::rename(next, &self.path).unwrap();
    }

    async fn config(&self) -> Config {
        read(&self.path).await
    }
}

async fn read(path: &Path) -> Config {
    Config::from_kubeconfig_file(path, &KubeConfigOptions::default()).await.unwrap().follow().unwrap()
}

/// A kubeconfig with the first of these tokens, and a client that follows it, of a server that accepts them.
async fn followed_file(accepted: &[&str]) -> (File, Client) {
    let server = Server::default();
    server.accept(accepted);
    let file = File::new(&kubeconfig("a", accepted[0]));
    let client = server.client(&file.config().await);
    (file, client)
}

#[tokio::test(start_paused = true)]
async fn a_file_is_followed_within_ten_seconds_by_all_clones() {
    let (file, client) = followed_file(&["one", "two", "three"]).await;
    let clone = client.clone();
    assert_eq!(seen(&client).await.unwrap(), "a one");
    file.replace(&kubeconfig("a", "two"));
    assert_eq!(seen(&client).await.unwrap(), "a one", "nothing has failed, so nobody looked");
    sleep(Duration::from_secs(11)).await;
    assert_eq!(seen(&clone).await.unwrap(), "a two");
    drop(client);
    file.replace(&kubeconfig("b", "three"));
    sleep(Duration::from_secs(25)).await;
    assert_eq!(seen(&clone).await.unwrap(), "b three");
}

#[tokio::test(start_paused = true)]
async fn a_refused_credential_is_looked_up_at_once_and_the_request_is_sent_again() {
    let server = Server::default();
    server.accept(&["one"]);
    let file = File::new(&kubeconfig("a", "one"));
    let client = server.client(&file.config().await);
    seen(&client).await.unwrap();
    let began = Instant::now();
    for token in ["two", "three", "four"] {
        file.replace(&kubeconfig("a", token));
        server.accept(&[token]);
        assert_eq!(seen(&client).await.unwrap(), format!("a {token}"));
    }
    assert!(began.elapsed() <= Duration::from_secs(3), "at most once a second: {:?}", began.elapsed());
    // A credential that stays refused is one error, and costs the server one request.
    server.accept(&[]);
    let before = server.requests.lock().unwrap().1;
    let err = seen(&client).await.unwrap_err();
    assert!(matches!(&err, kube_client::Error::Api(status) if status.code == 401), "{err}");
    assert_eq!(server.requests.lock().unwrap().1 - before, 1);
}

/// As the kubelet replaces the files of a Secret: the name stays, and leads elsewhere.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_mounted_secret_is_followed() {
    use std::os::unix::fs::symlink;
    let server = Server::default();
    server.accept(&["one", "two"]);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |version: &str, token: &str| {
        std::fs::create_dir(path(version)).unwrap();
        std::fs::write(path(version).join("config"), kubeconfig("a", token)).unwrap();
        symlink(version, path("..data_tmp")).unwrap();
        std::fs::rename(path("..data_tmp"), path("..data")).unwrap();
    };
    write("..1", "one");
    symlink("..data/config", path("config")).unwrap();
    let client = server.client(&read(&path("config")).await);
    assert_eq!(seen(&client).await.unwrap(), "a one");
    write("..2", "two");
    std::fs::remove_dir_all(path("..1")).unwrap();
    sleep(Duration::from_secs(11)).await;
    assert_eq!(seen(&client).await.unwrap(), "a two");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_used_is_logged_once_and_the_old_configuration_stays() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let (file, client) = followed_file(&["one", "two"]).await;
    seen(&client).await.unwrap();
    let missing_ca =
        kubeconfig("a", "two").replace("\"server\"", "\"certificate-authority\": \"ca.crt\", \"server\"");
    let broken = ["users: [", "", &kubeconfig("a", "line\\nbreak"), &missing_ca];
    for (number, text) in broken.into_iter().enumerate() {
        file.replace(text);
        sleep(Duration::from_secs(60)).await;
        assert_eq!(seen(&client).await.unwrap(), "a one", "{text}");
        let warnings = log.warnings();
        assert_eq!(warnings.len(), number + 1, "{warnings:#?}");
        assert!(warnings[number].contains(file.path.to_str().unwrap()), "{}", warnings[number]);
    }
    std::fs::remove_file(&file.path).unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(seen(&client).await.unwrap(), "a one");
    assert_eq!(log.warnings().len(), broken.len() + 1);
    file.replace(&kubeconfig("a", "two"));
    sleep(Duration::from_secs(11)).await;
    assert_eq!(seen(&client).await.unwrap(), "a two");
    assert_eq!(log.warnings().len(), broken.len() + 1);
}

/// The kubeconfig is the same, so only what it names can end the failure.
#[tokio::test(start_paused = true)]
async fn a_file_that_the_kubeconfig_names_may_appear_later() {
    let (file, client) = followed_file(&["one", "two"]).await;
    seen(&client).await.unwrap();
    let with_ca =
        kubeconfig("a", "two").replace("\"server\"", "\"certificate-authority\": \"ca.crt\", \"server\"");
    file.replace(&with_ca);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(seen(&client).await.unwrap(), "a one");
    let ca = rcgen::generate_simple_self_signed(vec!["ca".into()]).unwrap().cert.pem();
    std::fs::write(file.path.with_file_name("ca.crt"), ca).unwrap();
    sleep(Duration::from_secs(11)).await;
    assert_eq!(seen(&client).await.unwrap(), "a two");
}

#[tokio::test(start_paused = true)]
async fn what_the_program_has_changed_stays() {
    let server = Server::default();
    server.accept(&["one", "two"]);
    let file = File::new(&kubeconfig("a", "one"));
    let mut config = file.config().await;
    config.auth_info.impersonate = Some("jane".into());
    let client = server.client(&config);
    assert_eq!(seen(&client).await.unwrap(), "a one jane");
    file.replace(&kubeconfig("b", "two"));
    sleep(Duration::from_secs(30)).await;
    assert_eq!(seen(&client).await.unwrap(), "b two jane");
}

#[tokio::test(start_paused = true)]
async fn without_follow_a_file_is_read_once() {
    let server = Server::default();
    server.accept(&["one"]);
    let file = File::new(&kubeconfig("a", "one"));
    let config = Config::from_kubeconfig_file(&file.path, &KubeConfigOptions::default()).await.unwrap();
    let client = server.client(&config);
    file.replace(&kubeconfig("a", "two"));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(seen(&client).await.unwrap(), "a one");
    assert_eq!(server.requests.lock().unwrap().0, 0, "nobody asks which cluster it is");
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_last_clone() {
    let server = Server::default();
    server.accept(&["one"]);
    let file = File::new(&kubeconfig("a", "one"));
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let clients: Vec<_> = {
        let config = file.config().await;
        (0..100).map(|_| server.client(&config)).collect()
    };
    for client in &clients {
        seen(client).await.unwrap();
        seen(&client.clone()).await.unwrap();
    }
    assert_eq!(metrics.num_alive_tasks(), before + 100);
    drop(clients);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(metrics.num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn credentials_that_are_set_are_used_by_all_clones() {
    let server = Server::default();
    server.accept(&["one"]);
    let client = server.client(&with_token("a", "one"));
    let clone = client.clone();
    assert_eq!(seen(&clone).await.unwrap(), "a one");
    client.set_credentials(with_token("b", "two")).await.unwrap();
    server.accept(&["two"]);
    assert_eq!(seen(&clone).await.unwrap(), "b two");

    server.accept(&["three"]);
    assert!(seen(&clone).await.is_err(), "nobody has set it");
}

/// Each plugin of which a token is wanted runs, also one with the same command.
#[cfg(unix)]
#[tokio::test]
async fn another_exec_plugin_is_used_at_once() {
    let server = Server::default();
    server.accept(&["one", "two"]);
    let config = async |token: &str| {
        let credential = serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": { "token": token },
        });
        let exec = serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "echo", "args": [credential.to_string()],
        });
        let text = kubeconfig("a", "unused").replace(r#""token": "unused""#, &format!(r#""exec": {exec}"#));
        let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap()
    };
    let client = server.client(&config("one").await);
    for token in ["one", "two", "one"] {
        client.set_credentials(config(token).await).await.unwrap();
        assert_eq!(seen(&client).await.unwrap(), format!("a {token}"));
    }
}

/// The outcome of a request that is refused with this code while the client is led from the host `a` to another one, and how many requests
/// arrived with the new credentials.
async fn refused_during_an_exchange(host: &'static str, code: u16) -> (kube_client::Result<String>, u32) {
    let client: Arc<Mutex<Option<Client>>> = Arc::default();
    let sent_again = Arc::new(AtomicU32::new(0));
    let (of_server, received) = (Arc::clone(&client), Arc::clone(&sent_again));
    let transport = tower::service_fn(move |request: Request<Body>| {
        let client = of_server.lock().unwrap().clone();
        let is_new = request.headers()["authorization"] == "Bearer new";
        let is_lookup = request.uri().path().ends_with("kube-system");
        if is_new && !is_lookup {
            received.fetch_add(1, Ordering::Relaxed);
        }
        async move {
            if is_new || is_lookup {
                return Ok::<_, Infallible>(Response::new(Body::from(b"ok".to_vec())));
            }
            client.unwrap().set_credentials(with_token(host, "new")).await.unwrap();
            let refusal = Response::builder().status(code).header("retry-after", "5");
            Ok(refusal.body(Body::empty()).unwrap())
        }
    });
    let used = Client::with_transport(&with_token("a", "old"), transport).unwrap();
    *client.lock().unwrap() = Some(used.clone());
    let outcome = used.request_text(Request::delete("/").body(b"{}".to_vec()).unwrap()).await;
    client.lock().unwrap().take();
    (outcome, sent_again.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_while_the_credentials_are_exchanged_is_sent_again() {
    for code in [401, 429, 500, 503] {
        let (outcome, sent_again) = refused_during_an_exchange("a", code).await;
        assert_eq!(outcome.unwrap(), "ok", "the server has done nothing with the first one");
        assert_eq!(sent_again, 1, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_meant_for_one_cluster_is_not_sent_to_another() {
    for code in [401, 429, 500, 503] {
        let (outcome, sent_again) = refused_during_an_exchange("b", code).await;
        let err = outcome.unwrap_err();
        assert_eq!(sent_again, 0, "{code}");
        match code {
            401 => assert!(matches!(&err, kube_client::Error::Api(status) if status.code == 401), "{err}"),
            _ => assert!(err.to_string().contains("another cluster"), "{err}"),
        }
    }
}

/// Whether the client counts another cluster after `change`, of which only the old one may say which it is.
async fn counts_another_cluster(change: fn(&mut Config), old_is_known: bool) -> bool {
    let says = Arc::new(AtomicBool::new(old_is_known));
    let answers = Arc::clone(&says);
    let transport = tower::service_fn(move |_: Request<Body>| {
        let code = if answers.load(Ordering::Relaxed) { 200 } else { 403 };
        let object = Body::from(br#"{"metadata":{"uid":"x"}}"#.to_vec());
        async move { Ok::<_, Infallible>(Response::builder().status(code).body(object).unwrap()) }
    });
    let mut config = Config::new("https://a".parse().unwrap());
    let client = Client::with_transport(&config, transport).unwrap();
    config.root_cert = Some(vec![]);
    client.set_credentials(config.clone()).await.unwrap();
    says.store(false, Ordering::Relaxed);
    let mut cluster = client.cluster_change();
    change(&mut config);
    client.set_credentials(config).await.unwrap();
    cluster.take()
}

/// An earlier exchange that lasts does not take the newest configuration back.
#[tokio::test(start_paused = true)]
async fn an_update_is_compared_with_what_is_being_exchanged_before_it() {
    let server = Server::default();
    server.accept(&["one", "two"]);
    let transport = tower::service_fn(move |request: Request<Body>| {
        let response = server.respond(&request);
        async move {
            sleep(Duration::from_secs(2)).await;
            Ok::<_, Infallible>(response)
        }
    });
    let client = Client::with_transport(&with_token("a", "one"), transport).unwrap();
    let exchange = {
        let client = client.clone();
        tokio::spawn(async move { client.set_credentials(with_token("b", "two")).await })
    };
    sleep(Duration::from_secs(1)).await;
    assert!(client.update_credentials(with_token("a", "one")).await.unwrap(), "it has others");
    exchange.await.unwrap().unwrap();
    assert_eq!(seen(&client).await.unwrap(), "a one");
    assert!(!client.update_credentials(with_token("a", "one")).await.unwrap());
}

/// Many clusters have one address behind different proxies, or behind one that looks at the name in TLS.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_say_which_it_is_is_the_same_only_in_the_same_place() {
    let place: [fn(&mut Config); 3] = [
        |config| config.cluster_url = "https://b".parse().unwrap(),
        |config| config.proxy_url = Some("http://proxy:3128".parse().unwrap()),
        |config| config.tls_server_name = Some("b".into()),
    ];
    for (number, change) in place.into_iter().enumerate() {
        assert!(counts_another_cluster(change, false).await, "{number}");
    }
    let trust: [fn(&mut Config); 2] =
        [|config| config.root_cert = None, |config| config.accept_invalid_certs = true];
    for (number, change) in trust.into_iter().enumerate() {
        assert!(!counts_another_cluster(change, false).await, "{number}: a rotation");
        assert!(
            counts_another_cluster(change, true).await,
            "{number}: the old one did say, so the new one differs"
        );
    }
}

/// Otherwise the way back to the old cluster would be none, and watches would resume on it with versions of the new one.
#[tokio::test(start_paused = true)]
async fn a_late_answer_of_the_old_cluster_is_not_taken_for_one_of_the_new_one() {
    let (accepted, lookups) = (Arc::new(Mutex::new("one")), AtomicU32::new(0));
    let of_server = Arc::clone(&accepted);
    let lookups = Arc::new(lookups);
    let transport = tower::service_fn(move |request: Request<Body>| {
        let is_lookup = request.uri().path().ends_with("kube-system");
        let is_late = is_lookup && lookups.fetch_add(1, Ordering::Relaxed) == 0;
        let token = format!("Bearer {}", *of_server.lock().unwrap());
        let code = if is_lookup || request.headers()["authorization"] == token { 200 } else { 401 };
        let object = format!(r#"{{"metadata":{{"uid":"{}"}}}}"#, request.uri().host().unwrap());
        async move {
            if is_late {
                sleep(Duration::from_secs(4)).await;
            }
            let object = Body::from(object.into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(object).unwrap())
        }
    });
    let file = File::new(&kubeconfig("a", "one"));
    let client = Client::with_transport(&file.config().await, transport).unwrap();
    let mut cluster = client.cluster_change();
    seen(&client).await.unwrap();
    for (host, token) in [("b", "two"), ("a", "three")] {
        file.replace(&kubeconfig(host, token));
        *accepted.lock().unwrap() = token;
        assert!(seen(&client).await.is_err(), "it was meant for the other one");
        assert!(cluster.take(), "{host}");
        sleep(Duration::from_secs(8)).await;
    }
}

#[tokio::test]
async fn a_client_over_a_service_has_no_credentials_to_set() {
    let client = Client::new(ApiServer::new(), "default");
    let err = client.set_credentials(Config::new("https://a".parse().unwrap())).await.unwrap_err();
    assert!(err.to_string().contains("expected one made of a `Config`"), "{err}");
}

#[test]
fn a_configuration_from_nowhere_cannot_be_followed() {
    let err = Config::new("https://a".parse().unwrap()).follow().unwrap_err();
    assert!(err.to_string().contains("from_kubeconfig_file"), "{err}");
}

struct Hub {
    secrets: Api<Secret>,
    client: Client,
}

impl Hub {
    fn new() -> Self {
        let client = Client::new(ApiServer::new(), "default");
        Self { secrets: Api::default_namespaced(client.clone()), client }
    }

    async fn write(&self, value: &str) {
        let data = Some([("kubeconfig".to_owned(), ByteString(value.into()))].into());
        let metadata = ObjectMeta { name: Some("member".into()), ..ObjectMeta::default() };
        let secret = Secret { metadata, data, ..Secret::default() };
        match self.secrets.get_opt("member").await.unwrap() {
            None => self.secrets.create(&PostParams::default(), &secret).await.unwrap(),
            Some(_) => self.secrets.replace("member", &PostParams::default(), &secret).await.unwrap(),
        };
    }

    fn source(&self) -> KubeconfigSecret {
        KubeconfigSecret::new(self.client.clone(), "default", "member")
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_followed_at_once_through_deletion_and_what_is_refused() {
    let (hub, server) = (Hub::new(), Server::default());
    server.accept(&["one", "two", "three", "four"]);
    hub.write(&kubeconfig("a", "one")).await;
    let client = server.client(&hub.source().read().await.unwrap().follow().unwrap());
    assert_eq!(seen(&client).await.unwrap(), "a one");
    hub.write(&kubeconfig("a", "two")).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(seen(&client).await.unwrap(), "a two");
    hub.write(&kubeconfig("a", "three").replace("\"token\"", "\"exec\": {}, \"token\"")).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(seen(&client).await.unwrap(), "a two", "refused");
    hub.secrets.delete("member", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(seen(&client).await.unwrap(), "a two", "deleted");
    hub.write(&kubeconfig("a", "three")).await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(seen(&client).await.unwrap(), "a three");
    hub.write(&kubeconfig("b", "four")).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(seen(&client).await.unwrap(), "b four", "by the next watch");
}

/// Its watch would revert what the program has set, and its file would not.
#[tokio::test(start_paused = true)]
async fn a_client_that_follows_refuses_other_credentials() {
    let (file, client) = followed_file(&["one", "two"]).await;
    let err = client.set_credentials(Config::new("https://b".parse().unwrap())).await.unwrap_err();
    assert!(err.to_string().contains(file.path.to_str().unwrap()), "{err}");
    file.replace(&kubeconfig("a", "two"));
    seen(&client).await.unwrap();
    sleep(Duration::from_secs(11)).await;
    assert_eq!(seen(&client).await.unwrap(), "a two");
}

#[test]
fn a_client_follows_in_another_runtime_when_the_first_one_has_ended() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let first = runtime();
    let (file, client) = first.block_on(followed_file(&["one", "two"]));
    first.block_on(seen(&client)).unwrap();
    drop(first);
    file.replace(&kubeconfig("a", "two"));
    runtime().block_on(async {
        seen(&client).await.unwrap();
        sleep(Duration::from_secs(11)).await;
        assert_eq!(seen(&client).await.unwrap(), "a two");
    });
}

/// A hub that answers with one version of the Secret, and sends another one in its watches after 5 s. Counts the GETs.
fn lagging_hub(version: &Arc<AtomicU32>, watched: u32, gets: &Arc<AtomicU32>) -> KubeconfigSecret {
    let (version, gets) = (Arc::clone(version), Arc::clone(gets));
    let object = |version: u32| {
        let data = Some(
            [("kubeconfig".to_owned(), ByteString(kubeconfig("a", &format!("v{version}")).into()))].into(),
        );
        let metadata = ObjectMeta {
            name: Some("member".into()),
            uid: Some("u".into()),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        };
        serde_json::to_value(Secret { metadata, data, ..Secret::default() }).unwrap()
    };
    let hub = tower::service_fn(move |request: Request<Body>| {
        let is_watch = request.uri().query().unwrap_or_default().contains("watch=");
        let answer = match is_watch {
            true => serde_json::json!({ "type": "ADDED", "object": object(watched) }),
            false => object(version.load(Ordering::Relaxed)),
        };
        gets.fetch_add(u32::from(!is_watch), Ordering::Relaxed);
        async move {
            if is_watch {
                sleep(Duration::from_secs(5)).await;
            }
            Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes())))
        }
    });
    KubeconfigSecret::new(Client::new(hub, "default"), "default", "member")
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_behind_does_not_bring_back_old_credentials() {
    let (version, gets, server) = (Arc::new(AtomicU32::new(1)), Arc::default(), Server::default());
    server.accept(&["v1"]);
    let source = lagging_hub(&version, 1, &gets);
    let client = server.client(&source.read().await.unwrap().follow().unwrap());
    assert_eq!(seen(&client).await.unwrap(), "a v1");
    server.accept(&["v1", "v2"]);
    version.store(2, Ordering::Relaxed);
    server.accept(&["v2"]);
    assert_eq!(seen(&client).await.unwrap(), "a v2", "by a GET");
    server.accept(&["v1", "v2"]);
    for _ in 0..20 {
        sleep(Duration::from_secs(1)).await;
        assert_eq!(seen(&client).await.unwrap(), "a v2");
    }
    // The storage of the hub was restored.
    version.store(1, Ordering::Relaxed);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(seen(&client).await.unwrap(), "a v1");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_away_costs_its_hub_ever_fewer_reads() {
    let (version, gets, server) = (Arc::new(AtomicU32::new(1)), Arc::default(), Server::default());
    let source = lagging_hub(&version, 1, &gets);
    let client = server.client(&source.read().await.unwrap().follow().unwrap());
    let began = Instant::now();
    for _ in 0..600 {
        seen(&client).await.unwrap_err();
        sleep(Duration::from_secs(1)).await;
    }
    assert!(began.elapsed() < Duration::from_secs(610), "no request is held up: {:?}", began.elapsed());
    let gets = gets.load(Ordering::Relaxed);
    assert!(gets < 20, "{gets}");
    server.accept(&["v1"]);
    assert_eq!(seen(&client).await.unwrap(), "a v1");
}

/// Otherwise whoever may write the Secret would receive them.
#[tokio::test(start_paused = true)]
async fn credentials_of_the_program_are_not_sent_where_a_secret_leads_later() {
    let changes: [fn(&mut Config); 2] = [
        |config| config.auth_info.token = Some("mine".to_owned().into()),
        |config| {
            let header = (http::header::AUTHORIZATION, "Bearer mine".parse().unwrap());
            config.auth_info = Default::default();
            config.headers.push(header);
        },
    ];
    for change in changes {
        let (hub, server) = (Hub::new(), Server::default());
        server.accept(&["mine"]);
        hub.write(&kubeconfig("a", "one")).await;
        let mut config = hub.source().read().await.unwrap();
        change(&mut config);
        let client = server.client(&config.follow().unwrap());
        assert_eq!(seen(&client).await.unwrap(), "a mine");
        hub.write(&kubeconfig("b", "two")).await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(seen(&client).await.unwrap(), "a mine");
    }
}

#[tokio::test]
async fn each_fault_of_a_secret_is_one_error_that_names_it() {
    let hub = Hub::new();
    let error = async |source: KubeconfigSecret| {
        let err = source.read().await.unwrap_err();
        assert!(err.to_string().contains("Secret default/member"), "{err}");
        err
    };
    assert!(matches!(error(hub.source()).await, KubeconfigSecretError::Get { .. }));
    hub.write("users: [").await;
    assert!(matches!(error(hub.source()).await, KubeconfigSecretError::Untrusted { .. }));
    assert!(matches!(error(hub.source().key("value")).await, KubeconfigSecretError::NoKey { .. }));
    hub.write("users: []").await;
    assert!(matches!(error(hub.source()).await, KubeconfigSecretError::Unusable { .. }));
    hub.write(&kubeconfig("a", "t").replace("\"token\"", "\"tokenFile\": \"/etc/passwd\", \"token\"")).await;
    let err = error(hub.source()).await;
    assert!(err.to_string().contains("`tokenFile` of user \"u\""), "{err}");
    let allowed = hub.source().allow(KubeconfigAllowList::default().files()).read().await.unwrap();
    assert_eq!(allowed.auth_info.token_file.as_deref(), Some("/etc/passwd"));
    let options = KubeConfigOptions { context: Some("no".into()), ..KubeConfigOptions::default() };
    hub.write(&kubeconfig("a", "t")).await;
    assert!(matches!(error(hub.source().options(options)).await, KubeconfigSecretError::Unusable { .. }));
    let name = KubeconfigSecret::new(hub.client.clone(), "default", "").read().await.unwrap_err();
    assert!(matches!(name, KubeconfigSecretError::Get { .. }), "{name}");
}

/// The warnings of a test.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// While only one subscriber exists, tracing caches for the whole process whether an event is enabled, as decided on the thread that
    /// reaches it first. A second, permanent one prevents that.
    fn subscriber(&self) -> impl tracing::Subscriber + Send + Sync + use<> {
        static PERMANENT: OnceLock<tracing::Dispatch> = OnceLock::new();
        PERMANENT.get_or_init(|| tracing::Dispatch::new(tracing_subscriber::registry()));
        let log = self.clone();
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .with_writer(move || log.clone())
            .finish()
    }

    fn warnings(&self) -> Vec<String> {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(ToOwned::to_owned).collect()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
