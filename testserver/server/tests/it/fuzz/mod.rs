//! Random requests: every one gets a response, and the server survives.
//!
//! Runs for a second by default. For longer runs:
//! `FUZZ_SECONDS=600 cargo test --release -p kube-testserver --test it every_request_gets_a_response -- --nocapture`. A failure prints its
//! script number; `FUZZ_SEED` with that number starts with it. Coverage-guided: `fuzz/fuzz_targets/request.rs`.

mod generate;

use std::{
    collections::BTreeMap,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    time::{Duration, Instant},
};

use http::{StatusCode, response::Parts};
use http_body::Body as _;
use http_body_util::BodyExt;
use kube_testserver::{ApiServer, Body, BuiltInController, User};
use serde_json::Value;
use tokio::time::timeout;
use tower::ServiceExt;

/// The timeout of a response, for unoptimized builds on a busy machine.
const RESPONSE_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 5 });

/// Messages of 500 responses that genuine servers also return.
const EXCUSED: [&str; 11] = [
    // A create with a resourceVersion.
    "resourceVersion should not be set on objects to be created",
    // An invalid resourceVersion.
    "strconv.ParseUint: parsing",
    // exec and attach before a container runs.
    "container not found",
    // An applied object that does not match its schema.
    "failed to create typed patch object",
    // Strategic merge patches: `src/patch/recorded/strategic.jsonl` has the responses of a genuine server.
    "unknown patch type",
    "list element types are not identical",
    "expected a []interface {}, but received a",
    "doesn't match $setElementOrder list",
    "does not contain declared merge key",
    "merging lists cannot yet be specified in the patch",
    // A binding without a target.
    "target.name: Required value",
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(start_paused = true)]
async fn every_request_gets_a_response() {
    let (first, seconds) = (number("FUZZ_SEED").unwrap_or(1), number("FUZZ_SECONDS").unwrap_or(1));
    let (began, watchdog) = (Instant::now(), watchdog());
    let (mut script, mut codes) = (first, BTreeMap::new());
    // The minimum on slow machines.
    while script < first + 50 || began.elapsed() < Duration::from_secs(seconds) {
        let mut dice = Dice(script);
        let bytes: Vec<u8> = (0..2000).map(|_| dice.roll()).collect();
        live(script, &bytes, &watchdog, &mut codes).await;
        script += 1;
    }
    let (scripts, requests) = (script - first, codes.values().sum::<u64>());
    let rate = requests / began.elapsed().as_secs().max(1);
    println!("{requests} requests in {scripts} scripts, {rate} a second; by their codes: {codes:?}");
    let successes: u64 = codes.range(200..300).map(|(_, count)| count).sum();
    assert!(successes > requests / 10, "hardly anything succeeds, so hardly anything is tested: {codes:?}");
}

/// Requests that failed once, and other extremes.
#[tokio::test]
async fn extreme_requests_get_a_response() {
    let client = crate::client::TestClient::new();
    let deep = format!("{{\"metadata\":{}", "{\"a\":".repeat(100_000));
    let reply = client.send("POST", crate::client::CONFIG_MAPS, &[], deep).await;
    assert_eq!(reply.code, 400, "{}", reply.body);
    let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1)).collect();
    let bomb = format!("a0: &a0 x\n{bomb}");
    let reply =
        client.send("POST", crate::client::CONFIG_MAPS, &[("content-type", "application/yaml")], bomb).await;
    assert_eq!(reply.code, 400, "{}", reply.body);
    let long = format!("/api/v1/{}", "a/".repeat(20_000));
    assert_eq!(client.get(&long).await.code, 404);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    client.post(accounts, serde_json::json!({"metadata": {"name": "a"}})).await.ok();
    for spec in ["5", "[]", "\"x\"", "true"] {
        let request = format!("{{\"spec\":{spec}}}");
        let reply = client.send("POST", &format!("{accounts}/a/token"), &[], request).await;
        assert_eq!(reply.code, 400, "{}", reply.body);
    }
    let selector = (0..3000).map(|n| format!("k{n}%3Dv")).collect::<Vec<_>>().join(",");
    client.get(&format!("{}?labelSelector={selector}", crate::client::CONFIG_MAPS)).await.ok();
}

/// Aborts the process when a response takes too long: a loop that never yields cannot be cancelled.
fn watchdog() -> Sender<String> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut last = String::new();
        loop {
            match told.recv_timeout(RESPONSE_LIMIT) {
                Ok(request) => last = request,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("no answer within {RESPONSE_LIMIT:?} to {last}");
                    std::process::exit(1);
                }
            }
        }
    });
    tell
}

/// Runs a script of requests on one server; then its state can be read and restored into another.
async fn live(script: u64, bytes: &[u8], watchdog: &Sender<String>, codes: &mut BTreeMap<u16, u64>) {
    let mut builder = ApiServer::builder();
    if script.is_multiple_of(4) {
        builder = builder.with_user(User::new("x").token("x"));
    }
    if script.is_multiple_of(3) {
        for controller in [
            BuiltInController::Kubelet,
            BuiltInController::Workloads,
            BuiltInController::Endpoints,
            BuiltInController::ServiceAccounts,
        ] {
            builder = builder.with(controller);
        }
    }
    let server = builder.service().unwrap();
    let mut open = Vec::new();
    for request in generate::requests(bytes) {
        let shown = format!("script {script}: {} {}", request.method(), request.uri());
        let head = request.method() == "HEAD";
        watchdog.send(shown.clone()).unwrap();
        let answer = timeout(RESPONSE_LIMIT, server.clone().oneshot(request)).await;
        let answer = answer.unwrap_or_else(|_| panic!("{shown}: no answer")).unwrap();
        let (parts, mut body) = answer.into_parts();
        *codes.entry(parts.status.as_u16()).or_default() += 1;
        let text = what_comes_at_once(&mut body).await;
        if !head {
            check(&shown, &parts, &text);
        }
        if !body.is_end_stream() && open.len() < 4 {
            open.push(body);
        }
        server.advance(Duration::from_secs(script % 3));
    }
    watchdog.send(format!("script {script}: its open watches")).unwrap();
    for mut body in open {
        what_comes_at_once(&mut body).await;
    }
    watchdog.send(format!("script {script}: its snapshot")).unwrap();
    let (snapshot, copy) = (server.snapshot(), ApiServer::new());
    copy.restore(snapshot.as_str()).unwrap_or_else(|error| panic!("script {script}: {error}"));
    assert!(copy.snapshot() == snapshot, "script {script}: {snapshot}");
}

/// The body; of a watch or log, the part that is available.
async fn what_comes_at_once(body: &mut Body) -> Vec<u8> {
    let mut text = Vec::new();
    while let Ok(Some(frame)) = timeout(Duration::from_millis(1), body.frame()).await {
        text.extend_from_slice(
            frame.expect("nothing breaks without a fault").data_ref().map_or(&[], |data| data),
        );
    }
    text
}

/// Checks that errors are a Status with a message, and that JSON responses are JSON.
fn check(shown: &str, answer: &Parts, text: &[u8]) {
    let code = answer.status;
    let json = answer.headers.get("content-type").is_some_and(|kind| kind == "application/json");
    let shown = || format!("{shown}: {code}: {}", String::from_utf8_lossy(text));
    let values: Result<Vec<Value>, _> = match json {
        true => serde_json::Deserializer::from_slice(text).into_iter().collect(),
        false => Ok(Vec::new()),
    };
    let values = values.unwrap_or_else(|error| panic!("{}: {error}", shown()));
    if json && (code.is_client_error() || code.is_server_error()) {
        let status = values.first().unwrap_or_else(|| panic!("{}: no body", shown()));
        assert_eq!(
            (&status["kind"], &status["status"]),
            (&"Status".into(), &"Failure".into()),
            "{}",
            shown()
        );
        assert_eq!(status["code"], code.as_u16(), "{}", shown());
        assert!(!status["message"].as_str().unwrap_or_default().is_empty(), "{}", shown());
    }
    let message = String::from_utf8_lossy(text);
    let excused = EXCUSED.iter().any(|known| message.contains(known));
    assert!(code != StatusCode::INTERNAL_SERVER_ERROR || excused, "{}", shown());
}

/// SplitMix64: reproducible bytes for a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()[7]
    }
}
