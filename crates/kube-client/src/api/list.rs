//! Reading many objects.

use std::fmt::Debug;

use kube_core::DeserializeGuard;
use kube_core::object::ObjectList;
use kube_core::params::ListParams;
use serde::de::DeserializeOwned;

use super::Api;
use crate::client::named;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// The objects that `lp` selects. With a limit, a page of them: the list's `metadata.continue_` leads to the next one.
    ///
    /// # Errors
    /// [`Error::Api`] with code 410 if a continue token has expired, others as [`Client::request`](crate::Client::request).
    pub async fn list(&self, lp: &ListParams) -> Result<ObjectList<K>, Error> {
        self.client.request_list(self.list_request(lp)?).await
    }

    /// [`Api::list`] in which objects that cannot be decoded stand in their places, each with its error and its metadata.
    ///
    /// # Errors
    /// As [`Api::list`], but for the objects.
    pub async fn list_guarded(&self, lp: &ListParams) -> Result<ObjectList<DeserializeGuard<K>>, Error> {
        self.client.request_list_guarded(self.list_request(lp)?).await
    }

    fn list_request(&self, lp: &ListParams) -> Result<http::Request<Vec<u8>>, Error> {
        let request = match self.metadata_only {
            true => self.request.list_metadata(lp),
            false => self.request.list(lp),
        };
        named("list", request)
    }
}
