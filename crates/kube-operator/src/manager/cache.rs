//! Caches that several controllers and components share: one watch for each kind and scope.

use super::{components::Component, error::BoxError};
use futures::StreamExt;
use kube_client::Api;
use kube_core::Resource;
use kube_runtime::{
    WatchStreamExt,
    reflector::{Store, store_shared},
    watcher::{self, watcher},
};
use serde::de::DeserializeOwned;
use std::{any::Any, collections::HashMap, fmt::Debug, hash::Hash, sync::Arc};

/// The capacity of the queue of a subscriber, at first.
const QUEUE: usize = 64;

/// The component that fills a cache, with its name.
pub(super) type Fill = (Arc<str>, Component);

/// The shared caches by URL and selectors.
#[derive(Default)]
pub(super) struct Caches {
    stores: HashMap<Key, Box<dyn Any + Send + Sync>>,
}

/// URL, label selector and field selector.
type Key = (String, Option<String>, Option<String>);

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
        let url = api.resource_url().to_owned();
        let key = (url.clone(), config.label_selector.clone(), config.field_selector.clone());
        if let Some(store) = self.stores.get(&key).and_then(|store| store.downcast_ref::<Store<K>>()) {
            return (store.clone(), None);
        }
        let (store, writer) = store_shared::<K>(QUEUE);
        self.stores.insert(key, Box::new(store.clone()));
        let mut writer = Some(writer);
        let fill = Component::new(move |stop| {
            let events = writer
                .take()
                .map(|writer| watcher(api.clone(), config.clone()).default_backoff().reflect_shared(writer));
            async move {
                let Some(events) = events else { return Ok::<_, BoxError>(()) };
                let filling = events.for_each(|event| {
                    if let Err(error) = event {
                        tracing::warn!(error = %kube_client::error::ErrorChain(&error), "shared cache");
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
        (store, Some((format!("cache of {url}").into(), fill)))
    }
}
