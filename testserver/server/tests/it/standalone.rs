//! The binary: start, requests, kill, restart.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};

use crate::client::*;

struct Standalone {
    process: Child,
    addr: String,
}

impl Standalone {
    /// Waits until the server is ready.
    fn start(dir: &Path, more: &[&str]) -> Self {
        let mut process = command(dir, more).spawn().unwrap();
        let mut kubeconfig = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut kubeconfig).unwrap();
        let text = fs::read_to_string(kubeconfig.trim_end()).unwrap();
        let url = text.lines().find_map(|line| line.trim().strip_prefix("server: http://")).unwrap();
        Self { process, addr: url.to_string() }
    }

    /// The status code of a create; `None` without a response.
    async fn try_create(&self, name: &str) -> Option<u16> {
        Some(self.try_send("POST", CONFIG_MAPS, config_map(name)).await?.0)
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        self.try_send(method, path, body).await.expect("an answer")
    }

    async fn try_send(&self, method: &str, path: &str, body: Value) -> Option<(u16, Value)> {
        let tcp = tokio::net::TcpStream::connect(&self.addr).await.ok()?;
        let (mut send, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tcp)).await.ok()?;
        tokio::spawn(connection);
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let request = http::Request::builder().method(method).uri(format!("http://{}{path}", self.addr));
        let request = request.header("content-type", "application/json").header("user-agent", "it/1");
        let response = send.send_request(request.body(Full::new(body)).unwrap()).await.ok()?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.ok()?.to_bytes();
        Some((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// Kills the process with SIGKILL.
    fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.end().1
    }

    fn end(mut self) -> (bool, String) {
        let status = self.process.wait().unwrap();
        let mut said = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status.success(), said)
    }
}

/// A panicking test leaves no process behind.
impl Drop for Standalone {
    fn drop(&mut self) {
        // An error if it has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kube-testserver"));
    command.args(["--port", "0", "--data"]).arg(dir).args(more);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Objects, uids and resourceVersions survive a kill; only an incomplete record is lost, with a warning.
#[tokio::test]
async fn state_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let server = Standalone::start(dir.path(), &[]);
    assert_eq!(server.send("POST", CRDS, widgets()).await.0, 201);
    let (code, first) = server.send("POST", WIDGETS, widget("a")).await;
    assert_eq!(code, 201, "{first}");
    assert_eq!(server.send("POST", CONFIG_MAPS, config_map("gone")).await.0, 201);
    assert_eq!(server.send("DELETE", &format!("{CONFIG_MAPS}/gone"), Value::Null).await.0, 200);
    assert_eq!(server.send("POST", CONFIG_MAPS, config_map("last")).await.0, 201);
    server.kill();

    let server = Standalone::start(dir.path(), &[]);
    let (_, again) = server.send("GET", &format!("{WIDGETS}/a"), Value::Null).await;
    assert_eq!(again, first);
    assert_eq!(server.send("GET", &format!("{CONFIG_MAPS}/gone"), Value::Null).await.0, 404);
    let (_, last) = server.send("GET", &format!("{CONFIG_MAPS}/last"), Value::Null).await;
    let revision =
        |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    let (_, next) = server.send("POST", CONFIG_MAPS, config_map("next")).await;
    assert_eq!(revision(&next), revision(&last) + 1);
    let said = server.kill();
    assert!(
        said.contains("serving on http://127.0.0.1:")
            && said.contains("state in ")
            && said.contains(", resourceVersion "),
        "{said}"
    );

    // The history is lost: earlier watches get 410 and nothing else.
    let server = Standalone::start(dir.path(), &[]);
    let before = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={}", revision(&last) - 1);
    let (code, told) = server.send("GET", &before, Value::Null).await;
    assert_eq!((code, &told["type"], &told["object"]["code"]), (200, &json!("ERROR"), &json!(410)), "{told}");
    let now = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={}", revision(&next));
    assert_eq!(
        server.send("GET", &now, Value::Null).await,
        (200, Value::Null),
        "up to date, nothing to tell"
    );
    assert_eq!(server.send("POST", CONFIG_MAPS, config_map("torn")).await.0, 201);
    server.kill();

    // Simulates a power failure while the last record was written.
    let state = dir.path().join("state");
    let bytes = fs::read(&state).unwrap();
    fs::write(&state, &bytes[..bytes.len() - 7]).unwrap();
    let server = Standalone::start(dir.path(), &[]);
    assert_eq!(server.send("GET", &format!("{CONFIG_MAPS}/torn"), Value::Null).await.0, 404);
    assert_eq!(server.send("GET", &format!("{CONFIG_MAPS}/last"), Value::Null).await.0, 200);
    let in_use = command(dir.path(), &[]).output().unwrap();
    assert_eq!(in_use.status.code(), Some(1));
    let in_use = String::from_utf8(in_use.stderr).unwrap();
    assert!(in_use.ends_with("is in use by another server\n") && in_use.lines().count() == 1, "{in_use}");
    let said = server.kill();
    assert!(said.contains("the last line") && said.contains("it is incomplete"), "{said}");
}

/// Killed while clients write: every acknowledged write is complete.
#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_write_is_lost_in_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..3u32 {
        let server = std::sync::Arc::new(Standalone::start(dir.path(), &[]));
        let answered = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (server, answered) = (server.clone(), answered.clone());
                tokio::spawn(async move {
                    let mut kept = Vec::new();
                    for i in 0..10_000 {
                        let name = format!("r{round}-w{writer}-{i}");
                        let Some(code) = server.try_create(&name).await else { break };
                        assert_eq!(code, 201);
                        kept.push(name);
                        answered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                    kept
                })
            })
            .collect();
        while answered.load(std::sync::atomic::Ordering::Relaxed) < 40 {
            tokio::task::yield_now().await;
        }
        assert!(
            Command::new("kill")
                .args(["-KILL", &server.process.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        let mut kept = Vec::new();
        for writer in writers {
            kept.extend(writer.await.unwrap());
        }
        std::sync::Arc::into_inner(server).unwrap().end();
        let again = Standalone::start(dir.path(), &[]);
        let (_, list) = again.send("GET", CONFIG_MAPS, Value::Null).await;
        let items = list["items"].as_array().unwrap().iter();
        let there: std::collections::HashSet<&str> =
            items.map(|item| item["metadata"]["name"].as_str().unwrap()).collect();
        let lost: Vec<_> = kept.iter().filter(|name| !there.contains(name.as_str())).collect();
        assert!(lost.is_empty() && kept.len() >= 40, "{lost:?} of {}", kept.len());
        again.kill();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn sigterm_ends_it_cleanly_and_verbose_logs_requests() {
    let dir = tempfile::tempdir().unwrap();
    let objects = dir.path().join("objects.yaml");
    fs::write(&objects, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\n").unwrap();
    let server = Standalone::start(&dir.path().join("data"), &["-v", "--objects", objects.to_str().unwrap()]);
    assert_eq!(server.send("GET", &format!("{CONFIG_MAPS}/given"), Value::Null).await.0, 200);
    assert_eq!(server.send("GET", &format!("{CONFIG_MAPS}/none"), json!(null)).await.0, 404);
    let kill = Command::new("kill").args(["-TERM", &server.process.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let (ended_well, said) = server.end();
    assert!(ended_well, "{said}");
    assert!(said.contains(&format!("GET {CONFIG_MAPS}/none 404 ")) && said.contains("it/1"), "{said}");
    assert!(said.trim_end().ends_with("stopping"), "{said}");
}

#[test]
fn startup_errors_are_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let output = command(&dir.path().join("d"), more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let wrong = "kube-testserver: --port: expected a number from 0 to 65535, got \"x\"\nTry `kube-testserver --help`.\n";
    assert_eq!(run(&["--port", "x"]), (Some(2), wrong.into()));
    let (code, said) = run(&["--objects", "/no/such/file"]);
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with("kube-testserver: cannot load the initial objects: cannot read /no/such/file: "),
        "{said}"
    );
    let help = command(dir.path(), &["--help"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8(help.stdout).unwrap().contains("--data DIR"));
}
