//! The operator against the embedded API server, which calls its webhooks over HTTPS.

#![allow(clippy::unwrap_used)] // a panic fails the test

use http::Request;
use k8s_openapi::{
    api::{apps::v1::Deployment, coordination::v1::Lease, core::v1::ConfigMap},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResourceExt, Error, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    client::Body,
    crds,
    operator::manager::ManagerError,
    runtime::{
        conditions::{is_created, is_deleted},
        leader_election,
        wait::{Condition, await_condition},
    },
};
use kube_testserver::{ApiServer, BuiltInController};
use operator::{
    Addresses, NAME,
    advice::VerticalPodAutoscaler,
    embedded::{autoscaler, expose, is_ready},
    manager,
    page::{v1, v2},
    reconcile::{FINALIZER, INDEX},
    register::register,
};
use serde_json::json;
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::oneshot, task::JoinHandle, time::timeout};
use tower::{ServiceExt, service_fn};

/// A server that runs pods and knows the operator.
async fn server() -> (ApiServer, Client) {
    let server = ApiServer::builder().with(BuiltInController::Workloads).with(BuiltInController::Kubelet);
    let server = server.service().unwrap();
    let client = Client::new(server.clone(), "default");
    register(&client).await.unwrap();
    (server, client)
}

async fn cluster() -> Client {
    server().await.1
}

struct Replica {
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), ManagerError>>,
    webhooks: SocketAddr,
}

impl Replica {
    /// The server calls its webhooks.
    async fn start(client: &Client, identity: &str) -> Self {
        let replica = Self::start_unexposed(client, identity).await;
        expose(client, &[replica.webhooks]).await.unwrap();
        replica
    }

    /// With short times, as a test should not wait for a Lease of 15 s.
    async fn start_unexposed(client: &Client, identity: &str) -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let addresses = Addresses { metrics: any, webhooks: any };
        let lease = leader_election::Config::new(NAME, "default")
            .identity(identity)
            .lease_duration(Duration::from_secs(5))
            .renew_deadline(Duration::from_secs(3))
            .retry_period(Duration::from_millis(100));
        let manager = manager(client.clone(), addresses).leader_election_with(lease);
        let handle = manager.handle();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(manager.run_until(async { drop(stopped.await) }));
        let webhooks = timeout(Duration::from_secs(20), handle.webhook_address()).await;
        let webhooks = webhooks.expect("the webhooks are not served").expect("the manager has ended");
        Self { stop, running, webhooks }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.running.await.unwrap().unwrap();
    }
}

fn page(name: &str, replicas: i32) -> v2::Page {
    let paragraphs = vec!["One.".into(), "a < b".into()];
    v2::Page::new(name, v2::PageSpec { title: format!("The page {name}"), paragraphs, replicas })
}

/// Creates an object as soon as the webhooks can be called.
async fn create<P>(pages: &Api<P>, page: &P) -> P
where
    P: kube::Resource + Clone + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let creating = async {
        loop {
            match pages.create(&PostParams::default(), page).await {
                Err(Error::Api(status))
                    if status.code == 500 && status.message.contains("failed calling webhook") =>
                {
                    tokio::task::yield_now().await;
                }
                created => return created.unwrap(),
            }
        }
    };
    timeout(Duration::from_secs(20), creating).await.expect("the webhooks are not served")
}

async fn wait<K>(api: &Api<K>, name: &str, state: impl Condition<K>) -> Option<K>
where
    K: Clone + kube::Resource + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let waiting = timeout(Duration::from_secs(20), await_condition(api.clone(), name, state));
    waiting.await.unwrap_or_else(|_| panic!("{name} did not reach the state")).unwrap()
}

fn denied<K: std::fmt::Debug>(result: Result<K, Error>) -> String {
    match result {
        Err(Error::Api(status)) if status.code == 422 => status.message.clone(),
        other => panic!("expected a denial, found {other:?}"),
    }
}

#[tokio::test]
async fn a_page_gets_its_children_and_is_ready() {
    let client = cluster().await;
    let replica = Replica::start(&client, "a").await;
    let pages: Api<v2::Page> = Api::default_namespaced(client.clone());
    create(&pages, &page("home", 2)).await;
    let home = wait(&pages, "home", is_ready).await.unwrap();
    assert_eq!(home.finalizers(), [FINALIZER]);
    let conditions = home.status.clone().unwrap().conditions;
    let lines: Vec<_> =
        conditions.iter().map(|it| format!("{} {} {}", it.type_, it.status, it.message)).collect();
    assert_eq!(lines, ["Available True 2 of 2 replicas are available", "Ready True Available"]);

    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let map = maps.get("home-page").await.unwrap();
    assert_eq!(map.owner_references()[0].uid, home.uid().unwrap());
    assert_eq!(map.data.unwrap()["index.html"], "<h1>The page home</h1>\n<p>One.</p>\n<p>a &lt; b</p>\n");
    let servers: Api<Deployment> = Api::default_namespaced(client.clone());
    assert_eq!(servers.get("home-page").await.unwrap().spec.replicas, Some(2));

    // A change of the page, and a child that is deleted.
    let change = json!({ "spec": { "replicas": 3 } });
    pages.patch("home", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    maps.delete("home-page", &DeleteParams::default()).await.unwrap();
    wait(&servers, "home-page", |server: Option<&Deployment>| {
        server.is_some_and(|it| it.spec.replicas == Some(3))
    })
    .await;
    wait(&maps, "home-page", |map: Option<&ConfigMap>| map.is_some()).await;
    let home = wait(&pages, "home", is_ready).await.unwrap();
    assert_eq!(home.status.unwrap().observed_generation, Some(2));
    replica.stop().await;
}

/// Changes the page, and returns when the operator has done so.
async fn scale(pages: &Api<v2::Page>, name: &str, replicas: i32) {
    let change = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    pages.patch(name, &PatchParams::default(), &change).await.unwrap();
    wait(pages, name, is_ready).await;
}

#[tokio::test]
async fn a_page_has_a_recommendation_while_the_cluster_has_the_kind() {
    let client = cluster().await;
    let replica = Replica::start(&client, "a").await;
    let pages: Api<v2::Page> = Api::default_namespaced(client.clone());
    let advice: Api<VerticalPodAutoscaler> = Api::default_namespaced(client.clone());
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    create(&pages, &page("home", 1)).await;
    let home = wait(&pages, "home", is_ready).await.unwrap();
    assert_eq!(home.annotations()["page-operator/children"], "ConfigMap/default,Deployment.apps/default");

    for replicas in [2, 3] {
        crds::install(&client, "test", [autoscaler()]).await.unwrap();
        let first = wait(&advice, "home-page", is_created()).await.unwrap();
        assert_eq!(first.spec.target_ref.name, "home-page");
        assert_eq!(first.spec.update_policy["updateMode"], "Off");
        assert_eq!(first.owner_references()[0].uid, home.uid().unwrap());
        // Its watch works: one that is deleted is made again.
        advice.delete("home-page", &DeleteParams::default()).await.unwrap();
        wait(&advice, "home-page", is_deleted(&first.uid().unwrap())).await;
        wait(&advice, "home-page", is_created()).await;

        let name = VerticalPodAutoscaler::crd_name();
        let definition = definitions.get(name).await.unwrap();
        definitions.delete(name, &DeleteParams::default()).await.unwrap();
        wait(&definitions, name, is_deleted(&definition.uid().unwrap())).await;
        scale(&pages, "home", replicas).await;
    }
    replica.stop().await;
}

#[tokio::test]
async fn a_start_without_discovery_keeps_the_recommendation() {
    let (server, client) = server().await;
    crds::install(&client, "test", [autoscaler()]).await.unwrap();
    let replica = Replica::start(&client, "a").await;
    let pages: Api<v2::Page> = Api::default_namespaced(client.clone());
    let advice: Api<VerticalPodAutoscaler> = Api::default_namespaced(client.clone());
    create(&pages, &page("home", 1)).await;
    let uid = wait(&advice, "home-page", is_created()).await.unwrap().uid();
    replica.stop().await;

    let (failures, works) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (failed, discovers) = (Arc::clone(&failures), Arc::clone(&works));
    let service = service_fn(move |request: Request<Body>| {
        let (server, fails) = (server.clone(), request.uri().path() == "/apis" && !discovers.load(Relaxed));
        failed.fetch_add(fails.into(), Relaxed);
        async move {
            match fails {
                true => Err(io::Error::other("no discovery")),
                false => Ok(server.oneshot(request).await?),
            }
        }
    });
    let replica = Replica::start(&Client::new(service, "default"), "b").await;
    for (replicas, discovers) in [(2, false), (3, true)] {
        works.store(discovers, Relaxed);
        scale(&pages, "home", replicas).await;
        assert!(failures.load(Relaxed) > 0);
        assert_eq!(advice.get("home-page").await.unwrap().uid(), uid);
    }
    replica.stop().await;
}

#[tokio::test]
async fn a_deleted_page_leaves_the_index_and_no_children() {
    let client = cluster().await;
    let replica = Replica::start(&client, "a").await;
    let pages: Api<v2::Page> = Api::default_namespaced(client.clone());
    let (home, other) = (create(&pages, &page("home", 1)).await, create(&pages, &page("other", 1)).await);
    for page in [&home, &other] {
        wait(&pages, &page.name_any(), is_ready).await;
    }
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    assert_eq!(maps.get(INDEX).await.unwrap().data.unwrap().len(), 2);
    pages.delete("home", &DeleteParams::default()).await.unwrap();
    wait(&pages, "home", is_deleted(&home.uid().unwrap())).await;
    let index = maps.get(INDEX).await.unwrap().data.unwrap();
    assert_eq!(index.into_iter().collect::<Vec<_>>(), [("other".to_owned(), "The page other".to_owned())]);
    assert!(maps.get_opt("home-page").await.unwrap().is_none());
    replica.stop().await;
}

/// As a write of a process that has died does, if it comes late.
#[tokio::test]
async fn a_line_of_the_index_that_somebody_else_writes_is_written_again() {
    let client = cluster().await;
    let replica = Replica::start(&client, "a").await;
    let pages: Api<v2::Page> = Api::default_namespaced(client.clone());
    create(&pages, &page("home", 1)).await;
    wait(&pages, "home", is_ready).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let stale = Patch::Merge(json!({ "data": { "home": "an old title" } }));
    maps.patch(INDEX, &PatchParams::default(), &stale).await.unwrap();
    let has_line = |map: Option<&ConfigMap>| {
        let data = map.and_then(|map| map.data.as_ref());
        data.is_some_and(|data| data["home"] == "The page home")
    };
    wait(&maps, INDEX, has_line).await;
    replica.stop().await;
}

#[tokio::test]
async fn an_invalid_page_is_denied_in_both_versions_and_v1_is_readable_as_v2() {
    let client = cluster().await;
    let replica = Replica::start(&client, "a").await;
    let (old, new) =
        (Api::<v1::Page>::default_namespaced(client.clone()), Api::<v2::Page>::default_namespaced(client));
    let spec = v1::PageSpec { title: "Old".into(), text: "One.\n\nTwo.".into(), replicas: 1 };
    let created = create(&old, &v1::Page::new("old", spec.clone())).await;
    assert_eq!(created.spec, spec);
    assert_eq!(new.get("old").await.unwrap().spec.paragraphs, ["One.", "Two."]);
    wait(&new, "old", is_ready).await;
    assert!(old.get("old").await.unwrap().status.is_some(), "the status is in both versions");

    let params = PostParams::default();
    let mut invalid = page("invalid", 11);
    invalid.spec.paragraphs = vec![String::new()];
    let problems = "spec.paragraphs[0]: must not be empty or contain an empty line; spec.replicas: must be between 0 and 10, but is 11";
    assert!(denied(new.create(&params, &invalid).await).ends_with(problems));
    let invalid = v1::Page::new("invalid", v1::PageSpec { title: "two\nlines".into(), ..spec });
    assert!(denied(old.create(&params, &invalid).await).ends_with("spec.title: must be one line of text"));
    let change = json!({ "spec": { "title": " " } });
    let change = new.patch("old", &PatchParams::default(), &Patch::Merge(change)).await;
    assert!(denied(change).ends_with("spec.title: must be one line of text"));
    replica.stop().await;
}

#[tokio::test]
async fn when_the_leader_of_two_replicas_stops_the_other_takes_over() {
    let client = cluster().await;
    let leases: Api<Lease> = Api::default_namespaced(client.clone());
    let led_by = |identity: &'static str| {
        move |lease: Option<&Lease>| {
            lease.and_then(|it| it.spec.as_ref()?.holder_identity.as_deref()) == Some(identity)
        }
    };
    let first = Replica::start(&client, "a").await;
    wait(&leases, NAME, led_by("a")).await;
    let second = Replica::start_unexposed(&client, "b").await;
    let pages: Api<v2::Page> = Api::default_namespaced(client.clone());
    create(&pages, &page("before", 1)).await;
    wait(&pages, "before", is_ready).await;

    expose(&client, &[second.webhooks]).await.unwrap();
    first.stop().await;
    wait(&leases, NAME, led_by("b")).await;
    create(&pages, &page("after", 1)).await;
    wait(&pages, "after", is_ready).await;
    second.stop().await;
}

#[test]
fn conversions_are_inverse_for_valid_pages() {
    for text in ["", "One.", "One.\n\nTwo.", "One\nline.\n"] {
        let spec = v1::PageSpec { title: "A".into(), text: text.into(), replicas: 1 };
        let page = v1::Page::new("a", spec);
        assert_eq!(v1::Page::from(v2::Page::from(page.clone())), page);
    }
    for paragraphs in [vec![], vec!["One."], vec!["One.", "Two."]] {
        let paragraphs = paragraphs.into_iter().map(Into::into).collect();
        let page = v2::Page::new("a", v2::PageSpec { title: "A".into(), paragraphs, replicas: 1 });
        assert_eq!(v2::Page::from(v1::Page::from(page.clone())), page);
    }
}
