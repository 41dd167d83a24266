//! Deeply nested responses, error responses to streams, and objects that cannot be decoded.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use futures::StreamExt;
use http::{Request, Response};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::api::{DeleteParams, DynamicObject, ListParams, LogParams, WatchEvent, WatchParams};
use kube_client::client::Body;
use kube_client::discovery::ApiResource;
use kube_client::{Api, Client, Discovery, Error};
use kube_core::DeserializeGuard;
use tokio::time::Instant;

/// A client of a server that always sends this response.
fn responding(code: u16, header: Option<(&'static str, &'static str)>, body: impl Into<Vec<u8>>) -> Client {
    let body = bytes::Bytes::from(body.into());
    let server = tower::service_fn(move |_: Request<Body>| {
        let mut response = Response::builder().status(code);
        if let Some((name, value)) = header {
            response = response.header(name, value);
        }
        std::future::ready(Ok::<_, tower::BoxError>(response.body(Body::from(body.clone())).unwrap()))
    });
    Client::new(server, "default")
}

#[tokio::test]
async fn a_response_nested_ten_thousand_levels_deep_is_an_error() {
    let deep = format!("{}{}", r#"{"a":["#.repeat(10_000), "]}".repeat(10_000));
    for (body, is_discovery) in [
        (deep.clone(), true),
        (format!(r#"{{"items":[{deep}]}}"#), true),
        (format!(r#"{{"kind":"APIGroupDiscoveryList","items":{deep}}}"#), false),
        (format!("{{\"type\":\"ADDED\",\"object\":{deep}}}\n"), true),
    ] {
        let client = responding(200, None, body);
        let maps = ApiResource::erase::<ConfigMap>(&());
        let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &maps);
        assert!(matches!(api.get("a").await, Err(Error::SerdeError(_))));
        assert!(matches!(api.list(&ListParams::default()).await, Err(Error::SerdeError(_))));
        assert!(api.delete("a", &DeleteParams::default()).await.is_err());
        // Discovery skips unknown fields, which may be nested deeply.
        let discovered = Discovery::new(client).run().await;
        assert_eq!(discovered.is_ok(), is_discovery, "{:?}", discovered.err());
        let mut events = Box::pin(api.watch(&WatchParams::default(), "0").await.unwrap());
        assert!(!matches!(events.next().await, Some(Ok(_))));
    }
    // An error response with such a body is still an API error.
    let refused = Api::<ConfigMap>::default_namespaced(responding(500, None, deep)).get("a").await;
    assert!(matches!(refused, Err(Error::Api(status)) if status.code == 500));
}

#[tokio::test]
async fn an_error_response_to_a_watch_or_log_is_one_api_error_for_every_body() {
    let status =
        r#"{"kind":"Status","status":"Failure","message":"busy","reason":"TooManyRequests","code":429}"#;
    let pretty = status.replace(',', ",\n  ");
    for (body, message) in [
        (status, "busy"),
        (pretty.as_str(), "busy"),
        ("<html>\n<h1>429</h1>\n</html>", "<html>\n<h1>429</h1>\n</html>"),
        ("", "Too Many Requests"),
    ] {
        let client = responding(429, Some(("retry-after", "7")), body);
        let pods: Api<Pod> = Api::default_namespaced(client);
        let (wp, lp) = (WatchParams::default(), LogParams::default());
        for refused in [
            pods.watch(&wp, "0").await.err(),
            pods.watch_guarded(&wp, "0").await.err(),
            pods.watch_metadata(&wp, "0").await.err(),
            pods.logs("a", &lp).await.err(),
            pods.log_stream("a", &lp).await.err(),
            pods.list(&ListParams::default()).await.err(),
        ] {
            let Some(Error::Api(status)) = refused else { panic!("{refused:?}") };
            assert_eq!((status.code, status.reason.as_str()), (429, "TooManyRequests"));
            assert_eq!(status.message, message);
            assert_eq!(status.details.unwrap().retry_after_seconds, 7);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_call_returns_a_repeated_refusal_within_a_minute() {
    use kube_client::client::retry::RetryPolicy;

    for code in [429, 503] {
        let inner = responding(code, Some(("retry-after", "2")), "no");
        let server = tower::service_fn(move |request: Request<Body>| {
            let inner = inner.clone();
            async move { inner.send(request).await.map_err(tower::BoxError::from) }
        });
        let service = tower::ServiceBuilder::new()
            .layer(tower::retry::RetryLayer::new(RetryPolicy::server_retry()))
            .service(server);
        let pods: Api<Pod> = Api::default_namespaced(Client::new(service, "default"));
        let is_refused =
            |err: Option<Error>| assert!(matches!(err, Some(Error::Api(status)) if status.code == code));
        let started = Instant::now();
        is_refused(pods.get("a").await.err());
        let took = started.elapsed().as_secs();
        assert!((15..60).contains(&took), "the retries ended after {took} s");
        let started = Instant::now();
        is_refused(pods.watch(&WatchParams::default(), "0").await.err());
        assert!(started.elapsed().as_secs() < 60);
        let started = Instant::now();
        is_refused(pods.log_stream("a", &LogParams::default()).await.err());
        assert!(started.elapsed().as_secs() < 60);
    }
}

#[tokio::test]
async fn an_api_of_guarded_objects_returns_objects_that_cannot_be_decoded() {
    let [valid, invalid] =
        [r#"{"metadata":{"name":"valid"},"data":{"a":"b"}}"#, r#"{"metadata":{"name":"invalid"},"data":5}"#];
    let api =
        |body: String| Api::<DeserializeGuard<ConfigMap>>::default_namespaced(responding(200, None, body));
    let assert_invalid = |guard: &DeserializeGuard<ConfigMap>| {
        let message = guard.0.as_ref().unwrap_err().to_string();
        assert_eq!(message, "cannot decode object invalid: invalid type: integer `5`, expected a map");
    };

    assert_invalid(&api(invalid.to_owned()).get("invalid").await.unwrap());

    let listed = api(format!(r#"{{"metadata":{{}},"items":[{valid},{invalid}]}}"#));
    let listed = listed.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items[0].0.as_ref().unwrap().data.as_ref().unwrap()["a"], "b");
    assert_invalid(&listed.items[1]);

    let line = |object: &str| format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n");
    let events = api(line(invalid) + &line(valid)).watch(&WatchParams::default(), "0").await.unwrap();
    match &events.collect::<Vec<_>>().await[..] {
        [Ok(WatchEvent::Added(first)), Ok(WatchEvent::Added(DeserializeGuard(Ok(_))))] => {
            assert_invalid(first)
        }
        other => panic!("{other:?}"),
    }
}
