//! Requests on one object: get, replace, patch, delete.

use http::Method;
use serde::Serialize;

use super::{Error, Request, body, query};
use crate::{
    encode::Query,
    params::{DeleteParams, GetParams, Patch, PatchParams, PostParams},
};

impl Request {
    /// Reads an object.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a name or namespace that no encoding makes safe, as in all methods.
    pub fn get(&self, name: &str, gp: &GetParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::GET, name)?.optional_query(query::get(gp)).empty()
    }

    /// Replaces an object; `data` is its JSON, sent as it is. With the resource version that was read, the server
    /// answers 409 where the object has changed since; without one it replaces whatever is there.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a field manager that servers refuse.
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
    /// [`Error::Validation`] for an apply patch without a field manager, or whose body lacks `apiVersion` or `kind` or
    /// carries `metadata.managedFields` (an object that was read has them), and for `force` on another patch.
    /// [`Error::SerializeBody`] where the patch has no JSON form.
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

    /// Deletes an object; `dp` is the body. The answer is the object where it lives on for a while (finalizers, grace
    /// period), and a [`Status`](crate::Status) where it is gone.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a name or namespace that no encoding makes safe.
    pub fn delete(&self, name: &str, dp: &DeleteParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_object(Method::DELETE, name)?.query(Query::default()).json(body::json(dp)?)
    }
}
