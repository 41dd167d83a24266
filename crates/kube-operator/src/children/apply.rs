//! Applies the children of an owner.

use super::{
    child_error::ChildError,
    children::{Checked, Children},
    error::ChildrenError,
    fate::{Fate, Fates, belongs},
    member::unready,
    observe::{Collection, Observed, observe},
    owner::OwnerObject,
    plan::{ApplyPlan, Step},
    record::{Place, Record},
    remove::{delete_by_kind, title},
    status::{ChildState, ChildStatus, ChildrenStatus, RemovalState, RemovedChild},
};
use crate::apply::Apply;
use futures::{StreamExt, stream::FuturesUnordered};
use kube_client::Client;
use kube_core::{ApiResource, DynamicObject};
use kube_runtime::served::Availability;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::OnceCell;

impl Children {
    /// Applies the children, as far as it is their turn, and deletes what is no longer wanted. It does not wait until they are ready: a
    /// change of a child triggers the next reconcile, if its kind is [watched](super::ChildSet::watch).
    ///
    /// If the owner is paused or being deleted, nothing is requested.
    ///
    /// # Errors
    ///
    /// [`ChildrenError`] if the set is invalid, the owner has changed since it was read, or the record on it cannot be written. An error
    /// of one child is in the status, and does not hold up independent ones. Nothing is deleted then.
    pub async fn apply(self, client: &Client) -> Result<ChildrenStatus, ChildrenError> {
        let mut checked = self.check()?;
        if checked.stopped {
            // Of stopped children, none waits for another. Their deletion has an order all the same.
            checked.graph = checked.graph.without_order();
        }
        if let Some(why) = held(&checked) {
            return Ok(checked.untouched(why));
        }
        let owner = checked.owner_object(client.clone());
        let (places, release) = (checked.possible_places(), checked.release.clone());
        let known = Record::read(&checked.set, &checked.meta);
        let mut recorded = known.places.clone();
        let confirmed = OnceCell::new();
        // Before the first write at a new place: otherwise a child could be left that no later run looks for.
        if !checked.dry_run && known.extended(&places, &release).is_some() {
            recorded.extend(owner.update(|record| record.extended(&places, &release)).await?.places);
            drop(confirmed.set(()));
        }
        // Nothing is known to be at the others, and nothing is forgotten of them.
        let missing = &checked.places() - &places;
        recorded.extend(places);
        let asked = &recorded - &missing;
        let mut observed = observe(client, &checked.selector(), &asked, &checked.kinds()).await;
        observed.extend(missing.into_iter().map(|place| (place, Collection::NotServed)));
        let apply =
            Apply::of_set(client.clone(), checked.set.manager(), checked.owner.clone(), checked.dry_run);
        let run = Run { client, checked: &checked, owner, observed, apply, confirmed };
        let (mut status, is_complete) = run.in_order().await?;
        match is_complete {
            true => run.remove_unwanted(&mut status).await?,
            false => run.keep_unwanted(&mut status),
        }
        Ok(status)
    }
}

/// Why nothing is written.
pub(super) fn held(checked: &Checked) -> Option<&'static str> {
    match () {
        () if checked.paused => Some("the owner is paused"),
        () if checked.meta.deletion_timestamp.is_some() => Some("the owner is being deleted"),
        () => None,
    }
}

impl Checked {
    /// The status if nothing was requested.
    pub(super) fn untouched(&self, why: &'static str) -> ChildrenStatus {
        let children =
            self.wanted.iter().map(|it| ChildStatus::new(&it.member.name, &it.child.title, ChildState::Held));
        ChildrenStatus {
            children: children.collect(),
            held: Some(why),
            dry_run: self.dry_run,
            ..ChildrenStatus::default()
        }
    }

    /// Whether a child of this kind is wanted, and cannot be applied in the form that the cluster has.
    fn leaves_alone(&self, resource: &ApiResource) -> bool {
        let is_same = |it: &ApiResource| (&it.group, &it.kind) == (&resource.group, &resource.kind);
        let mut of_kind = self.wanted.iter().filter(|it| is_same(&it.member.resource));
        of_kind.any(|it| it.member.unserved.is_some())
    }

    pub(super) fn fates(&self) -> Fates<'_> {
        let key =
            |(at, it): (usize, &super::children::Wanted)| ((it.place.clone(), it.child.name.clone()), at);
        Fates {
            set: self.set,
            owner_uid: self.owner.uid(),
            owner_namespace: self.owner.namespace(),
            wanted: self.wanted.iter().enumerate().map(key).collect(),
        }
    }
}

impl ChildStatus {
    pub(super) fn new(name: &str, object: &str, state: ChildState) -> Self {
        Self { name: name.to_owned(), object: object.to_owned(), state, change: None, latest: None }
    }
}

/// One run of `apply`.
struct Run<'a> {
    client: &'a Client,
    checked: &'a Checked,
    owner: OwnerObject,
    observed: Observed,
    apply: Apply,
    /// Set when the owner was looked at.
    confirmed: OnceCell<()>,
}

impl Run<'_> {
    /// Applies each child when it is its turn. Says too whether all are as wanted.
    async fn in_order(&self) -> Result<(ChildrenStatus, bool), ChildrenError> {
        let mut plan = ApplyPlan::new(&self.checked.graph);
        let mut results: BTreeMap<usize, ChildStatus> = BTreeMap::new();
        let mut running = FuturesUnordered::new();
        loop {
            running.extend(plan.start().into_iter().map(|at| async move { (at, self.apply_one(at).await) }));
            let Some((at, result)) = running.next().await else { break };
            let status = result?;
            plan.finish(at, status.step());
            results.insert(at, status);
        }
        let child = |at| {
            results.remove(&at).unwrap_or_else(|| {
                let waiting = ChildState::Waiting(self.checked.names(&plan.waits_for(at)));
                let wanted = &self.checked.wanted[at];
                ChildStatus {
                    latest: self.listed(at).cloned(),
                    ..ChildStatus::new(&wanted.member.name, &wanted.child.title, waiting)
                }
            })
        };
        let children = (0..self.checked.wanted.len()).map(child).collect();
        let status = ChildrenStatus { children, dry_run: self.checked.dry_run, ..ChildrenStatus::default() };
        Ok((status, plan.is_complete()))
    }

    /// Applies one child. Only an error that concerns all of them is an error.
    async fn apply_one(&self, at: usize) -> Result<ChildStatus, ChildrenError> {
        let wanted = &self.checked.wanted[at];
        let status = |state| ChildStatus::new(&wanted.member.name, &wanted.child.title, state);
        if let Some(unserved) = &wanted.member.unserved {
            return Ok(status(ChildState::NotServed(unserved.clone())));
        }
        let current = match self.present(at).await {
            Ok(current) => current,
            Err(error) => return Ok(status(ChildState::Failed(error))),
        };
        if current.as_ref().is_some_and(|it| it.metadata.deletion_timestamp.is_some()) {
            let why = "it is being deleted, and will be created again".to_owned();
            return Ok(ChildStatus { latest: current, ..status(ChildState::NotReady(why)) });
        }
        if current.is_none() {
            self.confirmed.get_or_try_init(|| self.confirm()).await?;
        }
        let resource = &wanted.member.resource;
        match self.apply.apply_over(wanted.child.clone(), current, true, resource).await {
            Err(error) => Ok(status(ChildState::Failed(error.into()))),
            Ok(applied) => {
                let latest = (*applied.object).clone();
                let state = match unready(wanted.member.ready.as_ref(), &latest) {
                    _ if self.checked.stopped => ChildState::Stopped,
                    None => ChildState::Ready,
                    Some(why) => ChildState::NotReady(why),
                };
                Ok(ChildStatus { change: Some(applied.change), latest: Some(latest), ..status(state) })
            }
        }
    }

    /// Before the first creation: the owner is still the one that the reconcile works with, and records all places. What a cache showed of
    /// the record may have been changed by another program since.
    async fn confirm(&self) -> Result<(), ChildrenError> {
        let (places, release) = (self.checked.possible_places(), &self.checked.release);
        match self.checked.dry_run {
            true => self.owner.current().await.map(drop),
            false => self.owner.update(|record| record.extended(&places, release)).await.map(drop),
        }
    }

    /// The child as the cluster has it; `None` if it does not exist. An object that is no child is an error.
    async fn present(&self, at: usize) -> Result<Option<DynamicObject>, ChildError> {
        let wanted = &self.checked.wanted[at];
        if let Some(Collection::Failed(message)) = self.observed.get(&wanted.place) {
            let collection = wanted.place.in_words();
            return Err(ChildError::List { collection, message: message.clone() });
        }
        if let Some(object) = self.listed(at) {
            return Ok(Some(object.clone()));
        }
        // Without the label: a child of an earlier `Apply`, or an object of someone else.
        let current: Option<DynamicObject> = self.apply.read(&wanted.child, &wanted.member.resource).await?;
        match current {
            Some(object) if !self.is_child(at, &object) => Err(ChildError::Foreign {
                object: wanted.child.title.clone(),
                owner: self.checked.owner.title(),
                belongs: belongs(&object.metadata, &self.checked.set.label()),
            }),
            current => Ok(current),
        }
    }

    /// Whether an object that was read by the name of a child is that: controlled by the owner, or written by the set where it can have no
    /// reference, such as one that was listed in another version.
    fn is_child(&self, at: usize, object: &DynamicObject) -> bool {
        let (checked, place) = (self.checked, &self.checked.wanted[at].place);
        let label = object.metadata.labels.as_ref().and_then(|labels| labels.get(&checked.set.label()));
        checked.owner.controls(object)
            || label.is_some_and(|uid| uid == checked.owner.uid())
                && checked.fates().is_child(place, &object.metadata)
    }

    /// The child among the listed objects, if it was listed in its version.
    fn listed(&self, at: usize) -> Option<&DynamicObject> {
        let wanted = &self.checked.wanted[at];
        let Some(Collection::Listed(resource, objects)) = self.observed.get(&wanted.place) else {
            return None;
        };
        let is_same = |it: &&DynamicObject| it.metadata.name.as_deref() == Some(&*wanted.child.name);
        objects.iter().find(is_same).filter(|_| resource.api_version == wanted.member.resource.api_version)
    }

    /// Says what is not deleted yet: not all children are applied.
    fn keep_unwanted(&self, status: &mut ChildrenStatus) {
        let (unwanted, _) = unwanted(&self.observed, &self.checked.fates());
        status.removed.extend(unwanted.iter().map(waiting));
    }

    /// Deletes what is no longer wanted, and forgets the places at which nothing is left.
    async fn remove_unwanted(&self, status: &mut ChildrenStatus) -> Result<(), ChildrenError> {
        let (unwanted, unknown) = unwanted(&self.observed, &self.checked.fates());
        let empty = self.empty_places(&unwanted);
        let is_left_alone =
            |(resource, _): &(ApiResource, DynamicObject)| self.checked.leaves_alone(resource);
        let (left_alone, unwanted): (Vec<_>, Vec<_>) = unwanted.into_iter().partition(is_left_alone);
        status.removed.extend(unknown);
        status.removed.extend(left_alone.iter().map(waiting));
        if unwanted.is_empty() && empty.is_empty() {
            return Ok(());
        }
        // After the list: a newer release that has begun since has said so before it wrote anything that was not listed.
        let record = Record::read(&self.checked.set, &self.owner.current().await?);
        if let Some(newer) = record.newer_than(&self.checked.release) {
            let kept = |(resource, object): &(ApiResource, DynamicObject)| RemovedChild {
                object: title(resource, object),
                state: RemovalState::Kept,
            };
            status.removed.extend(unwanted.iter().map(kept));
            status.kept_for = Some(newer.to_owned()).filter(|_| !unwanted.is_empty());
            return Ok(());
        }
        let places: BTreeSet<Place> =
            unwanted.iter().map(|(resource, object)| place(resource, object)).collect();
        let removed = delete_by_kind(self.client, unwanted, self.checked.dry_run).await;
        let all_gone = removed.iter().all(RemovedChild::is_gone);
        status.removed.extend(removed);
        if self.checked.dry_run {
            return Ok(());
        }
        let wanted = self.checked.places();
        let emptied = places.into_iter().filter(|place| all_gone && !wanted.contains(place));
        let empty: BTreeSet<Place> = empty.into_iter().chain(emptied).collect();
        let (release, shrunk) = (&self.checked.release, |record: &Record| record.without(&empty));
        let shrink = |record: &Record| record.newer_than(release).is_none().then(|| shrunk(record)).flatten();
        // All is done as it should be: a place that stays recorded costs a list, until a later run forgets it.
        if let Err(error) = self.owner.update(shrink).await {
            tracing::debug!(%error, "empty places stay in the record of children");
        }
        Ok(())
    }

    /// Recorded places at which no child is wanted, and which were listed without one.
    fn empty_places(&self, unwanted: &[(ApiResource, DynamicObject)]) -> BTreeSet<Place> {
        let wanted = self.checked.places();
        let left: BTreeSet<Place> =
            unwanted.iter().map(|(resource, object)| place(resource, object)).collect();
        let listed = self.observed.iter().filter(|(_, it)| matches!(it, Collection::Listed(..)));
        let places = listed.map(|(place, _)| place).filter(|it| !wanted.contains(it) && !left.contains(it));
        places.cloned().collect()
    }
}

impl ChildStatus {
    fn step(&self) -> Step {
        match self.state {
            ChildState::Ready | ChildState::Stopped | ChildState::NotServed(Availability::Missing(_)) => {
                Step::Ready
            }
            // Of the cluster's form of the kind, nothing is deleted.
            ChildState::NotReady(_) | ChildState::NotServed(Availability::Mismatch(_)) => Step::NotReady,
            _ => Step::Failed,
        }
    }
}

/// What was a child and is no longer wanted, and the places of which it is not known.
pub(super) fn unwanted(
    observed: &Observed,
    fates: &Fates<'_>,
) -> (Vec<(ApiResource, DynamicObject)>, Vec<RemovedChild>) {
    let (mut objects, mut unknown) = (Vec::new(), Vec::new());
    for (place, collection) in observed {
        match collection {
            Collection::Listed(resource, listed) => {
                let unwanted = listed.iter().filter(|it| fates.of(place, &it.metadata) == Fate::Unwanted);
                objects.extend(unwanted.map(|object| (resource.clone(), object.clone())));
            }
            Collection::NotServed => {}
            Collection::Failed(message) => unknown.push(RemovedChild {
                object: place.in_words(),
                state: RemovalState::Unknown(message.clone()),
            }),
        }
    }
    (objects, unknown)
}

/// What is not deleted yet.
fn waiting((resource, object): &(ApiResource, DynamicObject)) -> RemovedChild {
    let all = "all children are applied".to_owned();
    RemovedChild { object: title(resource, object), state: RemovalState::Waiting(vec![all]) }
}

fn place(resource: &ApiResource, object: &DynamicObject) -> Place {
    Place::new(resource, object.metadata.namespace.as_deref())
}
