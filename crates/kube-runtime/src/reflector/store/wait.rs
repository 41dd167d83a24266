//! Waiting until a store has seen a write.

use super::{
    Store, WriterDropped,
    progress::{Progress, Ticket},
    reader::{Lists, Shared},
};
use crate::{reflector::Lookup, version::number};
use parking_lot::Mutex;
use std::{hash::Hash, sync::Arc};
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
    /// The stream that fills the store has to be polled meanwhile.
    ///
    /// # What counts
    ///
    /// Versions are compared as numbers, within a namespace, as
    /// [KEP-5504](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version)
    /// allows. Those of an API server that counts otherwise are compared for equality only, with the state the store
    /// holds. In both cases a whole list that was requested after the wait began counts too.
    ///
    /// So an object that the store does not select (by label or field) is waited for until some other change of its
    /// namespace or such a list comes. Put a [`tokio::time::timeout`] around it, as in the example. With
    /// [`ListSemantic::Any`](crate::watcher::ListSemantic::Any) a list may be older than the write.
    ///
    /// # Cost
    ///
    /// O(log waits) to begin and to end. An event costs nothing for those who wait for something else.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the wait and leaves nothing behind.
    ///
    /// # Errors
    ///
    /// See [`WaitForError`]. What the store has seen is returned even if nothing fills it any more.
    pub async fn wait_for(&self, written: &K) -> Result<Option<Arc<K>>, WaitForError> {
        let (namespace, name) = (written.namespace(), written.name().unwrap_or_default());
        let Some(version) = written.resource_version().filter(|version| !version.is_empty()) else {
            return Err(WaitForError::NoResourceVersion { name: name.into_owned() });
        };
        self.wait_for_version(namespace.as_deref(), &name, &version)
            .await
            .map_err(WaitForError::WriterDropped)?;
        Ok(self.look_up(namespace.as_deref(), &name))
    }

    /// Waits until the store has seen this state of the object of this name, or something later.
    pub(crate) async fn wait_for_version(
        &self,
        namespace: Option<&str>,
        name: &str,
        version: &str,
    ) -> Result<(), WriterDropped> {
        let later = self.list_from_now_on();
        let seen = async {
            match number(version) {
                Some(number) => self.wait_for_number(namespace.unwrap_or_default(), number).await,
                None => self.wait_for_equal(namespace, name, version).await,
            }
        };
        tokio::select! {
            biased;
            () = seen => Ok(()),
            listed = later => listed,
        }
    }

    /// Waits for a whole list that was requested after now.
    fn list_from_now_on(&self) -> impl Future<Output = Result<(), WriterDropped>> + Send + use<K> {
        let mut lists = self.lists.clone();
        let Lists { begun, complete } = *lists.borrow_and_update();
        // The answer to a request of before may still be under way. Of a list that has begun to arrive, the next one
        // was requested later; otherwise the next one is that answer perhaps.
        let wanted = if begun > complete { begun + 1 } else { begun + 2 };
        async move { lists.wait_for(|lists| lists.complete >= wanted).await.map(drop).map_err(WriterDropped) }
    }

    async fn wait_for_number(&self, namespace: &str, version: u128) {
        let waiting = self.shared.progress.lock().wait(namespace, version);
        if let Some((ticket, done)) = waiting {
            Waiting { progress: &self.shared.progress, ticket, done }.await_news().await;
        }
    }

    async fn wait_for_equal(&self, namespace: Option<&str>, name: &str, version: &str) {
        loop {
            let mut change = std::pin::pin!(self.shared.changed.notified());
            change.as_mut().enable(); // from here on none is missed
            let state = self.look_up(namespace, name);
            if state.is_some_and(|state| state.resource_version().as_deref() == Some(version)) {
                return;
            }
            change.await;
        }
    }
}

/// A wait that gives its place back when it is dropped.
struct Waiting<'a> {
    progress: &'a Mutex<Progress>,
    ticket: Ticket,
    done: oneshot::Receiver<()>,
}

impl Waiting<'_> {
    async fn await_news(mut self) {
        if (&mut self.done).await.is_err() {
            std::future::pending().await // the store is gone: the lists tell
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.progress.lock().forget(&self.ticket);
    }
}

impl<K: Lookup> Shared<K> {
    /// Notes that readers can see this state of an object, or that it is gone.
    pub(super) fn note_visible(&self, namespace: &str, version: Option<u128>) {
        match version {
            Some(version) => self.progress.lock().note(namespace, version),
            None => self.changed.notify_waiters(),
        }
    }
}
