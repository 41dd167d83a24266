//! [`Store::wait_for`]: waits until a write is visible in a store.

use super::{
    awaited::Awaited,
    error::{Undecodable, WriterDropped},
    reader::{Cache, Store},
    shared::SharedWatermarks,
    watermarks::{NoWait, StartedWait, WaiterId},
};
use crate::reflector::{Lookup, ObjectKey};
use std::{
    future::Future,
    hash::Hash,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::sync::oneshot;

/// Why [`Store::wait_for`] failed.
#[derive(Debug, thiserror::Error)]
pub enum WaitForError {
    /// The object has no `resourceVersion`, because it does not come from a server.
    #[error(
        "{name} has no metadata.resourceVersion to wait for: wait for the object that a write has returned"
    )]
    NoResourceVersion {
        /// The name of the object.
        name: String,
    },
    /// The writer of the store was dropped.
    #[error("the awaited state will not be in the store")]
    WriterDropped(#[source] WriterDropped),
    /// The store watches some namespaces, and the object's namespace is not, or no longer, one of them.
    #[error("the awaited state will not be in the store: the namespace {namespace:?} is not watched")]
    NotWatched {
        /// The namespace of the object.
        namespace: String,
    },
    /// The state is in the store, which is a compact cache, but cannot be decoded.
    #[error("the awaited state cannot be read: {0}")]
    Undecodable(#[from] Undecodable),
}

impl<K: 'static + Clone + Lookup> Store<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Waits until `written` or a later state is in the store. Returns the object that the store then holds under that key;
    /// `None` if it was deleted since.
    ///
    /// `written` is the response of a write. Its `resourceVersion` is compared with the versions of the store's events. After the
    /// wait, a decision based on the store includes that write:
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Api;
    /// use kube_core::params::PostParams;
    /// use kube_runtime::reflector::Store;
    /// # use kube_client::Client;
    /// # use kube_runtime::{WatchStreamExt, reflector, watcher};
    /// # use futures::StreamExt;
    ///
    /// async fn add(maps: &Api<ConfigMap>, cache: &Store<ConfigMap>, map: ConfigMap) -> Result<(), Box<dyn std::error::Error>> {
    ///     let written = maps.create(&PostParams::default(), &map).await?;
    ///     let cached = tokio::time::timeout(std::time::Duration::from_secs(10), cache.wait_for(&written)).await??;
    ///     assert!(cached.is_some(), "or it was deleted meanwhile");
    ///     Ok(())
    /// }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(kube_testserver::ApiServer::new(), "default"));
    /// # let (store, writer) = reflector::store();
    /// # let fill = watcher(maps.clone(), watcher::Config::default()).reflect(writer).for_each(|_| async {});
    /// # let mut map = ConfigMap::default();
    /// # map.metadata.name = Some("a".into());
    /// # tokio::select! { () = fill => unreachable!(), done = add(&maps, &store, map) => done }
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The stream that fills the store has to be polled meanwhile. A [`Controller`](crate::Controller) polls its own store, also
    /// during a graceful shutdown while it waits for running reconciles.
    ///
    /// # When a wait ends
    ///
    /// Every event, bookmark and list advances the store's high watermark: the `resourceVersion` up to which it knows every
    /// change of the collection that fills it. There is one collection, or one for each namespace
    /// ([`reflect_namespaces`](crate::reflector::reflect_namespaces)). The wait ends when the watermark reaches the version of
    /// `written`, by whichever object. Versions are compared as numbers, as
    /// [KEP-5504](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version)
    /// allows. If a list shows that the storage was restored from a backup, waits that began before the list end with it.
    ///
    /// Some aggregated API servers have versions that cannot be compared between objects. With them, a wait ends when the store
    /// holds exactly the state of `written`, or a later state of the same object (same uid, both versions numbers), when the object
    /// is deleted, or after a complete list that was requested after the wait began.
    ///
    /// A store that is filled by public [`Event`](crate::watcher::Event)s, as by [`reflector`](fn@crate::reflector), receives
    /// neither bookmarks nor list versions, and does not learn that versions cannot be compared. Only its objects advance its
    /// watermark, and a complete list that was requested after the wait began ends the wait. So:
    ///
    /// - If the server counts versions per object, the wait may end too early, by a change of another object.
    /// - If the store's selectors do not match the written object, the wait lasts until another object changes or a list
    ///   completes: limit it by a timeout, as in the example.
    /// - With [`ListSemantic::Any`](crate::watcher::ListSemantic::Any) the list may be older than the write.
    ///
    /// # Cost
    ///
    /// O(log waits) to begin and to end; no polling. An event costs nothing for waits that it does not end.
    ///
    /// # Cancellation
    ///
    /// Dropping the future removes the wait.
    ///
    /// # Errors
    ///
    /// See [`WaitForError`]. A state that is in the store already is returned even after the writer was dropped.
    pub async fn wait_for(&self, written: &K) -> Result<Option<Arc<K>>, WaitForError> {
        let key = ObjectKey::of(written);
        let Some(version) = written.resource_version().filter(|version| !version.is_empty()) else {
            return Err(WaitForError::NoResourceVersion { name: key.name.into() });
        };
        let uid: Option<Box<str>> = written.uid().map(|uid| uid.as_ref().into());
        let was_visible = uid.is_some() && self.uid_of(&key) == uid;
        self.wait_until(key.clone(), Awaited::State { uid, version: version.as_ref().into(), was_visible })
            .await?;
        Ok(self.lookup(key.namespace.as_deref(), &key.name)?)
    }

    /// Waits for `awaited` of the object with this key.
    pub(crate) fn wait_until(&self, key: ObjectKey, awaited: Awaited) -> StoreWait {
        let namespace = key.namespace.as_deref().unwrap_or_default().to_owned();
        let (watermarks, wait) = match &self.cache {
            Cache::Decoded(shared) => shared.wait(key, awaited),
            Cache::Compact(cache) => cache.shared.wait(key, awaited),
        };
        StoreWait::begun(namespace, watermarks, wait)
    }

    pub(crate) fn uid_of(&self, key: &ObjectKey) -> Option<Box<str>> {
        match &self.cache {
            Cache::Decoded(shared) => shared.uid_of(key),
            Cache::Compact(cache) => cache.shared.uid_of(key),
        }
    }
}

/// A wait that the store wakes. Dropping it removes the wait.
#[must_use = "it does nothing unless polled"]
pub(crate) struct StoreWait {
    namespace: String,
    state: WaitState,
}

enum WaitState {
    Over(Result<(), WaitFailure>),
    Waiting(Waiting),
}

/// It ends by `done`. Dropping it removes the wait from the watermarks.
struct Waiting {
    watermarks: Arc<SharedWatermarks>,
    id: WaiterId,
    done: oneshot::Receiver<()>,
}

#[derive(Clone, Copy)]
enum WaitFailure {
    Closed,
    NotWatched,
}

impl StoreWait {
    pub(super) fn begun(namespace: String, watermarks: Arc<SharedWatermarks>, wait: StartedWait) -> Self {
        let state = match wait {
            Ok((id, done)) => WaitState::Waiting(Waiting { watermarks, id, done }),
            Err(NoWait::AlreadyMet) => WaitState::Over(Ok(())),
            Err(NoWait::Closed) => WaitState::Over(Err(WaitFailure::Closed)),
            Err(NoWait::NotWatched) => WaitState::Over(Err(WaitFailure::NotWatched)),
        };
        Self { namespace, state }
    }

    /// Whether it ended before it was polled.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, WaitState::Over(_))
    }
}

impl Future for StoreWait {
    type Output = Result<(), WaitForError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = match &mut self.state {
            WaitState::Over(outcome) => *outcome,
            WaitState::Waiting(waiting) => match std::task::ready!(Pin::new(&mut waiting.done).poll(cx)) {
                Ok(()) => Ok(()),
                Err(_dropped) if waiting.watermarks.is_closed() => Err(WaitFailure::Closed),
                Err(_dropped) => Err(WaitFailure::NotWatched),
            },
        };
        Poll::Ready(outcome.map_err(|failure| match failure {
            WaitFailure::Closed => WaitForError::WriterDropped(WriterDropped(())),
            WaitFailure::NotWatched => WaitForError::NotWatched { namespace: self.namespace.clone() },
        }))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.watermarks.change(|watermarks| watermarks.remove_waiter(&self.id));
    }
}
