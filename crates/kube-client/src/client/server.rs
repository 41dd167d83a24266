//! The server's version, its API groups and its resources.

use http::Request;
use http::header::ACCEPT;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIResourceList, APIVersions};
use k8s_openapi::apimachinery::pkg::version::Info;
use kube_core::Status;
use kube_core::discovery::v2::{ACCEPT_AGGREGATED_DISCOVERY_V2, APIGroupDiscoveryList};
use kube_core::response::reason;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Client;
use crate::Result;
use crate::error::Error;

impl Client {
    /// The server's version.
    ///
    /// ```
    /// use kube_client::Client;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// println!("{}", client.apiserver_version().await?.git_version);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn apiserver_version(&self) -> Result<Info> {
        self.get_path("/version").await
    }

    /// The API groups, without the core group.
    ///
    /// ```
    /// use kube_client::Client;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let groups = client.list_api_groups().await?.groups;
    /// assert!(groups.iter().any(|group| group.name == "apps"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list_api_groups(&self) -> Result<APIGroupList> {
        self.get_path("/apis").await
    }

    /// The resources of one version of a group; `apiversion` is `group/version`.
    ///
    /// ```
    /// use kube_client::Client;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let kinds = client.list_api_group_resources("apps/v1").await?.resources;
    /// assert!(kinds.iter().any(|resource| resource.kind == "Deployment"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list_api_group_resources(&self, apiversion: &str) -> Result<APIResourceList> {
        self.get_path(&format!("/apis/{apiversion}")).await
    }

    /// The versions of the core group.
    ///
    /// ```
    /// use kube_client::Client;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// assert_eq!(client.list_core_api_versions().await?.versions, ["v1"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list_core_api_versions(&self) -> Result<APIVersions> {
        self.get_path("/api").await
    }

    /// The resources of a version of the core group.
    ///
    /// ```
    /// use kube_client::Client;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let kinds = client.list_core_api_resources("v1").await?.resources;
    /// assert!(kinds.iter().any(|resource| resource.name == "pods/log"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn list_core_api_resources(&self, version: &str) -> Result<APIResourceList> {
        self.get_path(&format!("/api/{version}")).await
    }

    /// The API groups with all their resources, in one response; without the core group.
    ///
    /// # Errors
    /// As [`Client::request`]. [`Error::Api`] with code 406 if the server does not have this form (before Kubernetes 1.26).
    pub async fn list_api_groups_aggregated(&self) -> Result<APIGroupDiscoveryList> {
        self.get_aggregated("/apis").await
    }

    /// The core group with all its resources, in one response.
    ///
    /// # Errors
    /// As [`Client::list_api_groups_aggregated`].
    pub async fn list_core_api_versions_aggregated(&self) -> Result<APIGroupDiscoveryList> {
        self.get_aggregated("/api").await
    }

    async fn get_aggregated(&self, path: &str) -> Result<APIGroupDiscoveryList> {
        let (kind, body) = self.get_with_kind(path, ACCEPT_AGGREGATED_DISCOVERY_V2).await?;
        if kind == AGGREGATED {
            return serde_json::from_str(body.get()).map_err(Error::SerdeError);
        }
        let message = format!("{path}: the server does not offer aggregated discovery (it sent {kind:?})");
        Err(Error::Api(Status::failure(&message, reason::NOT_ACCEPTABLE).with_code(406).boxed()))
    }

    /// The groups at `/api` or `/apis`, aggregated if the server supports that.
    pub(crate) async fn get_groups<P>(&self, path: &str) -> Result<GroupsResponse<P>>
    where
        P: DeserializeOwned,
    {
        let (kind, body) = self.get_with_kind(path, ACCEPT_AGGREGATED_OR_PLAIN).await?;
        let groups = match kind.as_str() {
            AGGREGATED => serde_json::from_str(body.get()).map(GroupsResponse::Aggregated),
            _ => serde_json::from_str(body.get()).map(GroupsResponse::Unaggregated),
        };
        groups.map_err(Error::SerdeError)
    }

    /// The `kind` of a response, and its whole body.
    async fn get_with_kind(&self, path: &str, accept: &str) -> Result<(String, Box<RawValue>)> {
        #[derive(Deserialize)]
        struct KindOnly {
            #[serde(default)]
            kind: String,
        }

        let request = Request::get(path).header(ACCEPT, accept).body(Vec::new());
        let body: Box<RawValue> = self.request(request.map_err(Error::HttpError)?).await?;
        let KindOnly { kind } = serde_json::from_str(body.get()).map_err(Error::SerdeError)?;
        Ok((kind, body))
    }

    async fn get_path<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.request(Request::get(path).body(Vec::new()).map_err(Error::HttpError)?).await
    }
}

/// The groups at `/api` or `/apis`.
#[derive(Debug)]
pub(crate) enum GroupsResponse<P> {
    /// With all of their resources.
    Aggregated(APIGroupDiscoveryList),
    /// With their names and versions only.
    Unaggregated(P),
}

const AGGREGATED: &str = "APIGroupDiscoveryList";

/// Aggregated discovery v2 (Kubernetes 1.30), else v2beta1 (1.27), which has the same form, else unaggregated. Without the last one, older
/// servers respond with 406.
const ACCEPT_AGGREGATED_OR_PLAIN: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aggregated_form_is_preferred() {
        assert!(ACCEPT_AGGREGATED_OR_PLAIN.starts_with(ACCEPT_AGGREGATED_DISCOVERY_V2));
        assert!(ACCEPT_AGGREGATED_OR_PLAIN.ends_with(",application/json"));
    }
}
