//! Records the objects of a run in an apply set, and deletes the members that are no longer in it.

use std::collections::{BTreeSet, HashMap};

use futures::future::join_all;
use kube_client::discovery::{ApiResource, RestMapperError};
use kube_core::{DynamicObject, GroupVersionKind};

use crate::apply_set::{ApplySetError, Applying, Finished, object_text};
use crate::kind_order::is_crd;
use crate::yaml::establish::defines;
use crate::yaml::id::{ObjectId, kind_of};
use crate::yaml::objects::Entry;
use crate::yaml::progress::{Progress, Reporter};
use crate::yaml::pruned::PruneStep;
use crate::yaml::resolve::resolve;
use crate::yaml::settings::Settings;
use crate::yaml::write::Verb;

/// A set that is applied, to be pruned afterwards.
pub(in crate::yaml) struct Pruning {
    applying: Applying,
    /// Kinds that were not served when the set was recorded.
    unserved: HashMap<GroupVersionKind, RestMapperError>,
    /// The uids of what was applied.
    applied: BTreeSet<String>,
    dry_run: bool,
}

/// Records in the set what is going to be applied, and labels it. `None` if the run does not prune.
pub(in crate::yaml) async fn begin(
    settings: &Settings,
    verb: &Verb,
    entries: &mut [Entry],
) -> Result<Option<Pruning>, Box<PruneStep>> {
    let (Some(set), Verb::Apply(params)) = (&settings.apply_set, verb) else { return Ok(None) };
    if entries.is_empty() {
        return Err(Box::new(PruneStep::Failed { source: None, error: ApplySetError::NoObjects }));
    }
    let dry_run = params.dry_run || set.dry_run;
    let set = set.clone().dry_run(dry_run);
    let resolved = join_all(entries.iter().map(|entry| member(settings, entry, entries))).await;
    let (mut places, mut members, mut unserved) = (Vec::new(), Vec::new(), HashMap::new());
    for (at, member) in resolved.into_iter().enumerate() {
        match member {
            Ok(member) => {
                places.push(at);
                members.push(member);
            }
            // It will fail for itself.
            Err(error) if error.is_no_match() => drop(unserved.insert(kind_of(&entries[at].object), error)),
            // Without its kind it would be applied outside of the set, and never be pruned.
            Err(error) => {
                let (object, source) = (ObjectId::of(&entries[at].object), entries[at].source.clone());
                let error = ApplySetError::UnknownKind { object: object.in_words(), source: error };
                return Err(Box::new(PruneStep::Failed { source, error }));
            }
        }
    }
    let applying = set.begin(&settings.client, &mut members).await.map_err(|error| {
        let mut at = places.iter().zip(&members);
        let refused = at.find(|(_, (resource, object))| {
            matches!(&error, ApplySetError::OtherSet { object: text, .. } if *text == object_text(resource, &object.metadata))
        });
        let source = refused.and_then(|(at, _)| entries[*at].source.clone());
        Box::new(PruneStep::Failed { source, error })
    })?;
    for (at, (_, member)) in places.into_iter().zip(members) {
        entries[at].object.metadata.labels = member.metadata.labels;
    }
    Ok(Some(Pruning { applying, unserved, applied: BTreeSet::new(), dry_run }))
}

/// The object with its kind and namespace, as the cluster serves it, or as a CRD of the same run defines it.
async fn member(
    settings: &Settings,
    entry: &Entry,
    entries: &[Entry],
) -> Result<(ApiResource, DynamicObject), RestMapperError> {
    match resolve(settings, entry).await {
        Ok(target) => Ok((target.resource, target.object)),
        Err(error) => defined_member(settings, entry, entries).ok_or(error),
    }
}

/// The object as a CRD of the same run defines it.
fn defined_member(
    settings: &Settings,
    entry: &Entry,
    entries: &[Entry],
) -> Option<(ApiResource, DynamicObject)> {
    let gvk = kind_of(&entry.object);
    let crds = entries.iter().filter(|entry| {
        let kind = kind_of(&entry.object);
        is_crd(&kind.group, &kind.kind)
    });
    let spec = &crds.map(|entry| &entry.object).find(|crd| defines(crd, &gvk))?.data["spec"];
    let resource = ApiResource::from_gvk_with_plural(&gvk, spec["names"]["plural"].as_str()?);
    let mut object = entry.object.clone();
    let namespace = object.metadata.namespace.take().filter(|namespace| !namespace.is_empty());
    if spec["scope"] == "Namespaced" {
        object.metadata.namespace = Some(namespace.unwrap_or_else(|| settings.namespace.clone()));
    }
    Some((resource, object))
}

impl Pruning {
    /// Why an object of this kind must not be applied: the set does not record it, even if the kind is served by now.
    pub(in crate::yaml) fn refusal(&self, kind: &GroupVersionKind) -> Option<RestMapperError> {
        self.unserved.get(kind).cloned()
    }

    /// Notes an object that was applied.
    pub(in crate::yaml) fn applied(&mut self, uid: Option<&str>) {
        self.applied.extend(uid.map(str::to_owned));
    }

    /// Prunes what was not applied.
    pub(in crate::yaml) async fn finish(self, reporter: &Reporter) {
        let Self { applying, applied, dry_run, .. } = self;
        let uids = applied.iter().map(String::as_str).collect();
        let (pruned, owned, error) = match applying.finish_by_uids(uids).await {
            Ok(Finished { pruned, owned }) => (pruned, owned, None),
            Err(error) => {
                let (ApplySetError::Prune { pruned, .. } | ApplySetError::Overtaken { pruned, .. }) = &error
                else {
                    return reporter.send(Progress::Prune(PruneStep::Failed { source: None, error }));
                };
                (pruned.clone(), Vec::new(), Some(error))
            }
        };
        for object in pruned {
            reporter.send(Progress::Prune(PruneStep::Pruned { object, dry_run }));
        }
        for (object, owner) in owned {
            reporter.send(Progress::Prune(PruneStep::Kept { object, owner }));
        }
        if let Some(error) = error {
            reporter.send(Progress::Prune(PruneStep::Failed { source: None, error }));
        }
    }

    /// Prunes nothing. The parent keeps the superset, in which a later run finds what is left.
    pub(in crate::yaml) fn skip(self, reporter: &Reporter) {
        reporter.send(Progress::Prune(PruneStep::Skipped));
    }
}
