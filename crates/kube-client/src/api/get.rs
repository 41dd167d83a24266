//! Reading one object.

use std::fmt::Debug;

use kube_core::params::GetParams;
use serde::de::DeserializeOwned;

use super::Api;
use super::handle::absent_as_none;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// The object `name`, in its most recent state.
    ///
    /// # Errors
    /// [`Error::Api`] with code 404 if it is not there, [`Error::BuildRequest`] for an empty name, others as
    /// [`Client::request`](crate::Client::request).
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        self.get_with(name, &GetParams::default()).await
    }

    /// The object `name`, as recent as `gp` asks for.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_with(&self, name: &str, gp: &GetParams) -> Result<K, Error> {
        let request = match self.metadata_only {
            true => self.request.get_metadata(name, gp),
            false => self.request.get(name, gp),
        };
        self.call("get", request).await
    }

    /// The object `name` if it is there.
    ///
    /// # Errors
    /// As [`Api::get`], but for its absence.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error> {
        absent_as_none(self.get(name).await)
    }
}
