//! Objects of any kind by one client, without an `Api` for each kind.

use std::fmt::Debug;

use kube_core::object::ObjectList;
use kube_core::params::{GetParams, ListParams};
use kube_core::{Request, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::target::{CollectionUrl, ObjectRef, ObjectUrl};
use super::{Client, named};
use crate::error::Error;

impl Client {
    /// The object `name` of kind `K` in a scope: [`Cluster`](super::scope::Cluster) or [`Namespace`](super::scope::Namespace).
    ///
    /// # Errors
    /// As [`Api::get`](crate::Api::get).
    pub async fn get<K>(&self, name: &str, scope: &impl ObjectUrl<K>) -> Result<K, Error>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
        K::DynamicType: Default,
    {
        self.get_at(scope.url_path(), name).await
    }

    /// The objects of kind `K` in a scope that `lp` selects.
    ///
    /// # Errors
    /// As [`Api::list`](crate::Api::list).
    pub async fn list<K>(
        &self,
        lp: &ListParams,
        scope: &impl CollectionUrl<K>,
    ) -> Result<ObjectList<K>, Error>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
        K::DynamicType: Default,
    {
        let request = Request::new(scope.url_path());
        let request = if K::metadata_api() { request.list_metadata(lp) } else { request.list(lp) };
        self.request_list(named("list", request)?).await
    }

    /// The object that a reference leads to.
    ///
    /// # Errors
    /// [`Error::RefResolve`] if the reference lacks something, others as [`Api::get`](crate::Api::get).
    pub async fn fetch<K>(&self, reference: &impl ObjectRef<K>) -> Result<K, Error>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
    {
        let (path, name) = reference.locate()?;
        self.get_at(path, &name).await
    }

    async fn get_at<K: Resource + DeserializeOwned>(&self, path: String, name: &str) -> Result<K, Error> {
        let (request, gp) = (Request::new(path), GetParams::default());
        let request =
            if K::metadata_api() { request.get_metadata(name, &gp) } else { request.get(name, &gp) };
        self.request(named("get", request)?).await
    }
}
