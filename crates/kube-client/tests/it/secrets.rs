//! No credential is ever printed: every field that can have one has a marker, the test triggers every error it can, and searches all
//! printed text for the marker.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::error::Error as StdError;
use std::fmt::{Debug, Display};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use kube_client::client::ConfigExt;
use kube_client::config::Kubeconfig;
use kube_client::{Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tracing_subscriber::fmt::MakeWriter;

const MARKER: &str = "hush-hush-hush";

/// All printed text, and what printed it.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<(String, String)>>>);

impl Printed {
    fn add(&self, what: impl Display, text: String) {
        self.0.lock().unwrap().push((what.to_string(), text));
    }

    fn debug(&self, what: &str, value: &impl Debug) {
        self.add(what, format!("{value:?}\n{value:#?}"));
    }

    /// The error and its causes, in each format.
    fn error(&self, what: &str, err: &(dyn StdError + 'static)) {
        let mut next = Some(err);
        while let Some(cause) = next {
            self.add(what, format!("{cause}\n{cause:#}\n{cause:?}\n{cause:#?}"));
            next = cause.source();
        }
    }

    fn check(&self) {
        let encoded: Vec<_> = (0..3).map(|shift| STANDARD.encode(&format!("::{MARKER}")[shift..])).collect();
        let printed = self.0.lock().unwrap();
        let leaks: Vec<_> = printed
            .iter()
            .filter(|(_, text)| {
                text.contains(MARKER)
                    // Both ends of the base64 text depend on the bytes beside the marker.
                    || encoded.iter().any(|code| text.contains(&code[4..code.len() - 8]))
                    || text.contains(format!("{:?}", MARKER.as_bytes()).trim_matches(['[', ']']))
            })
            .map(|(what, text)| format!("{what}: {}", text.lines().next().unwrap_or_default()))
            .collect();
        assert!(
            leaks.is_empty(),
            "{} of {} show a secret:\n{}",
            leaks.len(),
            printed.len(),
            leaks.join("\n---\n")
        );
    }
}

impl Write for Printed {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.add("log", String::from_utf8_lossy(line).into_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Printed {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
    )
}

/// Uses a kubeconfig up to a request or the first error, and prints every value and error.
async fn exercise(printed: &Printed, text: &str) {
    let parsed = match Kubeconfig::from_yaml(text) {
        Ok(parsed) => parsed,
        Err(err) => return printed.error(text, &err),
    };
    printed.debug(text, &parsed);
    let mut config = match Config::try_from(parsed) {
        Ok(config) => config,
        Err(err) => return printed.error(text, &err),
    };
    config.default_retry = false;
    for name in ["x-api-key", "authorization"] {
        config.headers.push((name.parse().unwrap(), MARKER.parse().unwrap()));
    }
    config.connect_timeout = Some(Duration::from_secs(2));
    config.exec_timeout = Some(Duration::from_secs(2));
    printed.debug(text, &config);
    printed.debug(text, &config.base_uri_layer());
    printed.debug(text, &config.trace_layer());
    match config.auth_layer() {
        Ok(layer) => printed.debug(text, &layer),
        Err(err) => printed.error(text, &err),
    }
    match Client::try_from(config) {
        Ok(client) => {
            printed.debug(text, &client);
            printed.error(text, &client.apiserver_version().await.unwrap_err());
        }
        Err(err) => printed.error(text, &err),
    }
}

/// Users of every kind, with a marker in every field that can be a secret.
#[expect(clippy::too_many_lines, reason = "a list: one user for each credential")]
fn users() -> Vec<String> {
    let encoded = STANDARD.encode(MARKER);
    let exec = |script: &str| {
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, \
             args: [-c, '{script}', --client-secret=hush-hush-hush, --token, hush-hush-hush], env: [{{name: PASSWORD, value: hush-hush-hush}}]}}"
        )
    };
    let status = |status: &str| {
        exec(&format!(
            r#"echo "{{apiVersion: client.authentication.k8s.io/v1, kind: ExecCredential, status: {status}}}""#
        ))
    };
    let provider = |name: &str, config: &str| {
        format!("auth-provider: {{name: {name}, config: {{{config}}}, other: hush-hush-hush}}")
    };
    let oidc = "client-id: me, client-secret: hush-hush-hush, refresh-token: hush-hush-hush";
    vec![
        String::new(),
        "token: hush-hush-hush".into(),
        r#"token: "a\nhush-hush-hush""#.into(),
        "token: [hush-hush-hush]".into(),
        "token: {hush-hush-hush: 1}".into(),
        "username: me, password: hush-hush-hush".into(),
        r#"username: "me\n", password: "hush-hush-hush""#.into(),
        "username: me, password: [hush-hush-hush]".into(),
        "pasword: hush-hush-hush, extensions: [{name: a, extension: hush-hush-hush}]".into(),
        "exec: hush-hush-hush".into(),
        "auth-provider: hush-hush-hush".into(),
        format!("client-certificate-data: YWJj, client-key-data: {encoded}"),
        "client-certificate-data: YWJj, client-key-data: 'hush-hush-hush!'".into(),
        format!("client-key-data: [{encoded}]"),
        // The script has its secret from a variable: the script itself may be printed.
        exec("echo $PASSWORD; echo $PASSWORD >/dev/null; exit 3"),
        exec("echo $PASSWORD"),
        exec("printf \"[$PASSWORD]\""),
        exec("sleep 9; echo $PASSWORD"),
        status("$PASSWORD"),
        status("{token: [$PASSWORD]}"),
        status("{clientKeyData: $PASSWORD}"),
        status("{clientKeyData: $PASSWORD, clientCertificateData: $PASSWORD}"),
        status("{token: $PASSWORD}"),
        status("{token: $PASSWORD, expirationTimestamp: $PASSWORD}"),
        exec("echo").replace("command: sh", "command: /does/not/exist"),
        exec("echo").replace("/v1,", "/v7,"),
        exec("echo").replace("value: hush-hush-hush", "value: [hush-hush-hush]"),
        provider("oidc", oidc),
        provider("oidc", &format!("{oidc}, id-token: hush-hush-hush")),
        provider("oidc", &format!("{oidc}, id-token: a.hush-hush-hush.b")),
        provider(
            "oidc",
            &format!(
                "{oidc}, id-token: a.{encoded}.b, idp-issuer-url: 'http://me:hush-hush-hush@127.0.0.1:1'"
            ),
        ),
        provider(
            "oidc",
            &format!("{oidc}, idp-issuer-url: 'http://me:hush-hush-hush@127.0.0.1:1/?token=hush-hush-hush'"),
        ),
        provider("gcp", "access-token: hush-hush-hush, expiry: hush-hush-hush"),
        provider("gcp", "access-token: hush-hush-hush"),
        provider("gcp", "cmd-path: echo, cmd-args: hush-hush-hush")
            .replace("cmd-args: hush-hush-hush", "cmd-args: '--token hush-hush-hush'"),
        provider("azure", "access-token: hush-hush-hush"),
    ]
}

/// Clusters with a marker in every field that can be a secret. None of them is reachable.
const CLUSTERS: [&str; 12] = [
    "server: 'http://127.0.0.1:1'",
    "server: 'http://me:hush-hush-hush@127.0.0.1:1'",
    "server: 'https://me:hush-hush-hush@127.0.0.1:1/path?token=hush-hush-hush'",
    "server: 'https://me:hush-hush-hush@'",
    "server: 'https://me:a b/hush-hush-hush@h:1'",
    "server: 'ftp://me:hush-hush-hush@127.0.0.1:1'",
    "server: 'http://127.0.0.1:1', proxy-url: 'http://me:hush-hush-hush@127.0.0.1:1'",
    "server: 'http://127.0.0.1:1', proxy-url: 'socks5://me:hush-hush-hush@127.0.0.1:1'",
    "server: 'http://127.0.0.1:1', proxy-url: 'gopher://me:hush-hush-hush@127.0.0.1:1'",
    "server: 'http://127.0.0.1:1', proxy-url: 'http://me:a b/hush-hush-hush@h:1'",
    "server: 'http://127.0.0.1:1', extensions: [{name: client.authentication.k8s.io/exec, extension: {secret: hush-hush-hush}}]",
    "server: [hush-hush-hush], proxy-url: [hush-hush-hush]",
];

/// A marker under an unknown key at every level, as after wrong indentation.
const UNKNOWN_KEYS: &str = "
token: hush-hush-hush
preferences: {token: hush-hush-hush, extensions: [{name: e, extension: hush-hush-hush}]}
clusters: [{name: c, token: hush-hush-hush, cluster: {server: 'http://127.0.0.1:1', token: hush-hush-hush}}]
users: [{name: u, token: hush-hush-hush, user: {pasword: hush-hush-hush}}]
contexts: [{name: x, token: hush-hush-hush, context: {cluster: c, user: u, token: hush-hush-hush}}]
current-context: x
";

#[tokio::test]
async fn no_secret_of_a_kubeconfig_is_ever_printed() {
    let printed = Printed::default();
    let log = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(printed.clone());
    let _log = tracing::subscriber::set_default(log.finish());
    for user in users() {
        // The script in the kubeconfig is not a secret; its output is.
        exercise(&printed, &kubeconfig(CLUSTERS[0], &user)).await;
    }
    for cluster in CLUSTERS {
        exercise(&printed, &kubeconfig(cluster, "username: me, password: x")).await;
    }
    exercise(&printed, UNKNOWN_KEYS).await;
    exercise(&printed, "users: [{name: u, user: hush-hush-hush}]").await;
    exercise(&printed, "users: hush-hush-hush").await;
    exercise(&printed, "hush-hush-hush").await;
    let user = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: 'false', provideClusterInfo: true}";
    exercise(&printed, &kubeconfig(CLUSTERS[10], user)).await;
    let count = printed.0.lock().unwrap().len();
    assert!(count > 200, "only {count} texts were printed");
    printed.check();
}

#[tokio::test]
async fn credentials_in_the_url_are_sent_as_a_header() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    let request = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let body = r#"{"major":"1","minor":"36"}"#;
        let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(response.as_bytes()).await.unwrap();
        String::from_utf8(head).unwrap()
    });
    let text = kubeconfig(&format!("server: 'http://me:p%40ss@{server}/base'"), "token: another");
    let config = Config::try_from(Kubeconfig::from_yaml(&text).unwrap()).unwrap();
    let version = Client::try_from(config).unwrap().apiserver_version().await;
    let head = request.await.unwrap().to_ascii_lowercase();
    assert!(head.starts_with("get /base/version "), "{head}");
    assert!(head.contains(&format!("host: {server}\r\n")), "{head}");
    // As for kubectl, they win over all others.
    let expected = format!("authorization: basic {}\r\n", STANDARD.encode("me:p@ss")).to_ascii_lowercase();
    assert!(head.contains(&expected), "{head}");
    version.unwrap();
}
