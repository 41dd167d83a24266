//! Renewals that are answered without the server, and who may notice.

use std::{collections::BTreeSet, sync::Arc};

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
        let content_type =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        self.request_as(content_type, method, uri, body).await
    }

    async fn request_as(&self, content_type: &str, method: &str, uri: &str, body: Value) -> (u16, Value) {
        let request = Request::builder().method(method).uri(uri).header("content-type", content_type);
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

    /// The version that the leader knows.
    fn version(&self) -> String {
        self.lease["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
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
    assert_eq!(leader.on_server()["spec"]["renewTime"], time(1));
    // Who looks at the state sees it renewed, and the leader need not know.
    let state = leader.session.whole_state();
    let seen: Vec<_> = state.objects_of("leases.coordination.k8s.io").collect();
    assert_eq!(seen[0]["spec"]["renewTime"], time(7));
    assert_eq!(leader.renew(9).await, (200, true));
    // As does who asks after a change.
    leader.session.server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
    assert_eq!(leader.renew(11).await, (200, false));
    assert_eq!(leader.on_server()["spec"]["renewTime"], time(11));
    assert_eq!(leader.renew(13).await, (200, true));
}

#[tokio::test]
async fn who_reads_a_lease_sees_its_time_and_version_move() {
    let mut leader = Leader::new().await;
    let mut seen = vec![leader.version()];
    for second in [3, 5, 7] {
        assert_eq!(leader.renew(second).await, (200, true));
        let (_, read) = leader.request("GET", LEASE, Value::Null).await;
        let (_, list) = leader.request("GET", LEASES, Value::Null).await;
        assert_eq!(read["spec"]["renewTime"], time(second));
        assert_eq!(read["metadata"]["resourceVersion"], list["items"][0]["metadata"]["resourceVersion"]);
        seen.push(read["metadata"]["resourceVersion"].as_str().unwrap().to_owned());
    }
    let different: BTreeSet<_> = seen.iter().collect();
    assert_eq!(different.len(), 4, "{seen:?}");
}

#[tokio::test]
async fn a_version_that_another_one_has_read_is_a_conflict_after_a_renewal() {
    let mut leader = Leader::new().await;
    // First the version that the leader knows, then one that it does not.
    for (second, is_here) in [(3, false), (5, true)] {
        let (_, read) = leader.request("GET", LEASE, Value::Null).await;
        assert_eq!(leader.renew(second).await, (200, is_here));
        let (code, _) = leader.request("PUT", LEASE, read).await;
        assert_eq!(code, 409);
        assert_eq!(leader.renew(second + 10).await, (200, true));
    }
}

#[tokio::test]
async fn the_leader_means_its_last_renewal_with_each_request() {
    let version = |leader: &Leader| json!({"metadata": {"resourceVersion": leader.version()}});
    for method in ["PUT", "PATCH", "DELETE"] {
        let mut leader = Leader::new().await;
        assert_eq!(leader.renew(3).await, (200, true));
        let body = match method {
            "PUT" => {
                let mut lease = leader.lease.clone();
                lease["spec"]["holderIdentity"] = Value::Null;
                lease
            }
            "PATCH" => version(&leader),
            _ => json!({"preconditions": version(&leader)["metadata"]}),
        };
        assert_eq!(leader.request(method, LEASE, body).await.0, 200, "{method}");
    }
    let mut leader = Leader::new().await;
    assert_eq!(leader.renew(3).await, (200, true));
    drop(leader.session.state());
    let test = json!([{"op": "test", "path": "/metadata/resourceVersion", "value": leader.version()}]);
    assert_eq!(leader.request_as("application/json-patch+json", "PATCH", LEASE, test).await.0, 200);
}

#[tokio::test]
async fn an_observer_of_the_server_is_told_of_all_renewals() {
    let mut leader = Leader::on(ApiServer::builder().on_response(|_| {})).await;
    assert_eq!(leader.renew(3).await, (200, false));
    assert_eq!(leader.renew(5).await, (200, false));
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
    let taken = call(&leader.session.server, "PATCH", LEASE, "application/merge-patch+json", Some(&takes));
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
    let spec = json!({"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "true"}]});
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
    for (other, is) in [(lease("one", "22"), true), (lease("two", "22"), false), ("{}".to_owned(), false)] {
        assert_eq!(differ_in_time(one.as_bytes(), other.as_bytes()), is, "{other}");
        assert_eq!(is_renewal(one.as_bytes(), other.as_bytes()), is, "{other}");
    }
}
