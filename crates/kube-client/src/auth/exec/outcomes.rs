//! What each output of a plugin is: the credential as JSON, or the error. Secrets in the texts are `hush`, which no error may contain.

use super::*;

const TEXTS: &[&str] = &[
    // JSON.
    r#"{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "hush"}}"#,
    r#"{"status": {"token": "hush", "clientCertificateData": "a", "clientKeyData": "hush", "expirationTimestamp": "2030-01-01T00:00:00Z"}}"#,
    r#"{"spec": {"interactive": true, "cluster": {"server": "x", "insecure-skip-tls-verify": false, "certificate-authority-data": "YQ==",
        "proxy-url": "p", "tls-server-name": "t", "config": {"a": [1, null]}}}}"#,
    r#"{"spec": {"interactive": true, "cluster": {"certificate-authority-data": "?"}}}"#,
    r#"{"spec": {"cluster": {"certificate-authority-data": "YQ"}}}"#,
    r#"{"spec": {"cluster": {"certificate-authority-data": null, "config": null, "unknown": {"a": 1}}}}"#,
    r#"{"spec": {"interactive": "yes"}}"#,
    r#"{"spec": {"interactive": null}}"#,
    r#"{"spec": null, "status": null, "more": [{}]}"#,
    r#"{"spec": {}, "status": {}}"#,
    r#"{"apiVersion": null}"#,
    r#"{"kind": 5, "apiVersion": true}"#,
    r#"{"status": {"token": 12345}}"#,
    r#"{"status": {"token": null, "more": 1}}"#,
    r#"{"status": {"token": ["hush"]}}"#,
    r#"{"status": {"token": {"hush": "hush"}}}"#,
    r#"{"status": ["hush"]}"#,
    r#"{"status": "hush"}"#,
    r#"{"status": {"token": "hush", "token": "hush"}}"#,
    r#"{"status": {}, "status": {}}"#,
    r#"{"more": 1, "more": 2}"#,
    r#"{"status": {"token": "hush"}"#,
    r#"{"status": {"token": "hush"}} x"#,
    "[]",
    "\"hush\"",
    "{}",
    // YAML.
    "",
    "~",
    "---\n",
    "text",
    "12",
    "kind: ExecCredential\nstatus:\n  token: |\n    hush\n",
    "status: {token: hush, expirationTimestamp: 2030-01-01T00:00:00Z}",
    "status: {token: ~, clientKeyData: '', clientCertificateData: yes}",
    "status: {token: !!int 5}",
    "status: {token: !!str 5}",
    "status: {token: !!binary aHVzaA==}",
    "status: !local {token: hush}",
    "{x: &a hush, status: {token: *a}}",
    "{x: &a {token: hush}, status: {<<: *a}}",
    "{x: &a {token: [hush]}, status: *a}",
    "{x: &a {token: [hush]}, status: {<<: *a}}",
    "{x: {~: 1, [a]: b, 5: c}, y: !local z}",
    "{5: x, ~: y}",
    "{[a]: x}",
    "spec: {interactive: yes}",
    "spec: {interactive: 1}",
    "spec: {interactive: !!bool 'yes'}",
    "spec: {cluster: {insecure-skip-tls-verify: on, config: {5: x}}}",
    "spec: {cluster: {insecure-skip-tls-verify: 'on'}}",
    "spec: {cluster: {insecure-skip-tls-verify: ~}}",
    "spec: {cluster: {insecure-skip-tls-verify: hush}}",
    "spec: {cluster: {certificate-authority-data: 'hush!'}}",
    "spec:\n  cluster:\n    server: x\n    certificate-authority-data: &a '-'\n    proxy-url: *a\n",
    "{x: &a '-', spec: {cluster: {certificate-authority-data: *a}}}",
    "{x: &a {certificate-authority-data: '-'}, spec: {cluster: *a}}",
    "spec: {cluster: {config: {~: x}}}",
    "spec: {cluster: {config: !local x}}",
    "spec: {cluster: []}",
    "spec: []",
    "status: {}\n---\nstatus: {}\n",
    "status: {}\n...\n",
    "status: {token: 'hush",
    "status:\n token: hush\n  more: x\n",
];

#[test]
fn each_output_is_the_recorded_credential_or_error() {
    let mut outcomes = String::new();
    for text in TEXTS {
        let outcome = match parse(text.as_bytes()) {
            Ok(credential) => serde_json::to_string(&credential).unwrap(),
            Err(err) => format!("error: {err}"),
        };
        assert!(!outcome.starts_with("error") || !outcome.contains("hush"), "{outcome}");
        outcomes += &format!("{}\n    {outcome}\n", text.trim_end().replace('\n', "\n  "));
    }
    outcomes += &format!("invalid UTF-8\n    {}\n", parse(&[0xFF, 0xFE]).unwrap_err());
    insta::assert_snapshot!(outcomes);
}

/// The type is public, so that any format may be used for it.
#[test]
fn each_json_text_is_the_recorded_cluster_or_error() {
    let mut outcomes = String::new();
    for text in [
        r#"{"server": "x", "certificate-authority-data": "YQ==", "config": {"a": 1}, "more": 2}"#,
        r#"{"certificate-authority-data": "?"}"#,
        r#"{"insecure-skip-tls-verify": "true"}"#,
        r#"{"insecure-skip-tls-verify": null}"#,
        r#"{"server": "x", "server": "y"}"#,
        "[]",
        "null",
    ] {
        let outcome = match serde_json::from_str::<ExecAuthCluster>(text) {
            Ok(cluster) => serde_json::to_string(&cluster).unwrap(),
            Err(err) => format!("error: {err}"),
        };
        outcomes += &format!("{text}\n    {outcome}\n");
    }
    insta::assert_snapshot!(outcomes);
}
