//! What an API server tells about itself.

use http::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIResourceList, APIVersions};
use k8s_openapi::apimachinery::pkg::version::Info;
use serde::de::DeserializeOwned;

use super::Client;
use crate::error::Error;

impl Client {
    /// The server's version.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn apiserver_version(&self) -> Result<Info, Error> {
        self.get_path("/version").await
    }

    /// The API groups, without the core group.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list_api_groups(&self) -> Result<APIGroupList, Error> {
        self.get_path("/apis").await
    }

    /// The resources of a group's version, given as `group/version`.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list_api_group_resources(&self, apiversion: &str) -> Result<APIResourceList, Error> {
        self.get_path(&format!("/apis/{apiversion}")).await
    }

    /// The versions of the core group.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list_core_api_versions(&self) -> Result<APIVersions, Error> {
        self.get_path("/api").await
    }

    /// The resources of a version of the core group.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list_core_api_resources(&self, version: &str) -> Result<APIResourceList, Error> {
        self.get_path(&format!("/api/{version}")).await
    }

    async fn get_path<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.request(Request::get(path).body(Vec::new()).map_err(Error::HttpError)?).await
    }
}
