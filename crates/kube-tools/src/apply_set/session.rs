//! [`Applying`]: a set while it is applied; sends the requests.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};
use kube_client::Client;
use kube_client::Result as ClientResult;
use kube_client::api::Api;
use kube_client::discovery::{Discovery, Scope};
use kube_client::error::Error;
use kube_core::metadata::PartialObjectMeta;
use kube_core::params::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta};

use super::error::{ApplySetError, PruneError, PruneFailure};
use super::members::{GroupKind, Members};
use super::object::{PrunedObject, object_text};
use super::plan::{self, Fate};
use super::set::{ApplySet, PART_OF};
use crate::kind_order::position;

/// How many collections are listed, and how many objects deleted, at the same time.
const CONCURRENCY: usize = 8;

/// How often the parent is read again because another program has changed it.
const MAX_ATTEMPTS: usize = 5;

/// The label of a definition whose resources may be parents.
const IS_PARENT: &str = "applyset.kubernetes.io/is-parent-type";

/// Members as the server has them, with their kinds.
type Listed = Vec<(ApiResource, PartialObjectMeta<DynamicObject>)>;

impl ApplySet {
    /// Starts a run: checks parent and objects, records in the parent where members may be from now on, and labels the objects. Then
    /// apply them, in any way that writes their labels, and call [`Applying::finish`].
    ///
    /// Each object is given with its kind, and with its namespace if its kind has one.
    ///
    /// # Errors
    /// [`ApplySetError`]; nothing was applied then. An error or a cut after that leaves the parent with a superset, which is safe.
    pub async fn begin(
        &self,
        client: &Client,
        objects: &mut [(ApiResource, DynamicObject)],
    ) -> Result<Applying, ApplySetError> {
        for (resource, object) in objects.iter_mut() {
            self.label(resource, object)?;
        }
        self.check_parent_type(client).await?;
        let new = Members::of(objects);
        self.check_other_sets(client, objects).await?;
        let parents: Api<DynamicObject> = self.parents(client);
        for _ in 0..MAX_ATTEMPTS {
            let parent = parents.get_metadata_opt(&self.name).await;
            let parent = parent.map_err(|err| self.request_error("get", err))?.map(|parent| parent.metadata);
            let old = plan::recorded(self, parent.as_ref())?;
            let version = parent.and_then(|parent| parent.resource_version);
            match self.write_parent(&parents, &old.union(&new), version).await {
                Ok(parent) => {
                    return Ok(Applying { set: self.clone(), client: client.clone(), parent, old, new });
                }
                Err(Error::Api(status)) if status.is_conflict() => {}
                Err(err) => return Err(self.request_error("apply", err)),
            }
        }
        Err(ApplySetError::Busy(self.to_string()))
    }

    fn parents(&self, client: &Client) -> Api<DynamicObject> {
        api(client, &self.resource, self.namespace.as_deref())
    }

    /// Custom resources have to be declared as parents by their definition.
    async fn check_parent_type(&self, client: &Client) -> Result<(), ApplySetError> {
        if plan::is_built_in(self) {
            return Ok(());
        }
        let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definitions: Api<DynamicObject> = api(client, &ApiResource::from_gvk(&gvk), None);
        let name = format!("{}.{}", self.resource.plural, self.resource.group);
        let definition = definitions.get_metadata_opt(&name).await;
        let definition = definition.map_err(|err| self.request_error("get the definition of", err))?;
        let labels = definition.and_then(|definition| definition.metadata.labels).unwrap_or_default();
        match labels.contains_key(IS_PARENT) {
            true => Ok(()),
            false => Err(ApplySetError::Parent {
                parent: self.to_string(),
                message: format!(
                    "expected a Secret, a ConfigMap, or a custom resource whose definition ({name}) has the label {IS_PARENT}"
                ),
            }),
        }
    }

    /// None of the objects may be in another set. One list for each kind and namespace, of members of other sets only.
    async fn check_other_sets(
        &self,
        client: &Client,
        objects: &[(ApiResource, DynamicObject)],
    ) -> Result<(), ApplySetError> {
        let mut collections: BTreeMap<_, (ApiResource, BTreeSet<String>)> = BTreeMap::new();
        for (resource, object) in objects {
            let key = (GroupKind::of(resource), object.metadata.namespace.clone());
            let (_, names) = collections.entry(key).or_insert_with(|| (resource.clone(), BTreeSet::new()));
            names.extend(object.metadata.name.clone());
        }
        let lp = &ListParams::default().labels(&format!("{PART_OF},{PART_OF}!={}", self.id()));
        // The closure takes owned values: with references, the future would not be `Send`.
        let lists = collections.into_iter().map(|((_, namespace), (resource, names))| async move {
            let api: Api<DynamicObject> = api(client, &resource, namespace.as_deref());
            let others = match api.list_metadata(lp).await {
                Ok(others) => others.items,
                // The kind or the namespace is in the set itself.
                Err(Error::Api(status)) if status.is_not_found() => Vec::new(),
                Err(err) => return Err(list_error(&resource, namespace.as_deref(), err)),
            };
            let mut others = others.into_iter().map(|other| other.metadata);
            let taken = others.find(|other| other.name.as_ref().is_some_and(|name| names.contains(name)));
            taken.map_or(Ok(()), |taken| Err(self.other_set(&resource, taken)))
        });
        stream::iter(lists).buffer_unordered(CONCURRENCY).try_collect().await
    }

    fn other_set(&self, resource: &ApiResource, metadata: ObjectMeta) -> ApplySetError {
        let other =
            metadata.labels.as_ref().and_then(|labels| labels.get(PART_OF)).cloned().unwrap_or_default();
        ApplySetError::OtherSet { object: object_text(resource, &metadata), other, expected: self.id() }
    }

    /// Writes the parent, with force: its fields are those of this manager, whoever has edited them.
    async fn write_parent(
        &self,
        parents: &Api<DynamicObject>,
        members: &Members,
        version: Option<String>,
    ) -> ClientResult<ObjectMeta> {
        let params =
            PatchParams { dry_run: self.dry_run, ..PatchParams::apply(&self.field_manager()).force() };
        let parent = plan::parent_patch(self, members, version);
        Ok(parents.patch_metadata(&self.name, &params, &Patch::Apply(parent)).await?.metadata)
    }

    fn request_error(&self, verb: &str, source: Error) -> ApplySetError {
        ApplySetError::Request {
            context: format!("cannot {verb} {self}, the parent of the apply set"),
            source,
        }
    }
}

/// A set whose objects are being applied. Dropping it prunes nothing, and leaves the parent with a superset of the members: right if an
/// object could not be applied.
#[derive(Debug)]
#[must_use = "without `finish`, nothing is pruned"]
pub struct Applying {
    set: ApplySet,
    client: Client,
    /// As it was written.
    parent: ObjectMeta,
    /// Where members were before.
    old: Members,
    /// Where they are now.
    new: Members,
}

impl Applying {
    /// Deletes the members that are not among `applied`, the objects as the server has returned them, and records in the parent where the
    /// others are. Returns what was deleted; its dependents are deleted in the background, and nothing waits for the end of that.
    ///
    /// Kinds that the server does not serve, such as those of a deleted definition, stay recorded.
    ///
    /// # Errors
    /// [`ApplySetError::Prune`] if some could not be deleted; the others were. After any error, the parent keeps the superset, and the next
    /// run finds what is left.
    ///
    /// # Cancellation
    /// Dropping the future leaves the superset as well.
    pub async fn finish(self, applied: &[DynamicObject]) -> Result<Vec<PrunedObject>, ApplySetError> {
        self.finish_by_uids(applied.iter().filter_map(|object| object.metadata.uid.as_deref()).collect())
            .await
    }

    /// As [`finish`](Self::finish), with the uids of the applied objects.
    pub(crate) async fn finish_by_uids(
        self,
        applied: BTreeSet<&str>,
    ) -> Result<Vec<PrunedObject>, ApplySetError> {
        let (kinds, unknown) = self.resolve_kinds().await?;
        let members = self.list_members(&kinds).await?;
        let (mut pruned, mut failures, mut doomed) = (Vec::new(), Vec::new(), Vec::new());
        for (resource, member) in members {
            let fate = plan::fate(&member, &applied, self.parent.uid.as_deref());
            let object = PrunedObject::new(resource, member.metadata);
            match fate {
                Fate::Keep => {}
                Fate::Delete => doomed.push(object),
                Fate::Refuse { owner } => {
                    failures.push(PruneFailure { object, source: PruneError::Owned(owner) })
                }
            }
        }
        doomed.sort_by_key(|object| {
            let ApiResource { group, kind, .. } = &object.resource;
            (Reverse(position(group, kind)), object.to_string())
        });
        let mut deletions = stream::iter(doomed).map(|object| self.delete(object)).buffered(CONCURRENCY);
        while let Some((object, result)) = deletions.next().await {
            match result {
                Ok(()) => pruned.push(object),
                Err(source) => failures.push(PruneFailure { object, source }),
            }
        }
        drop(deletions);
        if !failures.is_empty() {
            return Err(ApplySetError::Prune { pruned, failures });
        }
        self.record(unknown).await?;
        Ok(pruned)
    }

    /// The recorded kinds as the server serves them, and those that it does not serve.
    async fn resolve_kinds(&self) -> Result<(Vec<(ApiResource, bool)>, BTreeSet<GroupKind>), ApplySetError> {
        if self.old.kinds.is_empty() {
            return Ok((Vec::new(), BTreeSet::new()));
        }
        let groups: BTreeSet<_> = self.old.kinds.iter().map(|kind| kind.group.as_str()).collect();
        let groups: Vec<_> = groups.into_iter().collect();
        let discovery = Discovery::new(self.client.clone()).filter(&groups).run().await;
        let discovery = discovery.map_err(|source| ApplySetError::Request {
            context: "cannot discover the kinds of the apply set".into(),
            source,
        })?;
        let failed: Vec<_> = discovery.failed_groups().map(str::to_owned).collect();
        if !failed.is_empty() {
            return Err(ApplySetError::Discovery(failed));
        }
        let (mut kinds, mut unknown) = (Vec::new(), BTreeSet::new());
        for kind in &self.old.kinds {
            let resources = discovery.get(&kind.group).map(|group| group.resources_by_stability());
            match resources.into_iter().flatten().find(|(resource, _)| resource.kind == kind.kind) {
                Some((resource, capabilities)) => {
                    kinds.push((resource, capabilities.scope == Scope::Namespaced))
                }
                None => drop(unknown.insert(kind.clone())),
            }
        }
        Ok((kinds, unknown))
    }

    /// All objects with the label of the set, in the collections in which there were some before.
    async fn list_members(&self, kinds: &[(ApiResource, bool)]) -> Result<Listed, ApplySetError> {
        let mut collections = Vec::new();
        for (resource, namespaced) in kinds {
            let namespaces = plan::collections(&self.set, &self.old, &resource.kind, *namespaced)?;
            collections.extend(namespaces.into_iter().map(|namespace| (resource.clone(), namespace)));
        }
        let lp = &ListParams::default().labels(&format!("{PART_OF}={}", self.set.id()));
        let lists = collections.into_iter().map(|(resource, namespace)| async move {
            let api: Api<DynamicObject> = api(&self.client, &resource, namespace.as_deref());
            let members = api.list_metadata(lp).await;
            let members = members.map_err(|err| list_error(&resource, namespace.as_deref(), err))?;
            let listed = members.into_iter().map(|member| (resource.clone(), member)).collect::<Listed>();
            Ok::<_, ApplySetError>(listed)
        });
        stream::iter(lists).buffered(CONCURRENCY).try_concat().await
    }

    async fn delete(&self, object: PrunedObject) -> (PrunedObject, Result<(), PruneError>) {
        let api: Api<DynamicObject> = api(&self.client, &object.resource, object.namespace.as_deref());
        let uid = Some(object.uid.clone()).filter(|uid| !uid.is_empty());
        let params = DeleteParams {
            dry_run: self.set.dry_run,
            preconditions: Some(Preconditions { uid, resource_version: None }),
            ..DeleteParams::background()
        };
        let result = match api.delete(&object.name, &params).await {
            Ok(_) => Ok(()),
            // Someone else was faster.
            Err(Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(err) => Err(err.into()),
        };
        (object, result)
    }

    /// Records the exact set. If the parent has been changed since, another run is going on: the union of both is recorded.
    async fn record(&self, unknown: BTreeSet<GroupKind>) -> Result<(), ApplySetError> {
        let mut exact = self.new.clone();
        if !unknown.is_empty() {
            // Where objects of these kinds were is not known in detail.
            exact = exact.union(&Members { kinds: unknown, namespaces: self.old.namespaces.clone() });
        }
        let parents = self.set.parents(&self.client);
        let mut version = self.parent.resource_version.clone();
        if self.set.dry_run {
            return Ok(());
        }
        for _ in 0..MAX_ATTEMPTS {
            match self.set.write_parent(&parents, &exact, version).await {
                Ok(_) => return Ok(()),
                Err(Error::Api(status)) if status.is_conflict() => {}
                Err(err) => return Err(self.set.request_error("apply", err)),
            }
            let parent = parents.get_metadata(&self.set.name).await;
            let parent = parent.map_err(|err| self.set.request_error("get", err))?.metadata;
            exact = exact.union(&plan::recorded(&self.set, Some(&parent))?);
            version = parent.resource_version;
        }
        Err(ApplySetError::Busy(self.set.to_string()))
    }
}

fn api(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}

fn list_error(resource: &ApiResource, namespace: Option<&str>, source: Error) -> ApplySetError {
    let place = namespace.map_or_else(String::new, |namespace| format!(" in namespace {namespace:?}"));
    ApplySetError::Request {
        context: format!("cannot list members of kind {}{place}", resource.kind),
        source,
    }
}
