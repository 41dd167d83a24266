//! Patching objects.

use std::fmt::Debug;

use kube_core::params::{Patch, PatchParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Api;
use crate::Result;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// Patches the object `name` and returns it as the server stored it. [`Patch::Apply`] creates it if it does not exist.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{Patch, PatchParams};
    /// use kube_client::{Api, Client};
    /// use serde_json::json;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let wanted = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "color": "blue" } });
    /// maps.patch("settings", &PatchParams::apply("painter"), &Patch::Apply(wanted)).await?;
    /// let change = json!({ "data": { "size": "5" } });
    /// let settings = maps.patch("settings", &PatchParams::default(), &Patch::Merge(change)).await?;
    /// assert_eq!(settings.data.map(|data| data.len()), Some(2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`](crate::Error::Api) with code 409 if another manager owns a field that is applied without force, 404 if the object
    /// does not exist, 422 if it would not be valid.
    pub async fn patch<P: Serialize + Debug>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        let request = match self.metadata_only {
            true => self.request.patch_metadata(name, pp, patch),
            false => self.request.patch(name, pp, patch),
        };
        self.call("patch", request).await
    }
}
