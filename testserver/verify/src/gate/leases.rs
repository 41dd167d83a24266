//! Leases: what the operator asks about them, and another process that leads.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Response, request::Parts};
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    answer::{Body, call, full},
    forward::forward,
    session::Session,
    target::Target,
    watch::is_watch,
};
use crate::state::ObjectName;

/// The label of the Leases of members that share objects.
const GROUP: &str = "sharding-group";

/// How long a leader may take until it has noticed that it leads no more. One whose Lease is valid for longer may take that long.
const GRACE: Duration = Duration::from_secs(20);
/// At most so long: a Lease may be a lock for ever.
const MOST_GRACE: Duration = Duration::from_secs(600);
/// How long the other process leads after that.
const LEADS: Duration = Duration::from_secs(60);
/// How often it renews the Leases.
const RENEWS: Duration = Duration::from_secs(2);

/// A request of the operator.
pub(super) async fn respond(
    session: &Session,
    target: &Target,
    parts: Parts,
    body: Bytes,
) -> io::Result<Response<Body>> {
    let (renewals, server) = (&session.renewals, &session.server);
    let is_dry_run = parts.uri.query().is_some_and(|query| query.contains("dryRun="));
    let is_replaced = parts.method == Method::PUT && target.subresource.is_empty() && !is_dry_run;
    if is_replaced && let Some((head, answer)) = renewals.answer(server, &parts, &body) {
        return Ok(Response::from_parts(head, full(answer)));
    }
    renewals.write(server);
    if parts.method == Method::GET {
        if is_watch(parts.uri.query().unwrap_or_default()) {
            renewals.end(server);
        } else {
            renewals.are_read();
        }
        return forward(session, parts, body).await;
    }
    let uri = parts.uri.clone();
    let body = renewals.meant(uri.path(), body);
    let before = session.object(&target.object_name()).unwrap_or_default();
    let (head, body) = forward(session, parts, body).await?.into_parts();
    let answer = body.collect().await?.to_bytes();
    if is_replaced {
        renewals.accepted(server, uri.clone(), &head, &answer);
    }
    if head.status.is_success() && !is_dry_run {
        note(session, target, uri.path(), &before, &serde_json::from_slice(&answer).unwrap_or_default());
    }
    Ok(Response::from_parts(head, full(answer)))
}

/// Notes a write of a Lease: with the holder in it, the operator leads. One with owners or of the workload is an object like others, and a
/// member of a group leads nobody.
fn note(session: &Session, target: &Target, path: &str, before: &Value, after: &Value) {
    let (metadata, holder) = (&after["metadata"], holder_of(after));
    let is_created = target.name.is_empty();
    let path = match metadata["name"].as_str() {
        Some(name) if is_created => format!("{path}/{name}"),
        _ => path.to_owned(),
    };
    let is_other = !metadata["ownerReferences"].is_null() || !metadata["labels"][GROUP].is_null();
    let is_same = ["holderIdentity", "renewTime"].iter().all(|at| before["spec"][at] == after["spec"][at]);
    session.trace(|trace| match holder {
        Some(holder) if !is_other && !trace.applied.contains(&ObjectName::of(&target.resource, after)) => {
            if !is_same {
                trace.leases.insert(path, holder.to_owned());
            }
        }
        _ => drop(trace.leases.remove(&path)),
    });
}

fn holder_of(lease: &Value) -> Option<&str> {
    lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty())
}

/// Another process takes the Leases by which the operator leads, and holds them for a minute after this has returned. `begun_at` is the
/// time of the server at the begin of the run.
pub(crate) async fn take_leases(session: &Arc<Session>, begun_at: Timestamp) {
    session.write_renewals();
    let other = OtherProcess { session: session.clone(), begun_at };
    let (mut taken, mut grace) = (Vec::new(), GRACE);
    for (lease, holder) in session.trace(|trace| trace.leases.clone()) {
        let now = Target::of(&lease).and_then(|target| session.object(&target.object_name()));
        // One that is gone, or was given up.
        if now.as_ref().and_then(holder_of) != Some(holder.as_str()) {
            continue;
        }
        if let Some(valid) = other.holds(&lease).await {
            grace = grace.max(valid.min(MOST_GRACE));
            session.log(format!("FAULT: another process takes {lease}"));
            taken.push(lease);
        }
    }
    if taken.is_empty() {
        return;
    }
    session.fire();
    let until = Instant::now() + grace + LEADS;
    for lease in taken {
        tokio::spawn(other.clone().hold(lease, until));
    }
    session.pass(grace).await;
    session.another_leads_until(until);
}

/// A process that leads instead of the operator.
#[derive(Clone)]
struct OtherProcess {
    session: Arc<Session>,
    begun_at: Timestamp,
}

impl OtherProcess {
    async fn hold(self, lease: String, until: Instant) {
        while Instant::now() + RENEWS <= until {
            sleep(RENEWS).await;
            self.holds(&lease).await;
        }
        self.session.log(format!("the other process leaves {lease}"));
    }

    /// Writes that it holds a Lease; for how long that is valid, or `None` if there is no Lease.
    async fn holds(&self, lease: &str) -> Option<Duration> {
        let now = self.begun_at.saturating_add(self.session.elapsed()).unwrap_or(self.begun_at);
        let renewed = now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let spec = json!({"spec": {"holderIdentity": "another-process", "renewTime": renewed}});
        let server = &self.session.server;
        let (code, lease) = call(server, "PATCH", lease, "application/merge-patch+json", Some(&spec)).await;
        let valid = Duration::from_secs(lease["spec"]["leaseDurationSeconds"].as_u64().unwrap_or(0));
        (200..300).contains(&code).then_some(valid)
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use http_body_util::Full;
    use kube_testserver::ApiServer;
    use tower::ServiceExt;

    use super::*;
    use crate::{gate::ApiService, kinds::Kinds, panics::TestFailure, plan::Plan, state::Names};

    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const GONE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/gone";
    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";

    async fn session() -> Arc<Session> {
        let server = ApiServer::new();
        server.load(lease(json!({}))).unwrap();
        let kinds = Kinds::discover(&server).await;
        let (names, failure) = (Names::default(), TestFailure::default());
        Session::new(server, names, kinds, &Plan::default(), Arc::from([]), failure)
    }

    /// The Lease of a leader, with this in its metadata.
    fn lease(metadata: Value) -> Value {
        let mut lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata,
            "spec": {"holderIdentity": "one", "renewTime": "2026-01-01T00:00:01.000000Z"}});
        lease["metadata"]["name"] = "a".into();
        lease
    }

    /// Sends requests about the Lease as the operator; by what it leads then.
    async fn leads_after(session: &Arc<Session>, requests: &[(&str, &str, Value)]) -> Option<String> {
        for (method, uri, body) in requests {
            let content_type =
                if *method == "POST" { "application/json" } else { "application/merge-patch+json" };
            let request = Request::builder().method(*method).uri(*uri).header("content-type", content_type);
            let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
            let service = ApiService::new(session, session.incarnation());
            let response = service.oneshot(request.body(Full::new(body)).unwrap()).await.unwrap();
            assert!(response.status().is_success(), "{method} {uri}: {}", response.status());
        }
        session.trace(|trace| trace.leases.get(LEASE).cloned())
    }

    #[tokio::test]
    async fn an_operator_leads_by_a_lease_that_it_holds() {
        let dry = format!("{LEASE}?dryRun=All");
        let delete = ("DELETE", LEASE, Value::Null);
        let create = ("POST", LEASES, lease(json!({})));
        let spec = |field: &str, value: &str| json!({"spec": {field: value}});
        let renew = ("PATCH", LEASE, spec("renewTime", "2026-01-01T00:00:03.000000Z"));
        let take = ("PATCH", LEASE, spec("holderIdentity", "two"));
        let give_up = ("PATCH", LEASE, json!({"spec": {"holderIdentity": null}}));
        let label = ("PATCH", LEASE, json!({"metadata": {"labels": {"a": "b"}}}));
        let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}]);
        let child = ("POST", LEASES, lease(json!({"ownerReferences": owners})));
        let member = ("POST", LEASES, lease(json!({"labels": {"sharding-group": "pages"}})));
        let cases = [
            (vec![("GET", LEASE, Value::Null), ("GET", LEASES, Value::Null)], None),
            (vec![label.clone()], None),
            (vec![("PATCH", &dry, take.2.clone())], None),
            (vec![renew.clone(), label], Some("one")),
            (vec![take.clone()], Some("two")),
            (vec![delete.clone(), create.clone()], Some("one")),
            (vec![take, give_up], None),
            (vec![renew.clone(), delete.clone()], None),
            (vec![delete.clone(), child], None),
            (vec![delete, member, renew.clone()], None),
        ];
        for (requests, leads) in cases {
            assert_eq!(leads_after(&session().await, &requests).await.as_deref(), leads, "{requests:?}");
        }
        let session = session().await;
        let (resource, namespace) = ("leases.coordination.k8s.io".into(), "default".into());
        session.trace(|trace| trace.applied.insert(ObjectName { resource, namespace, name: "a".into() }));
        assert_eq!(leads_after(&session, &[renew]).await, None, "of the workload");
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_lease_that_the_operator_holds_is_taken() {
        for (path, holder, is_held) in [(LEASE, "one", true), (LEASE, "two", false), (GONE, "one", false)] {
            let session = session().await;
            session.trace(|trace| trace.leases.insert(path.into(), holder.into()));
            take_leases(&session, Timestamp::UNIX_EPOCH).await;
            session.wrote("create pods a #1");
            assert_eq!((session.fired().len(), session.broken().len()), (is_held.into(), is_held.into()));
        }
    }
}
