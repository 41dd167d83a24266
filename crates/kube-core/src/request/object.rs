//! Requests on one object: get, replace, patch, delete.

use http::Method;
use serde::Serialize;

use super::{Error, Request, body, query};
use crate::params::{DeleteParams, GetParams, Patch, PatchParams, PostParams};

impl Request {
    /// Reads an object.
    pub fn get(&self, name: &str, gp: &GetParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::GET, name)?.query(query::get(gp)).empty()
    }

    /// Replaces an object; `data` is its JSON, with the resource version that it replaces.
    pub fn replace(
        &self,
        name: &str,
        pp: &PostParams,
        data: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::PUT, name)?.query(query::post(pp)?).json(data)
    }

    /// Changes parts of an object.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an apply patch without a field manager or whose body
    /// lacks `apiVersion` or `kind`, and for `force` on another patch.
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

    /// Deletes an object.
    pub fn delete(&self, name: &str, dp: &DeleteParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::DELETE, name)?.json(body::json(dp)?)
    }
}
