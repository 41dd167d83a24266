//! The pass-through that fills a store.

use super::{Lookup, store::Writer};
use crate::watcher::{self, Event};
use futures::{Stream, TryStreamExt};
use std::hash::Hash;

/// Keeps the objects of a watcher stream in the store behind `writer`, and passes the stream on unchanged.
///
/// The store changes as the returned stream is polled, before the event comes out of it. During a list it keeps the
/// state before, and changes over at once when the list is complete.
///
/// # Cost
///
/// Each object is cloned once, as it goes both into the store and on. An object that a list repeats unchanged (same
/// uid and resourceVersion) keeps its place in memory.
///
/// ```
/// use futures::{StreamExt, executor::block_on, stream};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::{reflector, watcher::Event};
///
/// let (store, writer) = reflector::store::<ConfigMap>();
/// let events = [Event::Init, Event::InitApply(ConfigMap::default()), Event::InitDone];
/// let passed = block_on(reflector::reflector(writer, stream::iter(events.map(Ok))).count());
/// assert_eq!((passed, store.len()), (3, 1));
/// ```
pub fn reflector<K, W>(mut writer: Writer<K>, stream: W) -> impl Stream<Item = W::Item>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
    W: Stream<Item = watcher::Result<Event<K>>>,
{
    stream.map_ok(move |event| writer.pass_through(event))
}
