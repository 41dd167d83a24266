//! Requests for metadata only: smaller responses, for any kind.

use std::fmt::Debug;

use futures::Stream;
use kube_core::metadata::PartialObjectMeta;
use kube_core::object::ObjectList;
use kube_core::params::{GetParams, ListParams, Patch, PatchParams, WatchParams};
use kube_core::watch::WatchEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Api;
use super::handle::not_found_as_none;
use crate::Result;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// The metadata of the object `name`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// assert!(maps.get_metadata("settings").await?.metadata.uid.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_metadata(&self, name: &str) -> Result<PartialObjectMeta<K>> {
        self.get_metadata_with(name, &GetParams::default()).await
    }

    /// The metadata of the object `name`, as recent as `gp` requires.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_metadata_with(&self, name: &str, gp: &GetParams) -> Result<PartialObjectMeta<K>> {
        self.client.request(self.read("get_metadata", self.request.get_metadata(name, gp))?).await
    }

    /// The metadata of the object `name`, if it exists.
    ///
    /// # Errors
    /// As [`Api::get_opt`].
    pub async fn get_metadata_opt(&self, name: &str) -> Result<Option<PartialObjectMeta<K>>> {
        not_found_as_none(self.get_metadata(name).await)
    }

    /// The metadata of the object `name`, if it exists, as recent as `gp` requires.
    ///
    /// # Errors
    /// As [`Api::get_opt`].
    pub async fn get_metadata_opt_with(
        &self,
        name: &str,
        gp: &GetParams,
    ) -> Result<Option<PartialObjectMeta<K>>> {
        not_found_as_none(self.get_metadata_with(name, gp).await)
    }

    /// The metadata of the objects that `lp` selects.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client, ResourceExt};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let names: Vec<_> = maps.list_metadata(&Default::default()).await?.iter().map(ResourceExt::name_any).collect();
    /// assert_eq!(names, ["settings"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::list`].
    pub async fn list_metadata(&self, lp: &ListParams) -> Result<ObjectList<PartialObjectMeta<K>>> {
        self.client.request_list(self.read("list_metadata", self.request.list_metadata(lp))?).await
    }

    /// Patches the object `name` and returns its metadata.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{Patch, PatchParams};
    /// use kube_client::{Api, Client, ResourceExt};
    /// use serde_json::json;
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let label = json!({ "metadata": { "labels": { "seen": "yes" } } });
    /// let changed = maps.patch_metadata("settings", &PatchParams::default(), &Patch::Merge(label)).await?;
    /// assert_eq!(changed.labels()["seen"], "yes");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_metadata<P: Serialize + Debug>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<PartialObjectMeta<K>> {
        self.call("patch_metadata", self.request.patch_metadata(name, pp, patch)).await
    }

    /// Watches the metadata of the objects that `wp` selects.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{WatchEvent, WatchParams};
    /// use kube_client::{Api, Client, ResourceExt};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut events = Box::pin(maps.watch_metadata(&WatchParams::default(), "0").await?);
    /// if let Some(WatchEvent::Added(meta)) = events.try_next().await? {
    ///     assert_eq!(meta.name_any(), "settings");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::watch`].
    pub async fn watch_metadata(
        &self,
        wp: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<PartialObjectMeta<K>>>> + use<K>> {
        self.client.events(self.read("watch_metadata", self.request.watch_metadata(wp, version))?).await
    }
}
