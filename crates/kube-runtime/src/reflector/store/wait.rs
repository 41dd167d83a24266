//! Waiting until a store has seen a write.

use super::{
    Store, WriterDropped,
    watermarks::{Awaited, HighWatermarks, NoWait, Visible, WaiterId},
};
use crate::reflector::{Lookup, ObjectKey};
use parking_lot::Mutex;
use std::{
    future::Future,
    hash::Hash,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::sync::oneshot;

/// Why [`Store::wait_for`] gave up.
#[derive(Debug, thiserror::Error)]
pub enum WaitForError {
    /// The object does not say which of its states it is, as one that no server has answered with.
    #[error(
        "{name} has no metadata.resourceVersion to wait for: wait for the object that a write has returned"
    )]
    NoResourceVersion {
        /// The name of the object.
        name: String,
    },
    /// Nothing fills the store any more.
    #[error("the store will not see what was waited for")]
    WriterDropped(#[source] WriterDropped),
    /// The store is filled by the watches of some namespaces, and the object's namespace is none of them, or no longer.
    #[error("the store will not see what was waited for: the namespace {namespace:?} is not watched")]
    NotWatched {
        /// The namespace of the object.
        namespace: String,
    },
}

impl<K: 'static + Clone + Lookup> Store<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Waits until the store has seen `written` or something later, and returns what it then holds under that name;
    /// `None` if the object has been deleted since.
    ///
    /// `written` is what a write answered with: its `resourceVersion` is compared with those that the store's events
    /// brought. After it, a decision made from the store knows of that write:
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
    ///     assert!(cached.is_some(), "or somebody has deleted it meanwhile");
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
    /// The stream that fills the store has to be polled meanwhile. A [`Controller`](crate::Controller) does that for its own store,
    /// also while it waits for its last reconciles after a shutdown was asked for.
    ///
    /// # What counts
    ///
    /// Every event, bookmark and list moves the store's high watermark: the `resourceVersion` up to which it knows everything
    /// in the collection that fills it. There is one collection, or one for each namespace
    /// ([`reflect_namespaces`](crate::reflector::reflect_namespaces)). The wait is over when the watermark reaches the version of
    /// `written`, whichever object moved it there. Versions are compared as numbers, as
    /// [KEP-5504](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version)
    /// allows. After a list that shows that the storage was restored from a backup, what was waited for before is not waited for
    /// any longer.
    ///
    /// Where versions cannot be compared between objects, as those of some aggregated API servers, the state that the store
    /// holds counts if it is that of `written`, or a later one of the same object (same uid, both versions numbers); its deletion
    /// counts too, and so does a whole list that was requested after the wait began.
    ///
    /// A store that is filled by public [`Event`](crate::watcher::Event)s, as by
    /// [`reflector`](fn@crate::reflector), is not told of bookmarks and versions of lists, nor that versions cannot be compared: if the server
    /// counts for each object alone, the wait may end too early, by a change of another object. Its watermark moves with its objects, and a
    /// whole list that was requested after the wait began counts. An object that such a store does not select (by label or field) is waited
    /// for until something else changes or a list comes: bound the wait, as in the example. With
    /// [`ListSemantic::Any`](crate::watcher::ListSemantic::Any) such a list may be older than the write.
    ///
    /// # Cost
    ///
    /// O(log waits) to begin and to end; nothing polls. An event costs nothing for those who wait for something else.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the wait and leaves nothing behind.
    ///
    /// # Errors
    ///
    /// See [`WaitForError`]. What the store has seen is returned even if nothing fills it any more.
    pub async fn wait_for(&self, written: &K) -> Result<Option<Arc<K>>, WaitForError> {
        let key = ObjectKey::of(written);
        let Some(version) = written.resource_version().filter(|version| !version.is_empty()) else {
            return Err(WaitForError::NoResourceVersion { name: key.name.into() });
        };
        let uid: Option<Box<str>> = written.uid().map(|uid| uid.as_ref().into());
        let was_visible = uid.is_some() && self.uid_of(&key) == uid;
        self.wait_until(key.clone(), Awaited::State { uid, version: version.as_ref().into(), was_visible })
            .await?;
        Ok(self.look_up(key.namespace.as_deref(), &key.name))
    }

    /// Waits for this of the object of this name.
    pub(crate) fn wait_until(&self, key: ObjectKey, awaited: Awaited) -> Waiting {
        let namespace = key.namespace.as_deref().unwrap_or_default().to_owned();
        let watermarks = Arc::clone(&self.shared.watermarks);
        let is_met = |key: &_, awaited: &_| self.shared.is_met(key, awaited);
        let wait = watermarks.change(|watermarks| watermarks.wait(key, awaited, is_met));
        let state = match wait {
            Ok((id, done)) => WaitState::Parked(Parked { watermarks, id, done }),
            Err(NoWait::Visible) => WaitState::Over(Ok(())),
            Err(NoWait::Closed) => WaitState::Over(Err(Lost::Closed)),
            Err(NoWait::NotWatched) => WaitState::Over(Err(Lost::NotWatched)),
        };
        Waiting { namespace, state }
    }

    fn uid_of(&self, key: &ObjectKey) -> Option<Box<str>> {
        let object = self.look_up(key.namespace.as_deref(), &key.name)?;
        Some(object.uid()?.as_ref().into())
    }
}

/// The watermarks of a store, for its writer and its readers.
#[derive(Debug, Default)]
pub(super) struct SharedWatermarks(Mutex<HighWatermarks>);

impl SharedWatermarks {
    /// Changes them, and then, without the lock, wakes whoever waited for that.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut HighWatermarks) -> R) -> R {
        let mut watermarks = self.0.lock();
        let result = change(&mut watermarks);
        let ended = watermarks.take_ended();
        drop(watermarks);
        ended.wake();
        result
    }

    #[cfg(test)]
    pub(super) fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

/// A wait for the store, woken by it. Gives its place back when it is dropped.
#[must_use = "it does nothing unless polled"]
pub(crate) struct Waiting {
    namespace: String,
    state: WaitState,
}

enum WaitState {
    Over(Result<(), Lost>),
    Parked(Parked),
}

struct Parked {
    watermarks: Arc<SharedWatermarks>,
    id: WaiterId,
    done: oneshot::Receiver<()>,
}

/// Why what was waited for does not come.
#[derive(Clone, Copy)]
enum Lost {
    Closed,
    NotWatched,
}

impl Waiting {
    /// Whether it was over when it began.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, WaitState::Over(_))
    }
}

impl Future for Waiting {
    type Output = Result<(), WaitForError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = match &mut self.state {
            WaitState::Over(outcome) => *outcome,
            WaitState::Parked(parked) => match std::task::ready!(Pin::new(&mut parked.done).poll(cx)) {
                Ok(()) => Ok(()),
                Err(_dropped) if parked.watermarks.0.lock().is_closed() => Err(Lost::Closed),
                Err(_dropped) => Err(Lost::NotWatched),
            },
        };
        Poll::Ready(outcome.map_err(|lost| match lost {
            Lost::Closed => WaitForError::WriterDropped(WriterDropped(())),
            Lost::NotWatched => WaitForError::NotWatched { namespace: self.namespace.clone() },
        }))
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        self.watermarks.change(|watermarks| watermarks.forget(&self.id));
    }
}

impl<K: Lookup + 'static> super::reader::Shared<K> {
    /// Whether a wait is over by what readers see of its object.
    pub(super) fn is_met(&self, key: &ObjectKey, awaited: &Awaited) -> bool {
        self.objects.read(|table| match table.get(key.namespace.as_deref(), &key.name) {
            Some(object) => {
                let (uid, version) = (object.uid(), object.resource_version());
                awaited.is_met(Some(Visible { uid: uid.as_deref(), version: version.as_deref() }))
            }
            None => awaited.is_met(None),
        })
    }
}
