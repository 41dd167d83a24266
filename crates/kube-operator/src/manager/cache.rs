//! Caches that several controllers and components share: one watch for each kind and scope.

use super::{components::Component, error::BoxError};
use futures::StreamExt;
use kube_client::{Api, Client};
use kube_core::Resource;
use kube_runtime::{
    WatchStreamExt,
    reflector::{Store, store_shared},
    watcher::{self, watcher},
};
use serde::de::DeserializeOwned;
use std::{any::Any, fmt::Debug, hash::Hash, sync::Arc};

/// The capacity of the queue of a subscriber, at first.
const QUEUE: usize = 64;

/// The component that fills a cache, with its name.
pub(super) type Fill = (Arc<str>, Component);

/// The shared caches.
#[derive(Default)]
pub(super) struct Caches(Vec<Cache>);

/// The store of one type of one collection, of the cluster that one client knows.
struct Cache {
    client: Client,
    collection: String,
    /// A `Store`, whose type tells whether the objects have the type in question.
    store: Box<dyn Any + Send + Sync>,
}

impl Caches {
    /// The store of this collection, and on the first call the component that fills it, with its name.
    pub(super) fn store<K>(&mut self, api: Api<K>, config: watcher::Config) -> (Store<K>, Option<Fill>)
    where
        K: Resource<DynamicType: Default + Eq + Hash + Clone + Send + Sync>
            + Clone
            + DeserializeOwned
            + Debug
            + Send
            + Sync
            + 'static,
    {
        let (client, collection) = (api.clone().into_client(), collection(&api, &config));
        let alike: Vec<&Cache> = self.0.iter().filter(|cache| cache.collection == collection).collect();
        let of_client = alike.iter().filter(|cache| cache.client.is_clone_of(&client));
        if let Some(store) = of_client.into_iter().find_map(|cache| cache.store.downcast_ref::<Store<K>>()) {
            return (store.clone(), None);
        }
        let name = match alike.len() {
            0 => format!("cache of {collection}"),
            others => format!("cache of {collection} ({})", others + 1),
        };
        let (store, writer) = store_shared::<K>(QUEUE);
        self.0.push(Cache { client, collection, store: Box::new(store.clone()) });
        let name: Arc<str> = name.into();
        let logged_name = Arc::clone(&name);
        let mut writer = Some(writer);
        let fill = Component::new(move |stop| {
            let events = writer
                .take()
                .map(|writer| watcher(api.clone(), config.clone()).default_backoff().reflect_shared(writer));
            let name = Arc::clone(&logged_name);
            async move {
                let Some(events) = events else { return Ok::<_, BoxError>(()) };
                let filling = events.for_each(|event| {
                    if let Err(error) = event {
                        tracing::warn!(%name, error = %kube_client::error::ErrorChain(&error), "shared cache");
                    }
                    std::future::ready(())
                });
                tokio::select! {
                    () = filling => {}
                    () = stop.cancelled() => {}
                }
                Ok(())
            }
        });
        (store, Some((name, fill)))
    }
}

/// URL and selectors of what is cached, such as `/api/v1/pods with labels app=web`.
fn collection<K: Resource>(api: &Api<K>, config: &watcher::Config) -> String {
    let labels = config.label_selector.as_ref().map(|labels| format!("labels {labels}"));
    let fields = config.field_selector.as_ref().map(|fields| format!("fields {fields}"));
    let selectors: Vec<String> = labels.into_iter().chain(fields).collect();
    match selectors.is_empty() {
        true => api.resource_url().to_owned(),
        false => format!("{} with {}", api.resource_url(), selectors.join(" and ")),
    }
}
