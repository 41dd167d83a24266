//! Stores whose subscribers do not end with the writer.

use super::writer::Writer;
use crate::reflector::Lookup;
use std::hash::Hash;

impl<K: 'static + Lookup + Clone> Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Does not end the streams of subscribers when the writer is dropped: a [controller](crate::Controller::for_shared_stream) of them
    /// goes on with the last state. By default they end.
    ///
    /// ```
    /// use futures::{FutureExt, StreamExt};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::reflector;
    ///
    /// let (store, writer) = reflector::store_shared::<ConfigMap>(16);
    /// let mut subscriber = store.subscribe().expect("the store is shared");
    /// drop(writer.keep_subscriptions());
    /// assert!(subscriber.next().now_or_never().is_none());
    /// ```
    #[must_use]
    pub fn keep_subscriptions(self) -> Self {
        self.shared.objects.keep_open();
        self
    }
}
