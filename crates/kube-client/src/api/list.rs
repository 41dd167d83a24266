//! Reading many objects.

use std::fmt::Debug;

use kube_core::object::ObjectList;
use kube_core::params::ListParams;
use serde::de::DeserializeOwned;

use super::Api;
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
        let request = match self.metadata_only {
            true => self.request.list_metadata(lp),
            false => self.request.list(lp),
        };
        self.call("list", request).await
    }
}
