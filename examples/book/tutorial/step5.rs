//! Step 5 of the tutorial: tests of the controller against an API server inside the test.

#![allow(clippy::unwrap_used, unreachable_pub)] // a panic fails the test; in a program, `pub` marks what its other files use

mod controller;
mod page;

// ANCHOR: all
use crate::controller::{FINALIZER, controller, reconcile};
use crate::page::{Page, PageSpec};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::runtime::conditions::is_deleted;
use kube::runtime::{controller::Action, wait::await_condition};
use kube::{Api, Client, CustomResourceExt, ResourceExt};
use kube_testserver::{ApiServer, FaultResponse, Match, TestServer};
use std::sync::Arc;

/// A server that knows pages, and a client for it. Each test has its own.
fn start() -> (ApiServer, Client) {
    let server = TestServer::builder().with_crds([Page::crd()]).service().unwrap();
    let client = Client::new(server.clone(), "default");
    (server, client)
}

async fn create(client: &Client, name: &str) -> Page {
    let spec = PageSpec { title: format!("The page {name}"), paragraphs: vec![] };
    let pages: Api<Page> = Api::default_namespaced(client.clone());
    pages.create(&PostParams::default(), &Page::new(name, spec)).await.unwrap()
}

fn is_ready(page: Option<&Page>) -> bool {
    let conditions = page.and_then(|page| page.status.as_ref()).map(|status| &status.conditions);
    conditions.is_some_and(|all| all.iter().any(|it| it.type_ == "Ready" && it.status == "True"))
}

#[tokio::test]
async fn a_second_reconcile_writes_nothing() {
    let (_server, client) = start();
    let pages: Api<Page> = Api::default_namespaced(client.clone());
    create(&client, "home").await;
    let again = async || {
        let page = pages.get("home").await.unwrap();
        reconcile(Arc::new(page), Arc::new(client.clone())).await.unwrap();
        pages.get("home").await.unwrap()
    };

    assert_eq!(again().await.finalizers(), [FINALIZER], "the first reconcile adds the finalizer");
    let published = again().await;
    assert!(is_ready(Some(&published)));
    assert_eq!(again().await.resource_version(), published.resource_version());
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_retried_and_a_deletion_cleans_up() {
    let (server, client) = start();
    let failed =
        server.fault(Match::patch::<ConfigMap>().times(1), FaultResponse::status(503, "ServiceUnavailable"));
    let running = controller(&client).run(reconcile, |_, _, _| Action::retry(), Arc::new(client.clone()));
    let running = tokio::spawn(running.for_each(async |_| ()));

    let pages: Api<Page> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let uid = create(&client, "home").await.uid().unwrap();
    await_condition(pages.clone(), "home", is_ready).await.unwrap();
    assert_eq!(failed.hits(), 1);
    assert_eq!(maps.get("index").await.unwrap().data.unwrap()["home"], "The page home");

    pages.delete("home", &Default::default()).await.unwrap();
    await_condition(pages, "home", is_deleted(&uid)).await.unwrap();
    assert_eq!(maps.get("index").await.unwrap().data.unwrap_or_default().get("home"), None);
    assert!(maps.get_opt("home-html").await.unwrap().is_none(), "the ConfigMap is deleted with its owner");
    running.abort();
}
// ANCHOR_END: all
