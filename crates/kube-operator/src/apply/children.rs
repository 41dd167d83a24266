//! Applying the children of an object.

use super::{
    child::{ChildPatch, InvalidChild, Owner},
    compare::{Comparison, compare},
    conflict::ApplyConflict,
};
use kube_client::{Client, error::ErrorClass};
use kube_core::{
    Request, Resource, ResourceExt,
    apply::Configuration,
    params::{GetParams, Patch, PatchParams},
};
use kube_runtime::reflector::{ObjectRef, Store};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{fmt::Debug, hash::Hash, sync::Arc};

/// Creates and updates the children of one object, each in one call, by server-side apply.
///
/// A child is a [`Configuration`]: a [`Sparse`](kube_core::Sparse), as `apply!` writes it, or a new object with exactly the fields that the
/// controller wants. [`apply`](Self::apply) adds the reference to its owner, which makes the owner its controller, so that it is deleted
/// with the owner; sends it under one field manager; and reports what happened. Fields that were applied before and are missing now are
/// removed; fields of other managers stay.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube_client::{Api, Client};
/// use kube_core::params::PostParams;
/// use kube_operator::apply::{Apply, Change};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// # let owner: Secret = serde_json::from_str(r#"{"metadata":{"name":"site"}}"#)?;
/// # let owner = Api::default_namespaced(client.clone()).create(&PostParams::default(), &owner).await?;
/// # let child = |text: &str| -> Result<ConfigMap, serde_json::Error> {
/// #     serde_json::from_value(serde_json::json!({ "metadata": { "name": "pages" }, "data": { "index": text } }))
/// # };
///
/// // In a reconcile of `owner`; `child` makes a ConfigMap with name and data only.
/// let children = Apply::owned_by(client, "sites.example.com", &owner)?;
/// assert_eq!(children.apply(&child("hello")?).await?.change, Change::Created);
/// assert_eq!(children.apply(&child("hello")?).await?.change, Change::Unchanged);
/// assert_eq!(children.apply(&child("goodbye")?).await?.change, Change::Changed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
///
/// | state of the child | [`apply`](Self::apply) | [`apply_cached`](Self::apply_cached) |
/// |---|---|---|
/// | as wanted | 1 request (get) | none |
/// | missing, or differs | 2 requests (get, patch) | 2 requests (get, patch) |
///
/// The comparison needs `metadata.managedFields`, and serializes the child: O(its size). If the server stores a value in another
/// form than the child has it (the quantity `1000m` as `1`), the two seem to differ: the patch is sent each time, and reported as
/// [`Change::Unchanged`] by the `resourceVersion`, which does not change.
///
/// # Permissions
///
/// `get`, `patch` and `create` of the child's kind.
///
/// # Cancellation
///
/// A dropped call has applied the child completely or not at all. The next reconcile continues.
#[derive(Clone)]
pub struct Apply {
    client: Client,
    manager: String,
    owner: Owner,
    on_conflict: OnConflict,
    dry_run: bool,
}

/// What happens if the apply would change fields of other field managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnConflict {
    /// Take the fields over if the owner controls the child already; otherwise fail.
    ///
    /// The default. Kubernetes recommends controllers to take over the fields of what they control, as otherwise one
    /// `kubectl edit` of a child would stop the controller. But an object that was there before, and happens to have the name of a
    /// child, is not seized.
    #[default]
    TakeOverIfControlled,
    /// Always take the fields over.
    TakeOver,
    /// Fail with [`ApplyError::Conflict`].
    Fail,
}

/// What an apply did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// It did not exist.
    Created,
    /// It existed and has changed since it was read: as a rule by this apply.
    Changed,
    /// It was as wanted.
    Unchanged,
}

/// The result of an apply.
#[derive(Debug, Clone)]
pub struct Applied<K> {
    /// What happened.
    pub change: Change,
    /// The whole object with the fields of all managers, as the server has it after the apply: with its uid, its status, and the
    /// resourceVersion of this write. If it was found unchanged in a store ([`Apply::apply_cached`]), as in the store.
    pub object: Arc<K>,
}

/// Why a child was not applied. `{}` names the child and the cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The child cannot be applied as it is. Retrying is useless.
    #[error(transparent)]
    InvalidChild(#[from] InvalidChild),
    /// Other managers own fields that the apply would change: see [`OnConflict`].
    #[error(transparent)]
    Conflict(#[from] ApplyConflict),
    /// The child could not be read.
    #[error("failed to read {child}: {error}")]
    Read {
        /// Kind, name and namespace of the child.
        child: String,
        /// The cause.
        #[source]
        error: kube_client::Error,
    },
    /// The server refused the patch, or could not be reached.
    #[error("failed to apply {child}: {error}")]
    Apply {
        /// Kind, name and namespace of the child.
        child: String,
        /// The cause.
        #[source]
        error: kube_client::Error,
    },
}

/// A kind of which an object can be a child: every kind that can be sent and read.
pub trait Child: Resource<Scope: 'static> + Serialize + DeserializeOwned + Clone + Debug {}

impl<K: Resource<Scope: 'static> + Serialize + DeserializeOwned + Clone + Debug> Child for K {}

impl Apply {
    /// Children of `owner`, applied as `field_manager`: a name for the controller, the same in all versions and replicas of it.
    ///
    /// # Errors
    ///
    /// If `owner` has no name or uid, because it is not from the server.
    pub fn owned_by<O>(client: Client, field_manager: &str, owner: &O) -> Result<Self, InvalidChild>
    where
        O: Resource<DynamicType: Default>,
    {
        Self::owned_by_with(client, field_manager, owner, &O::DynamicType::default())
    }

    /// Like [`owned_by`](Self::owned_by), for an owner of a kind known only at run time.
    ///
    /// # Errors
    ///
    /// As [`owned_by`](Self::owned_by).
    pub fn owned_by_with<O: Resource>(
        client: Client,
        field_manager: &str,
        owner: &O,
        dyntype: &O::DynamicType,
    ) -> Result<Self, InvalidChild> {
        let (manager, owner) = (field_manager.to_owned(), Owner::new(owner, dyntype)?);
        Ok(Self { client, manager, owner, on_conflict: OnConflict::default(), dry_run: false })
    }

    /// For the children of a set, which is checked already. With `dry_run`, the server stores nothing.
    #[cfg(feature = "manager")]
    pub(crate) fn of_set(client: Client, manager: &str, owner: Owner, dry_run: bool) -> Self {
        let manager = manager.to_owned();
        Self { client, manager, owner, on_conflict: OnConflict::default(), dry_run }
    }

    /// Sets what happens if other field managers own the fields of a child.
    #[must_use]
    pub fn on_conflict(self, on_conflict: OnConflict) -> Self {
        Self { on_conflict, ..self }
    }

    /// Creates or updates `child`. A child without a namespace is in that of its owner.
    ///
    /// # Errors
    ///
    /// See [`ApplyError`]; [`InvalidChild`] without a request, or if another controller owns the existing child.
    pub async fn apply<C>(&self, child: &C) -> Result<Applied<C::Resource>, ApplyError>
    where
        C: Configuration<Resource: Child<DynamicType: Default>>,
    {
        self.apply_with(child, &Default::default()).await
    }

    /// Like [`apply`](Self::apply), for kinds known only at run time.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # use kube_client::{Api, Client};
    /// # use kube_core::params::PostParams;
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_operator::apply::{Apply, Change};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let owner: Secret = serde_json::from_str(r#"{"metadata":{"name":"site"}}"#)?;
    /// # let owner = Api::default_namespaced(client.clone()).create(&PostParams::default(), &owner).await?;
    ///
    /// let kind = ApiResource::erase::<ConfigMap>(&()); // or from discovery
    /// let child = DynamicObject::new("pages", &kind).data(serde_json::json!({ "data": { "index": "hello" } }));
    /// let children = Apply::owned_by(client, "sites.example.com", &owner)?;
    /// assert_eq!(children.apply_with(&child, &kind).await?.change, Change::Created);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub async fn apply_with<C>(
        &self,
        child: &C,
        dyntype: &<C::Resource as Resource>::DynamicType,
    ) -> Result<Applied<C::Resource>, ApplyError>
    where
        C: Configuration<Resource: Child>,
    {
        let child = self.owner.patch(child, dyntype)?;
        self.apply_patch(child, dyntype).await
    }

    /// Like [`apply`](Self::apply), without a request if the child is as wanted in `store`, such as one that
    /// [`Related::store`](kube_runtime::controller::Related::store) fills.
    ///
    /// A store that lags behind may show a child as wanted that was changed meanwhile; that change triggers the next reconcile.
    /// A store [without managed fields](kube_runtime::watcher::Config::without_managed_fields) saves no request.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub async fn apply_cached<C>(
        &self,
        child: &C,
        store: &Store<C::Resource>,
    ) -> Result<Applied<C::Resource>, ApplyError>
    where
        C: Configuration<Resource: Child<DynamicType: Eq + Hash + Clone>>,
    {
        let dyntype = store.dyntype();
        let child = self.owner.patch(child, dyntype)?;
        let key = ObjectRef::new_with(&child.name, dyntype.clone());
        let key = match &child.namespace {
            Some(namespace) => key.within(namespace),
            None => key,
        };
        match store.get(&key).filter(|cached| self.is_as_wanted(&**cached, &child)) {
            Some(object) => Ok(Applied { change: Change::Unchanged, object }),
            None => self.apply_patch(child, dyntype).await,
        }
    }

    async fn apply_patch<K>(
        &self,
        child: ChildPatch,
        dyntype: &K::DynamicType,
    ) -> Result<Applied<K>, ApplyError>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
    {
        let current = self.read::<K>(&child, dyntype).await?;
        let is_ours = current.as_ref().is_some_and(|current| self.owner.controls(current));
        self.apply_over(child, current, is_ours, dyntype).await
    }

    /// Applies a child whose present state is known. `is_ours` is whether it was a child before.
    pub(crate) async fn apply_over<K>(
        &self,
        mut child: ChildPatch,
        current: Option<K>,
        is_ours: bool,
        dyntype: &K::DynamicType,
    ) -> Result<Applied<K>, ApplyError>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
    {
        let request = Request::new(K::url_path(dyntype, child.namespace.as_deref()));
        let Some(current) = current else {
            let force = self.on_conflict == OnConflict::TakeOver;
            let object = Arc::new(self.send(&request, &child, force).await?);
            return Ok(Applied { change: Change::Created, object });
        };
        self.owner.check_controller(current.owner_references(), &child.title)?;
        if self.is_as_wanted(&current, &child) {
            return Ok(Applied { change: Change::Unchanged, object: Arc::new(current) });
        }
        let force = match self.on_conflict {
            OnConflict::TakeOver => true,
            OnConflict::TakeOverIfControlled => is_ours,
            OnConflict::Fail => false,
        };
        // Otherwise an object that replaced the read one meanwhile could be taken over.
        child.patch["metadata"]["uid"] = json!(current.uid());
        let object: K = self.send(&request, &child, force).await?;
        let is_same = match self.dry_run {
            true => content(&object) == content(&current),
            false => object.resource_version() == current.resource_version(),
        };
        let change = if is_same { Change::Unchanged } else { Change::Changed };
        Ok(Applied { change, object: Arc::new(object) })
    }

    fn is_as_wanted<K: Resource + Serialize>(&self, current: &K, child: &ChildPatch) -> bool {
        let Ok(json) = serde_json::to_value(current) else { return false };
        let comparison = compare(&json, current.managed_fields(), &child.patch, &self.manager, None);
        comparison == Comparison::Unchanged && current.meta().deletion_timestamp.is_none()
    }

    /// The present state of a child; `None` if it does not exist.
    pub(crate) async fn read<K>(
        &self,
        child: &ChildPatch,
        dyntype: &K::DynamicType,
    ) -> Result<Option<K>, ApplyError>
    where
        K: Resource + DeserializeOwned + Clone + Debug,
    {
        let request = Request::new(K::url_path(dyntype, child.namespace.as_deref()));
        let failed = |error| ApplyError::Read { child: child.title.clone(), error };
        let get = request.get(&child.name, &GetParams::default());
        let get = get.map_err(|error| failed(kube_client::Error::BuildRequest(error)))?;
        ErrorClass::absent_as_none(self.client.request::<K>(get).await).map_err(failed)
    }

    async fn send<K>(&self, request: &Request, child: &ChildPatch, force: bool) -> Result<K, ApplyError>
    where
        K: DeserializeOwned + Clone + Debug,
    {
        let failed = |error| ApplyError::Apply { child: child.title.clone(), error };
        let params = PatchParams { force, dry_run: self.dry_run, ..PatchParams::apply(&self.manager) };
        let patch = request.patch(&child.name, &params, &Patch::Apply(&child.patch));
        let mut patch = patch.map_err(|error| failed(kube_client::Error::BuildRequest(error)))?;
        patch.extensions_mut().insert(self.owner.finalizers());
        self.client.request::<K>(patch).await.map_err(|error| {
            let conflict = match &error {
                kube_client::Error::Api(status) => {
                    ApplyConflict::of(status, child.title.clone(), &self.manager)
                }
                _ => None,
            };
            conflict.map_or_else(|| failed(error), ApplyError::Conflict)
        })
    }
}

/// What a dry run may change of an object: it has no new version.
fn content<K: Serialize>(object: &K) -> Option<Value> {
    let mut json = serde_json::to_value(object).ok()?;
    let metadata = json.get_mut("metadata").and_then(Value::as_object_mut)?;
    // Every apply writes its time into them.
    metadata.remove("managedFields");
    metadata.remove("generation");
    Some(json)
}
