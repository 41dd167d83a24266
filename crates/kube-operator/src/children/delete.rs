//! Deletes the children of an owner, in reverse order.

use super::{
    apply::{held, unwanted},
    children::{Checked, Children},
    error::ChildrenError,
    fate::Fate,
    observe::{Collection, Observed, observe},
    plan::DeletePlan,
    record::Record,
    remove::{delete, delete_by_kind},
    status::{ChildrenStatus, RemovalState, RemovedChild},
};
use futures::{StreamExt, stream::FuturesUnordered};
use kube_client::Client;
use kube_core::{ApiResource, DynamicObject};

impl Children {
    /// Deletes the children: first what is no longer wanted, then the others in reverse order, each when all that come after it are gone.
    /// For the cleanup of a [finalizer](kube_runtime::finalizer()). Needed where children are outside of the namespace of the owner, or
    /// where the order matters; the garbage collector deletes all others with the owner.
    ///
    /// It does not wait: as long as something is left, it returns an error, so that the finalizer stays and the controller comes again.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::Client;
    /// use kube_operator::children::{ChildSet, Children, ChildrenError};
    /// use kube_runtime::controller::Action;
    ///
    /// const CHILDREN: ChildSet = ChildSet::new("site-operator", env!("CARGO_PKG_VERSION"));
    ///
    /// /// The same for `Event::Apply` and `Event::Cleanup`.
    /// fn children(site: &Secret, content: &ConfigMap) -> Children {
    ///     let mut children = Children::of(CHILDREN, site);
    ///     children.add("content", content);
    ///     children
    /// }
    ///
    /// async fn cleanup(site: &Secret, content: &ConfigMap, client: &Client) -> Result<Action, ChildrenError> {
    ///     let _status = children(site, content).delete(client).await?;
    ///     Ok(Action::await_change())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ChildrenError::Deleting`] if something is left, [`ChildrenError::Failed`] if something could not be deleted, or was not found
    /// because a list has failed.
    pub async fn delete(self, client: &Client) -> Result<ChildrenStatus, ChildrenError> {
        let checked = self.check()?;
        if checked.paused
            && let Some(why) = held(&checked)
        {
            return Err(ChildrenError::Deleting(Box::new(checked.untouched(why))));
        }
        // The newest record: what a cache does not show yet would stay behind for ever.
        let newest = checked.owner_object(client.clone()).read().await?;
        let mut places = checked.places();
        for meta in newest.iter().chain([&checked.meta]) {
            places.extend(Record::read(&checked.set, meta).places);
        }
        let observed = observe(client, &checked.selector(), &places, &checked.kinds()).await;
        let (rest, unknown) = unwanted(&observed, &checked.fates());
        let mut removed = delete_by_kind(client, rest, checked.dry_run).await;
        let rest_is_gone = removed.iter().all(RemovedChild::is_gone);
        removed.extend(unknown);
        removed.extend(match rest_is_gone {
            true => in_reverse(client, &checked, &observed).await,
            false => {
                checked.present(&observed).into_iter().map(|(at, _)| checked.after_the_rest(at)).collect()
            }
        });
        let status = ChildrenStatus { removed, dry_run: checked.dry_run, ..ChildrenStatus::default() };
        match () {
            () if status.has_failed() => Err(ChildrenError::Failed(Box::new(status))),
            () if status.is_removing() => Err(ChildrenError::Deleting(Box::new(status))),
            () => Ok(status),
        }
    }
}

/// Deletes the children that are known by name, as far as it is their turn.
async fn in_reverse(client: &Client, checked: &Checked, observed: &Observed) -> Vec<RemovedChild> {
    let objects = checked.present(observed);
    let is_present = |at| objects.iter().any(|(it, _)| *it == at);
    let mut plan = DeletePlan::new(&checked.graph, (0..checked.wanted.len()).map(is_present).collect());
    let (mut running, mut removed) = (FuturesUnordered::new(), Vec::new());
    loop {
        for at in plan.start() {
            let Some((_, (resource, object))) = objects.iter().find(|(it, _)| *it == at) else { continue };
            let deletable = checked.wanted[at].member.deletable.as_ref();
            let blocked = deletable.and_then(|condition| condition.waits_for(object));
            running.push(async move {
                let is_deleted_already = object.metadata.deletion_timestamp.is_some();
                let state = match blocked.filter(|_| !is_deleted_already) {
                    Some(what) => RemovalState::Blocked(what),
                    None => delete(client.clone(), resource, object, checked.dry_run).await,
                };
                (at, RemovedChild { object: checked.wanted[at].child.title.clone(), state })
            });
        }
        let Some((at, child)) = running.next().await else { break };
        if child.is_gone() {
            plan.gone(at);
        }
        removed.push(child);
    }
    let waiting = plan.waiting().into_iter().map(|(at, others)| RemovedChild {
        object: checked.wanted[at].child.title.clone(),
        state: RemovalState::Waiting(checked.names(&others)),
    });
    removed.extend(waiting);
    removed
}

impl Checked {
    /// The children that exist, with their positions.
    fn present<'a>(&self, observed: &'a Observed) -> Vec<(usize, (&'a ApiResource, &'a DynamicObject))> {
        let fates = self.fates();
        let mut present = Vec::new();
        for (place, collection) in observed {
            let Collection::Listed(resource, objects) = collection else { continue };
            for object in objects {
                // One whose reference was removed is kept: here, nothing writes it again.
                if let Fate::Wanted(at) = fates.of(place, &object.metadata)
                    && fates.is_child(place, &object.metadata)
                {
                    present.push((at, (resource, object)));
                }
            }
        }
        present
    }

    fn after_the_rest(&self, at: usize) -> RemovedChild {
        let rest = vec!["what is no longer wanted".to_owned()];
        RemovedChild { object: self.wanted[at].child.title.clone(), state: RemovalState::Waiting(rest) }
    }
}
