//! What a manager and its elector log, for the person on call.

use crate::{
    common::set_subscriber,
    layers::gated,
    manager::{Log, logging, maps, run, seconds, server_with},
};
use http::{HeaderValue, Request};
use k8s_openapi::api::{
    authorization::v1::SelfSubjectAccessReview,
    core::v1::{ConfigMap, Node, Secret},
    rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject},
};
use kube_client::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    client::Body,
};
use kube_core::{ObjectMeta, Resource, ResourceExt, admission::AdmissionRequest};
use kube_operator::{
    health::{Check, Health},
    leader_election::{Config, LeaderElector},
    manager::{Manager, Writes},
    webhook::Webhooks,
};
use kube_runtime::{
    Controller,
    controller::Action,
    events::{Event, EventType, Recorder},
    watcher,
};
use kube_testserver::{ApiServer, Fault, Match};
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::time::sleep;
use tower::{ServiceExt, service_fn};
use tracing_subscriber::EnvFilter;

/// Collects the log lines of this thread until it is dropped.
pub(crate) fn capture_log() -> (LogBuffer, tracing::dispatcher::DefaultGuard) {
    let lines = LogBuffer::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone());
    let subscriber = subscriber.with_env_filter(shipped_filter());
    (lines, set_subscriber(subscriber.finish()))
}

/// What the shipped manifest lets through: what is not in it, nobody on call sees.
fn shipped_filter() -> EnvFilter {
    let manifest = crate::deploy::manifest("operator.yaml");
    let (_, value) = manifest.split_once("name: RUST_LOG\n").unwrap();
    let value = value.trim_start().strip_prefix("value: ").unwrap();
    EnvFilter::try_new(value.lines().next().unwrap()).unwrap()
}

#[derive(Clone, Default)]
pub(crate) struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl LogBuffer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }

    /// The line that contains this text.
    #[track_caller]
    fn line(&self, part: &str) -> String {
        let text = self.text();
        let line = text.lines().find(|line| line.contains(part));
        line.unwrap_or_else(|| panic!("{part} in {text}")).to_owned()
    }
}

impl std::io::Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the bucket cannot be made")]
struct BucketError(#[source] std::io::Error);

#[tokio::test(start_paused = true)]
async fn errors_of_reconcilers_are_logged_with_object_and_cause() {
    let (lines, _guard) = capture_log();
    let (_server, client) = server_with(&["a"]).await;
    let reconcile = |_: Arc<ConfigMap>, _| async {
        Err::<Action, _>(BucketError(std::io::Error::other("the quota is used up")))
    };
    let manager = Manager::new(client.clone()).controller("buckets", maps(&client), reconcile, Arc::new(()));
    let (stop, running) = run(manager);
    sleep(seconds(1)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    let lines = lines.text();
    let expected = "the bucket cannot be made: the quota is used up";
    let line = lines.lines().find(|line| line.contains(expected)).unwrap_or_else(|| panic!("{lines}"));
    for part in ["WARN", "controller=\"buckets\"", "object.ref=\"ConfigMap", "a.default"] {
        assert!(line.contains(part), "{part} in {line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_says_what_to_do_and_when_it_works_again() {
    let (lines, _guard) = capture_log();
    let (server, client) = server_with(&["a"]).await;
    let fault = server.fault(Match::kind::<Secret>(), Fault::status(404, "NotFound"));
    let mut manager = Manager::new(client.clone());
    let _secrets = manager.cache(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let controller = maps(&client).owns(Api::<Secret>::all(client), watcher::Config::default());
    let manager = manager.controller("maps", controller, logging("reconciled"), Arc::new(Log::default()));
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    for failed in ["a watch of the controller failed", "the watch of a shared cache failed"] {
        let line = lines.line(failed);
        let text = "failed to start the watch (secrets cluster-wide): ";
        let advice = "(is the CRD installed, and does it serve this version?)";
        assert!(line.contains("WARN") && line.contains(text) && line.contains(advice), "{line}");
        assert!(!line.contains("stream of triggers") && line.matches("a watch of the").count() < 2, "{line}");
    }
    fault.remove();
    sleep(seconds(60)).await;
    let line = lines.line("a watch works again");
    assert!(line.contains("kind=\"Secret\"") && line.contains("failures="), "{line}");
    assert!(line.contains("INFO"), "{line}");
    stop.cancel();
    running.await.unwrap().unwrap();
    lines.line("stop: the controllers end");
    lines.line("stop: the components end");
}

#[tokio::test(start_paused = true)]
async fn a_lost_leadership_is_a_warning_with_the_reason_and_a_release_is_none() {
    let (lines, _guard) = capture_log();
    let server = ApiServer::new();
    let (client, gate) = gated(&server, "leases");
    let elector = LeaderElector::start(client, Config::new("operator", "default")).unwrap();
    elector.wait_for_leadership().await.unwrap();
    gate.send_replace(false);
    elector.lost_leadership().await;
    sleep(seconds(5)).await;
    let line = lines.line("has lost the leadership");
    let reason = "the Lease was not renewed within 10s: the server did not respond within 5s";
    assert!(
        line.contains("WARN") && line.contains("lease=\"default/operator\"") && line.contains(reason),
        "{line}"
    );
    gate.send_replace(true);
    elector.wait_for_leadership().await.unwrap();
    elector.release().await;
    let line = lines.line("does not lead any more");
    assert!(line.contains("INFO") && line.contains("this process gave it up"), "{line}");
    assert_eq!(lines.text().matches("has lost the leadership").count(), 1);
}

/// A client that acts as somebody without any permission.
fn nobody(server: &ApiServer) -> Client {
    let server = server.clone();
    let service = service_fn(move |mut request: Request<Body>| {
        let user = HeaderValue::from_static("system:serviceaccount:default:nobody");
        request.headers_mut().insert("impersonate-user", user);
        server.clone().oneshot(request)
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn all_permissions_that_are_missing_are_one_message_at_the_start() {
    let (lines, _guard) = capture_log();
    let server = ApiServer::builder().with_rbac().service().unwrap();
    let client = nobody(&server);
    let mut manager = Manager::new(client.clone()).leader_election("operator", "shop");
    let _maps = manager.cache(Api::<ConfigMap>::all(client.clone()), watcher::Config::default());
    let controller =
        maps(&client).owns(Api::<Secret>::namespaced(client, "shop"), watcher::Config::default());
    let manager = manager.controller("maps", controller, logging("reconciled"), Arc::new(Log::default()));
    let (stop, running) = run(manager);
    sleep(seconds(30)).await;
    let text = lines.text();
    assert_eq!(text.matches("lacks permissions").count(), 1, "{text}");
    let (_, roles) = text.split_once("would grant them:\n").unwrap();
    for part in [
        "kind: ClusterRole\n",
        "configmaps",
        "kind: Role\n",
        "namespace: \"shop\"",
        "secrets",
        "leases",
        "create",
        "update",
        "list",
        "watch",
    ] {
        assert!(roles.contains(part), "{part} in {roles}");
    }
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// The roles in each message about missing permissions.
fn missing_roles(lines: &LogBuffer) -> Vec<String> {
    let text = lines.text();
    let roles = |message: &str| {
        // Up to the next line with a time.
        let lines = message.lines().skip(1).take_while(|line| !line.starts_with("20"));
        lines.map(|line| format!("{line}\n")).collect()
    };
    text.split("would grant ").skip(1).map(roles).collect()
}

#[tokio::test(start_paused = true)]
async fn permissions_of_what_is_added_later_and_of_writes_are_asked_for_once() {
    let (lines, _guard) = capture_log();
    let server = ApiServer::builder().with_rbac().service().unwrap();
    let client = nobody(&server);
    let all = Api::<ConfigMap>::all(client.clone());
    let manager = Manager::new(client.clone())
        .writes(&all, Writes::Finalizers)
        .writes(&all, Writes::Status)
        .writes(&Api::<ConfigMap>::default_namespaced(client.clone()), Writes::Events);
    let handle = manager.handle();
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    let [writes] = &missing_roles(&lines)[..] else { panic!("{}", lines.text()) };
    for part in ["configmaps", "configmaps/status", "patch", "events.k8s.io", "events", "create"] {
        assert!(writes.contains(part), "{part} in {writes}");
    }
    handle.add("later", maps(&client), logging("reconciled"), Arc::new(Log::default()));
    let _secrets = handle.cache(Api::<Secret>::all(client.clone()), watcher::Config::default());
    sleep(seconds(30)).await;
    let messages = missing_roles(&lines);
    let asked = |kind: &str| messages.iter().skip(1).filter(|roles| roles.contains(kind)).count();
    assert_eq!((asked("configmaps"), asked("secrets")), (1, 1), "{messages:?}");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn where_the_review_is_refused_the_first_refusals_are_one_message() {
    let (lines, _guard) = capture_log();
    let server = ApiServer::builder().with_rbac().service().unwrap();
    server.fault(Match::kind::<SelfSubjectAccessReview>(), Fault::status(403, "Forbidden"));
    let client = nobody(&server);
    let mut manager = Manager::new(client.clone()).leader_election("operator", "shop");
    let _maps = manager.cache(Api::<ConfigMap>::all(client.clone()), watcher::Config::default());
    let controller =
        maps(&client).owns(Api::<Secret>::namespaced(client, "shop"), watcher::Config::default());
    let manager = manager.controller("maps", controller, logging("reconciled"), Arc::new(Log::default()));
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    let [roles] = &missing_roles(&lines)[..] else { panic!("{}", lines.text()) };
    for part in
        ["kind: ClusterRole\n", "configmaps", "namespace: \"shop\"", "secrets", "leases", "update", "watch"]
    {
        assert!(roles.contains(part), "{part} in {roles}");
    }
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Permits [`nobody`] to use these verbs on a resource in a namespace, or everywhere.
async fn permit(server: &ApiServer, namespace: Option<&str>, group: &str, resource: &str, verbs: &[&str]) {
    let client = Client::new(server.clone(), "default");
    let rules = [PolicyRule {
        api_groups: Some(vec![group.into()]),
        resources: Some(vec![resource.into()]),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        ..PolicyRule::default()
    }];
    let metadata = ObjectMeta { name: Some(resource.into()), ..ObjectMeta::default() };
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let group = "rbac.authorization.k8s.io".to_owned();
    let role_ref = RoleRef { api_group: Some(group), kind: kind.into(), name: resource.into() };
    let account = Subject {
        kind: "ServiceAccount".into(),
        name: "nobody".into(),
        namespace: Some("default".into()),
        ..Subject::default()
    };
    let (rules, subjects, params) = (Some(rules.to_vec()), Some(vec![account]), PostParams::default());
    if let Some(namespace) = namespace {
        let role = Role { metadata: metadata.clone(), rules };
        Api::namespaced(client.clone(), namespace).create(&params, &role).await.unwrap();
        let binding = RoleBinding { metadata, role_ref, subjects };
        Api::namespaced(client, namespace).create(&params, &binding).await.unwrap();
    } else {
        let role = ClusterRole { metadata: metadata.clone(), rules, aggregation_rule: None };
        Api::all(client.clone()).create(&params, &role).await.unwrap();
        let binding = ClusterRoleBinding { metadata, role_ref, subjects };
        Api::all(client).create(&params, &binding).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_reconcile_is_refused_for_is_named_once_as_a_role() {
    #[derive(Debug, thiserror::Error)]
    #[error("the child cannot be written")]
    struct ChildError(#[source] kube_client::Error);

    let (lines, _guard) = capture_log();
    let server = ApiServer::builder().with_rbac().service().unwrap();
    server.fault(Match::kind::<SelfSubjectAccessReview>(), Fault::status(403, "Forbidden"));
    permit(&server, None, "", "configmaps", &["list", "watch"]).await;
    let admin = Api::<ConfigMap>::default_namespaced(Client::new(server.clone(), "default"));
    for name in ["a", "b", "c"] {
        let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
        admin.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await.unwrap();
    }
    let client = nobody(&server);
    let reconcile = |map: Arc<ConfigMap>, client: Arc<Client>| async move {
        let (name, client) = (map.name_any(), Client::clone(&client));
        if name == "a" {
            let child = Secret {
                metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() },
                ..Secret::default()
            };
            Api::default_namespaced(client)
                .create(&PostParams::default(), &child)
                .await
                .map_err(ChildError)?;
        } else {
            let maps = Api::<ConfigMap>::default_namespaced(client);
            let patch = Patch::Merge(serde_json::json!({ "data": { "key": "value" } }));
            maps.patch(&name, &PatchParams::default(), &patch).await.map_err(ChildError)?;
        }
        Ok::<_, ChildError>(Action::await_change())
    };
    let manager = Manager::new(client.clone()).controller("maps", maps(&client), reconcile, Arc::new(client));
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    let text = lines.text();
    assert!(text.matches("a reconcile failed").count() > 6, "{text}");
    let mut roles = missing_roles(&lines);
    roles.sort();
    let [patch, create] = &roles[..] else { panic!("{text}") };
    let rule = |resource: &str, verb: &str| format!("resources: [\"{resource}\"]\n  verbs: [\"{verb}\"]\n");
    assert!(
        patch.contains(&rule("configmaps", "patch")) && create.contains(&rule("secrets", "create")),
        "{text}"
    );
    assert!(
        roles.iter().all(|role| role.contains("kind: Role\n") && role.contains("namespace: \"default\""))
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_reconcile_is_refused_for_elsewhere_is_a_role_for_all_namespaces() {
    let (lines, _guard) = capture_log();
    let server = ApiServer::builder().with_rbac().service().unwrap();
    permit(&server, None, "", "configmaps", &["list", "watch"]).await;
    let admin = Client::new(server.clone(), "default");
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    Api::<ConfigMap>::namespaced(admin, "kube-public").create(&PostParams::default(), &map).await.unwrap();
    let client = nobody(&server);
    let reconcile = |map: Arc<ConfigMap>, client: Arc<Client>| async move {
        let namespace = map.namespace().unwrap_or_default();
        Api::<Secret>::namespaced(Client::clone(&client), &namespace).get(&map.name_any()).await?;
        Ok::<_, kube_client::Error>(Action::await_change())
    };
    let everywhere = Controller::new(Api::<ConfigMap>::all(client.clone()), watcher::Config::default());
    let manager = Manager::new(client.clone()).controller("maps", everywhere, reconcile, Arc::new(client));
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    let [role] = &missing_roles(&lines)[..] else { panic!("{}", lines.text()) };
    assert!(role.contains("kind: ClusterRole\n") && !role.contains("namespace:"), "{role}");
    let rule = "resources: [\"secrets\"]\n  verbs: [\"get\",\"list\",\"watch\"]\n";
    assert!(role.contains(rule), "{role}");
}

#[tokio::test(start_paused = true)]
async fn a_role_that_suffices_for_events_about_nodes_is_not_reported() {
    for (events_in, missing) in [("kube-system", 0), ("default", 1)] {
        let (lines, _guard) = capture_log();
        let server = ApiServer::builder().with_rbac().service().unwrap();
        permit(&server, Some(events_in), "events.k8s.io", "events", &["create", "patch"]).await;
        let client = nobody(&server);
        let manager = Manager::new(client.clone()).writes(&Api::<Node>::all(client.clone()), Writes::Events);
        let (stop, running) = run(manager);
        sleep(seconds(5)).await;
        assert_eq!(missing_roles(&lines).len(), missing, "{}", lines.text());
        let event = Event {
            type_: EventType::Normal,
            reason: "Ready".into(),
            note: None,
            action: "Reconciling".into(),
            secondary: None,
        };
        let node = Node {
            metadata: ObjectMeta { name: Some("n".into()), ..ObjectMeta::default() },
            ..Node::default()
        };
        let published = Recorder::new(client, "op".into()).publish(&event, &node.object_ref(&())).await;
        assert_eq!(published.is_ok(), missing == 0, "{published:?}");
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_peers_cause_is_a_few_lines_a_minute_and_a_check_that_recovers_is_one() {
    let (lines, _guard) = capture_log();
    let down = Arc::new(AtomicBool::new(true));
    let state = Arc::clone(&down);
    let check =
        Check::new("database", move || if state.load(Ordering::SeqCst) { Err("refused") } else { Ok(()) });
    let health = Health::new().live(check).router();
    let webhooks = Webhooks::new().validate(async |_: AdmissionRequest<ConfigMap>| Ok::<_, String>(()));
    let webhooks = webhooks.router().unwrap();
    let send = async |router: &axum::Router, request: http::request::Builder| {
        let request = request.body(axum::body::Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap().status().as_u16()
    };
    let both = async || {
        assert_eq!(send(&webhooks, Request::post("/validate--v1-configmap")).await, 400);
        send(&health, Request::get("/livez")).await
    };
    for _ in 0..50 {
        assert_eq!(both().await, 500);
    }
    let count = |text: &str| lines.text().matches(text).count();
    assert_eq!((count("webhook request failed"), count("health check failed")), (5, 5));
    sleep(seconds(60)).await;
    both().await;
    assert_eq!(count("left_out=45"), 2, "{}", lines.text());
    down.store(false, Ordering::SeqCst);
    assert_eq!((both().await, both().await), (200, 200));
    assert_eq!(count("health check succeeds again"), 1);
}
