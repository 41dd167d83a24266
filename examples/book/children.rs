//! The children of an object as one set.

use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube_testserver::TestServer;

// ANCHOR: watch
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap, core::v1::Service};
use kube::operator::children::{ChildSet, Children, ChildrenError, ChildrenStatus};
use kube::prelude::*;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Sparse, apply};

const CHILDREN: ChildSet = ChildSet::new("site-operator", env!("CARGO_PKG_VERSION"));

fn controller(client: Client) -> Controller<ConfigMap> {
    Controller::new(Api::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client.clone()), CHILDREN.watch())
        .owns(Api::<Service>::all(client), CHILDREN.watch())
}
// ANCHOR_END: watch

// ANCHOR: reconcile
/// What a site wants: the same for a reconcile and for the clean-up.
fn children(site: &ConfigMap) -> Children {
    let setting = |key: &str| site.data.as_ref()?.get(key).map(String::as_str);
    let mut children = Children::of(CHILDREN, site).paused(setting("paused") == Some("true"));
    children.add("database", &workload(site, "database", 1));
    children.add("web", &workload(site, "web", 2)).after("database");
    if setting("public") == Some("true") {
        children.add("service", &service(site)).after("web");
    }
    children
}

async fn reconcile(site: &ConfigMap, client: &Client) -> Result<ChildrenStatus, ChildrenError> {
    let status = children(site).apply(client).await?;
    // For the status of the object: `status.is_ready()`, `status.reason()`, `status.to_string()`.
    if let Some(web) = status.object::<Deployment>("web")? {
        println!("{} replicas of web", web.status.and_then(|it| it.available_replicas).unwrap_or(0));
    }
    Ok(status) // a reconciler returns `status.action()`
}
// ANCHOR_END: reconcile

fn workload(site: &ConfigMap, name: &str, replicas: i32) -> Sparse<Deployment> {
    let labels = &[("app".to_owned(), format!("{}-{name}", site.name_any()))];
    apply!(Deployment {
        metadata: { name: format!("{}-{name}", site.name_any()) },
        spec: {
            replicas,
            selector: { match_labels: { for (key, value) in labels { (key): value } } },
            template: {
                metadata: { labels: { for (key, value) in labels { (key): value } } },
                spec: { containers: [{ name: "main", image: "nginx" }] },
            },
        },
    })
}

fn service(site: &ConfigMap) -> Sparse<Service> {
    apply!(Service { metadata: { name: site.name_any() }, spec: { ports: [{ port: 80 }] } })
}

#[tokio::test]
async fn children_follow_the_settings_of_their_owner() {
    let client = Client::new(TestServer::service(), "default");
    assert!(Api::<Namespace>::all(client.clone()).get_opt("default").await.unwrap().is_some());
    let site = r#"{"metadata":{"name":"shop"},"data":{"public":"true"}}"#;
    let site: ConfigMap = serde_json::from_str(site).unwrap();
    let site = Api::default_namespaced(client.clone()).create(&PostParams::default(), &site).await.unwrap();
    let status = reconcile(&site, &client).await.unwrap();
    assert!(!status.is_ready());
    let message = status.to_string();
    assert!(
        message.starts_with("database (Deployment shop-database in namespace default) is not ready: "),
        "{message}"
    );
    assert!(message.ends_with("web waits for database; service waits for web"), "{message}");
    drop(controller(client));
}
