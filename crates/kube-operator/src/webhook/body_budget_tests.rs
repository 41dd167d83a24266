//! Bodies that are large, announced only, or do not arrive.

use std::time::Duration;

use axum::body::Body;
use futures::StreamExt;
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::admission::AdmissionRequest;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::webhook::{
    Denial, Webhooks,
    router::tests::{VALIDATE, map, not_red, review},
};

const MIB: usize = 1024 * 1024;

#[tokio::test(start_paused = true)]
async fn bodies_above_the_memory_for_all_wait_for_their_turn() {
    async fn slow(_: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(())
    }
    let body = review("CREATE", &map(json!({"text": "x".repeat(3000)})), &Value::Null).to_string();
    let chunked = || Body::from_stream(futures::stream::iter([Ok::<_, std::io::Error>(body.clone())]));
    // One body at a time may exceed the limit.
    for (limit, known_length, seconds) in [
        (128 * MIB, true, 1),
        (8 * 1024, true, 2),
        (4 * 1024, true, 2),
        (1024, true, 2),
        (15 * MIB, false, 1),
    ] {
        let router = Webhooks::new().validate(slow).in_flight_limit(limit).router().unwrap();
        let begun = tokio::time::Instant::now();
        let responses = futures::future::join_all((0..4).map(|_| {
            let body = if known_length { Body::from(body.clone()) } else { chunked() };
            let request = Request::post(VALIDATE).header("content-type", "application/json");
            router.clone().oneshot(request.body(body).unwrap())
        }));
        assert!(responses.await.into_iter().all(|response| response.unwrap().status() == 200));
        assert_eq!(begun.elapsed().as_secs(), seconds, "{limit} bytes");
    }
}

fn silent() -> impl futures::Stream<Item = Result<bytes::Bytes, std::io::Error>> {
    futures::stream::pending()
}

#[tokio::test(start_paused = true)]
async fn bodies_that_do_not_arrive_hold_up_no_other_request() {
    let router = Webhooks::new().validate(not_red).convert(crate::webhook::Versions::<ConfigMap>::new());
    let router = router.in_flight_limit(MIB).router().unwrap();
    let request = |path: &str, body: Body| {
        Request::post(format!("{path}?timeout=30s"))
            .header("content-type", "application/json")
            .body(body)
            .unwrap()
    };
    // Announced, chunked, and one that stops in the middle.
    let announced = Request::post("/convert").header("content-type", "application/json");
    let announced = announced.header("content-length", 128 * MIB).body(Body::from_stream(silent())).unwrap();
    let begun_only = futures::stream::iter([Ok(bytes::Bytes::from(vec![b' '; MIB / 2]))]).chain(silent());
    let mut stuck = futures::stream::FuturesUnordered::new();
    stuck.push(router.clone().oneshot(announced));
    stuck.push(router.clone().oneshot(request(VALIDATE, Body::from_stream(begun_only))));
    for _ in 0..40 {
        stuck.push(router.clone().oneshot(request(VALIDATE, Body::from_stream(silent()))));
    }
    assert!(futures::poll!(stuck.next()).is_pending());
    let begun = tokio::time::Instant::now();
    let body = review("CREATE", &map(json!({})), &Value::Null).to_string();
    let good = router.oneshot(request(VALIDATE, Body::from(body))).await.unwrap();
    assert_eq!((good.status(), begun.elapsed()), (StatusCode::OK, Duration::ZERO));
    while let Some(response) = stuck.next().await {
        assert_eq!(response.unwrap().status(), StatusCode::REQUEST_TIMEOUT);
    }
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_secs(5) && waited < Duration::from_secs(6), "{waited:?}");
}
