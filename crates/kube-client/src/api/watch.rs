//! Watching objects.

use std::fmt::Debug;

use futures::Stream;
use kube_core::DeserializeGuard;
use kube_core::params::WatchParams;
use kube_core::watch::WatchEvent;
use serde::de::DeserializeOwned;

use super::Api;
use crate::Result;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// Watches the objects that `wp` selects, from resource version `version` on (`"0"`: from any).
    ///
    /// This is a single watch: it ends when the server ends it, after some minutes at most. The watcher in kube-runtime resumes it.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{WatchEvent, WatchParams};
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut events = Box::pin(maps.watch(&WatchParams::default(), "0").await?);
    /// if let Some(WatchEvent::Added(map)) = events.try_next().await? {
    ///     assert_eq!(map.metadata.name.as_deref(), Some("settings"));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request_events`](crate::Client::request_events); code 410 at the start or
    /// [`WatchEvent::Error`] later if `version` is too old.
    pub async fn watch(
        &self,
        wp: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<K>>> + use<K>> {
        self.client.events(self.watch_request(wp, version)?).await
    }

    /// As [`Api::watch`], but an object that cannot be decoded is an event that carries its error and its metadata. The resource version in
    /// it is the one to resume from.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{WatchEvent, WatchParams};
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut events = Box::pin(maps.watch_guarded(&WatchParams::default(), "0").await?);
    /// match events.try_next().await? {
    ///     Some(WatchEvent::Added(guarded)) => assert!(guarded.0.is_ok()),
    ///     other => println!("{other:?}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::watch`], except for objects that cannot be decoded.
    pub async fn watch_guarded(
        &self,
        wp: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<DeserializeGuard<K>>>> + use<K>> {
        self.client.request_events_guarded(self.watch_request(wp, version)?).await
    }

    fn watch_request(&self, wp: &WatchParams, version: &str) -> Result<http::Request<Vec<u8>>> {
        let request = match self.metadata_only {
            true => self.request.watch_metadata(wp, version),
            false => self.request.watch(wp, version),
        };
        self.read("watch", request)
    }
}
