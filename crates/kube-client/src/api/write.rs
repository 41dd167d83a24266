//! Creating and replacing objects.

use std::fmt::Debug;

use kube_core::params::PostParams;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Api;
use crate::Result;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// Creates an object and returns it as the server stored it.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{ObjectMeta, PostParams};
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let metadata = ObjectMeta { name: Some("settings".into()), ..ObjectMeta::default() };
    /// let map = ConfigMap { metadata, ..ConfigMap::default() };
    /// assert!(maps.create(&PostParams::default(), &map).await?.metadata.uid.is_some());
    /// let again = maps.create(&PostParams::default(), &map).await;
    /// assert!(again.is_err_and(|err| err.is_already_exists()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`] with code 409 (`AlreadyExists`) if an object of that name exists, 422 if the object is not valid.
    pub async fn create(&self, pp: &PostParams, data: &K) -> Result<K>
    where
        K: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("create", self.request.create(pp, body)).await
    }

    /// Replaces the object `name` and returns it as the server stored it.
    ///
    /// With `metadata.resource_version` in `data`, only if the object has not changed since that version.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::PostParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut settings = maps.get("settings").await?;
    /// settings.data.get_or_insert_default().insert("color".into(), "red".into());
    /// maps.replace("settings", &PostParams::default(), &settings).await?;
    /// // The object has changed since it was read.
    /// let late = maps.replace("settings", &PostParams::default(), &settings).await;
    /// assert!(late.is_err_and(|err| err.is_conflict()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`] with code 409 (`Conflict`) if the object has changed since, 404 if it does not exist, 422 if it is not valid.
    pub async fn replace(&self, name: &str, pp: &PostParams, data: &K) -> Result<K>
    where
        K: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("replace", self.request.replace(name, pp, body)).await
    }
}
