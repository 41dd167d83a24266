//! Lists the objects that carry the label of a set.

use super::record::Place;
use futures::{StreamExt, stream};
use kube_client::{Api, Client, Discovery, client::Prune};
use kube_core::{ApiResource, DynamicObject, TypeMeta, params::ListParams};
use std::collections::{BTreeMap, BTreeSet};

/// How many requests of a set are sent at the same time.
pub(super) const CONCURRENCY: usize = 8;

/// The objects of a set at one place.
#[derive(Debug)]
pub(super) enum Collection {
    Listed(ApiResource, Vec<DynamicObject>),
    /// The cluster does not serve the kind.
    NotServed,
    /// It is not known what is there.
    Failed(String),
}

/// The objects of a set, by place.
pub(super) type Observed = BTreeMap<Place, Collection>;

/// A kind by its group and name, in any version.
type Kind = (String, String);

/// Lists the objects with this label at these places. `known` are kinds that the program knows; others are looked for by discovery, as are
/// those whose version is not served: their objects are found in another one.
pub(super) async fn observe(
    client: &Client,
    label: &str,
    places: &BTreeSet<Place>,
    known: &BTreeMap<Kind, ApiResource>,
) -> Observed {
    let kind = |place: &Place| (place.group.clone(), place.kind.clone());
    let known_kind = |place: &&Place| known.contains_key(&kind(place));
    let (with_kind, mut others): (Vec<&Place>, Vec<&Place>) = places.iter().partition(known_kind);
    let lists = with_kind.into_iter().map(|place| (place.clone(), Ok(known.get(&kind(place)).cloned())));
    let mut observed = list_all(client, label, lists.collect()).await;
    let is_served = |place: &Place| !matches!(observed.get(place), Some(Collection::NotServed));
    others.extend(places.iter().filter(|place| !is_served(place)));

    let unknown: BTreeSet<Kind> = others.iter().map(|place| kind(place)).collect();
    let discovered = discover(client, &unknown).await;
    let lists = others.into_iter().map(|place| {
        let resource = discovered.as_ref().map(|kinds| kinds.get(&kind(place)).cloned());
        (place.clone(), resource.map_err(Clone::clone))
    });
    let listed = list_all(client, label, lists.collect()).await;
    // What discovery names and a list does not find is neither there nor gone.
    observed.extend(listed.into_iter().map(|(place, collection)| match collection {
        Collection::NotServed if discovered.as_ref().is_ok_and(|kinds| kinds.contains_key(&kind(&place))) => {
            (place, Collection::Failed("its kind is named by discovery, and not served".to_owned()))
        }
        collection => (place, collection),
    }));
    observed
}

/// Lists places, of which each has a kind, none that is served, or an unknown one. It takes owned values: with references, the future would
/// not be `Send`.
async fn list_all(
    client: &Client,
    label: &str,
    places: Vec<(Place, Result<Option<ApiResource>, String>)>,
) -> Observed {
    let lists = places.into_iter().map(|(place, resource)| {
        let (client, label) = (client.clone(), label.to_owned());
        async move {
            let collection = match resource {
                Ok(Some(resource)) => list(client, resource, place.namespace.as_deref(), &label).await,
                Ok(None) => Collection::NotServed,
                Err(error) => Collection::Failed(error),
            };
            (place, collection)
        }
    });
    stream::iter(lists).buffer_unordered(CONCURRENCY).collect().await
}

/// The objects of a kind.
pub(super) fn api(client: Client, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    let api = match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, resource),
        None => Api::all_with(client, resource),
    };
    // Managed fields say whether an object is as wanted.
    api.prune(Prune::default())
}

async fn list(client: Client, resource: ApiResource, namespace: Option<&str>, label: &str) -> Collection {
    let objects = api(client, &resource, namespace).list(&ListParams::default().labels(label)).await;
    match objects {
        Ok(objects) => {
            let types =
                || TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() };
            // Items of a list have no type of their own.
            let typed = |object: DynamicObject| DynamicObject { types: Some(types()), ..object };
            let objects = objects.items.into_iter().map(typed).collect();
            Collection::Listed(resource, objects)
        }
        Err(error) if error.is_not_found() => Collection::NotServed,
        Err(error) => Collection::Failed(error.to_string()),
    }
}

/// These kinds, as far as the cluster serves them; an error if that cannot be known.
async fn discover(client: &Client, kinds: &BTreeSet<Kind>) -> Result<BTreeMap<Kind, ApiResource>, String> {
    if kinds.is_empty() {
        return Ok(BTreeMap::new());
    }
    let groups: BTreeSet<&str> = kinds.iter().map(|(group, _)| group.as_str()).collect();
    let groups: Vec<&str> = groups.into_iter().collect();
    let discovery = Discovery::new(client.clone()).filter(&groups).run().await;
    let discovery = discovery.map_err(|error| format!("its kind could not be discovered: {error}"))?;
    let failed: Vec<&str> = discovery.failed_groups().collect();
    if !failed.is_empty() {
        return Err(format!("the API groups {} are not available", failed.join(", ")));
    }
    let resource = |(group, kind): &Kind| {
        let resources = discovery.get(group)?.resources_by_stability();
        resources.into_iter().map(|(resource, _)| resource).find(|resource| resource.kind == *kind)
    };
    Ok(kinds.iter().filter_map(|kind| Some((kind.clone(), resource(kind)?))).collect())
}
