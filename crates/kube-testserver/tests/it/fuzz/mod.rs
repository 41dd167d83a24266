//! Requests that nobody would send: whatever comes, there is an answer, and the server lives on.
//!
//! A second's worth in every run; `FUZZ_SECONDS=600 cargo test -p kube-testserver fuzz` for longer. Guided by coverage:
//! `fuzz/fuzz_targets/request.rs`.

mod script;

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use kube_testserver::{ApiServer, User};
use serde_json::Value;
use tokio::time::timeout;
use tower::ServiceExt;

/// Longer than any answer may take, even on a busy machine and unoptimized.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn every_request_is_answered() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let seed: u64 = std::env::var("FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(1));
    let (mut dice, mut scripts) = (Dice(seed), 0u32);
    // At least so many, however slow the machine is.
    while scripts < 100 || Instant::now() < end {
        let bytes: Vec<u8> = (0..400).map(|_| dice.roll()).collect();
        live(&bytes).await;
        scripts += 1;
    }
    println!("{scripts} scripts");
}

/// What once went wrong, or might.
#[tokio::test]
async fn extremes_are_answered() {
    let rig = crate::rig::Rig::new();
    let deep = format!("{{\"metadata\":{}", "{\"a\":".repeat(100_000));
    let reply = rig.send("POST", crate::rig::CONFIG_MAPS, &[], deep).await;
    assert_eq!(reply.code, 400, "{}", reply.body);
    let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1)).collect();
    let bomb = format!("a0: &a0 x\n{bomb}");
    let reply =
        rig.send("POST", crate::rig::CONFIG_MAPS, &[("content-type", "application/yaml")], bomb).await;
    assert_eq!(reply.code, 400, "{}", reply.body);
    let long = format!("/api/v1/{}", "a/".repeat(20_000));
    assert_eq!(rig.get(&long).await.code, 404);
    let selector = (0..3000).map(|n| format!("k{n}%3Dv")).collect::<Vec<_>>().join(",");
    rig.get(&format!("{}?labelSelector={selector}", crate::rig::CONFIG_MAPS)).await.ok();
}

/// One server's life: a script of requests, and then it still answers.
async fn live(bytes: &[u8]) {
    let mut server = ApiServer::new();
    if bytes.first().is_some_and(|byte| byte % 4 == 0) {
        server = ApiServer::builder().with_user(User::new("x").token("x")).service().unwrap();
    }
    for request in script::requests(bytes) {
        let shown = format!("{} {}", request.method(), request.uri());
        let head = request.method() == "HEAD";
        // A group without a user, and resourceVersions that are no numbers, are 500 on genuine servers as well.
        let excused = request.headers().contains_key("impersonate-group")
            || request.headers().contains_key("impersonate-extra-%zz")
            || request.uri().query().is_some()
            || shown.starts_with('P');
        let answer = timeout(PATIENCE, server.clone().oneshot(request)).await;
        let answer = answer.unwrap_or_else(|_| panic!("no answer to {shown}")).unwrap();
        let code = answer.status();
        let json = answer.headers().get("content-type").is_some_and(|kind| kind == "application/json");
        // A watch goes on; its first line has to come at once, if there is one.
        let mut body = answer.into_body();
        let first = timeout(Duration::from_millis(1), body.frame()).await;
        if let Ok(Some(Ok(frame))) = first
            && code.as_u16() >= 400
            && json
            && !head
        {
            let status: Value = serde_json::from_slice(frame.data_ref().unwrap()).unwrap();
            assert_eq!(
                (&status["kind"], &status["code"]),
                (&"Status".into(), &code.as_u16().into()),
                "{shown}"
            );
            assert!(!status["message"].as_str().unwrap_or_default().is_empty(), "{shown}");
        }
        assert!(code != 500 || excused, "{shown}: {code}");
    }
    let request = http::Request::get("/api/v1/namespaces/default")
        .body(http_body_util::Full::<bytes::Bytes>::default());
    let answer = timeout(PATIENCE, server.oneshot(request.unwrap())).await.expect("it lives");
    assert!(answer.unwrap().status().as_u16() < 500);
}

/// SplitMix64: the same bytes for the same seed, everywhere.
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
