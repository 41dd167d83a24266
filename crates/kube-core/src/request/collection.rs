//! Requests on a collection: list, watch, create, delete all.

use http::Method;

use super::{Error, Request, body, query};
use crate::params::{DeleteParams, ListParams, PostParams, WatchParams};

impl Request {
    /// Reads the objects of the collection; the answer is an [`ObjectList`](crate::ObjectList).
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a [`version_match`](ListParams::version_match) without a version to match, and for
    /// a namespace that no encoding makes safe.
    pub fn list(&self, lp: &ListParams) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::GET)?.query(query::list(lp)?).empty()
    }

    /// Follows the changes after the resource version `ver`: `"0"` begins with all objects of any recent state, the
    /// empty text with all objects of the newest. The answer is one [`WatchEvent`](crate::WatchEvent) per line.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for [`send_initial_events`](WatchParams::send_initial_events) without bookmarks, and for a
    /// namespace that no encoding makes safe.
    pub fn watch(&self, wp: &WatchParams, ver: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::GET)?.query(query::watch(wp, ver)?).empty()
    }

    /// Creates an object; `data` is its JSON, sent as it is. It names itself, by `name` or `generateName`.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a field manager that servers refuse and for a namespace that no encoding makes safe.
    pub fn create(&self, pp: &PostParams, data: Vec<u8>) -> Result<http::Request<Vec<u8>>, Error> {
        self.on_collection(Method::POST)?.query(query::post(pp)?).json(data)
    }

    /// Deletes all objects of the collection that `lp` selects; by default that is every one. `lp` is the query, `dp`
    /// the body.
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
