//! Reconciling a `Page`: its children, its line in the index, its status, and the clean-up.

use crate::{CHILDREN, NAME, advice::VerticalPodAutoscaler, page::v2::Page, telemetry::link_to_cause};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, ApiExt, Client, ResourceExt, Sparse,
    api::PatchParams,
    apply,
    operator::children::{Children, ChildrenError},
    runtime::{
        conditions::{Conditions, InvalidCondition, Summary},
        controller::Action,
        finalizer::{self, Event, finalizer},
        reflector::{ObjectRef, Store},
        served::ServedKinds,
        status::{StatusError, apply_status},
    },
};
use std::{collections::BTreeMap, sync::Arc};

/// Keeps a deleted page until its line has left the index.
pub const FINALIZER: &str = "example.com/page-index";
/// The ConfigMap with the titles of all pages of a namespace. No page owns it, so the garbage collector does not clean up here.
pub const INDEX: &str = "page-index";
const IMAGE: &str = "docker.io/nginxinc/nginx-unprivileged:1.29-alpine";

/// What all reconciles share.
#[derive(Debug)]
pub struct Context {
    /// For all requests.
    pub client: Client,
    /// Whether the cluster has the vertical pod autoscaler.
    pub served: ServedKinds,
}

/// Why a page was not reconciled. The controller retries with backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A child was not written.
    #[error(transparent)]
    Children(#[from] ChildrenError),
    /// The index was not written.
    #[error("cannot write the ConfigMap {INDEX}: {0}")]
    Index(#[source] kube::Error),
    /// A condition breaks the API conventions.
    #[error(transparent)]
    Condition(#[from] InvalidCondition),
    /// The status was not written.
    #[error(transparent)]
    Status(#[from] StatusError),
}

/// Makes the world what the page says. Runs again after each change of the page or of a child, so it only looks at the present state.
pub async fn reconcile(page: Arc<Page>, context: Arc<Context>) -> Result<Action, finalizer::Error<Error>> {
    link_to_cause(&*page);
    let pages: Api<Page> = Api::namespaced(context.client.clone(), &page.namespace().unwrap_or_default());
    finalizer(&pages, FINALIZER, page, |event| async {
        match event {
            Event::Apply(page) => publish(&page, &pages, &context).await,
            Event::Cleanup(page) => {
                write_index(&page, &context.client, None).await?;
                tracing::info!("removed from the index");
                Ok(Action::await_change()) // the children go with their owner
            }
        }
    })
    .await
}

async fn publish(page: &Page, pages: &Api<Page>, context: &Context) -> Result<Action, Error> {
    let Context { client, served } = context;
    write_index(page, client, Some(&page.spec.title)).await?;
    let mut children = Children::of(CHILDREN, page);
    children.add("content", &content(page));
    children.add("server", &server(page)).after("content");
    children.add("advice", &recommendation(page)).if_served(served);
    let children = children.apply(client).await?.into_result()?;
    tracing::info!(%children, "applied");

    let mut status = page.status.clone().unwrap_or_default();
    status.observed_generation = page.metadata.generation;
    let (wanted, available) = (page.spec.replicas, available_replicas(children.object("server")?));
    let mut conditions = Conditions::new(&mut status.conditions, page.metadata.generation);
    let message = format!("{available} of {wanted} replicas are available");
    conditions.set("Available", available >= wanted, "ReplicasCounted", &message)?;
    conditions.summarize("Ready", &Summary::default())?;
    let write = apply_status(pages, NAME, page, &status).await?;
    // Changes of the Deployment trigger the next reconcile; it waits until the cache has this status.
    let action = children.action();
    Ok(write.written().map_or(action.clone(), |page| action.after_write(page)))
}

/// Zero while the status of the Deployment describes an older spec.
fn available_replicas(server: Option<Deployment>) -> i32 {
    let Some(Deployment { metadata, status: Some(status), .. }) = server else { return 0 };
    let is_current = status.observed_generation == metadata.generation;
    status.available_replicas.filter(|_| is_current).unwrap_or(0)
}

/// The text of the page.
fn content(page: &Page) -> Sparse<ConfigMap> {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let paragraphs = page.spec.paragraphs.iter().map(|text| format!("<p>{}</p>\n", escape(text)));
    let html = format!("<h1>{}</h1>\n{}", escape(&page.spec.title), paragraphs.collect::<String>());
    apply!(ConfigMap {
        metadata: { name: child_name(page), labels: labels(page) },
        data: { "index.html": html },
    })
}

/// The pods that serve it.
fn server(page: &Page) -> Sparse<Deployment> {
    let (name, labels) = (&child_name(page), &labels(page));
    apply!(Deployment {
        metadata: { name, labels },
        spec: {
            replicas: page.spec.replicas,
            selector: { match_labels: labels },
            template: {
                metadata: { labels },
                spec: {
                    containers: [{
                        name: "web",
                        image: IMAGE,
                        ports: [{ name: "http", container_port: 8080 }],
                        volume_mounts: [{ name: "content", mount_path: "/usr/share/nginx/html" }],
                    }],
                    volumes: [{ name: "content", config_map: { name } }],
                },
            },
        },
    })
}

/// What these pods should request: it is only recommended.
fn recommendation(page: &Page) -> Sparse<VerticalPodAutoscaler> {
    let name = &child_name(page);
    apply!(VerticalPodAutoscaler {
        metadata: { name, labels: labels(page) },
        spec: {
            target_ref: { api_version: "apps/v1", kind: "Deployment", name },
            update_policy: { "updateMode": "Off" },
        },
    })
}

/// With a suffix, so that no page can have a child with the name of the index.
fn child_name(page: &Page) -> String {
    format!("{}-page", page.name_any())
}

/// The uid, because a name may be too long for a label.
fn labels(page: &Page) -> BTreeMap<String, String> {
    let uid = page.uid().unwrap_or_default();
    [("app.kubernetes.io/managed-by".into(), NAME.into()), ("example.com/page".into(), uid)].into()
}

/// Writes the line of one page into the index, or removes it. With a field manager for each page, none of them touches the others.
async fn write_index(page: &Page, client: &Client, title: Option<&str>) -> Result<(), Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &page.namespace().unwrap_or_default());
    let index = apply!(ConfigMap {
        metadata: { name: INDEX },
        if let Some(title) = title { data: { (page.name_any()): title } }
    });
    let params = PatchParams::apply(&format!("page-{}", page.uid().unwrap_or_default())).force();
    maps.apply(&params, &index).await.map(drop).map_err(Error::Index)
}

/// The pages whose lines in an index are not their titles: somebody has edited it, or a write of a process that has died came late.
pub fn stale_lines(index: &ConfigMap, pages: &Store<Page>) -> Vec<ObjectRef<Page>> {
    let namespace = index.namespace().unwrap_or_default();
    let stale = |(name, line): (&String, &String)| {
        let page = ObjectRef::new(name).within(&namespace);
        pages.get(&page).is_some_and(|page| page.spec.title != *line).then_some(page)
    };
    index.data.iter().flatten().filter_map(stale).collect()
}
