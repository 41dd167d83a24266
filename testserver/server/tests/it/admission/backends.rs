//! Webhooks in the process, at a service without sockets, in paused time.

use std::{io, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube_testserver::ServiceBackend;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::{CONFIG_MAPS, CRDS, MERGE, TestClient, WIDGETS, config_map, widget, widgets};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

fn service(path: &str) -> Value {
    json!({"service": {"namespace": "shop", "name": "hooks", "port": 8443, "path": path}})
}

/// A server that asks a webhook about each new ConfigMap.
async fn with_webhook(failure_policy: &str) -> TestClient {
    let client = TestClient::new();
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let hook = json!({"name": "maps.rig.test", "clientConfig": service("/maps"), "failurePolicy": failure_policy,
        "timeoutSeconds": 3, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [rule]});
    let configuration = json!({"metadata": {"name": "hooks"}, "webhooks": [hook]});
    client.post(CONFIGURATIONS, configuration).await.ok();
    client
}

/// Answers each review with what `answer` makes of its path and its `request`.
fn backend<Fut>(
    client: &TestClient,
    answer: impl Fn(String, Value) -> Fut + Clone + Send + 'static,
) -> ServiceBackend
where
    Fut: Future<Output = io::Result<Value>> + Send + 'static,
{
    let service = tower::service_fn(move |request: Request<Full<Bytes>>| {
        let answer = answer.clone();
        async move {
            let (parts, body) = request.into_parts();
            let review: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
            let mut response = answer(parts.uri.to_string(), review["request"].clone()).await?;
            response["uid"] = review["request"]["uid"].clone();
            let review =
                json!({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response});
            Ok::<_, io::Error>(Response::new(Full::new(Bytes::from(review.to_string()))))
        }
    });
    client.api.service_backend("shop", "hooks", 8443, service)
}

#[tokio::test(start_paused = true)]
async fn a_backend_answers_for_its_service_until_it_is_dropped() {
    let client = with_webhook("Fail").await;
    let backend = backend(&client, async |path, request| {
        assert_eq!(path, "/maps?timeout=3s");
        let allowed = request["object"]["metadata"]["name"] != "bad";
        Ok(json!({"allowed": allowed, "status": {"message": "it is bad", "reason": "BadRequest"}}))
    });
    client.post(CONFIG_MAPS, config_map("good")).await.ok();
    let message = client.post(CONFIG_MAPS, config_map("bad")).await.refused(400, "BadRequest");
    assert_eq!(message, r#"admission webhook "maps.rig.test" denied the request: it is bad"#);
    drop(backend);
    let message = client.post(CONFIG_MAPS, config_map("late")).await.refused(500, "InternalError");
    assert!(message.ends_with(r#"service "hooks" not found"#), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_fails_is_told_as_one_in_the_network() {
    let client = with_webhook("Fail").await;
    let begin = r#"failed calling webhook "maps.rig.test": failed to call webhook: Post "https://hooks.shop.svc:8443/maps?timeout=3s": "#;
    let refused = async |name: &str| {
        let message = client.post(CONFIG_MAPS, config_map(name)).await.refused(500, "InternalError");
        message.split_once(begin).unwrap_or_else(|| panic!("{message}")).1.to_owned()
    };
    let away = backend(&client, async |_, _| Err(io::ErrorKind::ConnectionRefused.into()));
    assert_eq!(refused("a").await, "dial tcp hooks.shop.svc:8443: connect: connection refused");
    let slow = backend(&client, async |_, _| {
        sleep(Duration::from_secs(60)).await;
        Ok(json!({"allowed": true}))
    });
    drop(away); // It has been replaced, and takes nothing away.
    let begun = Instant::now();
    assert_eq!(refused("b").await, "context deadline exceeded");
    assert_eq!(begun.elapsed().as_secs(), 3, "in simulated time");
    drop(slow);
    let _panics = backend(&client, async |_, _| panic!("in the webhook"));
    assert_eq!(refused("c").await, "EOF");
}

#[tokio::test(start_paused = true)]
async fn a_backend_may_respond_at_its_timeout() {
    let client = with_webhook("Fail").await;
    let _slow = backend(&client, async |_, _| {
        let gives_up = tokio::spawn(sleep(Duration::from_secs(3)));
        gives_up.await.map_err(io::Error::other)?;
        Ok(json!({"allowed": true}))
    });
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_ignored_lets_the_write_pass() {
    let client = with_webhook("Ignore").await;
    let _away = backend(&client, async |_, _| Err(io::ErrorKind::ConnectionRefused.into()));
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_backend_converts() {
    let client = TestClient::new();
    let _converts = backend(&client, async |path, request| {
        assert_eq!(path, "/convert?timeout=30s");
        let mut objects = request["objects"].clone();
        for object in objects.as_array_mut().unwrap() {
            object["apiVersion"] = request["desiredAPIVersion"].clone();
            object["spec"]["color"] = "converted".into();
        }
        Ok(json!({"result": {"status": "Success"}, "convertedObjects": objects}))
    });
    let mut crd = widgets();
    let mut second = crd["spec"]["versions"][0].clone();
    (second["name"], second["storage"]) = (json!("v2"), json!(false));
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    crd["spec"]["conversion"] = json!({"strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": service("/convert")}});
    client.post(CRDS, crd).await.ok();
    client.post(WIDGETS, widget("a")).await.ok();
    let v2 = WIDGETS.replace("v1", "v2");
    let colors = async |path: &str| client.get(path).await.ok()["items"][0]["spec"]["color"].clone();
    assert_eq!((colors(WIDGETS).await, colors(&v2).await), (json!("red"), json!("converted")));
    let mut watch = client.watch(&format!("{v2}?watch=1")).await;
    assert_eq!(watch.next().await.unwrap()["object"]["spec"]["color"], "converted");
    let patched = client.patch(MERGE, &format!("{v2}/a"), json!({"spec": {"replicas": 2}})).await.ok();
    assert_eq!(patched["spec"]["color"], "converted");
}
