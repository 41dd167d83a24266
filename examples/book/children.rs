//! The children of an object as one set.

use kube::CustomResourceExt;
use kube::api::PostParams;
use kube_testserver::TestServer;
use std::sync::Mutex;

// ANCHOR: watch
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use kube::operator::children::{ChildSet, Children, ChildrenError};
use kube::operator::manager::{Manager, Writes};
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, CustomResource, ResourceExt, Sparse, apply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{error::Error, sync::Arc};

const CHILDREN: ChildSet = ChildSet::new("site-operator", env!("CARGO_PKG_VERSION"));

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Site", namespaced)]
#[serde(default)]
struct SiteSpec {
    paused: bool,
    public: bool,
}

fn manager(client: Client) -> Manager {
    let sites: Api<Site> = Api::all(client.clone());
    let (deployments, services) =
        (Api::<Deployment>::all(client.clone()), Api::<Service>::all(client.clone()));
    let controller = Controller::new(sites.clone(), watcher::Config::default())
        .owns(deployments.clone(), CHILDREN.watch())
        .owns(services.clone(), CHILDREN.watch());
    Manager::new(client.clone())
        .writes(&sites, Writes::ChildrenRecord)
        .writes(&sites, Writes::OwnerReferences)
        .writes(&deployments, Writes::Children)
        .writes(&services, Writes::Children)
        .controller("sites", controller, reconcile, Arc::new(client))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    Ok(manager(Client::try_default().await?).run_until_signal().await?)
}
// ANCHOR_END: watch

// ANCHOR: reconcile
/// What a site wants: the same for a reconcile and for the clean-up.
fn children(site: &Site) -> Children {
    let mut children = Children::of(CHILDREN, site).paused(site.spec.paused);
    children.add("database", &workload(site, "database", 1));
    children.add("web", &workload(site, "web", 2)).after("database");
    if site.spec.public {
        children.add("service", &service(site)).after("web");
    }
    children
}

async fn reconcile(site: Arc<Site>, client: Arc<Client>) -> Result<Action, ChildrenError> {
    let status = children(&site).apply(&client).await?;
    // For the status of the object: `status.is_ready()`, `status.reason()`, `status.to_string()`.
    println!("{}: {status}", site.name_any());
    if let Some(web) = status.object::<Deployment>("web")? {
        println!("{} replicas of web", web.status.and_then(|it| it.available_replicas).unwrap_or(0));
    }
    Ok(status.action())
}

fn workload(site: &Site, name: &str, replicas: i32) -> Sparse<Deployment> {
    let app = &format!("{}-{name}", site.name_any());
    apply!(Deployment {
        metadata: { name: app },
        spec: {
            replicas,
            selector: { match_labels: { "app": app } },
            template: {
                metadata: { labels: { "app": app } },
                spec: { containers: [{ name: "main", image: "nginx" }] },
            },
        },
    })
}

fn service(site: &Site) -> Sparse<Service> {
    let (name, app) = (&site.name_any(), &format!("{}-web", site.name_any()));
    apply!(Service { metadata: { name }, spec: { selector: { "app": app }, ports: [{ port: 80 }] } })
}
// ANCHOR_END: reconcile

#[tokio::test]
async fn children_follow_the_settings_of_their_owner() {
    let server = TestServer::builder().with_crds([Site::crd()]).service().unwrap();
    let client = Client::new(server, "default");
    let site = Site::new("shop", SiteSpec { public: true, paused: false });
    let site = Api::default_namespaced(client.clone()).create(&PostParams::default(), &site).await.unwrap();
    let status = children(&site).apply(&client).await.unwrap();
    let message = status.to_string();
    assert!(
        message.starts_with("database (Deployment shop-database in namespace default) is not ready: "),
        "{message}"
    );
    assert!(message.ends_with("web waits for database; service waits for web"), "{message}");
}

#[tokio::test]
async fn the_program_of_the_page_sees_its_children_and_no_others() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    let server = TestServer::builder()
        .with_crds([Site::crd()])
        .on_response(move |request| seen.lock().unwrap().push(request.uri.to_string()))
        .service()
        .unwrap();
    let client = Client::new(server, "default");
    let site = Site::new("shop", SiteSpec::default());
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &site).await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(manager(client.clone()).run_until(async { drop(stopped.await) }));
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    while deployments.get_opt("shop-database").await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    let requests = requests.lock().unwrap();
    for path in ["/apis/apps/v1/deployments?", "/api/v1/services?"] {
        let mut watches = requests.iter().filter(|uri| uri.starts_with(path)).peekable();
        assert!(watches.peek().is_some(), "{requests:?}");
        assert!(watches.all(|uri| uri.contains("labelSelector=site-operator%2Fchild-of")), "{requests:?}");
    }
}
