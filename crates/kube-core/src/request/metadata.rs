//! Requests whose answers are reduced to metadata.

use http::Method;
use serde::Serialize;

use super::{Error, Request, body, query};
use crate::params::{GetParams, ListParams, Patch, PatchParams, WatchParams};

const OBJECT: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

impl Request {
    /// As [`get`](Self::get), answered by a [`PartialObjectMeta`](crate::PartialObjectMeta): the `accept` header asks
    /// for `PartialObjectMetadata`.
    ///
    /// ```
    /// use kube_core::{Request, params::{GetParams, ListParams, Patch, PatchParams, WatchParams}};
    ///
    /// let maps = Request::new("/api/v1/namespaces/web/configmaps");
    /// let patch = Patch::Merge(serde_json::json!({"metadata": {"labels": {"a": "b"}}}));
    /// for request in [
    ///     maps.get_metadata("a", &GetParams::default())?,
    ///     maps.list_metadata(&ListParams::default())?,
    ///     maps.watch_metadata(&WatchParams::default(), "0")?,
    ///     maps.patch_metadata("a", &PatchParams::default(), &patch)?,
    /// ] {
    ///     let accept = request.headers()["accept"].to_str().expect("ASCII");
    ///     assert!(accept.starts_with("application/json;as=PartialObjectMetadata"));
    /// }
    /// # Ok::<(), kube_core::request::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn get_metadata(&self, name: &str, gp: &GetParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::GET, name)?.optional_query(query::get(gp)).accept(OBJECT).empty()
    }

    /// As [`list`](Self::list), answered by a list of [`PartialObjectMeta`](crate::PartialObjectMeta).
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn list_metadata(&self, lp: &ListParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::GET)?.query(query::list(lp)?).accept(LIST).empty()
    }

    /// As [`watch`](Self::watch), with events that hold [`PartialObjectMeta`](crate::PartialObjectMeta). The server
    /// still sends an event for changes outside the metadata.
    ///
    /// # Errors
    ///
    /// As [`watch`](Self::watch).
    pub fn watch_metadata(&self, wp: &WatchParams, ver: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::GET)?.query(query::watch(wp, ver)?).accept(OBJECT).empty()
    }

    /// As [`patch`](Self::patch), answered by a [`PartialObjectMeta`](crate::PartialObjectMeta). The patch itself may
    /// change any field.
    ///
    /// # Errors
    ///
    /// As [`patch`](Self::patch).
    pub fn patch_metadata<P: Serialize>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        let query = query::patch(pp, patch)?;
        let (content_type, body) = body::patch(patch)?;
        self.on_object(Method::PATCH, name)?.query(query).accept(OBJECT).body(content_type, body)
    }
}
