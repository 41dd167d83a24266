//! Creating and replacing objects.

use std::fmt::Debug;

use kube_core::params::PostParams;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// Creates an object; gives it as the server has stored it.
    ///
    /// # Errors
    /// [`Error::Api`] with code 409 (`AlreadyExists`) if the name is taken, 422 if the object is not valid.
    pub async fn create(&self, pp: &PostParams, data: &K) -> Result<K, Error>
    where
        K: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("create", self.request.create(pp, body)).await
    }

    /// Replaces the object `name`; gives it as the server has stored it.
    ///
    /// With `metadata.resource_version` in `data`, only if nobody has changed it since.
    ///
    /// # Errors
    /// [`Error::Api`] with code 409 (`Conflict`) if somebody has, 404 if it is not there, 422 if it is not valid.
    pub async fn replace(&self, name: &str, pp: &PostParams, data: &K) -> Result<K, Error>
    where
        K: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("replace", self.request.replace(name, pp, body)).await
    }
}
