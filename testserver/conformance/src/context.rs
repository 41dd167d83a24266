//! The context of a case: the server, the case's namespace and kind, and helpers for requests.

use std::{sync::Arc, time::Duration};

use http::Method;
use serde_json::{Value, json};

use crate::{
    check::{Failure, Outcome},
    client::{ApiResponse, Call, Client, Watch},
    kinds::{COG, GADGET, Kind, LEASE, WIDGET},
    server::{CRDS, Server},
    subject::Subject,
};

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// The context of a case. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) server: Arc<Server>,
    /// The namespace of the case, or a unique name.
    pub(crate) ns: String,
    pub(crate) subject: Subject,
}

impl Context {
    // ---- version differences

    /// The API version under which this server serves a kind: `new` since 1.`minor`, else `old`. Rules that changed are not chosen in a
    /// case: see [`since`](crate::case::since).
    pub(crate) fn api_by_version(&self, old: &'static str, minor: u32, new: &'static str) -> &'static str {
        if self.server.capabilities.version >= (1, minor) { new } else { old }
    }

    // ---- kinds and paths

    pub(crate) fn kind(&self) -> &'static Kind {
        match self.subject {
            Subject::Custom => &WIDGET,
            Subject::Builtin => &LEASE,
        }
    }

    /// The path of the case's kind in its namespace.
    pub(crate) fn all(&self) -> String {
        self.server.collection(self.kind(), &self.ns)
    }

    /// The path of the case's kind across namespaces.
    pub(crate) fn everywhere(&self) -> String {
        self.server.collection(self.kind(), "")
    }

    /// The path of an object of the case's kind.
    pub(crate) fn one(&self, name: &str) -> String {
        format!("{}/{name}", self.all())
    }

    /// The path of another kind in the case's namespace, or at cluster scope.
    pub(crate) fn all_of(&self, kind: &Kind) -> String {
        self.server.collection(kind, if kind.namespaced { &self.ns } else { "" })
    }

    pub(crate) fn one_of(&self, kind: &Kind, name: &str) -> String {
        format!("{}/{name}", self.all_of(kind))
    }

    /// The `apiVersion` of a kind.
    pub(crate) fn api_version(&self, kind: &Kind) -> String {
        match kind.group {
            Some("") => kind.version.to_owned(),
            Some(group) => format!("{group}/{}", kind.version),
            None => format!("{}/{}", self.server.group(), kind.version),
        }
    }

    /// `plural.group` of a kind, as in messages.
    pub(crate) fn qualified(&self, kind: &Kind) -> String {
        match kind.group {
            Some("") => kind.plural.to_owned(),
            Some(group) => format!("{}.{group}", kind.plural),
            None => format!("{}.{}", kind.plural, self.server.group()),
        }
    }

    /// The API group of the case's kind.
    pub(crate) fn group(&self) -> String {
        self.kind().group.map_or_else(|| self.server.group(), str::to_owned)
    }

    // ---- objects

    /// An object of the case's kind that every server accepts.
    pub(crate) fn object(&self, name: &str) -> Value {
        self.with_spec(name, json!({"holderIdentity": "first", "leaseTransitions": 1}))
    }

    pub(crate) fn with_spec(&self, name: &str, spec: Value) -> Value {
        self.object_of(self.kind(), name, json!({"spec": spec}))
    }

    /// An object of any kind with these top-level fields; metadata is merged.
    pub(crate) fn object_of(&self, kind: &Kind, name: &str, fields: Value) -> Value {
        let mut object =
            json!({"apiVersion": self.api_version(kind), "kind": kind.kind, "metadata": {"name": name}});
        for (key, value) in fields.as_object().into_iter().flatten() {
            if key == "metadata" {
                for (k, v) in value.as_object().into_iter().flatten() {
                    object["metadata"][k] = v.clone();
                }
            } else {
                object[key] = value.clone();
            }
        }
        object
    }

    pub(crate) fn gadget(&self, name: &str, spec: Value) -> Value {
        self.object_of(&GADGET, name, json!({"spec": spec}))
    }

    pub(crate) fn cog(&self, name: &str, fields: Value) -> Value {
        self.object_of(&COG, name, fields)
    }

    // ---- requests

    pub(crate) fn call(&self, method: Method, path: impl Into<String>) -> Call {
        self.server.client.call(method, path)
    }

    pub(crate) async fn get(&self, path: impl Into<String>) -> Result<ApiResponse, Failure> {
        self.call(Method::GET, path).send().await
    }

    pub(crate) async fn post(&self, path: impl Into<String>, body: &Value) -> Result<ApiResponse, Failure> {
        self.call(Method::POST, path).json(body).send().await
    }

    pub(crate) async fn put(&self, path: impl Into<String>, body: &Value) -> Result<ApiResponse, Failure> {
        self.call(Method::PUT, path).json(body).send().await
    }

    pub(crate) async fn patch(
        &self,
        path: impl Into<String>,
        content_type: &str,
        body: &Value,
    ) -> Result<ApiResponse, Failure> {
        self.call(Method::PATCH, path).typed(content_type, body).send().await
    }

    pub(crate) async fn merge(&self, path: impl Into<String>, body: &Value) -> Result<ApiResponse, Failure> {
        self.patch(path, MERGE, body).await
    }

    /// Server-side apply as a field manager; `path` may have a query.
    pub(crate) async fn apply(
        &self,
        path: impl Into<String>,
        manager: &str,
        body: &Value,
    ) -> Result<ApiResponse, Failure> {
        let path = path.into();
        let glue = if path.contains('?') { '&' } else { '?' };
        self.patch(format!("{path}{glue}fieldManager={manager}"), APPLY, body).await
    }

    pub(crate) async fn delete(&self, path: impl Into<String>) -> Result<ApiResponse, Failure> {
        self.call(Method::DELETE, path).send().await
    }

    pub(crate) async fn delete_with(
        &self,
        path: impl Into<String>,
        options: &Value,
    ) -> Result<ApiResponse, Failure> {
        self.call(Method::DELETE, path).json(options).send().await
    }

    pub(crate) async fn watch(&self, path: impl Into<String>) -> Result<Watch, Failure> {
        self.call(Method::GET, path).watch().await
    }

    /// Creates a standard object; expects 201.
    pub(crate) async fn create(&self, name: &str) -> Result<ApiResponse, Failure> {
        self.create_at(self.all(), &self.object(name)).await
    }

    /// Creates this object; expects 201.
    pub(crate) async fn create_at(
        &self,
        path: impl Into<String>,
        body: &Value,
    ) -> Result<ApiResponse, Failure> {
        let reply = self.post(path, body).await?;
        reply.is(201)?;
        Ok(reply)
    }

    /// Creates standard objects in order.
    pub(crate) async fn create_all(&self, names: &[&str]) -> Outcome {
        for name in names {
            self.create(name).await?;
        }
        Ok(())
    }

    /// A client of another context of the kubeconfig.
    pub(crate) fn identity(&self, context: &str) -> Result<Client, Failure> {
        let client = self.server.config.endpoint(Some(context)).and_then(|e| Client::new(&e));
        client.map_err(|e| Failure::new("kubeconfig", format!("a usable context {context}"), e))
    }

    // ---- CRDs of the case

    /// The API group of the case's own CRDs.
    pub(crate) fn own_group(&self) -> String {
        format!("{}.conformance.example", self.ns)
    }

    /// Creates a CRD and waits until it is served.
    pub(crate) async fn establish(&self, crd: &Value) -> Result<ApiResponse, Failure> {
        let reply = self.create_at(CRDS, crd).await?;
        self.server.established(crd["metadata"]["name"].as_str().unwrap_or_default()).await?;
        Ok(reply)
    }

    /// The path of a resource in the case's own group.
    pub(crate) fn own(&self, version: &str, plural: &str) -> String {
        format!("/apis/{}/{version}/namespaces/{}/{plural}", self.own_group(), self.ns)
    }

    // ---- waiting

    /// Polls until the response has this code, for at most the run's wait time.
    pub(crate) async fn wait_for_code(&self, path: &str, code: u16) -> Result<ApiResponse, Failure> {
        self.wait_for(path, &code.to_string(), |reply| reply.code == code).await
    }

    /// Polls a path until `done`, for at most the run's wait time.
    pub(crate) async fn wait_for(
        &self,
        path: &str,
        wanted: &str,
        done: impl Fn(&ApiResponse) -> bool,
    ) -> Result<ApiResponse, Failure> {
        self.eventually(wanted, || self.get(path), done).await
    }

    /// Repeats any request until `done`, for at most the run's wait time.
    pub(crate) async fn eventually<R>(
        &self,
        wanted: &str,
        request: impl Fn() -> R,
        done: impl Fn(&ApiResponse) -> bool,
    ) -> Result<ApiResponse, Failure>
    where
        R: Future<Output = Result<ApiResponse, Failure>>,
    {
        let until = tokio::time::Instant::now() + self.server.wait;
        let last = loop {
            let reply = request().await?;
            if done(&reply) {
                return Ok(reply);
            }
            if tokio::time::Instant::now() > until {
                break reply;
            }
            pause(100).await;
        };
        Err(last.failure(
            &format!("within {:?}: {wanted}", self.server.wait),
            &format!("{} {}", last.code, last.text),
        ))
    }
}

pub(crate) async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
