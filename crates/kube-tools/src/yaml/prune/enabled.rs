//! Records the objects of a run in an apply set, and deletes the members that are no longer in it.

use std::collections::BTreeSet;

use futures::future::join_all;
use kube_client::discovery::ApiResource;
use kube_core::DynamicObject;

use crate::apply_set::{ApplySetError, Applying, object_text};
use crate::kind_order::is_crd;
use crate::yaml::establish::defines;
use crate::yaml::id::kind_of;
use crate::yaml::objects::Entry;
use crate::yaml::progress::{Progress, Reporter};
use crate::yaml::pruned::PruneStep;
use crate::yaml::resolve::resolve;
use crate::yaml::settings::Settings;
use crate::yaml::write::Verb;

/// A set that is applied, to be pruned afterwards.
pub(in crate::yaml) struct Pruning {
    applying: Applying,
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
    // What is not found will fail for itself.
    let found = join_all(entries.iter().map(|entry| member(settings, entry, entries))).await;
    let found = found.into_iter().enumerate().filter_map(|(at, member)| Some((at, member?)));
    let (places, mut members): (Vec<_>, Vec<_>) = found.unzip();
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
    Ok(Some(Pruning { applying, applied: BTreeSet::new(), dry_run }))
}

/// The object with its kind and namespace, as the cluster serves it, or as a CRD of the same run defines it.
async fn member(
    settings: &Settings,
    entry: &Entry,
    entries: &[Entry],
) -> Option<(ApiResource, DynamicObject)> {
    if let Ok(target) = resolve(settings, entry).await {
        return Some((target.resource, target.object));
    }
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
    /// Notes an object that was applied.
    pub(in crate::yaml) fn applied(&mut self, uid: Option<&str>) {
        self.applied.extend(uid.map(str::to_owned));
    }

    /// Prunes what was not applied.
    pub(in crate::yaml) async fn finish(self, reporter: &Reporter) {
        let Self { applying, applied, dry_run } = self;
        let uids = applied.iter().map(String::as_str).collect();
        let (pruned, error) = match applying.finish_by_uids(uids).await {
            Ok(pruned) => (pruned, None),
            Err(ApplySetError::Prune { pruned, failures }) => {
                (pruned.clone(), Some(ApplySetError::Prune { pruned, failures }))
            }
            Err(error) => (Vec::new(), Some(error)),
        };
        for object in pruned {
            reporter.send(Progress::Prune(PruneStep::Pruned { object, dry_run }));
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
