//! What users do: the named steps of the workload.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use kube_core::Resource;
use kube_testserver::{ApiServer, Manifests};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    gate::{Session, call},
    kinds::{self, Kind, Kinds},
    state::ObjectName,
    webhooks::WebhookServices,
};

/// How often and how long users try again.
const AGAIN: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(600);

/// How long the operator stays down while a closure of the test runs, and how long that may take.
const CALL_ALONE: Duration = Duration::from_secs(60);
const CALL: Duration = Duration::from_secs(24 * 3600);

/// A step of the workload: what users do at once. Then the operator gets time until nothing changes any more.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Step {
    acts: Vec<Act>,
}

type CallServer = dyn Fn(ApiServer) -> BoxFuture<'static, ()> + Send + Sync;

#[derive(Clone)]
enum Act {
    Apply(Manifests),
    Patch { kind: String, name: String, patch: Value },
    Delete { kind: String, name: String },
    DeleteObjects(Manifests),
    Advance(Duration),
    Call(Arc<CallServer>),
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply(objects) => f.debug_tuple("Apply").field(objects).finish(),
            Self::Patch { kind, name, .. } => write!(f, "Patch({kind} {name})"),
            Self::Delete { kind, name } => write!(f, "Delete({kind} {name})"),
            Self::DeleteObjects(objects) => f.debug_tuple("DeleteObjects").field(objects).finish(),
            Self::Advance(time) => write!(f, "Advance({time:?})"),
            Self::Call(_) => f.write_str("Call"),
        }
    }
}

impl Step {
    /// Applies objects as a user does (server-side apply with force): typed, as values, from YAML text, a file or a folder.
    pub fn apply(self, objects: impl Into<Manifests>) -> Self {
        self.with(Act::Apply(objects.into()))
    }

    /// Patches an object of this kind (JSON merge patch), named `name` or `namespace/name`.
    pub fn patch<K: Resource<DynamicType = ()>>(self, name: &str, patch: Value) -> Self {
        self.patch_of(&resource::<K>(), name, patch)
    }

    /// Patches an object of a kind that is named as for kubectl: `Page`, `pages`, `pages.example.com`.
    pub fn patch_of(self, kind: &str, name: &str, patch: Value) -> Self {
        self.with(Act::Patch { kind: kind.to_owned(), name: name.to_owned(), patch })
    }

    /// Deletes an object of this kind, named `name` or `namespace/name`.
    pub fn delete<K: Resource<DynamicType = ()>>(self, name: &str) -> Self {
        self.delete_of(&resource::<K>(), name)
    }

    /// Deletes an object of a kind that is named as for kubectl.
    pub fn delete_of(self, kind: &str, name: &str) -> Self {
        self.with(Act::Delete { kind: kind.to_owned(), name: name.to_owned() })
    }

    /// Deletes objects by their kinds and names, as `kubectl delete -f` does: typed, as values, from YAML text, a file or a folder.
    pub fn delete_objects(self, objects: impl Into<Manifests>) -> Self {
        self.with(Act::DeleteObjects(objects.into()))
    }

    /// Lets time pass.
    pub fn advance(self, time: Duration) -> Self {
        self.with(Act::Advance(time))
    }

    /// Does anything else with the server: no fault concerns it. It waits until the webhooks of the operator are there, and an operator
    /// that was to stay down starts again if it takes a simulated minute. After a day it ends in a finding: use
    /// [`advance`](Self::advance) to let time pass.
    pub fn call<Fut>(self, act: impl Fn(ApiServer) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.with(Act::Call(Arc::new(move |server| Box::pin(act(server)))))
    }

    fn with(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    /// Does the step. An act that is refused is the workload's fault.
    pub(crate) async fn perform(&self, session: &Session, webhooks: &WebhookServices) -> Result<(), String> {
        for act in &self.acts {
            match act {
                Act::Apply(objects) => apply(session, objects.clone()).await?,
                Act::Patch { kind, name, patch } => {
                    let uri = format!("{}?fieldManager=user", path(session, kind, name).await?);
                    send(session, "PATCH", &uri, "application/merge-patch+json", Some(patch)).await?;
                }
                Act::Delete { kind, name } => {
                    let uri = path(session, kind, name).await?;
                    send(session, "DELETE", &uri, "application/json", None).await?;
                }
                Act::DeleteObjects(objects) => delete_objects(session, objects.clone()).await?,
                Act::Advance(time) => session.pass(*time).await,
                Act::Call(act) => call_closure(session, webhooks, &**act).await?,
            }
            session.check_invariants();
        }
        Ok(())
    }
}

fn resource<K: Resource<DynamicType = ()>>() -> String {
    kinds::resource(&K::plural(&()), &K::group(&()))
}

async fn apply(session: &Session, objects: Manifests) -> Result<(), String> {
    for object in objects.objects().map_err(|error| error.to_string())? {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let kind = kind_of(session, &object).await?;
        let path = kind.path(text("namespace"), text("name"));
        let namespace = match (kind.namespaced, text("namespace")) {
            (true, "") => "default",
            (_, namespace) => namespace,
        };
        let name = ObjectName {
            resource: kind.resource(),
            namespace: namespace.to_owned(),
            name: text("name").to_owned(),
        };
        session.trace(|trace| trace.applied.insert(name));
        let uri = format!("{path}?fieldManager=user&force=true");
        send(session, "PATCH", &uri, "application/apply-patch+yaml", Some(&object)).await?;
    }
    Ok(())
}

async fn delete_objects(session: &Session, objects: Manifests) -> Result<(), String> {
    for object in objects.objects().map_err(|error| error.to_string())? {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let uri = kind_of(session, &object).await?.path(text("namespace"), text("name"));
        send(session, "DELETE", &uri, "application/json", None).await?;
    }
    Ok(())
}

/// Calls a closure of the test, which knows nothing of faults and may wait for what the operator does.
async fn call_closure(session: &Session, webhooks: &WebhookServices, act: &CallServer) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    while webhooks.are_away() && Instant::now() < until {
        start_again(session);
        session.pass(AGAIN).await;
    }
    // What it begins may use the server for ever.
    session.end_renewals();
    let mut called = act(session.server.clone());
    for time in [CALL_ALONE, CALL] {
        tokio::select! {
            biased;
            () = &mut called => return Ok(()),
            () = session.pass(time) => start_again(session),
        }
    }
    Err(format!("its call has not ended in {} simulated hours", CALL.as_secs() / 3600))
}

fn start_again(session: &Session) {
    if session.held.send_replace(false) {
        session.log("the operator starts again, as a call of the step waits for it");
    }
}

/// The kind of an object that a user applies or deletes.
async fn kind_of(session: &Session, object: &Value) -> Result<Kind, String> {
    let kind = kinds_for(session, |kinds| kinds.of(object).cloned()).await;
    let expected = || format!("the server has no kind {} of {}", object["kind"], object["apiVersion"]);
    let kind = kind.ok_or_else(expected)?;
    used(session, &kind);
    Ok(kind)
}

async fn path(session: &Session, kind: &str, name: &str) -> Result<String, String> {
    let found = kinds_for(session, |kinds| kinds.find(kind).cloned()).await;
    let found = found.ok_or_else(|| format!("the server has no kind {kind}"))?;
    used(session, &found);
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    Ok(found.path(namespace, name))
}

/// Looks in the kinds of the begin, then in those of now: the operator may have installed a definition.
async fn kinds_for(session: &Session, find: impl Fn(&Kinds) -> Option<Kind>) -> Option<Kind> {
    match find(&session.kinds) {
        Some(kind) => Some(kind),
        None => find(&Kinds::discover(&session.server).await),
    }
}

/// Why users try again: nobody answers for a webhook, or the fault keeps the operator from what it has done by now in the reference.
fn why_again(session: &Session, code: u16, answer: &Value) -> Option<&'static str> {
    let message = answer["message"].as_str().unwrap_or_default();
    let is_away = ["connection refused", "connection reset", "EOF"].iter().any(|end| message.ends_with(end));
    match code {
        500 if is_away && message.contains("webhook") => Some("a webhook is away"),
        404 if session.may_miss_a_step => Some("the operator is late"),
        _ => None,
    }
}

fn used(session: &Session, kind: &Kind) {
    session.trace(|trace| trace.resources.insert(kind.resource()));
}

async fn send(
    session: &Session,
    method: &str,
    uri: &str,
    content_type: &str,
    body: Option<&Value>,
) -> Result<(), String> {
    let path = uri.split('?').next().unwrap_or_default();
    let (code, answer) = send_again(session, method, uri, content_type, body).await;
    session.log_comparable(format!("user: {method} {path} → {code}"));
    match code {
        200..=299 => Ok(()),
        _ => Err(format!("{method} {path} got {code}: {}", answer["message"].as_str().unwrap_or_default())),
    }
}

/// Sends a request as a user does, again where that helps; the last answer.
pub(crate) async fn send_again(
    session: &Session,
    method: &str,
    uri: &str,
    content_type: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let path = uri.split('?').next().unwrap_or_default();
    let until = Instant::now() + PATIENCE;
    loop {
        session.write_renewals();
        let (code, answer) = call(&session.server, method, uri, content_type, body).await;
        let Some(why) = why_again(session, code, &answer).filter(|_| Instant::now() < until) else {
            return (code, answer);
        };
        session.log(format!("user: {method} {path} → {code}: {why}"));
        sleep(AGAIN).await;
        if session.held.send_replace(false) {
            session.log("the operator starts again, as users need it");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use http::Request;
    use http_body_util::{BodyExt, Full};
    use serde_json::json;
    use tower::ServiceExt;

    use super::*;
    use crate::{gate::ApiService, panics::TestFailure, plan::Plan, state::Names};

    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";

    /// Renews a Lease as the operator, as it was answered.
    async fn renew(session: &Arc<Session>, mut lease: Value, second: u64) -> Value {
        lease["spec"]["renewTime"] = format!("2026-01-01T00:00:{second:02}.000000Z").into();
        let request = Request::put(LEASE).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(lease.to_string()))).unwrap();
        let answer = ApiService::new(session, session.incarnation()).oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    #[tokio::test]
    async fn what_a_user_changes_has_been_renewed() {
        let server = ApiServer::new();
        let spec = json!({"holderIdentity": "one", "renewTime": "2026-01-01T00:00:01.000000Z"});
        let (api_version, metadata) = ("coordination.k8s.io/v1", json!({"name": "a"}));
        let lease = json!({"apiVersion": api_version, "kind": "Lease", "metadata": metadata, "spec": spec});
        server.load(lease).unwrap();
        let mut lease = server.objects("coordination.k8s.io", "leases").unwrap().remove(0);
        let (kinds, failure) = (Kinds::discover(&server).await, TestFailure::default());
        let session = Session::new(server, Names::default(), kinds, &Plan::default(), Arc::from([]), failure);
        for second in [3, 5, 7] {
            lease = renew(&session, lease, second).await;
        }
        let before = session.server.objects("coordination.k8s.io", "leases").unwrap().remove(0);
        assert_ne!(
            before["spec"]["renewTime"], lease["spec"]["renewTime"],
            "the server knows only the first"
        );
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        let patched =
            send_again(&session, "PATCH", LEASE, "application/merge-patch+json", Some(&label)).await;
        assert_eq!((patched.0, &patched.1["spec"]["renewTime"]), (200, &lease["spec"]["renewTime"]));
    }
}
