//! The controller: renders each `Page` into a ConfigMap that the page owns, and cleans up with a finalizer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, ready};
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::reflector::Store;
use kube::runtime::watcher;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tokio::sync::oneshot;

use crate::page::{FIELD_MANAGER, Page, PageStatus};

/// Finalizer names start with a domain, so that those of different controllers differ.
const FINALIZER: &str = "quickstart.example.com/cleanup";

/// Why a reconcile failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write ConfigMap {0}")]
    Write(String, #[source] kube::Error),
    #[error("cannot write the status")]
    Status(#[source] kube::Error),
    #[error(transparent)]
    Finalizer(Box<kube::runtime::finalizer::Error<Error>>),
}

/// State shared by all reconciles.
pub struct Context {
    pub client: Client,
    /// Whether the server has ConfigMaps.
    pub has_config_maps: bool,
    counts: Mutex<Counts>,
}

/// What the controller has done so far.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub reconciles: usize,
    pub cleanups: usize,
    pub errors: usize,
    first_seen: HashMap<String, Instant>,
}

impl Counts {
    /// When the page was reconciled for the first time.
    pub fn first_seen(&self, name: &str) -> Option<Instant> {
        self.first_seen.get(name).copied()
    }
}

impl Context {
    pub fn new(client: Client, has_config_maps: bool) -> Arc<Self> {
        Arc::new(Self { client, has_config_maps, counts: Mutex::default() })
    }

    pub fn counts(&self) -> Counts {
        self.counts.lock().expect("no holder of the counts panics").clone()
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().expect("no holder of the counts panics"));
    }
}

/// Creates the controller for one namespace. Returns its store of pages and the future that runs it. The future ends after `stop`, once the
/// running reconciles have ended.
pub fn start(
    context: Arc<Context>,
    namespace: &str,
    stop: oneshot::Receiver<()>,
) -> (Store<Page>, BoxFuture<'static, ()>) {
    let pages: Api<Page> = Api::namespaced(context.client.clone(), namespace);
    let mut controller =
        Controller::new(pages, watcher::Config::default()).graceful_shutdown_on(stop.map(drop));
    if context.has_config_maps {
        let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
        controller = controller.owns(maps, watcher::Config::default());
    }
    let store = controller.store();
    let results = controller.run(reconcile, on_error, context.clone());
    let running = results.for_each(move |result| {
        match result {
            // Deleting a ConfigMap together with its page triggers a reconcile of the deleted page: nothing is left to do.
            Ok(_) | Err(controller::Error::ObjectNotFound(_)) => {}
            // A server may close the first watch of a new kind with 410 Expired.
            Err(controller::Error::QueueError(error)) => {
                tracing::info!("{:#}; it is retried", anyhow::Error::new(error));
            }
            Err(error) => {
                context.count(|counts| counts.errors += 1);
                tracing::warn!("{:#}", anyhow::Error::new(error));
            }
        }
        ready(())
    });
    (store, running.boxed())
}

async fn reconcile(page: Arc<Page>, context: Arc<Context>) -> Result<Action, Error> {
    context.count(|counts| {
        counts.reconciles += 1;
        counts.first_seen.entry(page.name_any()).or_insert_with(Instant::now);
    });
    let pages: Api<Page> = Api::namespaced(context.client.clone(), &page.namespace().unwrap_or_default());
    finalizer(&pages, FINALIZER, page, |event| async {
        match event {
            Event::Apply(page) => render(&page, &pages, &context).await,
            Event::Cleanup(page) => {
                context.count(|counts| counts.cleanups += 1);
                tracing::info!("{}: cleaned up", page.name_any());
                Ok(Action::await_change())
            }
        }
    })
    .await
    .map_err(|error| Error::Finalizer(Box::new(error)))
}

/// Writes the ConfigMap of the page, then its status.
async fn render(page: &Page, pages: &Api<Page>, context: &Context) -> Result<Action, Error> {
    let params = PatchParams::apply(FIELD_MANAGER).force();
    if context.has_config_maps {
        let map = config_map(page);
        let name = map.name_any();
        let maps: Api<ConfigMap> =
            Api::namespaced(context.client.clone(), &page.namespace().unwrap_or_default());
        maps.patch(&name, &params, &Patch::Apply(&map)).await.map_err(|error| Error::Write(name, error))?;
    }
    let status = PageStatus { rendered: true, observed_generation: page.metadata.generation };
    if page.status.as_ref() != Some(&status) {
        let patch =
            json!({ "apiVersion": Page::api_version(&()), "kind": Page::kind(&()), "status": status });
        pages.patch_status(&page.name_any(), &params, &Patch::Apply(&patch)).await.map_err(Error::Status)?;
    }
    tracing::info!("{}: rendered \"{}\"", page.name_any(), page.spec.title);
    Ok(Action::await_change())
}

/// The ConfigMap of a page. Its owner reference makes the garbage collector delete it together with the page.
fn config_map(page: &Page) -> ConfigMap {
    let html = format!("<h1>{}</h1><p>{}</p>", page.spec.title, page.spec.text);
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(config_map_name(&page.name_any())),
            namespace: page.namespace(),
            owner_references: page.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some([("index.html".to_owned(), html)].into()),
        ..ConfigMap::default()
    }
}

/// The name of the ConfigMap of a page.
pub fn config_map_name(page: &str) -> String {
    format!("{page}-html")
}

fn on_error(_page: Arc<Page>, _error: &Error, _context: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(1))
}
