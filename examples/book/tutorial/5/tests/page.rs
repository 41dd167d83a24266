//! The reconciler of `Page` on an API server inside the test.

// ANCHOR: imports
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::PostParams,
    operator::manager::Manager,
    runtime::{conditions::is_deleted, wait::await_condition},
};
use kube_testserver::{ApiServer, FaultResponse, Match, TestServer};
use std::sync::Arc;

use pages::page::{
    self, Page,
    reconcile::{Context, FINALIZER, add_to, reconcile},
};
// ANCHOR_END: imports

/// A server that knows the kind, and a client for it. Each test has its own.
fn start() -> (ApiServer, Client) {
    let definition = page::crd().unwrap();
    let server = TestServer::builder()
        .with_crds([definition])
        .service()
        .unwrap();
    let client = Client::new(server.clone(), "default");
    (server, client)
}

fn objects(client: &Client) -> Api<Page> {
    Api::default_namespaced(client.clone())
}

async fn create_sample(client: &Client) -> Page {
    let sample = page::sample();
    objects(client)
        .create(&PostParams::default(), &sample)
        .await
        .unwrap()
}

fn is_ready(object: Option<&Page>) -> bool {
    let status = object.and_then(|object| object.status.as_ref());
    status.is_some_and(|status| {
        let mut conditions = status.conditions.iter();
        conditions.any(|it| it.type_ == "Ready" && it.status == "True")
    })
}

// ANCHOR: second
#[tokio::test]
async fn a_second_reconcile_writes_nothing() {
    let (_server, client) = start();
    let name = create_sample(&client).await.name_any();
    let context = Arc::new(Context {
        client: client.clone(),
    });
    let again = async || {
        let page = objects(&client).get(&name).await.unwrap();
        reconcile(Arc::new(page), context.clone()).await.unwrap();
        objects(&client).get(&name).await.unwrap()
    };

    // The first reconcile adds the finalizer, which is a change, so there is another one.
    assert_eq!(again().await.finalizers(), [FINALIZER]);
    let published = again().await;
    assert!(is_ready(Some(&published)));
    assert_eq!(
        again().await.resource_version(),
        published.resource_version()
    );
}
// ANCHOR_END: second

// ANCHOR: cleanup
// Paused time jumps to the next timer, so the backoff takes no time.
#[tokio::test(start_paused = true)]
async fn a_failed_write_is_tried_again_and_a_deletion_cleans_up() {
    let (server, client) = start();
    let unavailable = FaultResponse::status(503, "ServiceUnavailable");
    let fault = server.fault(Match::patch::<ConfigMap>().times(1), unavailable);
    let manager = add_to(Manager::new(client.clone()), &client);
    let running = tokio::spawn(manager.run_until(std::future::pending()));

    let page = create_sample(&client).await;
    let name = page.name_any();
    await_condition(objects(&client), &name, is_ready)
        .await
        .unwrap();
    assert_eq!(fault.hits(), 1);
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let index = maps.get("index").await.unwrap();
    assert_eq!(index.data.unwrap()[&name], page.spec.title);

    let deleted = objects(&client).delete(&name, &Default::default()).await;
    deleted.unwrap();
    await_condition(objects(&client), &name, is_deleted(&page.uid().unwrap()))
        .await
        .unwrap();
    let index = maps.get("index").await.unwrap();
    assert!(!index.data.unwrap_or_default().contains_key(&name));
    let map = maps.get_opt(&format!("{name}-page")).await.unwrap();
    assert!(map.is_none(), "the ConfigMap is deleted with its owner");
    running.abort();
}
// ANCHOR_END: cleanup
