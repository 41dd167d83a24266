//! [`Children`]: what a reconcile wants of the children of an owner, and its checks.

use super::{
    error::InvalidChildren,
    graph::Graph,
    member::{Added, Member},
    owner::OwnerObject,
    record::Place,
    set::ChildSet,
    stop::stop,
};
use crate::apply::{Child, ChildPatch, InvalidChild, Owner};
use kube_client::Client;
use kube_core::{ApiResource, ObjectMeta, Resource, apply::Configuration};
use kube_runtime::served::Availability;
use semver::Version;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The children of one owner: a reconcile adds those that it wants, and applies them as one set.
///
/// - Each child is applied when those that it comes [`after`](Added::after) are ready; independent ones at the same time.
/// - What was a child and is not added any more is deleted when all others are applied: also after an upgrade of the program, and if it did
///   not run meanwhile. The owner records the kinds and namespaces of its children before the first one is written there.
/// - A child has a reference to its owner, which makes the owner its controller, where that is possible. Outside of the namespace of the
///   owner, it has a label only. The owner needs a [finalizer](kube_runtime::finalizer()) then, whose cleanup calls
///   [`delete`](Self::delete).
/// - An object of the same name that is no child of the owner is left alone, and is an error of that child. Children that were applied by
///   [`Apply`](crate::apply::Apply) before get the label, and stay.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
/// use kube_client::{Api, Client};
/// use kube_core::params::PostParams;
/// use kube_operator::children::{ChildSet, Children};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// # let owner: Secret = serde_json::from_str(r#"{"metadata":{"name":"site"}}"#)?;
/// # let owner = Api::default_namespaced(client.clone()).create(&PostParams::default(), &owner).await?;
/// # let named = |kind: &str| serde_json::json!({ "metadata": { "name": format!("site-{kind}") } });
/// # let (content, index) = (serde_json::from_value::<ConfigMap>(named("content"))?, serde_json::from_value::<ConfigMap>(named("index"))?);
/// const CHILDREN: ChildSet = ChildSet::new("site-operator", env!("CARGO_PKG_VERSION"));
///
/// // In a reconcile of `owner`. Each child is what `apply!` writes, or an object with the fields that are wanted.
/// let mut children = Children::of(CHILDREN, &owner);
/// children.add("content", &content).ready_when("its text", |map: &ConfigMap| map.data.is_some());
/// children.add("index", &index).after("content");
/// let status = children.apply(&client).await?;
/// assert_eq!(
///     status.to_string(),
///     "content (ConfigMap site-content in namespace default) is not ready: it waits for its text; index waits for content"
/// );
/// assert_eq!((status.is_ready(), status.reason()), (false, "ChildrenNotReady"));
///
/// // A later reconcile wants the index alone.
/// # let owner: Secret = Api::default_namespaced(client.clone()).get("site").await?;
/// let mut children = Children::of(CHILDREN, &owner);
/// children.add("index", &index);
/// assert_eq!(children.apply(&client).await?.to_string(), "the child is ready");
/// assert!(Api::<ConfigMap>::default_namespaced(client).get_opt("site-content").await?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
///
/// If nothing changes, one list for each kind and namespace of children, by label. Besides, one request for each child that is written, two
/// for one that is created; one read of the owner in a run that creates or deletes; one read and one write of the owner for the first
/// children of a kind in a namespace, in the first run of a new release, and when the last child of a kind is gone. While a kind is
/// recorded that the program no longer adds, it is discovered in each run.
///
/// # Permissions
///
/// `get`, `list`, `create`, `patch` and `delete` of the kinds of the children, also in the first release that no longer has a kind; `get`
/// and `patch` of the owner. [`Writes::Children`](crate::manager::Writes::Children), and of the owner
/// [`Writes::ChildrenRecord`](crate::manager::Writes::ChildrenRecord) and
/// [`Writes::OwnerReferences`](crate::manager::Writes::OwnerReferences), say so to a manager.
///
/// # Cancellation
///
/// A dropped run has written each child completely or not at all. The next one continues; nothing is lost or made twice.
#[derive(Debug)]
#[must_use = "children are written by `apply`"]
pub struct Children {
    pub(super) set: ChildSet,
    owner: Result<Owner, InvalidChild>,
    owner_resource: ApiResource,
    meta: ObjectMeta,
    members: Vec<Member>,
    paused: bool,
    stopped: bool,
    dry_run: bool,
}

/// A set that can be applied.
pub(super) struct Checked {
    pub(super) set: ChildSet,
    pub(super) owner: Owner,
    pub(super) owner_resource: ApiResource,
    /// That of the owner, as the reconcile has it.
    pub(super) meta: ObjectMeta,
    pub(super) release: Version,
    pub(super) graph: Graph,
    pub(super) wanted: Vec<Wanted>,
    pub(super) paused: bool,
    pub(super) stopped: bool,
    pub(super) dry_run: bool,
}

/// A child that is wanted.
pub(super) struct Wanted {
    pub(super) member: Member,
    pub(super) child: ChildPatch,
    pub(super) place: Place,
}

impl Children {
    /// No children yet. An owner that cannot have children, because it is not from the server, is an error of [`apply`](Self::apply).
    pub fn of<O>(set: ChildSet, owner: &O) -> Self
    where
        O: Resource<DynamicType: Default>,
    {
        Self::of_with(set, owner, &O::DynamicType::default())
    }

    /// Like [`of`](Self::of), for an owner of a kind known only at run time.
    pub fn of_with<O: Resource>(set: ChildSet, owner: &O, dyntype: &O::DynamicType) -> Self {
        Self {
            set,
            owner: Owner::new(owner, dyntype),
            owner_resource: ApiResource::erase::<O>(dyntype),
            meta: owner.meta().clone(),
            members: Vec::new(),
            paused: false,
            stopped: false,
            dry_run: false,
        }
    }

    /// Adds a child, with a name of its own in the set: for [`after`](Added::after) and for the status. One without a namespace is in that
    /// of the owner.
    pub fn add<C>(&mut self, name: &str, child: &C) -> Added<'_, C::Resource>
    where
        C: Configuration<Resource: Child<DynamicType: Default>>,
    {
        self.add_with(name, child, &Default::default())
    }

    /// Like [`add`](Self::add), for kinds known only at run time. If the owner is in a namespace, they have to be namespaced.
    pub fn add_with<C>(
        &mut self,
        name: &str,
        child: &C,
        dyntype: &<C::Resource as Resource>::DynamicType,
    ) -> Added<'_, C::Resource>
    where
        C: Configuration<Resource: Child>,
    {
        let patch = self.owner.as_ref().ok().map(|owner| owner.patch_of_set(child, dyntype));
        self.members.push(Member {
            name: name.to_owned(),
            after: Vec::new(),
            resource: ApiResource::erase::<C::Resource>(dyntype),
            patch,
            ready: None,
            deletable: None,
            unserved: None,
        });
        let at = self.members.len() - 1;
        Added::new(&mut self.members[at])
    }

    /// Leaves the children alone while this is true: nothing is requested, and the status says so. Such as a field `paused` of the owner.
    pub fn paused(mut self, paused: bool) -> Self {
        self.paused = paused;
        self
    }

    /// Applies all children at once while this is true, in no order, and scales them to nothing: Deployments, StatefulSets, ReplicaSets and
    /// ReplicationControllers have no replicas, Jobs and CronJobs are suspended, DaemonSets select no node. Other kinds are applied as they
    /// are.
    pub fn stopped(mut self, stopped: bool) -> Self {
        self.stopped = stopped;
        self
    }

    /// Stores nothing: the status, and its `{}`, says what [`apply`](Self::apply) or [`delete`](Self::delete) would create, change and
    /// delete. The server checks and defaults each child as if it were written; what comes after a child that is not ready yet waits, as it
    /// would. So does what is no longer wanted, until all children are applied.
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Checks the set. No I/O.
    pub(super) fn check(self) -> Result<Checked, InvalidChildren> {
        let owner = self.owner.map_err(InvalidChildren::Owner)?;
        let release = self.set.check(owner.uid())?;
        let graph = Graph::new(self.members.iter().map(|it| (it.name.as_str(), it.after.as_slice())))?;
        let mut wanted: Vec<Wanted> = Vec::with_capacity(self.members.len());
        for mut member in self.members {
            let name = || member.name.clone();
            let Some(patch) = member.patch.take() else { continue };
            let (mut child, is_owned) =
                patch.map_err(|error| InvalidChildren::Child { name: name(), error })?;
            if !is_owned && self.meta.finalizers.as_ref().is_none_or(Vec::is_empty) {
                let (object, owner) = (child.title, owner.title());
                return Err(InvalidChildren::NoFinalizer { name: name(), object, owner });
            }
            mark(&mut child, self.set, &owner, is_owned);
            if self.stopped {
                stop(&member.resource, &mut child.patch, &format!("{}/stopped", self.set.manager()));
            }
            let place = Place::new(&member.resource, child.namespace.as_deref());
            wanted.push(Wanted { member, child, place });
        }
        check_objects(&wanted)?;
        Ok(Checked {
            set: self.set,
            owner,
            owner_resource: self.owner_resource,
            meta: self.meta,
            release,
            graph,
            wanted,
            paused: self.paused,
            stopped: self.stopped,
            dry_run: self.dry_run,
        })
    }
}

impl Checked {
    /// The selector of the children of this owner.
    pub(super) fn selector(&self) -> String {
        format!("{}={}", self.set.label(), self.owner.uid())
    }

    pub(super) fn places(&self) -> BTreeSet<Place> {
        self.wanted.iter().map(|it| it.place.clone()).collect()
    }

    /// The places where there may be children: all but those of kinds that the cluster does not have.
    pub(super) fn possible_places(&self) -> BTreeSet<Place> {
        let is_missing = |it: &&Wanted| matches!(it.member.unserved, Some(Availability::Missing(_)));
        let possible = self.wanted.iter().filter(|it| !is_missing(it));
        possible.map(|it| it.place.clone()).collect()
    }

    /// The kinds of the children, by group and kind.
    pub(super) fn kinds(&self) -> BTreeMap<(String, String), ApiResource> {
        let kind =
            |it: &Wanted| ((it.place.group.clone(), it.place.kind.clone()), it.member.resource.clone());
        self.wanted.iter().map(kind).collect()
    }

    pub(super) fn name(&self, at: usize) -> &str {
        &self.wanted[at].member.name
    }

    pub(super) fn names(&self, positions: &[usize]) -> Vec<String> {
        positions.iter().map(|at| self.name(*at).to_owned()).collect()
    }

    pub(super) fn owner_object(&self, client: Client) -> OwnerObject {
        OwnerObject::new(client, self.set, &self.owner, self.owner_resource.clone(), self.meta.clone())
    }
}

/// Adds the label of the set; to a child without a reference to its owner also who that is.
fn mark(child: &mut ChildPatch, set: ChildSet, owner: &Owner, is_owned: bool) {
    let metadata = &mut child.patch["metadata"];
    metadata["labels"][set.label()] = json!(owner.uid());
    if !is_owned {
        let name = owner.name();
        let owner =
            owner.namespace().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"));
        metadata["annotations"][set.owner_key()] = json!(owner);
    }
}

/// No two children may be one object.
fn check_objects(wanted: &[Wanted]) -> Result<(), InvalidChildren> {
    let mut names: BTreeMap<(&Place, &str), &str> = BTreeMap::new();
    for Wanted { member, child, place } in wanted {
        if let Some(first) = names.insert((place, &child.name), &member.name) {
            return Err(InvalidChildren::SameObject {
                first: first.to_owned(),
                second: member.name.clone(),
                object: child.title.clone(),
            });
        }
    }
    Ok(())
}
