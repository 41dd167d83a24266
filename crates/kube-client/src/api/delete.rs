//! Deleting objects.

use std::fmt::Debug;

use either::Either;
use kube_core::Status;
use kube_core::object::ObjectList;
use kube_core::params::{DeleteParams, ListParams};
use serde::de::DeserializeOwned;

use super::Api;
use super::handle::ApiScope;
use crate::Result;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// Deletes the object `name`.
    ///
    /// Returns the object if it still exists, because of finalizers or its grace period, and a `Status` if it is deleted.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::DeleteParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// match maps.delete("settings", &DeleteParams::default()).await? {
    ///     either::Left(map) => println!("being deleted since {:?}", map.metadata.deletion_timestamp),
    ///     either::Right(status) => assert!(status.is_success()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`](crate::Error::Api) with code 404 if it does not exist, 409 if the preconditions do not hold.
    pub async fn delete(&self, name: &str, dp: &DeleteParams) -> Result<Either<K, Status>> {
        self.call_for_object_or_status("delete", self.request.delete(name, dp)).await
    }

    /// Deletes the objects that `lp` selects; with default parameters, all of them.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{DeleteParams, ListParams};
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let old = ListParams::default().labels("generation=old");
    /// maps.delete_collection(&DeleteParams::default(), &old).await?;
    /// assert!(maps.get_opt("settings").await?.is_some(), "it has no such label");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`](crate::Client::request), and [`Error::BuildRequest`] if the namespace is the empty text: to delete in all
    /// namespaces, start from [`Api::all`].
    pub async fn delete_collection(
        &self,
        dp: &DeleteParams,
        lp: &ListParams,
    ) -> Result<Either<ObjectList<K>, Status>> {
        if self.scope == ApiScope::EmptyNamespace {
            let text = "the namespace is empty, which means all namespaces: expected a name, or `Api::all`";
            return Err(Error::BuildRequest(kube_core::request::Error::Validation(text.to_owned())));
        }
        let request = self.request.delete_collection(dp, lp);
        self.call_for_list_or_status("delete_collection", request).await
    }
}
