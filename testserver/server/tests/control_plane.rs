//! The folder for `KUBEBUILDER_ASSETS`: `etcd` and `kube-apiserver` are started, used and stopped as Go's envtest does.

// Test code only.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::Read,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::{Value, json};

/// As long as envtest waits.
const LIMIT: Duration = Duration::from_secs(20);

/// A program in a process of its own, which ends with the test.
struct Program(Child);

impl Program {
    fn start(path: &Path, args: &[String]) -> Self {
        let mut command = Command::new(path);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Sends SIGTERM; whether the exit code is 0.
    fn stop(mut self) -> bool {
        assert!(Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap().success());
        self.0.wait().unwrap().success()
    }

    /// The exit code of a program that ends by itself, and the standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap().code(), said)
    }
}

/// A panicking test leaves no process behind.
impl Drop for Program {
    fn drop(&mut self) {
        // An error if it has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A CA that a test makes.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "envtest-environment");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Certificate and key in PEM.
    fn issue(&self, params: &CertificateParams) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    fn client(&self, user: &str, groups: [&str; 2]) -> (String, String) {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, user);
        params.distinguished_name.push(DnType::OrganizationName, groups[0]);
        // rcgen keeps one value of a type, so the second organization is spelled as a custom type.
        params.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 10]), groups[1]);
        self.issue(&params)
    }
}

/// The files and addresses of a control plane.
struct Plane {
    folder: tempfile::TempDir,
    assets: PathBuf,
    serving: Authority,
    clients: Authority,
    /// Signs service account tokens.
    tokens: KeyPair,
    etcd: u16,
    port: u16,
}

impl Plane {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (serving, clients) = (Authority::new(), Authority::new());
        let (certificate, key) = serving.issue(&CertificateParams::new(["127.0.0.1".to_owned()]).unwrap());
        fs::create_dir(folder.path().join("certs")).unwrap();
        let tokens = KeyPair::generate().unwrap();
        for (name, text) in [
            ("apiserver.crt", &certificate),
            ("apiserver.key", &key),
            ("client-cert-auth-ca.crt", &clients.pem),
            ("sa-signer.key", &tokens.serialize_pem()),
        ] {
            fs::write(folder.path().join("certs").join(name), text).unwrap();
        }
        let assets = assets(&folder.path().join("assets"));
        Self { assets, folder, serving, clients, tokens, etcd: free_port(), port: free_port() }
    }

    async fn etcd(&self) -> Program {
        let (url, data) = (format!("http://127.0.0.1:{}", self.etcd), self.folder.path().join("etcd"));
        let args = [
            format!("--advertise-client-urls={url}"),
            format!("--data-dir={}", data.display()),
            format!("--listen-client-urls={url}"),
            format!("--listen-peer-urls=http://127.0.0.1:{}", free_port()),
            "--unsafe-no-fsync=true".to_owned(),
        ];
        let program = Program::start(&self.assets.join("etcd"), &args);
        let healthy = async || {
            let stream = tokio::net::TcpStream::connect(("127.0.0.1", self.etcd)).await.ok()?;
            send(stream, "GET", "/health", Value::Null).await
        };
        let (code, body) = eventually(healthy).await;
        assert_eq!((code, &body["health"]), (200, &json!("true")));
        program
    }

    fn flags(&self) -> Vec<String> {
        let certs = self.folder.path().join("certs");
        let file = |name: &str| certs.join(name).display().to_string();
        vec![
            "--allow-privileged=true".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", certs.display()),
            format!("--client-ca-file={}", file("client-cert-auth-ca.crt")),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd),
            format!("--secure-port={}", self.port),
            format!("--service-account-issuer=https://127.0.0.1:{}/", self.port),
            format!("--service-account-key-file={}", file("sa-signer.crt")),
            format!("--service-account-signing-key-file={}", file("sa-signer.key")),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        ]
    }

    async fn apiserver(&self) -> Program {
        let program = Program::start(&self.assets.join("kube-apiserver"), &self.flags());
        // Without a certificate, as envtest asks.
        assert_eq!(
            eventually(async || self.try_request(None, "GET", "/healthz", Value::Null).await).await.0,
            200
        );
        program
    }

    async fn request(&self, user: &(String, String), method: &str, path: &str, body: Value) -> (u16, Value) {
        self.try_request(Some(user), method, path, body).await.expect("an answer")
    }

    async fn try_request(
        &self,
        user: Option<&(String, String)>,
        method: &str,
        path: &str,
        body: Value,
    ) -> Option<(u16, Value)> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.serving.pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots);
        let config = match user {
            Some((certificate, key)) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(chain, key).unwrap()
            }
            None => config.with_no_client_auth(),
        };
        let tcp = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.ok()?;
        let name = "127.0.0.1".try_into().unwrap();
        let tls = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, tcp).await.ok()?;
        send(tls, method, path, body).await
    }
}

async fn send<S>(stream: S, method: &str, path: &str, body: Value) -> Option<(u16, Value)>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut send, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
    tokio::spawn(connection);
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let request = http::Request::builder().method(method).uri(path).header("host", "127.0.0.1");
    let request = request.header("content-type", "application/json").body(Full::new(body)).unwrap();
    let response = send.send_request(request).await.ok()?;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.ok()?.to_bytes();
    Some((code, serde_json::from_slice(&bytes).unwrap_or_default()))
}

/// Asks until there is an answer.
async fn eventually<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "no answer");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// The path that `kube-testserver assets` prints.
fn assets(folder: &Path) -> PathBuf {
    let output =
        Command::new(env!("CARGO_BIN_EXE_kube-testserver")).arg("assets").arg(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().into()
}

#[cfg(unix)]
#[test]
fn a_folder_with_the_genuine_programs_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    assets(folder.path());
    assets(folder.path());
    let etcd = folder.path().join("etcd");
    fs::remove_file(&etcd).unwrap();
    fs::write(&etcd, "genuine").unwrap();
    let command =
        Command::new(env!("CARGO_BIN_EXE_kube-testserver")).arg("assets").arg(folder.path()).output();
    let said = String::from_utf8(command.unwrap().stderr).unwrap();
    assert_eq!(
        said,
        format!("kube-testserver: cannot write {}: etcd is there already\n", folder.path().display())
    );
    assert_eq!(fs::read_to_string(&etcd).unwrap(), "genuine");
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

#[tokio::test]
async fn users_are_those_of_the_client_certificates() {
    let plane = Plane::new();
    let (_etcd, _server) = (plane.etcd().await, plane.apiserver().await);
    let admin = plane.clients.client("admin", ["system:masters", "x"]);
    let ann = plane.clients.client("ann", ["team", "readers"]);
    assert_eq!(plane.request(&admin, "GET", CONFIG_MAPS, Value::Null).await.0, 200);
    let (code, refused) = plane.request(&ann, "GET", CONFIG_MAPS, Value::Null).await;
    let why = "configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"";
    assert_eq!((code, refused["message"].as_str()), (403, Some(why)));
    assert_eq!(plane.try_request(None, "GET", CONFIG_MAPS, Value::Null).await.unwrap().0, 403, "anonymous");

    let binding = json!({
        "metadata": {"name": "readers"},
        // The role `view` has no rules, as no controller aggregates them.
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:aggregate-to-view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}],
    });
    assert_eq!(plane.request(&admin, "POST", BINDINGS, binding).await.0, 201);
    assert_eq!(plane.request(&ann, "GET", CONFIG_MAPS, Value::Null).await.0, 200, "by the second group");

    // A certificate that names nobody is not the same as none.
    let mut nobody = CertificateParams::new([]).unwrap();
    nobody.distinguished_name = rcgen::DistinguishedName::new();
    nobody.distinguished_name.push(DnType::OrganizationName, "system:masters");
    let nobody = plane.clients.issue(&nobody);
    assert_eq!(plane.request(&nobody, "GET", CONFIG_MAPS, Value::Null).await.0, 401);

    // A certificate of another CA is refused in the handshake.
    let stranger = Authority::new().client("admin", ["system:masters", "x"]);
    assert_eq!(plane.try_request(Some(&stranger), "GET", CONFIG_MAPS, Value::Null).await, None);
}

#[tokio::test]
async fn the_state_is_that_of_the_etcd() {
    let plane = Plane::new();
    let admin = plane.clients.client("admin", ["system:masters", "x"]);
    let etcd = plane.etcd().await;
    let server = plane.apiserver().await;
    let map = json!({"metadata": {"name": "kept"}, "data": {"a": "1"}});
    let (code, made) = plane.request(&admin, "POST", CONFIG_MAPS, map).await;
    assert_eq!(code, 201, "{made}");
    assert!(server.stop());

    let server = plane.apiserver().await;
    assert_eq!(plane.request(&admin, "GET", &format!("{CONFIG_MAPS}/kept"), Value::Null).await, (200, made));
    let more = Program::start(&plane.assets.join("kube-apiserver"), &{
        let mut flags = plane.flags();
        flags.push(format!("--secure-port={}", free_port()));
        flags
    });
    let (code, said) = more.end();
    assert!(code == Some(1) && said.ends_with("is in use by another server\n"), "{said}");
    assert!(server.stop());
    assert!(etcd.stop());

    // The next control plane has a directory of its own.
    fs::remove_dir_all(plane.folder.path().join("etcd")).unwrap();
    let (_etcd, _server) = (plane.etcd().await, plane.apiserver().await);
    assert_eq!(plane.request(&admin, "GET", &format!("{CONFIG_MAPS}/kept"), Value::Null).await.0, 404);
}

#[tokio::test]
async fn tokens_are_signed_with_the_given_key() {
    let plane = Plane::new();
    let admin = plane.clients.client("admin", ["system:masters", "x"]);
    let (_etcd, _server) = (plane.etcd().await, plane.apiserver().await);
    let robot = json!({"metadata": {"name": "robot"}});
    assert_eq!(plane.request(&admin, "POST", ACCOUNTS, robot).await.0, 201);
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let (code, made) = plane.request(&admin, "POST", &format!("{ACCOUNTS}/robot/token"), request).await;
    assert_eq!(code, 201, "{made}");

    let token = made["status"]["token"].as_str().unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, plane.tokens.public_key_raw());
    key.verify(signed.as_bytes(), &decode(signature)).unwrap();
    let claims: Value = serde_json::from_slice(&decode(signed.split_once('.').unwrap().1)).unwrap();
    let issuer = format!("https://127.0.0.1:{}/", plane.port);
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(issuer), &json!([issuer])));

    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let (_, review) =
        plane.request(&admin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert_eq!(review["status"]["user"]["username"], "system:serviceaccount:default:robot", "{review}");
    assert_eq!(review["status"]["audiences"], json!([issuer]));
}

/// As in envtest, where the owner may be an object that never was.
#[tokio::test]
async fn there_are_no_controllers() {
    let plane = Plane::new();
    let admin = plane.clients.client("admin", ["system:masters", "x"]);
    let (_etcd, _server) = (plane.etcd().await, plane.apiserver().await);
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "0"});
    let map = json!({"metadata": {"name": "owned", "ownerReferences": [owner]}});
    assert_eq!(plane.request(&admin, "POST", CONFIG_MAPS, map).await.0, 201);
    assert_eq!(plane.request(&admin, "GET", &format!("{CONFIG_MAPS}/owned"), Value::Null).await.0, 200);
    let namespace = json!({"metadata": {"name": "shop"}});
    assert_eq!(plane.request(&admin, "POST", "/api/v1/namespaces", namespace).await.0, 201);
    assert_eq!(plane.request(&admin, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.0, 200);
    let (code, left) = plane.request(&admin, "GET", "/api/v1/namespaces/shop", Value::Null).await;
    assert_eq!((code, &left["status"]["phase"]), (200, &json!("Terminating")));
}

#[tokio::test]
async fn a_missing_certificate_is_made() {
    let mut plane = Plane::new();
    let certs = plane.folder.path().join("certs");
    for name in ["apiserver.crt", "apiserver.key"] {
        fs::remove_file(certs.join(name)).unwrap();
    }
    let _etcd = plane.etcd().await;
    let server = Program::start(&plane.assets.join("kube-apiserver"), &plane.flags());
    let made = eventually(async || {
        fs::read_to_string(certs.join("apiserver.crt")).ok().filter(|pem| !pem.is_empty())
    });
    plane.serving.pem = made.await;
    let healthy = eventually(async || plane.try_request(None, "GET", "/healthz", Value::Null).await);
    assert_eq!(healthy.await.0, 200);
    assert!(server.stop());
}

#[test]
fn what_cannot_work_is_said_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let assets = assets(folder.path());
    let run = |name: &str, args: &[&str]| {
        let output = Command::new(assets.join(name)).args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let unknown = "kube-apiserver: unknown flag --oidc-issuer-url\nTry `kube-apiserver --help`.\n";
    assert_eq!(run("kube-apiserver", &["--oidc-issuer-url=https://a"]), (Some(2), unknown.into()));
    let unknown = "etcd: unknown flag --wal-dir\nTry `etcd --help`.\n";
    assert_eq!(run("etcd", &["--wal-dir=a"]), (Some(2), unknown.into()));

    // Something else answers there.
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", other.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        // Until the client closes it.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let said = format!(
        "kube-apiserver: {url} is not the etcd of kube-testserver, which this kube-apiserver needs\n"
    );
    assert_eq!(run("kube-apiserver", &[&format!("--etcd-servers={url}")]), (Some(1), said));
}
