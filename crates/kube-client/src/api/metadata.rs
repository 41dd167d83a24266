//! The same calls for the metadata alone: smaller answers, for any kind.

use std::fmt::Debug;

use futures::Stream;
use kube_core::metadata::PartialObjectMeta;
use kube_core::object::ObjectList;
use kube_core::params::{GetParams, ListParams, Patch, PatchParams, WatchParams};
use kube_core::watch::WatchEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Api;
use super::handle::absent_as_none;
use crate::client::named;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// The metadata of the object `name`.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_metadata(&self, name: &str) -> Result<PartialObjectMeta<K>, Error> {
        self.get_metadata_with(name, &GetParams::default()).await
    }

    /// The metadata of the object `name`, as recent as `gp` asks for.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_metadata_with(&self, name: &str, gp: &GetParams) -> Result<PartialObjectMeta<K>, Error> {
        self.call("get_metadata", self.request.get_metadata(name, gp)).await
    }

    /// The metadata of the object `name` if it is there.
    ///
    /// # Errors
    /// As [`Api::get_opt`].
    pub async fn get_metadata_opt(&self, name: &str) -> Result<Option<PartialObjectMeta<K>>, Error> {
        absent_as_none(self.get_metadata(name).await)
    }

    /// The metadata of the object `name` if it is there, as recent as `gp` asks for.
    ///
    /// # Errors
    /// As [`Api::get_opt`].
    pub async fn get_metadata_opt_with(
        &self,
        name: &str,
        gp: &GetParams,
    ) -> Result<Option<PartialObjectMeta<K>>, Error> {
        absent_as_none(self.get_metadata_with(name, gp).await)
    }

    /// The metadata of the objects that `lp` selects.
    ///
    /// # Errors
    /// As [`Api::list`].
    pub async fn list_metadata(&self, lp: &ListParams) -> Result<ObjectList<PartialObjectMeta<K>>, Error> {
        self.client.request_list(named("list_metadata", self.request.list_metadata(lp))?).await
    }

    /// Changes the object `name`, and gives its metadata alone.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_metadata<P: Serialize + Debug>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<PartialObjectMeta<K>, Error> {
        self.call("patch_metadata", self.request.patch_metadata(name, pp, patch)).await
    }

    /// What happens to the metadata of the objects that `wp` selects.
    ///
    /// # Errors
    /// As [`Api::watch`].
    pub async fn watch_metadata(
        &self,
        wp: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<PartialObjectMeta<K>>, Error>> + use<K>, Error> {
        self.client.events(named("watch_metadata", self.request.watch_metadata(wp, version))?).await
    }
}
