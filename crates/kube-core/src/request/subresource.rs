//! Requests on any subresource by its name.

use http::Method;
use serde::Serialize;

use super::{Error, Request, body, query};
use crate::params::{Patch, PatchParams, PostParams};

impl Request {
    /// Reads a subresource, such as `status` or `scale`.
    pub fn get_subresource(
        &self,
        subresource_name: &str,
        name: &str,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::GET, name, subresource_name)?.empty()
    }

    /// Posts to a subresource, such as `token` or `binding`; `data` is the JSON of what it takes.
    pub fn create_subresource(
        &self,
        subresource_name: &str,
        name: &str,
        pp: &PostParams,
        data: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::POST, name, subresource_name)?.query(query::post(pp)?).json(data)
    }

    /// Replaces a subresource; `data` is its JSON.
    pub fn replace_subresource(
        &self,
        subresource_name: &str,
        name: &str,
        pp: &PostParams,
        data: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_subresource(Method::PUT, name, subresource_name)?.query(query::post(pp)?).json(data)
    }

    /// Changes parts of a subresource; see [`patch`](Self::patch).
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
