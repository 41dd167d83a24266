//! Exec plugins: shell scripts that print credentials, fail, hang or print too much.

use std::collections::HashMap;

use super::*;

const LIMIT: Option<Duration> = Some(Duration::from_secs(60));

fn shell(script: &str) -> ExecConfig {
    ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".into()),
        command: Some("sh".into()),
        args: Some(vec!["-c".into(), script.into()]),
        interactive_mode: Some(ExecInteractiveMode::Never),
        ..ExecConfig::default()
    }
}

async fn run(config: &ExecConfig) -> Result<FetchedCredential, AuthError> {
    ExecPlugin::new(config, LIMIT).unwrap().run().await
}

fn credential(status: &str) -> String {
    format!(
        r#"echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{status}}}'"#
    )
}

#[tokio::test]
async fn a_token_is_read_from_json_and_yaml() {
    let json = run(&shell(&credential(r#"{"token":"abc"}"#))).await.unwrap();
    assert_eq!(json.header.unwrap(), "Bearer abc");
    assert!(json.refresh_at.is_none());
    let yaml = "printf 'apiVersion: client.authentication.k8s.io/v1\\nkind: ExecCredential\\nstatus:\\n  token: xyz\\n'";
    assert_eq!(run(&shell(yaml)).await.unwrap().header.unwrap(), "Bearer xyz");
}

#[tokio::test]
async fn the_plugin_receives_its_environment_and_the_cluster_info() {
    let mut config = shell(
        r#"printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s/%s"}}' "$GREETING" \
           "$(printf %s "$KUBERNETES_EXEC_INFO" | base64 | tr -d '\n=')""#,
    );
    config.env = Some(vec![HashMap::from([
        ("name".to_owned(), "GREETING".to_owned()),
        ("value".to_owned(), "hello".to_owned()),
    ])]);
    config.provide_cluster_info = true;
    assert!(matches!(ExecPlugin::new(&config, LIMIT), Err(AuthError::ExecMissingClusterInfo)));
    config.cluster = Some(ExecAuthCluster { server: Some("https://h".into()), ..ExecAuthCluster::default() });
    let header = run(&config).await.unwrap().header.unwrap();
    let (greeting, info) = header.to_str().unwrap().trim_start_matches("Bearer ").split_once('/').unwrap();
    assert_eq!(greeting, "hello");
    let info = base64::Engine::decode(&base64::engine::general_purpose::STANDARD_NO_PAD, info).unwrap();
    let info: serde_json::Value = serde_json::from_slice(&info).unwrap();
    assert_eq!(info["spec"]["cluster"]["server"], "https://h");
    assert_eq!(info["spec"]["interactive"], false);
}

#[tokio::test]
async fn the_error_of_a_failed_plugin_contains_its_stderr() {
    let err = run(&shell("echo 'please log in first' >&2; exit 3")).await.unwrap_err();
    assert!(matches!(err, AuthError::AuthExecRun { .. }));
    assert!(err.to_string().contains("please log in first"), "{err}");
    assert!(err.to_string().contains("exit status: 3"), "{err}");
}

#[tokio::test]
async fn the_error_of_a_missing_plugin_contains_the_install_hint() {
    let config = ExecConfig {
        command: Some("/no/such/program".into()),
        install_hint: Some("install it from example.org".into()),
        ..shell("")
    };
    let err = run(&config).await.unwrap_err();
    let cause = std::error::Error::source(&err).unwrap().to_string();
    assert!(cause.contains("/no/such/program") && cause.contains("example.org"), "{cause}");
}

#[tokio::test]
async fn a_client_certificate_without_token_is_a_credential() {
    let both = r#"{"clientCertificateData":"CERT","clientKeyData":"KEY"}"#;
    let credential = run(&shell(&credential(both))).await.unwrap();
    assert!(credential.header.is_none());
    assert_eq!(credential.identity.unwrap().certificate, b"CERT");
}

#[tokio::test]
async fn invalid_outputs_are_errors() {
    assert!(matches!(run(&shell("echo '[['")).await, Err(AuthError::AuthExecParse(_))));
    assert!(matches!(run(&shell(&credential("{}"))).await, Err(AuthError::ExecPluginFailed)));
    let half = run(&shell(&credential(r#"{"clientCertificateData":"pem"}"#))).await.unwrap_err();
    assert!(half.to_string().contains("without its key"), "{half}");
    let other = r#"echo '{"apiVersion":"client.authentication.k8s.io/v2","kind":"ExecCredential","status":{"token":"x"}}'"#;
    assert!(run(&shell(other)).await.unwrap_err().to_string().contains("v2"));
    let foreign =
        r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"Foo","status":{"token":"x"}}'"#;
    assert!(
        run(&shell(foreign))
            .await
            .unwrap_err()
            .to_string()
            .contains(r#"kind "Foo": expected "ExecCredential""#)
    );
    let expiry = credential(r#"{"token":"x","expirationTimestamp":"tomorrow"}"#);
    assert!(matches!(run(&shell(&expiry)).await, Err(AuthError::MalformedTokenExpirationDate(_))));
}

/// Each is accepted by kubectl 1.37.
#[test]
fn odd_outputs_are_read_as_by_kubectl() {
    let plugin = ExecPlugin::new(&shell(""), LIMIT).unwrap();
    for rest in [
        r#""status":{"token":"x"}}"#,
        r#""kind":"","status":{"token":"x"}}"#,
        r#""kind":null,"spec":null,"status":{"token":"x","expirationTimestamp":null}}"#,
        r#""kind":"ExecCredential","kind":"ExecCredential","spec":{"interactive":null},"status":{"token":"y","token":"x"}}"#,
        r#""spec":{"cluster":{"certificate-authority-data":null,"insecure-skip-tls-verify":null}},"status":{"token":"x"}}"#,
        "\"status\":{\"token\":\"x\"}}\n---\n[",
    ] {
        let output = format!(r#"{{"apiVersion":"client.authentication.k8s.io/v1",{rest}"#);
        let credential = plugin.read(output.as_bytes(), "plugin").unwrap();
        assert_eq!(credential.header.unwrap(), "Bearer x", "{output}");
    }
    for output in [r#"{"kind":"ExecCredential","status":{"token":"x"}}"#, r#"{"status":{"token":"x"}}"#, ""] {
        assert!(plugin.read(output.as_bytes(), "plugin").is_err(), "{output}");
    }
}

#[tokio::test]
async fn an_error_contains_stderr_also_if_the_plugin_succeeded() {
    for output in ["true", "echo '{'", &credential("{}"), "echo '{\"kind\":\"Foo\"}'"] {
        let err = run(&shell(&format!("echo 'log in at the portal' >&2; {output}"))).await.unwrap_err();
        assert!(err.to_string().contains("log in at the portal"), "{output}: {err}");
    }
}

/// A background process of the plugin, such as a daemon that caches logins, which keeps the given descriptors until this is dropped.
struct Background(tempfile::TempDir);

impl Background {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap();
        assert!(made.success());
        Self(folder)
    }

    fn script(&self, descriptors: &str) -> String {
        format!("cat {} {descriptors} &", self.0.path().join("fifo").display())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Open for both, so that opening does not wait. The readers end when it is closed.
        let _ = std::fs::OpenOptions::new().read(true).write(true).open(self.0.path().join("fifo"));
    }
}

#[tokio::test]
async fn a_plugin_has_ended_though_its_background_process_has_not() {
    let background = Background::new();
    let status = r#"{"token":"abc"}"#;
    for descriptors in [">/dev/null", "2>/dev/null", ""] {
        let script = format!("{} {}; echo done >&2", background.script(descriptors), credential(status));
        assert_eq!(run(&shell(&script)).await.unwrap().header.unwrap(), "Bearer abc", "{descriptors}");
    }
    let failed = run(&shell(&format!("{} echo why >&2; exit 1", background.script("")))).await.unwrap_err();
    assert!(failed.to_string().ends_with("why"), "{failed}");
}

/// The process of this test runs itself, in order to see its stderr while the plugin waits for the user.
#[tokio::test]
async fn stderr_is_shown_while_the_plugin_runs() {
    const FIFO: &str = "KUBE_CLIENT_TEST_FIFO";
    if let Some(fifo) = std::env::var_os(FIFO) {
        let script = format!("echo 'the code is ABCD' >&2; cat '{}'", fifo.display());
        let script = format!("{script}; {}", credential(r#"{"token":"abc"}"#));
        assert_eq!(run(&shell(&script)).await.unwrap().header.unwrap(), "Bearer abc");
        return;
    }
    let user = Background::new();
    let name = "auth::exec::tests::stderr_is_shown_while_the_plugin_runs";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(FIFO, user.0.path().join("fifo"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains("the code is ABCD")));
    // The user enters the code. Waits until the plugin has opened it.
    drop(std::fs::OpenOptions::new().write(true).open(user.0.path().join("fifo")).unwrap());
    assert!(child.wait().unwrap().success());
}

#[tokio::test]
async fn alias_bombs_and_deep_nesting_are_errors() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let below = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{below} x]\n"));
    }
    for output in [bomb, "[".repeat(10_000), format!("{}{}", r#"{"a":["#.repeat(10_000), "]}".repeat(10_000))]
    {
        let outcome = run(&shell(&format!("cat <<'END'\n{output}\nEND"))).await;
        assert!(matches!(outcome, Err(AuthError::AuthExecParse(_))), "{outcome:?}");
    }
}

#[test]
fn a_refresh_is_early_but_not_immediate() {
    let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    let instant = Instant::now();
    let at = |expiry: &str| {
        let status = ExecCredentialStatus {
            expiration_timestamp: Some(expiry.into()),
            token: Some("x".into()),
            client_certificate_data: None,
            client_key_data: None,
        };
        evaluate(&status, now, instant).unwrap().refresh_at.unwrap() - instant
    };
    assert_eq!(at("2030-01-01T01:00:00Z"), Duration::from_secs(3570));
    assert_eq!(at("2030-01-01T00:00:10Z"), Duration::from_secs(5));
    assert_eq!(at("2029-01-01T00:00:00Z"), Duration::ZERO);
}

#[test]
fn unknown_api_versions_are_refused_before_the_plugin_runs() {
    let config =
        ExecConfig { api_version: Some("client.authentication.k8s.io/v1alpha1".into()), ..shell("") };
    assert!(ExecPlugin::new(&config, LIMIT).unwrap_err().to_string().contains("v1alpha1"));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_plugin_is_stopped_after_the_timeout() {
    // Paused time advances to the timeout while only the subprocess is pending.
    let err = run(&shell("sleep 1000")).await.unwrap_err();
    assert!(err.to_string().contains("60 s"), "{err}");
    let err = ExecPlugin::new(&shell("sleep 1000"), Some(Duration::from_millis(1500))).unwrap().run().await;
    assert!(err.unwrap_err().to_string().contains("1.5 s"));
}

#[tokio::test]
async fn a_plugin_with_endless_output_is_stopped() {
    let err = run(&shell("yes")).await.unwrap_err();
    assert!(err.to_string().contains("printed more than 1048576 bytes"), "{err}");
    let err = run(&shell("(yes | head -c 300000; echo the reason) >&2; exit 1")).await.unwrap_err();
    assert!(err.to_string().ends_with("the reason") && err.to_string().len() < 3000, "{err}");
}

#[tokio::test]
async fn both_api_versions_are_supported() {
    for version in ["v1", "v1beta1"] {
        let script = format!(
            r#"case "$KUBERNETES_EXEC_INFO" in *client.authentication.k8s.io/{version}\"*) ;; *) echo "received $KUBERNETES_EXEC_INFO" >&2; exit 1;; esac
               echo '{{"apiVersion":"client.authentication.k8s.io/{version}","kind":"ExecCredential","status":{{"token":"t"}}}}'"#
        );
        let config = ExecConfig {
            api_version: Some(format!("client.authentication.k8s.io/{version}")),
            ..shell(&script)
        };
        assert_eq!(run(&config).await.unwrap().header.unwrap(), "Bearer t");
    }
}

#[test]
fn a_plugin_that_needs_a_terminal_is_an_error_without_one() {
    use ExecInteractiveMode::{Always, IfAvailable, Never};
    let interactive = |interactive_mode, terminal| {
        let config = ExecConfig { interactive_mode, ..shell("exit 0") };
        ExecPlugin::new(&config, LIMIT).unwrap().interactive(terminal)
    };
    for (mode, with, without) in
        [(None, true, false), (Some(IfAvailable), true, false), (Some(Never), false, false)]
    {
        assert_eq!(interactive(mode.clone(), true).unwrap(), with, "{mode:?}");
        assert_eq!(interactive(mode.clone(), false).unwrap(), without, "{mode:?}");
    }
    assert!(interactive(Some(Always), true).unwrap());
    match interactive(Some(Always), false).unwrap_err() {
        AuthError::AuthExec(text) => assert!(text.contains("needs a terminal"), "{text}"),
        other => panic!("{other:?}"),
    }
}
