//! A minimal client: sends a request, returns status code and JSON.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_testserver::{ApiServer, Body};
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON: &str = "application/json-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

#[derive(Clone, Debug, Default)]
pub(crate) struct TestClient {
    pub(crate) api: ApiServer,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Reply {
    /// The body of a success.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!(self.code.is_success(), "{}: {}", self.code, self.body);
        self.body
    }

    /// The message of a failure with this code and reason.
    #[track_caller]
    pub(crate) fn refused(self, code: u16, reason: &str) -> String {
        assert_eq!((self.code.as_u16(), &self.body["reason"]), (code, &json!(reason)), "{}", self.body);
        assert_eq!((&self.body["kind"], &self.body["status"]), (&json!("Status"), &json!("Failure")));
        assert_eq!(self.body["code"], code);
        self.body["message"].as_str().unwrap().to_string()
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect()
    }
}

impl TestClient {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let response = self.open(method, path, headers, body.into()).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        Reply { code: parts.status, headers: parts.headers, body }
    }

    /// Code, media type and bytes of a response.
    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> (u16, String, Bytes) {
        let (parts, body) = self.open(method, path, headers, body.into()).await.into_parts();
        let media = parts.headers.get("content-type").map_or("", |media| media.to_str().unwrap());
        (parts.status.as_u16(), media.to_string(), body.collect().await.unwrap().to_bytes())
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn get_as(&self, accept: &str, path: &str) -> Reply {
        self.send("GET", path, &[("accept", accept)], "").await
    }

    pub(crate) async fn post(&self, path: &str, object: Value) -> Reply {
        self.send("POST", path, &[("content-type", "application/json")], object.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, object: Value) -> Reply {
        self.send("PUT", path, &[("content-type", "application/json")], object.to_string()).await
    }

    pub(crate) async fn patch(&self, kind: &str, path: &str, patch: Value) -> Reply {
        self.send("PATCH", path, &[("content-type", kind)], patch.to_string()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, &[], "").await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: Value) -> Reply {
        self.send("DELETE", path, &[], options.to_string()).await
    }

    pub(crate) async fn watch(&self, path: &str) -> Watch {
        self.watch_as("application/json", path).await
    }

    pub(crate) async fn watch_as(&self, accept: &str, path: &str) -> Watch {
        let response = self.open("GET", path, &[("accept", accept)], Bytes::new()).await;
        assert_eq!(response.status(), 200);
        Watch { body: response.into_body(), read: BytesMut::new() }
    }

    async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> http::Response<Body> {
        let mut request = Request::builder().method(method).uri(path).header("user-agent", "rig/1.0");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.api.clone().oneshot(request.body(Full::new(body)).unwrap()).await.unwrap()
    }
}

pub(crate) struct Watch {
    body: Body,
    read: BytesMut,
}

impl Watch {
    /// The next event, without other requests; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                return Some(serde_json::from_slice(&self.read.split_to(end + 1)).unwrap());
            }
            let frame = self.body.frame().await?.unwrap();
            self.read.extend_from_slice(frame.data_ref().unwrap());
        }
    }

    /// The next chunk of a text stream.
    pub(crate) async fn text(&mut self) -> Option<String> {
        let frame = self.body.frame().await?.unwrap();
        Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
    }

    /// Type and name of the next event.
    pub(crate) async fn event(&mut self) -> (String, String) {
        let event = self.next().await.expect("the watch ended");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }

    /// Asserts that no event arrives within a second of tokio's time.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        tokio::time::timeout(Duration::from_secs(1), self.next()).await.is_err()
    }
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const WIDGETS: &str = "/apis/rig.test/v1/namespaces/default/widgets";

pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

pub(crate) fn widget(name: &str) -> Value {
    json!({"apiVersion": "rig.test/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": "red"}})
}

/// A CRD with status, scale, a selectable field, columns, a default and a required field.
pub(crate) fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.rig.test"},
        "spec": {
            "group": "rig.test",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "required": ["color"],
                            "properties": {
                                "color": {"type": "string"},
                                "replicas": {"type": "integer", "default": 1},
                            },
                        },
                        "status": {
                            "type": "object",
                            "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}},
                        },
                    },
                }},
            }],
        },
    })
}

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server that serves widgets.
pub(crate) async fn with_widgets() -> TestClient {
    let client = TestClient::new();
    client.post(CRDS, widgets()).await.ok();
    client
}
