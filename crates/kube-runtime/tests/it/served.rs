//! Watches of kinds that come and go.

use crate::common::{ApiExt, config_maps, eventually, named, owned, server, set_subscriber, wait_for_change};
use futures::{StreamExt, stream::BoxStream};
use http::Request;
use http_body_util::{BodyExt, Either, Full};
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{Api, Client, client::Body};
use kube_core::{
    ApiResource, DynamicObject, GroupVersionKind, Resource,
    params::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    Controller,
    controller::{Action, Related},
    reflector::store::Writer,
    served::{Availability, ServedKinds},
    watcher,
};
use kube_testserver::{ApiServer, Fault, Match};
use serde_json::json;
use std::{
    collections::BTreeMap,
    convert::Infallible,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};
use tower::{ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

fn leaf(version: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", version, "Leaf"), "leaves")
}

async fn define(client: &Client, scope: &str, versions: &[&str]) {
    let version = |(index, version): (usize, &&str)| {
        json!({
            "name": version, "served": true, "storage": index == 0,
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
        })
    };
    let versions: Vec<_> = versions.iter().enumerate().map(version).collect();
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": { "name": "leaves.example.com" },
        "spec": {
            "group": "example.com", "scope": scope, "versions": versions,
            "names": { "plural": "leaves", "singular": "leaf", "kind": "Leaf" },
        },
    }))
    .unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &definition).await.unwrap();
}

async fn undefine(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.delete("leaves.example.com", &DeleteParams::default()).await.unwrap();
    let gone = || async { definitions.get_opt("leaves.example.com").await.unwrap().is_none() };
    eventually(gone).await;
}

/// A leaf that `owner` owns.
async fn add_leaf(client: &Client, name: &str, owner: &ConfigMap) {
    let leaves: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &leaf("v1"));
    let mut object = DynamicObject::new(name, &leaf("v1"));
    *object.meta_mut() = owned::<ConfigMap, _>(name, owner).metadata;
    leaves.create(&PostParams::default(), &object).await.unwrap();
}

/// A client of this server that counts requests by path.
fn counting(server: ApiServer) -> (Client, Arc<Mutex<BTreeMap<String, usize>>>) {
    let counts = Arc::new(Mutex::new(BTreeMap::new()));
    let counted = Arc::clone(&counts);
    let service = service_fn(move |request: Request<Body>| {
        *counted.lock().unwrap().entry(request.uri().path().to_owned()).or_default() += 1;
        server.clone().oneshot(request)
    });
    (Client::new(service, "default"), counts)
}

/// The reconciles of a controller of ConfigMaps that owns leaves.
fn reconciles(client: &Client, leaves: Related<DynamicObject>) -> BoxStream<'static, String> {
    Controller::new(config_maps(client), watcher::Config::default())
        .owns_related(leaves)
        .run(async |_, _| Ok::<_, Infallible>(Action::await_change()), wait_for_change, Arc::new(()))
        .filter_map(async |item| item.ok().map(|(object, _)| object.name))
        .boxed()
}

/// The reconciles within a time.
async fn within(time: Duration, reconciles: &mut BoxStream<'static, String>) -> usize {
    let mut count = 0;
    let end = Instant::now() + time;
    while tokio::time::timeout_at(end, reconciles.next()).await.is_ok() {
        count += 1;
    }
    count
}

#[tokio::test(start_paused = true)]
async fn related_objects_are_watched_while_their_kind_is_served_any_number_of_times() {
    let (server, _) = server();
    let (client, requests) = counting(server);
    let owner = config_maps(&client).add(named("a")).await;
    let (writer, leaves) =
        (Writer::new(leaf("v1")), Api::namespaced_with(client.clone(), "default", &leaf("v1")));
    let store = writer.as_reader();
    let kinds = ServedKinds::new(client.clone());
    let related =
        Related::api_with(leaves, leaf("v1"), watcher::Config::default()).store(writer).if_served(&kinds);
    let mut reconciles = reconciles(&client, related);
    assert!(timeout(SECOND, reconciles.next()).await.is_ok(), "nothing waits for a kind that may never come");
    assert_eq!((store.is_ready(), store.len()), (true, 0));
    within(15 * SECOND, &mut reconciles).await;
    let leaves_path = "/apis/example.com/v1/namespaces/default/leaves";
    assert_eq!(requests.lock().unwrap().get(leaves_path), None);
    for round in 0..3 {
        let missing = kinds.snapshot();
        assert_eq!((missing[0].name.as_str(), missing[0].state), ("Leaf.example.com", "missing"));
        assert!(missing[0].since >= 5 * SECOND, "{missing:?}");
        define(&client, "Namespaced", &["v1"]).await;
        within(15 * SECOND, &mut reconciles).await;
        assert_eq!(kinds.snapshot()[0].state, "served");
        add_leaf(&client, "leaf", &owner).await;
        assert_eq!(within(SECOND, &mut reconciles).await, 1, "round {round}: the owner of the new leaf");
        assert_eq!(store.len(), 1);
        undefine(&client).await;
        assert!(
            within(15 * SECOND, &mut reconciles).await >= 1,
            "round {round}: the owner of the leaf that is gone"
        );
        assert_eq!((store.is_ready(), store.len()), (true, 0));
        let before = requests.lock().unwrap()[leaves_path];
        within(600 * SECOND, &mut reconciles).await;
        assert_eq!(requests.lock().unwrap()[leaves_path], before, "a kind that is gone is not asked for");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_polled_and_several_sources_share_the_watches() {
    let (server, _) = server();
    let (client, requests) = counting(server);
    let kinds = ServedKinds::new(client.clone());
    let mut waiting: Vec<_> = (0..5).map(|_| kinds.kind_in(leaf("v1"), [], None)).collect();
    for kind in &mut waiting {
        assert!(matches!(kind.next().await, Availability::Missing(_)));
    }
    sleep(30 * SECOND).await;
    let discoveries = |requests: &BTreeMap<String, usize>| requests["/apis"];
    let before = discoveries(&requests.lock().unwrap());
    sleep(3600 * SECOND).await;
    let requests = requests.lock().unwrap();
    assert_eq!(discoveries(&requests), before, "{requests:?}");
    for path in ["apiextensions.k8s.io/v1/customresourcedefinitions", "apiregistration.k8s.io/v1/apiservices"]
    {
        let count = requests[&format!("/apis/{path}")];
        assert!(
            (12..20).contains(&count),
            "{path}: {count} requests in an hour, each a watch that had ended"
        );
    }
    assert_eq!(kinds.snapshot().len(), 1);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn capture() -> (Self, tracing::dispatcher::DefaultGuard) {
        let log = Self::default();
        let written = log.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || written.clone()).finish();
        (log, set_subscriber(subscriber))
    }

    fn lines(&self, text: &str) -> Vec<String> {
        let log = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_permission_one_line_says_which_and_the_server_is_asked_every_minute() {
    let (log, _guard) = Log::capture();
    let (server, client) = server();
    let forbidden =
        server.fault(Match::kind::<CustomResourceDefinition>().verb("list"), Fault::status(403, "Forbidden"));
    let kinds = ServedKinds::new(client.clone());
    let mut kind = kinds.kind_in(leaf("v1"), [], None);
    assert!(matches!(kind.next().await, Availability::Missing(_)));
    sleep(200 * SECOND).await;
    let lines = log.lines("may not watch");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("customresourcedefinitions")
            && lines[0].contains("apiextensions.k8s.io")
            && lines[0].contains("list and watch"),
        "{lines:?}"
    );
    define(&client, "Namespaced", &["v1"]).await;
    assert!(matches!(timeout(61 * SECOND, kind.next()).await, Ok(Availability::Served(_))));
    forbidden.remove();
    sleep(70 * SECOND).await;
    undefine(&client).await;
    assert!(
        matches!(timeout(11 * SECOND, kind.next()).await, Ok(Availability::Missing(_))),
        "the permission was granted: the watch tells"
    );
}

#[tokio::test(start_paused = true)]
async fn a_permission_to_list_only_is_one_line_and_a_question_every_minute() {
    let (log, _guard) = Log::capture();
    let (server, _) = server();
    let refuse = || {
        server.fault(Match::kind::<CustomResourceDefinition>().verb("watch"), Fault::status(403, "Forbidden"))
    };
    let forbidden = refuse();
    let (client, requests) = counting(server.clone());
    let mut kind = ServedKinds::new(client.clone()).kind_in(leaf("v1"), [], None);
    assert!(matches!(kind.next().await, Availability::Missing(_)));
    let discoveries = || requests.lock().unwrap()["/apis"];
    sleep(30 * SECOND).await;
    let before = discoveries();
    sleep(600 * SECOND).await;
    let asked = discoveries() - before;
    assert!((9..=11).contains(&asked), "{asked} times in ten minutes");
    assert_eq!(log.lines("may not watch").len(), 1);
    forbidden.remove();
    sleep(70 * SECOND).await;
    let before = discoveries();
    sleep(600 * SECOND).await;
    assert!(discoveries() - before <= 4, "the watch works, and tells");
    let _again = refuse();
    sleep(700 * SECOND).await;
    assert_eq!(log.lines("may not watch").len(), 2, "when it ended, it was refused again");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_otherwise_for_a_minute_is_no_reason_to_ask_nothing() {
    let (log, _guard) = Log::capture();
    let (server, client) = server();
    let _broken = server.fault(Match::kind::<CustomResourceDefinition>(), Fault::status(502, "BadGateway"));
    let mut kind = ServedKinds::new(client.clone()).kind_in(leaf("v1"), [], None);
    assert!(matches!(kind.next().await, Availability::Missing(_)));
    sleep(200 * SECOND).await;
    assert_eq!(log.lines("has failed for a minute").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_definition_of_another_scope_or_version_is_an_error_of_that_source_alone() {
    let (log, _guard) = Log::capture();
    let (_server, client) = server();
    let owner = config_maps(&client).add(named("a")).await;
    define(&client, "Namespaced", &["v1"]).await;
    let kinds = ServedKinds::new(client.clone());
    let leaves = Api::namespaced_with(client.clone(), "default", &leaf("v1"));
    let related = Related::api_with(leaves, leaf("v1"), watcher::Config::default()).if_served(&kinds);
    let mut reconciles = reconciles(&client, related);
    within(15 * SECOND, &mut reconciles).await;
    add_leaf(&client, "leaf", &owner).await;
    assert_eq!(within(SECOND, &mut reconciles).await, 1);
    for (scope, versions, message) in [
        (
            "Cluster",
            ["v1"],
            "the server serves it cluster-scoped in example.com/v1, this program expects it namespaced",
        ),
        ("Namespaced", ["v2"], "the server serves it in v2 only, this program knows v1"),
    ] {
        undefine(&client).await;
        define(&client, scope, &versions).await;
        within(15 * SECOND, &mut reconciles).await;
        assert_eq!(kinds.snapshot()[0].message.as_deref(), Some(message));
        config_maps(&client).touch("a", scope).await;
        assert_eq!(within(SECOND, &mut reconciles).await, 1, "the rest works");
    }
    let errors = log.lines("ERROR");
    assert!(
        errors.len() == 2 && errors[0].contains("cluster-scoped") && errors[1].contains("in v2 only"),
        "{errors:?}"
    );
    undefine(&client).await;
    define(&client, "Namespaced", &["v1"]).await;
    within(15 * SECOND, &mut reconciles).await;
    add_leaf(&client, "leaf", &owner).await;
    assert_eq!(within(SECOND, &mut reconciles).await, 1, "the right one is back");
}

#[tokio::test(start_paused = true)]
async fn the_newest_version_that_both_know_is_used_and_another_one_when_it_is_no_longer_served() {
    let (_server, client) = server();
    let kinds = ServedKinds::new(client.clone());
    let mut kind = kinds.kind_in(leaf("v1beta1"), [leaf("v1")], None);
    assert!(matches!(kind.next().await, Availability::Missing(_)));
    define(&client, "Namespaced", &["v1beta1", "v2"]).await;
    assert_eq!(kind.next().await, Availability::Served(leaf("v1beta1")));
    undefine(&client).await;
    define(&client, "Namespaced", &["v1", "v1beta1"]).await;
    assert_eq!(kind.next().await, Availability::Served(leaf("v1")));
    let mut anew = kind.clone();
    assert_eq!(anew.next().await, Availability::Served(leaf("v1")), "a clone begins anew");
}

#[tokio::test(start_paused = true)]
async fn a_write_of_a_kind_whose_store_is_closed_is_not_waited_for() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    define(&client, "Namespaced", &["v2"]).await; // the program watches v1, and writes v2
    let (writer, kinds) = (Writer::new(leaf("v1")), ServedKinds::new(client.clone()));
    let api = |version| Api::<DynamicObject>::namespaced_with(client.clone(), "default", &leaf(version));
    let related = Related::api_with(api("v1"), leaf("v1"), watcher::Config::default());
    let (count, leaves) = (Arc::new(Mutex::new(0)), api("v2"));
    let reconcile = {
        let count = Arc::clone(&count);
        move |_: Arc<ConfigMap>, _: Arc<()>| {
            let (count, leaves) = (Arc::clone(&count), leaves.clone());
            Box::pin(async move {
                let number = {
                    let mut count = count.lock().unwrap();
                    *count += 1;
                    *count
                };
                let object = DynamicObject::new(&format!("leaf-{number}"), &leaf("v2"));
                leaves.create(&PostParams::default(), &object).await?;
                Ok::<_, kube_client::Error>(Action::requeue(SECOND))
            })
        }
    };
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .owns_related(related.store(writer).if_served(&kinds))
        .with_config(kube_runtime::Config::default().wait_for_own_writes(true))
        .run(reconcile, wait_for_change, Arc::new(()));
    let mut output = output.boxed();
    let end = Instant::now() + 30 * SECOND;
    while tokio::time::timeout_at(end, output.next()).await.is_ok() {}
    let count = *count.lock().unwrap();
    assert!(count >= 28, "none waits: {count}");
}

#[tokio::test(start_paused = true)]
async fn discovery_that_fails_changes_nothing_and_the_controller_starts_without_it() {
    let (server, client) = server();
    config_maps(&client).add(named("a")).await;
    let fault = server.fault(Match::path("/apis").verb("get"), Fault::status(503, "ServiceUnavailable"));
    let kinds = ServedKinds::new(client.clone());
    let related = Related::api_with(
        Api::namespaced_with(client.clone(), "default", &leaf("v1")),
        leaf("v1"),
        watcher::Config::default(),
    );
    let mut reconciles = reconciles(&client, related.if_served(&kinds));
    assert!(timeout(10 * SECOND, reconciles.next()).await.is_ok());
    fault.remove();
    define(&client, "Namespaced", &["v1"]).await;
    // It is retried after at most 30 s.
    within(60 * SECOND, &mut reconciles).await;
    assert_eq!(kinds.snapshot()[0].state, "served");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_missing_is_one_line_and_no_warning() {
    let (log, _guard) = Log::capture();
    let (_server, client) = server();
    let mut kind = ServedKinds::new(client.clone()).kind_in(leaf("v1"), [], None);
    assert!(matches!(kind.next().await, Availability::Missing(_)));
    sleep(600 * SECOND).await;
    let missing = log.lines("is not served: ");
    assert!(missing.len() == 1 && missing[0].contains("INFO"), "{missing:?}");
    for round in 1..3 {
        define(&client, "Namespaced", &["v1"]).await;
        assert!(matches!(kind.next().await, Availability::Served(_)));
        assert_eq!(log.lines("WARN").len(), round - 1);
        undefine(&client).await;
        assert!(matches!(kind.next().await, Availability::Missing(_)));
        sleep(600 * SECOND).await;
        assert_eq!(log.lines("WARN").len(), round, "its objects are gone");
    }
    assert!(log.lines("WARN").iter().all(|line| line.contains("not served any more")));
    assert_eq!((log.lines("is not served: ").len(), log.lines("ERROR").len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn discovery_that_fails_for_long_is_one_line() {
    let (log, _guard) = Log::capture();
    let (server, client) = server();
    let broken = || server.fault(Match::path("/apis").verb("get"), Fault::status(503, "ServiceUnavailable"));
    let fault = broken();
    let mut kind = ServedKinds::new(client.clone()).kind_in(leaf("v1"), [], None);
    assert!(timeout(600 * SECOND, kind.next()).await.is_err());
    assert_eq!(log.lines("discovery failed").len(), 1);
    fault.remove();
    assert!(matches!(kind.next().await, Availability::Missing(_)));
    assert_eq!(log.lines("discovery works again").len(), 1);
    let _again = broken();
    define(&client, "Namespaced", &["v1"]).await;
    sleep(600 * SECOND).await;
    assert_eq!(log.lines("discovery failed").len(), 2);
}

/// A client of this server, of whose group `example.com` an aggregated API is the server while `away` is false.
fn aggregated(server: ApiServer, away: &Arc<AtomicBool>) -> Client {
    let away = Arc::clone(away);
    let service = service_fn(move |request: Request<Body>| {
        let (server, away) = (server.clone(), away.load(Relaxed));
        async move {
            let path = request.uri().path().to_owned();
            let response = server.oneshot(request).await?;
            if !away || (path != "/apis" && !path.starts_with("/apis/example.com/")) {
                return Ok::<_, io::Error>(response.map(Either::Left));
            }
            if path != "/apis" {
                let text = Full::from("the server of the API is away");
                return Ok(http::Response::builder().status(503).body(Either::Right(text)).unwrap());
            }
            let (head, body) = response.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let mut groups: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let groups_of = groups["items"].as_array_mut().unwrap();
            groups_of.iter_mut().filter(|it| it["metadata"]["name"] == "example.com").for_each(|group| {
                group["versions"] = json!([{ "version": "v1", "freshness": "Stale" }]);
            });
            Ok(http::Response::from_parts(head, Either::Right(Full::from(groups.to_string()))))
        }
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn an_aggregated_api_that_is_away_is_not_gone() {
    let (log, _guard) = Log::capture();
    let (server, client) = server();
    let owner = config_maps(&client).add(named("a")).await;
    define(&client, "Namespaced", &["v1"]).await;
    add_leaf(&client, "leaf", &owner).await;
    let away = Arc::new(AtomicBool::new(false));
    let program = aggregated(server, &away);
    let kinds = ServedKinds::new(program.clone());
    let leaves = Api::namespaced_with(program.clone(), "default", &leaf("v1"));
    let writer = Writer::new(leaf("v1"));
    let store = writer.as_reader();
    let related = Related::api_with(leaves, leaf("v1"), watcher::Config::default()).store(writer);
    let mut reconciles = reconciles(&program, related.if_served(&kinds));
    within(15 * SECOND, &mut reconciles).await;
    assert_eq!((kinds.snapshot()[0].state, store.len()), ("served", 1));
    away.store(true, Relaxed);
    // A definition of the group changes, so that the server is asked.
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let change = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    definitions.patch("leaves.example.com", &PatchParams::default(), &change).await.unwrap();
    within(600 * SECOND, &mut reconciles).await;
    assert_eq!((kinds.snapshot()[0].state, store.len()), ("served", 1));
    assert_eq!(log.lines("cannot be fetched").len(), 1, "although it is asked every 30 s");
    let late = ServedKinds::new(program.clone());
    let mut kind = late.kind_in(leaf("v1"), [], None);
    assert!(matches!(kind.next().await, Availability::Unknown(why) if why.contains("cannot say now")));
    away.store(false, Relaxed);
    assert!(matches!(timeout(31 * SECOND, kind.next()).await, Ok(Availability::Served(_))));
    within(60 * SECOND, &mut reconciles).await;
    add_leaf(&client, "other", &owner).await;
    assert_eq!(within(SECOND, &mut reconciles).await, 1, "its watch goes on");
    assert_eq!(log.lines("not served any more"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_api_that_is_away_at_the_start_is_not_an_empty_list() {
    let (server, client) = server();
    let owner = config_maps(&client).add(named("a")).await;
    define(&client, "Namespaced", &["v1"]).await;
    add_leaf(&client, "leaf", &owner).await;
    let away = Arc::new(AtomicBool::new(true));
    let program = aggregated(server, &away);
    let leaves = Api::namespaced_with(program.clone(), "default", &leaf("v1"));
    let writer = Writer::new(leaf("v1"));
    let store = writer.as_reader();
    let related = Related::api_with(leaves, leaf("v1"), watcher::Config::default()).store(writer);
    let mut reconciles = reconciles(&program, related.if_served(&ServedKinds::new(program.clone())));
    assert_eq!(within(60 * SECOND, &mut reconciles).await, 1, "it does not wait for ever");
    assert!(!store.is_ready(), "the leaf exists, and nothing says that it does not");
    away.store(false, Relaxed);
    assert!(within(60 * SECOND, &mut reconciles).await >= 1);
    assert_eq!((store.is_ready(), store.len()), (true, 1));
}

/// An optional API whose server is away delays nothing, and ends nothing.
#[tokio::test(start_paused = true)]
async fn an_api_that_is_away_at_the_start_is_not_waited_for() {
    let (log, _guard) = Log::capture();
    let (server, client) = server();
    config_maps(&client).add(named("a")).await;
    define(&client, "Namespaced", &["v1"]).await;
    let program = aggregated(server, &Arc::new(AtomicBool::new(true)));
    for ends in [false, true] {
        let leaves: Api<DynamicObject> = Api::namespaced_with(program.clone(), "default", &leaf("v1"));
        let writer = Writer::new(leaf("v1"));
        let store = writer.as_reader();
        let related = Related::api_with(leaves, leaf("v1"), watcher::Config::default()).store(writer);
        let config = kube_runtime::Config::default();
        let config = if ends { config.fail_without_initial_sync() } else { config };
        let mut items = Controller::new(config_maps(&client), watcher::Config::default())
            .owns_related(related.if_served(&ServedKinds::new(program.clone())))
            .with_config(config)
            .run(async |_, _| Ok::<_, Infallible>(Action::await_change()), wait_for_change, Arc::new(()))
            .boxed();
        assert!(matches!(timeout(SECOND, items.next()).await, Ok(Some(Ok(_)))), "ends: {ends}");
        let more = timeout(600 * SECOND, items.next()).await;
        assert!(more.is_err(), "it goes on: {more:?}");
        assert!(!store.is_ready(), "nothing says that there are no leaves");
    }
    assert_eq!(log.lines("initial sync"), [""; 0]);
}

/// A group in which the program finds nothing certain at first, and then that the kind is missing.
#[tokio::test(start_paused = true)]
async fn when_the_server_can_say_that_a_kind_is_missing_all_objects_are_reconciled() {
    let (server, client) = server();
    config_maps(&client).add(named("a")).await;
    define(&client, "Namespaced", &["v2"]).await;
    let away = Arc::new(AtomicBool::new(true));
    let program = aggregated(server, &away);
    let leaves = Api::namespaced_with(program.clone(), "default", &leaf("v1"));
    let related = Related::api_with(leaves, leaf("v1"), watcher::Config::default());
    let mut reconciles = reconciles(&program, related.if_served(&ServedKinds::new(program.clone())));
    assert_eq!(within(60 * SECOND, &mut reconciles).await, 1);
    undefine(&client).await;
    away.store(false, Relaxed);
    assert_eq!(within(60 * SECOND, &mut reconciles).await, 1, "what was left alone may be left out");
}

#[tokio::test(start_paused = true)]
async fn a_mismatch_is_one_error_although_its_group_comes_and_goes() {
    let (log, _guard) = Log::capture();
    let (server, client) = server();
    define(&client, "Namespaced", &["v2"]).await;
    let away = Arc::new(AtomicBool::new(false));
    let program = aggregated(server, &away);
    let kinds = ServedKinds::new(program.clone());
    let mut kind = kinds.kind_in(leaf("v1"), [], None);
    kind.next().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for round in 0..6 {
        away.store(round % 2 == 0, Relaxed);
        let change = Patch::Merge(json!({ "metadata": { "labels": { "round": round.to_string() } } }));
        definitions.patch("leaves.example.com", &PatchParams::default(), &change).await.unwrap();
        sleep(60 * SECOND).await;
    }
    assert_eq!(
        kinds.snapshot()[0].message.as_deref(),
        Some("the server serves it in v2 only, this program knows v1")
    );
    assert_eq!(log.lines("cannot be used").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn when_a_kind_comes_or_goes_all_objects_are_reconciled_once_in_the_background() {
    let (_server, client) = server();
    let names: Vec<String> = (0..20).map(|number| format!("map-{number:02}")).collect();
    for name in &names {
        config_maps(&client).add(named::<ConfigMap>(name)).await;
    }
    let leaves: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &leaf("v1"));
    let related = Related::api_with(leaves, leaf("v1"), watcher::Config::default());
    let log = Arc::new(Mutex::new(Vec::new()));
    let reconcile = async |map: Arc<ConfigMap>, log: Arc<Mutex<Vec<String>>>| {
        log.lock().unwrap().push(map.metadata.name.clone().unwrap());
        sleep(SECOND).await;
        Ok::<_, Infallible>(Action::await_change())
    };
    let running = Controller::new(config_maps(&client), watcher::Config::default())
        .owns_related(related.if_served(&ServedKinds::new(client.clone())))
        .with_config(kube_runtime::Config::default().concurrency(1))
        .run(reconcile, wait_for_change, Arc::clone(&log));
    let _running = tokio::spawn(running.for_each(|_| async {}));
    sleep(60 * SECOND).await;
    for comes in [true, false] {
        log.lock().unwrap().clear();
        match comes {
            true => define(&client, "Namespaced", &["v1"]).await,
            false => undefine(&client).await,
        }
        while log.lock().unwrap().len() < 3 {
            sleep(SECOND / 10).await;
        }
        config_maps(&client).touch("map-19", if comes { "a" } else { "b" }).await;
        sleep(100 * SECOND).await;
        let mut order = log.lock().unwrap().clone();
        let changed = order.iter().position(|name| name == "map-19");
        assert!(changed.is_some_and(|at| at <= 4), "a change is before them: {order:?}");
        order.sort();
        assert_eq!(order, names, "comes: {comes}");
    }
}

#[tokio::test(start_paused = true)]
async fn everything_ends_with_the_last_handle() {
    let (server, _) = server();
    let (client, requests) = counting(server);
    let kinds = ServedKinds::new(client.clone());
    let mut kind = kinds.kind::<ConfigMap>();
    assert!(matches!(kind.next().await, Availability::Served(resource) if resource.plural == "configmaps"));
    drop(kinds);
    sleep(30 * SECOND).await;
    drop(kind);
    sleep(SECOND).await;
    let before: usize = requests.lock().unwrap().values().sum();
    sleep(3600 * SECOND).await;
    assert_eq!(requests.lock().unwrap().values().sum::<usize>(), before);
}
