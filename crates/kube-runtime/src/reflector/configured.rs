//! A store of the kind that a configuration asks for: compact or not.

#[cfg(feature = "compact-cache")]
use super::compact::compact_watch;
use super::store::{StartWatch, Store, store_shared};
use crate::watcher::{self, WatchMonitor};
use futures::StreamExt;
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash};

/// A new shared store that keeps its objects as `config` says, and what starts the watch that fills it. Its subscribers do not end with
/// the watch. For the caches of a manager, so that they keep what `config` asks for whichever features that crate has.
#[doc(hidden)]
#[must_use]
pub fn configured_store<K>(
    api: Api<K>,
    config: watcher::Config,
    monitor: WatchMonitor,
    subscriber_capacity: usize,
) -> (Store<K>, StartWatch<K>)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Default + Eq + Hash + Clone + Send + Sync,
{
    #[cfg(feature = "compact-cache")]
    if config.is_compact() {
        return compact_watch(api, config, monitor);
    }
    let (store, writer) = store_shared::<K>(subscriber_capacity);
    let writer = writer.keep_subscriptions();
    (store, Box::new(move || writer.watch_monitored(api, config, &monitor).boxed()))
}
