//! [`Applying`]: a set while it is applied; sends the requests for members.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};

use futures::{StreamExt, TryStreamExt, stream};
use kube_client::Client;
use kube_client::api::Api;
use kube_client::discovery::{Discovery, Scope};
use kube_client::error::{Error, ErrorClass};
use kube_core::metadata::PartialObjectMeta;
use kube_core::params::ListParams;
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta};

use super::error::ApplySetError;
use super::members::{GroupKind, Members};
use super::object::{PrunedObject, object_text};
use super::parent::api;
use super::plan;
use super::set::{ApplySet, PART_OF};

/// How many collections are listed, and how many objects deleted, at the same time.
pub(super) const CONCURRENCY: usize = 8;

/// How often the parent, or a member, is read again because another program has changed it.
pub(super) const MAX_ATTEMPTS: usize = 5;

/// The label of a definition whose resources may be parents.
const IS_PARENT: &str = "applyset.kubernetes.io/is-parent-type";

/// Members as the server has them, with their kinds.
pub(super) type Listed = Vec<(ApiResource, PartialObjectMeta<DynamicObject>)>;

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
        let parents = self.parents(client);
        let run = new_run();
        for _ in 0..MAX_ATTEMPTS {
            let parent = self.read_parent(&parents).await?;
            let old = plan::recorded(self, parent.as_ref())?;
            let all = old.union(&new);
            let is_new = parent.is_none();
            let parent = match parent {
                None => self.create_parent(&parents, &all).await?,
                some => some,
            };
            let written = match parent {
                // A dry run has not stored it.
                Some(parent) if is_new && self.dry_run => Some(parent),
                Some(ObjectMeta { resource_version, .. }) => {
                    self.write_parent(&parents, &all, Some(&run), resource_version).await?
                }
                None => None,
            };
            if let Some(parent) = written {
                let (set, client) = (self.clone(), client.clone());
                return Ok(Applying { set, client, run, parent, old, new });
            }
        }
        Err(ApplySetError::Busy(self.to_string()))
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
        let lists = collections.into_iter().map(|((_, namespace), (resource, names))| {
            let is_defined = plan::is_defined(&resource, objects);
            (namespace, resource, names, is_defined)
        });
        let lists = lists.map(|(namespace, resource, names, is_defined)| async move {
            let api: Api<DynamicObject> = api(client, &resource, namespace.as_deref());
            let others = match api.list_metadata(lp).await {
                Ok(others) => others.items,
                // The server does not serve it before its definition is applied.
                Err(err) if is_defined && ErrorClass::of(&err) == ErrorClass::UnknownKind => Vec::new(),
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
}

/// A set whose objects are being applied. Dropping it prunes nothing, and leaves the parent with a superset of the members: right if an
/// object could not be applied.
#[derive(Debug)]
#[must_use = "without `finish`, nothing is pruned"]
pub struct Applying {
    pub(super) set: ApplySet,
    pub(super) client: Client,
    /// What the parent records while this run goes on.
    run: String,
    /// As it was written.
    pub(super) parent: ObjectMeta,
    /// Where members were before.
    old: Members,
    /// Where they are now.
    new: Members,
}

/// What became of the members that are no longer in the set.
#[derive(Default)]
pub(crate) struct Finished {
    pub(crate) pruned: Vec<PrunedObject>,
    /// Those that other objects own, with the owners.
    pub(crate) owned: Vec<(PrunedObject, String)>,
}

impl Applying {
    /// Deletes the members that are not among `applied`, the objects as the server has returned them, and records in the parent where the
    /// others are. Returns what was deleted; its dependents are deleted in the background, and nothing waits for the end of that.
    ///
    /// Kinds that the server does not serve, such as those of a deleted definition, stay recorded. A member that another object owns is
    /// kept, which is logged as a warning. Each is deleted only as it was read: one that someone has changed since is read again, and
    /// kept if it is no longer in the set.
    ///
    /// # Errors
    /// [`ApplySetError::Prune`] if some could not be deleted; the others were. [`ApplySetError::Overtaken`] if another run has begun since;
    /// nothing is deleted after that was noticed, and it is looked for before each eight deletions. After any error, the parent keeps the
    /// superset, and the next run finds what is left.
    ///
    /// # Cancellation
    /// Dropping the future leaves the superset as well.
    pub async fn finish(self, applied: &[DynamicObject]) -> Result<Vec<PrunedObject>, ApplySetError> {
        let applied = applied.iter().filter_map(|object| object.metadata.uid.as_deref()).collect();
        let Finished { pruned, owned } = self.finish_by_uids(applied).await?;
        for (object, owner) in owned {
            tracing::warn!(%object, %owner, "an object is no longer in the apply set, and was kept for its owner");
        }
        Ok(pruned)
    }

    /// As [`finish`](Self::finish), with the uids of the applied objects.
    pub(crate) async fn finish_by_uids(mut self, applied: BTreeSet<&str>) -> Result<Finished, ApplySetError> {
        let (kinds, unknown) = self.resolve_kinds().await?;
        let members = self.list_members(&kinds).await?;
        let finished = self.delete_members(members, &applied).await?;
        self.record(unknown).await?;
        Ok(finished)
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

    /// Whether another run has begun, and who that is. Before the first deletion, the parent is written, so that a run that has read it
    /// before and not written yet has to read it again.
    pub(super) async fn overtaken_by(&mut self, is_first: bool) -> Result<Option<String>, ApplySetError> {
        if self.set.dry_run {
            return Ok(None);
        }
        let parents = self.set.parents(&self.client);
        for _ in 0..MAX_ATTEMPTS {
            if is_first {
                let (all, run) = (self.old.union(&self.new), format!("{}, deleting", self.run));
                let version = self.parent.resource_version.clone();
                if let Some(parent) = self.set.write_parent(&parents, &all, Some(&run), version).await? {
                    (self.parent, self.run) = (parent, run);
                    return Ok(None);
                }
            }
            let parent = self.set.read_parent(&parents).await?.unwrap_or_default();
            if plan::run_of(&parent) != Some(self.run.as_str()) {
                return Ok(Some(plan::last_writer(&parent)));
            }
            // Changed by someone who applies nothing.
            self.parent = parent;
            if !is_first {
                return Ok(None);
            }
        }
        Err(ApplySetError::Busy(self.set.to_string()))
    }

    /// Records the exact set. If the parent has been changed since, the union of both is recorded, and another run that goes on.
    pub(super) async fn record(&self, unknown: BTreeSet<GroupKind>) -> Result<(), ApplySetError> {
        if self.set.dry_run {
            return Ok(());
        }
        let mut exact = self.new.clone();
        if !unknown.is_empty() {
            // Where objects of these kinds were is not known in detail.
            exact = exact.union(&Members { kinds: unknown, namespaces: self.old.namespaces.clone() });
        }
        let parents = self.set.parents(&self.client);
        let (mut version, mut run) = (self.parent.resource_version.clone(), None);
        for _ in 0..MAX_ATTEMPTS {
            if self.set.write_parent(&parents, &exact, run.as_deref(), version).await?.is_some() {
                return Ok(());
            }
            let parent = self.set.read_parent(&parents).await?;
            exact = exact.union(&plan::recorded(&self.set, parent.as_ref())?);
            let parent = parent.unwrap_or_default();
            run = plan::run_of(&parent).filter(|run| *run != self.run).map(str::to_owned);
            version = parent.resource_version;
        }
        Err(ApplySetError::Busy(self.set.to_string()))
    }
}

/// A name for a run, which no other run has.
fn new_run() -> String {
    format!("{} {:016x}", kube_client::time::now(), RandomState::new().build_hasher().finish())
}

fn list_error(resource: &ApiResource, namespace: Option<&str>, source: Error) -> ApplySetError {
    let place = namespace.map_or_else(String::new, |namespace| format!(" in namespace {namespace:?}"));
    ApplySetError::Request {
        context: format!("cannot list members of kind {}{place}", resource.kind),
        source,
    }
}
