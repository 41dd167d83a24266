//! What an API server tells about itself.

use http::Request;
use http::header::ACCEPT;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIResourceList, APIVersions};
use k8s_openapi::apimachinery::pkg::version::Info;
use kube_core::Status;
use kube_core::discovery::v2::{ACCEPT_AGGREGATED_DISCOVERY_V2, APIGroupDiscoveryList};
use kube_core::response::reason;
use serde::Deserialize;
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

    /// The API groups with all their resources, in one answer; without the core group.
    ///
    /// # Errors
    /// As [`Client::request`]. [`Error::Api`] with code 406 if the server does not have this form (before Kubernetes 1.26).
    pub async fn list_api_groups_aggregated(&self) -> Result<APIGroupDiscoveryList, Error> {
        self.get_aggregated("/apis").await
    }

    /// The core group with all its resources, in one answer.
    ///
    /// # Errors
    /// As [`Client::list_api_groups_aggregated`].
    pub async fn list_core_api_versions_aggregated(&self) -> Result<APIGroupDiscoveryList, Error> {
        self.get_aggregated("/api").await
    }

    async fn get_aggregated(&self, path: &str) -> Result<APIGroupDiscoveryList, Error> {
        /// Servers that do not know the form may answer in another one, which would pass for a list without groups.
        #[derive(Deserialize)]
        struct Answer {
            #[serde(default)]
            kind: String,
            #[serde(flatten)]
            list: APIGroupDiscoveryList,
        }

        let request = Request::get(path).header(ACCEPT, ACCEPT_AGGREGATED_DISCOVERY_V2).body(Vec::new());
        let answer: Answer = self.request(request.map_err(Error::HttpError)?).await?;
        if answer.kind == "APIGroupDiscoveryList" {
            return Ok(answer.list);
        }
        let message =
            format!("{path}: the server does not offer aggregated discovery (it sent {:?})", answer.kind);
        Err(Error::Api(Status::failure(&message, reason::NOT_ACCEPTABLE).with_code(406).boxed()))
    }

    async fn get_path<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.request(Request::get(path).body(Vec::new()).map_err(Error::HttpError)?).await
    }
}
