//! The cache itself: one [`Writer`], any number of [`Store`]s to read it.

mod indexing;
mod namespace;
mod reader;
mod wait;
mod watermarks;
mod writer;

pub use reader::WriterDropped;
pub use wait::WaitForError;
pub use writer::{Writer, store, store_shared};

pub(crate) use indexing::IndexPanic;
pub(crate) use wait::Waiting;
pub(crate) use watermarks::Awaited;
pub(super) use {namespace::NamespaceList, watermarks::ListVersion};

use super::Lookup;
use std::{hash::Hash, sync::Arc};
use tokio::sync::watch;

/// The objects of one kind as last seen, for reading. Clones show the same objects.
///
/// What a call returns is a snapshot: later events do not change it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::{Expression, ResourceExt, Selector};
/// use kube_runtime::{reflector::{self, ObjectRef}, watcher::Event};
/// # let map = |name: &str, tier: &str| -> Result<ConfigMap, serde_json::Error> {
/// #     let metadata = serde_json::json!({ "name": name, "namespace": "shop", "labels": { "tier": tier } });
/// #     Ok(ConfigMap { metadata: serde_json::from_value(metadata)?, ..ConfigMap::default() })
/// # };
///
/// let (store, mut writer) = reflector::store::<ConfigMap>();
/// assert!(store.is_empty() && !store.is_ready());
/// writer.apply_watcher_event(&Event::Init);
/// for (name, tier) in [("front", "web"), ("back", "api")] {
///     writer.apply_watcher_event(&Event::InitApply(map(name, tier)?));
/// }
/// writer.apply_watcher_event(&Event::InitDone);
///
/// assert!(store.is_ready() && store.len() == 2 && store.state().len() == 2);
/// assert!(store.get(&ObjectRef::new("front").within("shop")).is_some());
/// assert!(store.find(|map| map.name_any() == "side").is_none());
/// assert_eq!(store.state_filter(|map| map.name_any().ends_with("ck")).len(), 1);
/// let web = Selector::from(Expression::Equal("tier".into(), "web".into()));
/// assert_eq!(store.state_filter_selector(&web)[0].name_any(), "front");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct Store<K: 'static + Lookup>
where
    K::DynamicType: Hash + Eq,
{
    shared: Arc<reader::Shared<K>>,
    /// Whether the first complete list is there.
    ready: watch::Receiver<bool>,
}

#[cfg(test)]
mod index_tests;
#[cfg(test)]
mod reader_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wait_tests;
