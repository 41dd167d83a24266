//! Reading one object.

use std::fmt::Debug;

use kube_core::params::GetParams;
use serde::de::DeserializeOwned;

use super::Api;
use super::handle::not_found_as_none;
use crate::Result;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// The object `name`, in its most recent state.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let settings = maps.get("settings").await?;
    /// assert_eq!(settings.data.unwrap_or_default()["color"], "blue");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`](crate::Error::Api) with code 404 if it does not exist, [`Error::BuildRequest`](crate::Error::BuildRequest) for an
    /// empty name, others as [`Client::request`](crate::Client::request).
    pub async fn get(&self, name: &str) -> Result<K> {
        self.get_with(name, &GetParams::default()).await
    }

    /// The object `name`, as recent as `gp` requires.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::GetParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// // Cheaper for the server, and may be outdated.
    /// let settings = maps.get_with("settings", &GetParams::any()).await?;
    /// assert!(settings.data.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_with(&self, name: &str, gp: &GetParams) -> Result<K> {
        let request = match self.metadata_only {
            true => self.request.get_metadata(name, gp),
            false => self.request.get(name, gp),
        };
        self.client.request(self.read("get", request)?).await
    }

    /// The object `name`, if it exists.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// assert!(maps.get_opt("settings").await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::get`], except for an object that does not exist.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>> {
        not_found_as_none(self.get(name).await)
    }
}
