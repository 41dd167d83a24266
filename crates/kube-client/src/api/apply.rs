//! Server-side apply of a configuration.

use std::fmt::Debug;
use std::time::Duration;

use kube_core::apply::Configuration;
use kube_core::metadata::PartialObjectMeta;
use kube_core::params::{GetParams, Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Api;
use crate::Result;
use crate::apply::{ApplyBody, adopted};
use crate::error::Error;

/// How often [`Api::adopt`] writes at most if others write at the same time.
const ADOPT_ATTEMPTS: u32 = 8;

/// The pause after the first conflict of [`Api::adopt`]; each further one is twice as long.
const ADOPT_PAUSE: Duration = Duration::from_millis(10);

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// Applies a configuration and returns the object as the server stored it. The object is created if it does not exist.
    ///
    /// A [`Sparse`](crate::apply::Sparse), as the macro `apply!` of the crate `kube` writes it, has exactly the fields that were written; a whole object claims
    /// every field that it serializes. The field manager in `pp` owns these fields from now on; those that it applied before and that
    /// are missing now are removed. The name of the object is `metadata.name` of the configuration. Its namespace is that of this `Api`:
    /// the configuration may leave it out.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client, api::PatchParams, apply::extract};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut wanted = ConfigMap::default();
    /// wanted.metadata.name = Some("settings".into());
    /// wanted.data = Some([("color".to_owned(), "blue".to_owned())].into());
    /// let live = maps.apply(&PatchParams::apply("painter"), &wanted).await?;
    ///
    /// // Another manager may not change the color, and says whose it is.
    /// wanted.data = Some([("color".to_owned(), "red".to_owned())].into());
    /// let refused = maps.apply(&PatchParams::apply("other"), &wanted).await.unwrap_err();
    /// let [conflict] = &refused.field_conflicts()[..] else { panic!("{refused}") };
    /// assert_eq!((conflict.manager_name().as_str(), conflict.field.as_str()), ("painter", ".data.color"));
    ///
    /// // What was applied can be read from the object, and applying it again changes nothing.
    /// let again = maps.apply(&PatchParams::apply("painter"), &extract(&live, "painter", None)?).await?;
    /// assert_eq!(again.metadata.resource_version, live.metadata.resource_version);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// One request, without a read before it. The server changes nothing, and no watch has an event, if the object is as wanted.
    ///
    /// # Cancellation
    /// A dropped call has applied the configuration completely or not at all.
    ///
    /// # Errors
    /// [`Error::BuildRequest`] without a request if the configuration lacks `apiVersion`, `kind` or `metadata.name`, if it is for another
    /// namespace, if an item of a list of a built-in kind lacks the key that identifies it (for custom resources:
    /// [`ListMapKeys`](crate::apply::ListMapKeys)), or if `pp` has no field manager. [`Error::Api`] with code 409 if other managers own fields that would change,
    /// unless `pp` has `force`: [`Error::field_conflicts`] names them. 422 if the object would not be valid.
    pub async fn apply(
        &self,
        pp: &PatchParams,
        configuration: &impl Configuration<Resource = K>,
    ) -> Result<K> {
        let ApplyBody { name, json } =
            ApplyBody::of(configuration, self.scope.namespace()).map_err(Error::BuildRequest)?;
        let patch = Patch::Apply(json);
        let request = match self.metadata_only {
            true => self.request.patch_metadata(&name, pp, &patch),
            false => self.request.patch(&name, pp, &patch),
        };
        self.call("apply", request).await
    }

    /// Applies the `status` of a configuration, as the controller of the kind does; the server ignores all other fields, save those that
    /// identify the object. Everything else is as with [`Api::apply`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Namespace, NamespaceStatus};
    /// use kube_client::{Api, Client, api::PatchParams, apply::extract};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let namespaces: Api<Namespace> = Api::all(client);
    /// let status: NamespaceStatus =
    ///     serde_json::from_str(r#"{"conditions": [{"type": "Audited", "status": "True"}]}"#)?;
    /// let mut wanted = Namespace { status: Some(status), ..Namespace::default() };
    /// wanted.metadata.name = Some("default".into());
    /// let live = namespaces.apply_status(&PatchParams::apply("auditor"), &wanted).await?;
    /// let applied = extract(&live, "auditor", Some("status"))?;
    /// assert_eq!(applied.json()?["status"]["conditions"][0]["type"], "Audited");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::apply`]; also code 404 if the object does not exist, or its kind has no status subresource.
    pub async fn apply_status(
        &self,
        pp: &PatchParams,
        configuration: &impl Configuration<Resource = K>,
    ) -> Result<K> {
        let ApplyBody { name, json } =
            ApplyBody::of(configuration, self.scope.namespace()).map_err(Error::BuildRequest)?;
        self.call("apply_status", self.request.patch_subresource("status", &name, pp, &Patch::Apply(json)))
            .await
    }

    /// Makes what `manager` owns by create, replace and patch what it applied, as client-go's `csaupgrade` does: once, before the first apply of a
    /// program that wrote its objects by other requests before. Without it, the manager's former self keeps its fields: an apply conflicts
    /// with it, and fields that are left out are not removed.
    ///
    /// Returns whether anything changed: calling it again does no harm. Only `metadata.managedFields` changes, and what was written to
    /// subresources stays an update.
    ///
    /// Fields that the manager wrote in another API version than its last apply, or its newest update if there is none, belong to no
    /// manager afterwards.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{PatchParams, PostParams};
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"settings"},"data":{"color":"blue"}}"#)?;
    /// let params = PostParams { field_manager: Some("painter".into()), ..PostParams::default() };
    /// maps.create(&params, &map).await?;
    ///
    /// assert!(maps.adopt("settings", "painter").await?);
    /// map.data = None;
    /// let applied = maps.apply(&PatchParams::apply("painter"), &map).await?;
    /// assert_eq!(applied.data, None, "removed, as the configuration has it no more");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// Two requests, get and patch of the metadata; one if there is nothing to do. If others write at the same time, it reads and writes
    /// again, up to 8 times within about 1.3 s.
    ///
    /// # Cancellation
    /// A dropped call has moved everything or nothing.
    ///
    /// # Errors
    /// [`Error::Api`] with code 404 if the object does not exist, and with 409 if others changed it during each of the attempts.
    pub async fn adopt(&self, name: &str, manager: &str) -> Result<bool> {
        let mut pause = ADOPT_PAUSE;
        for _ in 1..ADOPT_ATTEMPTS {
            match self.try_adopt(name, manager).await {
                Err(Error::Api(status)) if status.is_conflict() => tokio::time::sleep(pause).await,
                result => return result,
            }
            pause *= 2;
        }
        self.try_adopt(name, manager).await
    }

    async fn try_adopt(&self, name: &str, manager: &str) -> Result<bool> {
        // Not a read that skips fields: it is for the managed fields.
        let get = self.request.get_metadata(name, &GetParams::default());
        let object: PartialObjectMeta<K> = self.call("get_metadata", get).await?;
        let entries = object.metadata.managed_fields.as_deref().unwrap_or_default();
        let Some(entries) = adopted(entries, manager, None) else { return Ok(false) };
        // With the version, the server refuses the patch of an object that has changed since.
        let metadata =
            json!({ "resourceVersion": object.metadata.resource_version, "managedFields": entries });
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let patch = self.request.patch_metadata(name, &PatchParams::default(), &patch);
        self.call::<PartialObjectMeta<K>>("adopt", patch).await.map(|_| true)
    }
}
