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

/// Lists the objects with this label at these places. `known` are kinds that the program knows; others are looked for by discovery.
pub(super) async fn observe(
    client: &Client,
    label: &str,
    places: &BTreeSet<Place>,
    known: &BTreeMap<(String, String), ApiResource>,
) -> Observed {
    let kind = |place: &Place| (place.group.clone(), place.kind.clone());
    let unknown: BTreeSet<_> = places.iter().map(kind).filter(|kind| !known.contains_key(kind)).collect();
    let discovered = discover(client, &unknown).await;
    let resource = |place: &Place| match known.get(&kind(place)) {
        Some(resource) => Ok(Some(resource.clone())),
        None => discovered.as_ref().map(|kinds| kinds.get(&kind(place)).cloned()).map_err(Clone::clone),
    };
    // The closure below takes owned values: with references, the future would not be `Send`.
    let places: Vec<(Place, Result<Option<ApiResource>, String>)> =
        places.iter().map(|place| (place.clone(), resource(place))).collect();
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
async fn discover(
    client: &Client,
    kinds: &BTreeSet<(String, String)>,
) -> Result<BTreeMap<(String, String), ApiResource>, String> {
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
    let resource = |(group, kind): &(String, String)| {
        let resources = discovery.get(group)?.resources_by_stability();
        resources.into_iter().map(|(resource, _)| resource).find(|resource| resource.kind == *kind)
    };
    Ok(kinds.iter().filter_map(|kind| Some((kind.clone(), resource(kind)?))).collect())
}
