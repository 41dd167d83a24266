//! Deleting objects.

use std::fmt::Debug;

use either::Either;
use kube_core::object::ObjectList;
use kube_core::params::{DeleteParams, ListParams, Preconditions};
use kube_core::{Resource, Status};
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

    /// Deletes `object` if it is still in the state in which it was read: its uid and resourceVersion are preconditions.
    ///
    /// For deletions that are decided by what a cache shows, which may be outdated: an object that was changed since, or recreated under
    /// its name, stays. Read it again then, and decide anew; a controller returns the error, so that its next reconcile does.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let read = maps.get("settings").await?;
    /// maps.update_with_retry("settings", |map| map.immutable = Some(true)).await?;
    /// let refused = maps.delete_if_current(&read).await.unwrap_err();
    /// assert!(refused.is_conflict(), "it has changed since it was read");
    /// maps.delete_if_current(&maps.get("settings").await?).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::delete`]; 409 ([`Error::is_conflict`](crate::Error::is_conflict)) if the object has changed, 404 if it is gone.
    /// [`Error::BuildRequest`] if `object` has no name, uid or resourceVersion, or is not in this `Api`'s namespace.
    pub async fn delete_if_current(&self, object: &K) -> Result<Either<K, Status>>
    where
        K: Resource,
    {
        let meta = object.meta();
        let required = |value, field| required(meta.name.as_deref(), value, field);
        let name = required(meta.name.as_deref(), "name")?;
        if meta.namespace.as_deref() != self.namespace() {
            let (of_object, of_api) = (described(meta.namespace.as_deref()), described(self.namespace()));
            return Err(invalid(format!(
                "{name:?} is in {of_object}: expected an Api of that, but this one has {of_api}"
            )));
        }
        let preconditions = Preconditions {
            uid: Some(required(meta.uid.as_deref(), "uid")?.to_owned()),
            resource_version: Some(required(meta.resource_version.as_deref(), "resourceVersion")?.to_owned()),
        };
        self.delete(name, &DeleteParams::default().preconditions(preconditions)).await
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
            return Err(invalid(text.to_owned()));
        }
        let request = self.request.delete_collection(dp, lp);
        self.call_for_list_or_status("delete_collection", request).await
    }
}

/// A field of the object of this name.
fn required<'a>(name: Option<&str>, value: Option<&'a str>, field: &str) -> Result<&'a str> {
    let missing = || {
        let object = name.map_or_else(|| "the object".to_owned(), |name| format!("{name:?}"));
        invalid(format!("{object} has no metadata.{field}: expected an object that the server has returned"))
    };
    value.filter(|value| !value.is_empty()).ok_or_else(missing)
}

fn described(namespace: Option<&str>) -> String {
    namespace.map_or_else(|| "no namespace".to_owned(), |namespace| format!("the namespace {namespace:?}"))
}

fn invalid(text: String) -> Error {
    Error::BuildRequest(kube_core::request::Error::Validation(text))
}
