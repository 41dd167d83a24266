//! Renewals of Leases. A leader sends one every other second, and for most of a run nothing else happens. As long as nothing at all has
//! changed since the server accepted one, it would accept the next one, too: then it is answered here, and who reads the Lease sees its
//! time.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use http::{StatusCode, Uri, request::Parts, response};
use kube_testserver::ApiServer;
use parking_lot::Mutex;
use serde_json::Value;

/// The field that a renewal changes, in JSON without spaces.
const TIME: &str = r#""renewTime":""#;

/// What may review a Lease.
const REVIEWERS: [&str; 4] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "mutatingadmissionpolicies",
    "validatingadmissionpolicies",
];

/// The last renewals that the server has accepted, by the path of the Lease.
#[derive(Debug, Default)]
pub(super) struct Renewals(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    leases: BTreeMap<String, Accepted>,
    /// Whether Leases are watched, so that the server has to have all renewals.
    watched: bool,
}

/// A renewal that the server has accepted.
#[derive(Debug)]
struct Accepted {
    uri: Uri,
    /// The version of the server after it.
    version: u64,
    head: response::Parts,
    answer: Bytes,
    /// The last renewal that was answered here.
    repeated: Option<Bytes>,
}

impl Renewals {
    /// The answer to a request that only renews the Lease once more.
    pub(super) fn answer(
        &self,
        server: &ApiServer,
        parts: &Parts,
        body: &Bytes,
    ) -> Option<(response::Parts, Bytes)> {
        let mut inner = self.0.lock();
        let accepted = inner.leases.get_mut(parts.uri.path())?;
        // As each request does: controllers of the cluster do what is due.
        server.advance(Duration::ZERO);
        if accepted.version != server.resource_version() || accepted.uri != parts.uri {
            return None;
        }
        let repeats = match &accepted.repeated {
            Some(before) => differ_in_time(before, body),
            None => is_renewal(&accepted.answer, body) && !is_reviewed(server),
        };
        let answer = repeats.then(|| with_time(&accepted.answer, time_of(body)?)).flatten()?;
        accepted.repeated = Some(body.clone());
        Some((accepted.head.clone(), answer))
    }

    /// The server has answered one.
    pub(super) fn accepted(&self, server: &ApiServer, uri: Uri, head: &response::Parts, answer: &Bytes) {
        let mut inner = self.0.lock();
        let path = uri.path().to_owned();
        inner.leases.remove(&path);
        let version = server.resource_version();
        let object: Value = serde_json::from_slice(answer).unwrap_or_default();
        // Otherwise something else has changed meanwhile.
        let is_last = version_of(&object) == Some(version.to_string().as_str());
        if head.status == StatusCode::OK && is_last && !inner.watched {
            let (head, answer) = (head.clone(), answer.clone());
            inner.leases.insert(path, Accepted { uri, version, head, answer, repeated: None });
        }
    }

    /// From now on, the server gets all renewals.
    pub(super) fn are_watched(&self) {
        *self.0.lock() = Inner { watched: true, ..Inner::default() };
    }

    /// The same in an answer with a Lease or a list of them.
    pub(super) fn shown(&self, answer: Bytes) -> Bytes {
        let Ok(mut read) = serde_json::from_slice::<Value>(&answer) else { return answer };
        match read.get_mut("items").and_then(Value::as_array_mut) {
            Some(leases) => leases.iter_mut().for_each(|lease| self.show(lease)),
            None => self.show(&mut read),
        }
        read.to_string().into()
    }

    /// Shows the time of the last renewal in a Lease that the server has as it was before it.
    pub(super) fn show(&self, lease: &mut Value) {
        let inner = self.0.lock();
        let metadata = &lease["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let end = format!("/namespaces/{}/leases/{}", text("namespace"), text("name"));
        let Some((_, accepted)) = inner.leases.iter().find(|(path, _)| path.ends_with(&end)) else { return };
        let is_same = version_of(lease) == Some(accepted.version.to_string().as_str());
        let time = accepted.repeated.as_ref().filter(|_| is_same).and_then(|body| time_of(body));
        if let Some(time) = time {
            lease["spec"]["renewTime"] = time.into();
        }
    }
}

/// What is before the time of a renewal, the time, and what is after it.
fn around_time(body: &[u8]) -> Option<(&str, &str, &str)> {
    let (before, rest) = std::str::from_utf8(body).ok()?.split_once(TIME)?;
    let (time, after) = rest.split_once('"')?;
    Some((before, time, after))
}

fn time_of(body: &[u8]) -> Option<&str> {
    around_time(body).map(|(_, time, _)| time)
}

/// The same JSON with another time, if that is one as the server writes it.
fn with_time(body: &[u8], time: &str) -> Option<Bytes> {
    let (before, known, after) = around_time(body)?;
    let is_alike = |(one, other): (u8, u8)| one == other || one.is_ascii_digit() && other.is_ascii_digit();
    if known.len() != time.len() || !known.bytes().zip(time.bytes()).all(is_alike) {
        return None;
    }
    Some([before, TIME, time, "\"", after].concat().into())
}

/// Whether two bodies differ in nothing but the time.
fn differ_in_time(one: &[u8], other: &[u8]) -> bool {
    let [one, other] = [one, other].map(|body| around_time(body).map(|(before, _, after)| (before, after)));
    one.is_some() && one == other
}

/// Whether a body renews the Lease of an answer, in whatever order its fields are.
fn is_renewal(answer: &[u8], body: &[u8]) -> bool {
    let read = |text: &[u8]| {
        let mut lease = serde_json::from_slice::<Value>(text).ok()?;
        lease["spec"].as_object_mut()?.remove("renewTime")?;
        Some(lease)
    };
    read(answer).is_some_and(|answer| read(body) == Some(answer))
}

fn version_of(lease: &Value) -> Option<&str> {
    lease["metadata"]["resourceVersion"].as_str()
}

/// Whether a webhook or a policy may have something to say about Leases.
fn is_reviewed(server: &ApiServer) -> bool {
    let of = |plural: &str| server.objects("admissionregistration.k8s.io", plural).unwrap_or_default();
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let has_leases = |rule: &Value| {
        let resources = items(&rule["resources"]);
        resources.iter().filter_map(Value::as_str).any(|name| name.starts_with('*') || name == "leases")
    };
    REVIEWERS.into_iter().flat_map(of).any(|reviewer| {
        let of_webhooks =
            items(&reviewer["webhooks"]).into_iter().flat_map(|webhook| items(&webhook["rules"]));
        let of_policy = items(&reviewer["spec"]["matchConstraints"]["resourceRules"]);
        of_webhooks.chain(of_policy).any(|rule| has_leases(&rule))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Request;
    use http_body_util::{BodyExt, Full};
    use kube_testserver::{Builder, BuiltInController};
    use serde_json::json;
    use tower::ServiceExt;

    use super::*;
    use crate::{
        gate::{ApiService, Session, call},
        kinds::Kinds,
        panics::TestFailure,
        plan::Plan,
        state::Names,
    };

    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";

    struct Leader {
        session: Arc<Session>,
        lease: Value,
    }

    impl Leader {
        async fn new() -> Self {
            Self::on(ApiServer::builder()).await
        }

        async fn on(server: Builder) -> Self {
            let server = server.service().unwrap();
            let kinds = Kinds::discover(&server).await;
            let (names, failure) = (Names::default(), TestFailure::default());
            let session = Session::new(server, names, kinds, &Plan::default(), Arc::from([]), failure);
            let mut leader = Self { session, lease: Value::Null };
            let spec = json!({"holderIdentity": "one", "renewTime": "2026-01-01T00:00:00.000000Z"});
            let lease = json!({"metadata": {"name": "a"}, "spec": spec});
            assert_eq!(leader.send("POST", LEASES, lease).await, 201);
            leader.renew(1).await;
            leader
        }

        async fn send(&mut self, method: &str, uri: &str, lease: Value) -> u16 {
            let (code, lease) = self.request(method, uri, lease).await;
            if code < 300 {
                self.lease = lease;
            }
            code
        }

        async fn request(&self, method: &str, uri: &str, body: Value) -> (u16, Value) {
            let request =
                Request::builder().method(method).uri(uri).header("content-type", "application/json");
            let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
            let service = ApiService::new(&self.session, self.session.incarnation());
            let (head, body) = service.oneshot(request).await.unwrap().into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            (head.status.as_u16(), serde_json::from_slice(&body).unwrap())
        }

        /// Renews the Lease; the code, and whether the server knows nothing of it.
        async fn renew(&mut self, second: u64) -> (u16, bool) {
            let (mut lease, before) = (self.lease.clone(), self.session.server.resource_version());
            lease["spec"]["renewTime"] = time(second);
            let code = self.send("PUT", LEASE, lease).await;
            if code == 200 {
                assert_eq!(self.lease["spec"]["renewTime"], time(second));
            }
            (code, self.session.server.resource_version() == before)
        }

        fn on_server(&self) -> Value {
            self.session.server.objects("coordination.k8s.io", "leases").unwrap().remove(0)
        }
    }

    fn time(second: u64) -> Value {
        format!("2026-01-01T00:00:{second:02}.000000Z").into()
    }

    #[tokio::test]
    async fn renewals_need_no_server_while_nothing_changes() {
        let mut leader = Leader::new().await;
        for second in [3, 5, 7] {
            assert_eq!(leader.renew(second).await, (200, true));
        }
        // Who reads the Lease sees it renewed.
        assert_eq!(leader.on_server()["spec"]["renewTime"], time(1));
        let (_, read) = leader.request("GET", LEASE, Value::Null).await;
        let (_, list) = leader.request("GET", LEASES, Value::Null).await;
        assert_eq!(
            (&read["spec"]["renewTime"], &list["items"][0]["spec"]["renewTime"]),
            (&time(7), &time(7))
        );
        let state = leader.session.whole_state();
        let seen: Vec<_> = state.objects_of("leases.coordination.k8s.io").collect();
        assert_eq!(seen[0]["spec"]["renewTime"], time(7));
        // As does the server after a change.
        leader.session.server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
        assert_eq!(leader.renew(9).await, (200, false));
        assert_eq!(leader.on_server()["spec"]["renewTime"], time(9));
        assert_eq!(leader.renew(11).await, (200, true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_lets_controllers_of_the_cluster_work() {
        let mut leader = Leader::on(ApiServer::builder().with(BuiltInController::Workloads)).await;
        let template = json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}});
        let cron_job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
            "spec": {"schedule": "* * * * *", "jobTemplate": template}});
        leader.session.server.load(cron_job).unwrap();
        assert_eq!(leader.renew(3).await, (200, false));
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(leader.renew(5).await, (200, false));
        assert_eq!(leader.session.server.objects("batch", "jobs").map(|jobs| jobs.len()), Some(1));
    }

    #[tokio::test]
    async fn the_server_judges_all_other_writes_of_a_lease() {
        let mut leader = Leader::new().await;
        assert_eq!(leader.renew(3).await, (200, true));
        let before = leader.lease.clone();
        let mut handed_on = before.clone();
        handed_on["spec"]["holderIdentity"] = "two".into();
        assert_eq!(leader.send("PUT", LEASE, handed_on).await, 200);
        assert_eq!(leader.on_server()["spec"]["holderIdentity"], "two");
        leader.lease = before;
        assert_eq!(leader.renew(5).await, (409, true), "of a version that was replaced");
        call(&leader.session.server, "DELETE", LEASE, "application/json", None).await;
        assert_eq!(leader.renew(7).await, (409, true), "of one that is gone");
    }

    #[tokio::test]
    async fn what_would_be_renewed_is_not() {
        let mut leader = Leader::new().await;
        for second in [3, 5] {
            let mut lease = leader.lease.clone();
            lease["spec"]["renewTime"] = time(second);
            let (code, answer) = leader.request("PUT", &format!("{LEASE}?dryRun=All"), lease).await;
            assert_eq!((code, &answer["spec"]["renewTime"]), (200, &time(second)));
        }
        let (_, read) = leader.request("GET", LEASE, Value::Null).await;
        assert_eq!(read["spec"]["renewTime"], time(1));
        for (unusual, code) in [("soon", 400), ("2026-01-01T01:00:07.000000+01:00", 200)] {
            let mut lease = leader.lease.clone();
            lease["spec"]["renewTime"] = unusual.into();
            assert_eq!(leader.send("PUT", LEASE, lease).await, code, "{unusual}");
        }
        assert_eq!(leader.on_server()["spec"]["renewTime"], time(7), "as the server writes it");
    }

    #[tokio::test]
    async fn another_process_takes_a_lease_that_was_renewed_without_the_server() {
        let mut leader = Leader::new().await;
        assert_eq!(leader.renew(3).await, (200, true));
        let takes = json!({"spec": {"holderIdentity": "two"}});
        let taken =
            call(&leader.session.server, "PATCH", LEASE, "application/merge-patch+json", Some(&takes));
        assert_eq!(taken.await.0, 200);
        let (_, read) = leader.request("GET", LEASE, Value::Null).await;
        assert_eq!(read["spec"]["renewTime"], time(1), "as it was written");
        assert_eq!(leader.renew(5).await, (409, true));
    }

    #[tokio::test]
    async fn who_watches_or_reviews_leases_gets_all_renewals() {
        let mut leader = Leader::new().await;
        let watch = Request::get(format!("{LEASES}?watch=true")).body(Full::new(Bytes::new())).unwrap();
        let service = ApiService::new(&leader.session, leader.session.incarnation());
        let watch = service.oneshot(watch).await.unwrap();
        assert_eq!(leader.renew(3).await, (200, false));
        assert_eq!(leader.renew(5).await, (200, false));
        drop(watch);

        for resources in ["leases", "*"] {
            let mut leader = Leader::new().await;
            leader.session.server.load(policy(resources)).unwrap();
            assert_eq!(leader.renew(3).await, (200, false));
            assert_eq!(leader.renew(5).await, (200, false), "{resources}");
        }
        let mut leader = Leader::new().await;
        leader.session.server.load(policy("pods")).unwrap();
        leader.renew(3).await;
        assert_eq!(leader.renew(5).await, (200, true));
    }

    fn policy(resources: &str) -> String {
        let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": [resources]}]);
        let spec =
            json!({"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "true"}]});
        let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "a"}, "spec": spec});
        policy.to_string()
    }

    #[test]
    fn a_renewal_changes_the_time_and_nothing_else() {
        let lease = |holder: &str, time: &str| {
            let spec = json!({"holderIdentity": holder, "renewTime": time});
            json!({"metadata": {"name": "a", "annotations": {"x": "{\"renewTime\":\"z\"}"},
                "managedFields": [{"fieldsV1": {"f:renewTime": {}}}]}, "spec": spec})
            .to_string()
        };
        let one = lease("one", "1");
        assert_eq!(time_of(one.as_bytes()), Some("1"));
        assert_eq!(with_time(one.as_bytes(), "2").unwrap(), lease("one", "2"));
        assert!(with_time(one.as_bytes(), "22").is_none() && with_time(one.as_bytes(), "x").is_none());
        for (other, is) in [(lease("one", "22"), true), (lease("two", "22"), false), ("{}".to_owned(), false)]
        {
            assert_eq!(differ_in_time(one.as_bytes(), other.as_bytes()), is, "{other}");
            assert_eq!(is_renewal(one.as_bytes(), other.as_bytes()), is, "{other}");
        }
    }
}
