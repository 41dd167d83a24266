//! A table of kubeconfigs, odd ones above all, with what kubectl does with each: the same is done here.
//!
//! `kubeconfigs/ask_kubectl.py` has the kubeconfigs, and writes the table with a genuine kubectl.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube_client::Config;
use kube_client::client::{Body, ConfigExt};
use kube_client::config::{KubeConfigOptions, Kubeconfig};
use serde::Deserialize;
use tower::{BoxError, ServiceBuilder, ServiceExt};

#[derive(Deserialize)]
struct Table {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    title: String,
    kubeconfig: String,
    /// The request that kubectl sends. `None`: it refuses the file.
    sends: Option<Sent>,
    /// The namespace of the context, where kubectl sends a request.
    namespace: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
struct Sent {
    path: String,
    /// Authorization and impersonation.
    headers: BTreeMap<String, Vec<String>>,
}

/// Where the outcome differs on purpose: a part of the title that no other has, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    // Numbers and booleans are read as text, as programs of the 5.0 line expect: `token: 0123` is usable.
    ("{name: 5, context: {cluster: c}}", "a number is text"),
    ("{name: d, cluster: {server: 5}}", "a number is text"),
    ("{name: v, user: {token: 5}}", "a number is text"),
    ("env: [{name: a, value: 5}]}}}", "a number is text"),
    ("{name: v, user: {exec: {command: p, args: [5]}}}", "a number is text"),
    ("{name: v, user: {auth-provider: {name: p, config: {k: 5}}}}", "a number is text"),
    ("{token: 0123}", "a number is text"),
    // Data that is no base64 is an error of the selected entry only.
    ("not selected: {name: d, cluster: {certificate-authority-data: '%'}}", "checked when selected"),
    ("not selected: {name: v, user: {client-certificate-data: '%'}}", "checked when selected"),
    // kubectl asks for a user name on the terminal; here requests are anonymous.
    ("context, selected: {name: x, context: {cluster: c, user: ~}}", "no prompt"),
    ("context, selected: {name: x, context: {cluster: c}}", "no prompt"),
    ("user, selected: ~", "no prompt"),
    ("user, selected: {}", "no prompt"),
    ("user, selected: {token: ''}", "no prompt"),
    ("user, selected: {password: pw}", "no prompt"),
    // The 5.0 line takes the first of several credentials, and has defaults for what kubectl requires of plugins.
    ("{username: me, password: pw, token: t}", "the token"),
    ("{token: t, auth-provider: {name: unknown}}", "the token"),
    ("{auth-provider: {name: oidc}, exec:", "the plugin"),
    ("\"plugin\"}}''']}}", "without a mode: IfAvailable"),
    ("'''], interactiveMode: ''}}", "without a mode: IfAvailable"),
    // The parser.
    ("- name: \"u\"#c", "a comment needs a space before it"),
    // kubectl makes the mark a part of the first key, which nothing reads.
    ("a byte order mark after a comment", "the mark is skipped"),
];

#[tokio::test]
async fn each_kubeconfig_is_used_or_refused_as_by_kubectl() {
    let table: Table = serde_json::from_str(include_str!("kubeconfigs/table.json")).unwrap();
    assert!(table.rows.len() >= 200);
    let (mut wrong, mut differences) = (Vec::new(), 0);
    for row in &table.rows {
        // A plugin may ask on the terminal of whoever runs this test.
        if row.title.contains("interactiveMode: Always") && std::io::stdin().is_terminal() {
            continue;
        }
        let outcome = outcome(&row.kubeconfig).await;
        let expected = row.sends.clone().zip(row.namespace.clone());
        let agrees = outcome.as_ref().ok() == expected.as_ref();
        let listed = DIFFERENCES.iter().any(|(part, _)| row.title.contains(part));
        differences += usize::from(listed);
        if agrees == listed {
            wrong.push(format!("{}\n  kubectl: {expected:?}\n  here: {outcome:?}", row.title));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.rows.len(), wrong.join("\n"));
    assert_eq!(differences, DIFFERENCES.len(), "a title is gone");
}

/// The request for `/probe` and the default namespace.
async fn outcome(text: &str) -> Result<(Sent, String), BoxError> {
    let kubeconfig = Kubeconfig::from_yaml(&text.replace("SERVER", "https://127.0.0.1:6443"))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let sent: Arc<Mutex<Option<Sent>>> = Arc::default();
    let recorder = Arc::clone(&sent);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(config.extra_headers_layer()?)
        .option_layer(config.auth_layer()?)
        .service_fn(move |request: Request<Body>| {
            let mut headers = BTreeMap::<String, Vec<String>>::new();
            for (name, value) in request.headers() {
                headers.entry(name.to_string()).or_default().push(value.to_str().unwrap().to_owned());
            }
            *recorder.lock().unwrap() = Some(Sent { path: request.uri().path().to_owned(), headers });
            async { Ok::<_, BoxError>(Response::new(Body::empty())) }
        });
    service.oneshot(Request::get("/probe").body(Body::empty())?).await?;
    let sent = sent.lock().unwrap().take();
    Ok((sent.unwrap(), config.default_namespace))
}
