//! Requests on any subresource by its name.

use http::Method;
use serde::Serialize;

use super::{Error, Request, body, query};
use crate::params::{Patch, PatchParams, PostParams};

impl Request {
    /// Reads a subresource, such as `status` or `scale`.
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
    /// let ask = br#"{"spec": {"audiences": ["vault"], "expirationSeconds": 600}}"#.to_vec();
    /// let token = accounts.create_subresource("token", "robot", &pp, ask)?;
    /// assert_eq!(token.uri().path(), "/api/v1/namespaces/web/serviceaccounts/robot/token");
    /// # Ok::<(), kube_core::request::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a subresource, name or namespace that no encoding makes safe, as in all methods.
    pub fn get_subresource(
        &self,
        subresource_name: &str,
        name: &str,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::GET, name, subresource_name)?.empty()
    }

    /// Posts to a subresource, such as `token` or `binding`; `data` is the JSON of what it takes, which as a rule is
    /// another kind than that of the object.
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

    /// Replaces a subresource; `data` is its JSON. For `status` that is the whole object, of which the server takes
    /// the status alone.
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

    /// Changes parts of a subresource. A patch of `status` is one of the whole object: its fields stand below `status`.
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
