//! The verbs, each as a method of [`Request`]: on a collection, on one object, on a subresource, and for metadata only.

use http::Method;
use serde::Serialize;

use super::{Error, Request, body, query};
use crate::{
    encode::Query,
    params::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, WatchParams},
};

const PARTIAL_OBJECT: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// Verbs on a collection.
impl Request {
    /// Lists the objects of the collection; the response is an [`ObjectList`](crate::ObjectList).
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a [`version_match`](ListParams::version_match) without a version to match, and for an unsafe
    /// namespace (see [`Request`]).
    pub fn list(&self, lp: &ListParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::GET)?.query(query::list(lp)?).empty()
    }

    /// Watches the changes after the resourceVersion `ver`. `"0"` starts with all objects of some recent state, the empty string
    /// with all objects of the most recent state. The response is one [`WatchEvent`](crate::WatchEvent) per line.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for [`send_initial_events`](WatchParams::send_initial_events) without bookmarks, and for an unsafe
    /// namespace.
    pub fn watch(&self, wp: &WatchParams, ver: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::GET)?.query(query::watch(wp, ver)?).empty()
    }

    /// Creates an object; `data` is its JSON, sent unchanged, with its `name` or `generateName`.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an invalid field manager and for an unsafe namespace.
    pub fn create(&self, pp: &PostParams, data: Vec<u8>) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::POST)?.query(query::post(pp)?).json(data)
    }

    /// Deletes the objects of the collection that `lp` selects, by default all. `lp` becomes the query, `dp` the body.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn delete_collection(
        &self,
        dp: &DeleteParams,
        lp: &ListParams,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::DELETE)?.query(query::list(lp)?).json(body::json(dp)?)
    }
}

/// Verbs on one object.
impl Request {
    /// Gets an object.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an unsafe name or namespace (see [`Request`]), as in all methods.
    pub fn get(&self, name: &str, gp: &GetParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::GET, name)?.optional_query(query::get(gp)).empty()
    }

    /// Replaces an object; `data` is its JSON, sent unchanged. With the resourceVersion that was read, the server responds with
    /// 409 if the object has changed since; without one it replaces the object unconditionally.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an invalid field manager.
    pub fn replace(
        &self,
        name: &str,
        pp: &PostParams,
        data: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::PUT, name)?.query(query::post(pp)?).json(data)
    }

    /// Patches an object.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an apply patch without a field manager, without `apiVersion` or `kind`, or with
    /// `metadata.managedFields` (an object that was read has them), and for `force` on another patch.
    /// [`Error::SerializeBody`] if the patch has no JSON form.
    pub fn patch<P: Serialize>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        let query = query::patch(pp, patch)?;
        let (content_type, body) = body::patch(patch)?;
        self.on_object(Method::PATCH, name)?.query(query).body(content_type, body)
    }

    /// Deletes an object; `dp` becomes the body. The response is the object if it is not removed yet (finalizers, grace
    /// period), and a [`Status`](crate::Status) if it is.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an unsafe name or namespace.
    pub fn delete(&self, name: &str, dp: &DeleteParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::DELETE, name)?.query(Query::default()).json(body::json(dp)?)
    }
}

/// Verbs on any subresource, by its name.
impl Request {
    /// Gets a subresource, such as `status` or `scale`.
    ///
    /// ```
    /// use kube_core::{Request, params::{Patch, PatchParams, PostParams}};
    ///
    /// let fronts = Request::new("/apis/apps/v1/namespaces/web/deployments");
    /// let pp = PostParams::default();
    /// let scale = br#"{"metadata": {"name": "front"}, "spec": {"replicas": 3}}"#.to_vec();
    /// let patch = Patch::Merge(serde_json::json!({"spec": {"replicas": 3}}));
    /// for (request, method) in [
    ///     (fronts.get_subresource("scale", "front")?, "GET"),
    ///     (fronts.replace_subresource("scale", "front", &pp, scale)?, "PUT"),
    ///     (fronts.patch_subresource("scale", "front", &PatchParams::default(), &patch)?, "PATCH"),
    /// ] {
    ///     assert_eq!(request.method(), method);
    ///     assert_eq!(request.uri().path(), "/apis/apps/v1/namespaces/web/deployments/front/scale");
    /// }
    ///
    /// let accounts = Request::new("/api/v1/namespaces/web/serviceaccounts");
    /// let token_request = br#"{"spec": {"audiences": ["vault"], "expirationSeconds": 600}}"#.to_vec();
    /// let token = accounts.create_subresource("token", "robot", &pp, token_request)?;
    /// assert_eq!(token.uri().path(), "/api/v1/namespaces/web/serviceaccounts/robot/token");
    /// # Ok::<(), kube_core::request::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an unsafe subresource, name or namespace, as in all methods.
    pub fn get_subresource(
        &self,
        subresource_name: &str,
        name: &str,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::GET, name, subresource_name)?.empty()
    }

    /// Posts to a subresource, such as `token` or `binding`; `data` is the JSON of the kind that it accepts, usually not the
    /// kind of the object.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn create_subresource(
        &self,
        subresource_name: &str,
        name: &str,
        pp: &PostParams,
        data: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::POST, name, subresource_name)?.query(query::post(pp)?).json(data)
    }

    /// Replaces a subresource; `data` is its JSON. For `status` that is the whole object, of which the server stores only the
    /// status.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub fn replace_subresource(
        &self,
        subresource_name: &str,
        name: &str,
        pp: &PostParams,
        data: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::PUT, name, subresource_name)?.query(query::post(pp)?).json(data)
    }

    /// Patches a subresource. A patch of `status` is a patch of the whole object: its fields are below `status`.
    ///
    /// # Errors
    ///
    /// As [`patch`](Self::patch).
    pub fn patch_subresource<P: Serialize>(
        &self,
        subresource_name: &str,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        let query = query::patch(pp, patch)?;
        let (content_type, body) = body::patch(patch)?;
        self.on_subresource(Method::PATCH, name, subresource_name)?.query(query).body(content_type, body)
    }
}

/// Verbs whose response is reduced to metadata.
impl Request {
    /// Like [`get`](Self::get), for a response of type [`PartialObjectMeta`](crate::PartialObjectMeta): the `accept` header
    /// requests `PartialObjectMetadata`.
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
        self.on_object(Method::GET, name)?.optional_query(query::get(gp)).accept(PARTIAL_OBJECT).empty()
    }

    /// Like [`list`](Self::list), for a list of [`PartialObjectMeta`](crate::PartialObjectMeta).
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn list_metadata(&self, lp: &ListParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::GET)?.query(query::list(lp)?).accept(PARTIAL_LIST).empty()
    }

    /// Like [`watch`](Self::watch), for events with [`PartialObjectMeta`](crate::PartialObjectMeta). The server still sends an
    /// event for changes outside of the metadata.
    ///
    /// # Errors
    ///
    /// As [`watch`](Self::watch).
    pub fn watch_metadata(&self, wp: &WatchParams, ver: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::GET)?.query(query::watch(wp, ver)?).accept(PARTIAL_OBJECT).empty()
    }

    /// Like [`patch`](Self::patch), for a response of type [`PartialObjectMeta`](crate::PartialObjectMeta). The patch may
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
        self.on_object(Method::PATCH, name)?.query(query).accept(PARTIAL_OBJECT).body(content_type, body)
    }
}
