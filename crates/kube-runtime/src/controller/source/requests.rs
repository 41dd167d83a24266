//! The public functions that make reconcile requests of streams of changed objects.

use crate::{
    controller::reconcile::{ReconcileReason, ReconcileRequest},
    reflector::ObjectRef,
};
use futures::{Stream, TryStream, TryStreamExt, stream};
use kube_core::{Resource, ResourceExt};
use std::borrow::Borrow;

/// Requests a reconcile of each object of the stream.
///
/// ```
/// use futures::{TryStreamExt, executor::block_on, stream};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::controller::{ReconcileRequest, trigger_self};
///
/// let changed = stream::iter([Ok::<_, ()>(ConfigMap::default())]);
/// let requests: Vec<ReconcileRequest<ConfigMap>> = block_on(trigger_self(changed, ()).try_collect())?;
/// assert_eq!(requests[0].reason.to_string(), "object updated");
/// # Ok::<(), ()>(())
/// ```
pub fn trigger_self<K, S>(
    stream: S,
    dyntype: K::DynamicType,
) -> impl Stream<Item = Result<ReconcileRequest<K>, S::Error>>
where
    S: TryStream,
    S::Ok: Borrow<K>,
    K: Resource,
    K::DynamicType: Clone,
{
    stream.map_ok(move |object| ReconcileRequest {
        obj_ref: ObjectRef::from_obj_with(object.borrow(), dyntype.clone()),
        reason: ReconcileReason::ObjectUpdated,
    })
}

/// Requests reconciles of the objects that `mapper` returns for each item of the stream.
///
/// ```
/// use futures::{TryStreamExt, executor::block_on, stream};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::{controller::{ReconcileRequest, trigger_with}, reflector::ObjectRef};
///
/// let alarms = stream::iter([Ok::<_, ()>("web"), Ok("db")]);
/// let requests = trigger_with(alarms, |name| [ObjectRef::<ConfigMap>::new(name).within("shop")]);
/// let requests: Vec<ReconcileRequest<ConfigMap>> = block_on(requests.try_collect())?;
/// assert_eq!(requests.len(), 2);
/// # Ok::<(), ()>(())
/// ```
pub fn trigger_with<T, K, I, S>(
    stream: S,
    mapper: impl Fn(T) -> I,
) -> impl Stream<Item = Result<ReconcileRequest<K>, S::Error>>
where
    S: TryStream<Ok = T>,
    I: IntoIterator,
    I::Item: Into<ReconcileRequest<K>>,
    K: Resource,
{
    stream
        .map_ok(move |item| stream::iter(mapper(item).into_iter().map(|request| Ok(request.into()))))
        .try_flatten()
}

/// Requests a reconcile of each owner of kind `KOwner` of each object of the stream.
///
/// Owner references are matched by group and kind; those to other kinds are ignored.
///
/// ```
/// use futures::{TryStreamExt, executor::block_on, stream};
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube_core::{ObjectMeta, Resource};
/// use kube_runtime::controller::{ReconcileRequest, trigger_owners};
///
/// let mut owner = ConfigMap::default();
/// owner.metadata = ObjectMeta { name: Some("web".into()), uid: Some("1".into()), ..ObjectMeta::default() };
/// let mut child = Secret::default();
/// child.metadata.owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
/// let requests = trigger_owners::<ConfigMap, _>(stream::iter([Ok::<_, ()>(child)]), (), ());
/// let requests: Vec<ReconcileRequest<ConfigMap>> = block_on(requests.try_collect())?;
/// assert_eq!(requests[0].obj_ref.name, "web");
/// # Ok::<(), ()>(())
/// ```
pub fn trigger_owners<KOwner, S>(
    stream: S,
    owner_type: KOwner::DynamicType,
    child_type: <S::Ok as Resource>::DynamicType,
) -> impl Stream<Item = Result<ReconcileRequest<KOwner>, S::Error>>
where
    S: TryStream,
    S::Ok: Resource,
    <S::Ok as Resource>::DynamicType: Clone,
    KOwner: Resource,
    KOwner::DynamicType: Clone,
{
    trigger_with(stream, move |child| {
        let related = Box::new(ObjectRef::from_obj_with(&child, child_type.clone()).erase());
        let request = |obj_ref| {
            let reason = ReconcileReason::RelatedObjectUpdated { obj_ref: related.clone() };
            ReconcileRequest { obj_ref, reason }
        };
        owners_of(&child, &owner_type).map(request).collect::<Vec<_>>()
    })
}

/// The owners of kind `KOwner` of an object.
pub(super) fn owners_of<KOwner, Child>(
    child: &Child,
    owner_type: &KOwner::DynamicType,
) -> impl Iterator<Item = ObjectRef<KOwner>>
where
    KOwner: Resource<DynamicType: Clone>,
    Child: Resource,
{
    let namespace = child.meta().namespace.as_deref();
    let owners = child.owner_references().iter();
    owners.filter_map(move |owner| ObjectRef::from_owner_ref(namespace, owner, owner_type.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{StreamExt, executor::block_on};
    use k8s_openapi::{
        api::{apps::v1::Deployment, core::v1::ConfigMap},
        apimachinery::pkg::apis::meta::v1::OwnerReference,
    };
    use kube_core::ObjectMeta;

    fn owned_by(owners: &[(&str, &str, &str)]) -> ConfigMap {
        let owner = |(api_version, kind, name): &(&str, &str, &str)| OwnerReference {
            api_version: (*api_version).into(),
            kind: (*kind).into(),
            name: (*name).into(),
            ..Default::default()
        };
        let metadata = ObjectMeta {
            name: Some("child".into()),
            namespace: Some("ns".into()),
            owner_references: Some(owners.iter().map(owner).collect()),
            ..Default::default()
        };
        ConfigMap { metadata, ..Default::default() }
    }

    fn collect<K: Resource>(
        requests: impl Stream<Item = Result<ReconcileRequest<K>, ()>>,
    ) -> Vec<(String, String)> {
        block_on(
            requests
                .map(|request| request.map(|it| (it.obj_ref.to_string(), it.reason.to_string())).unwrap())
                .collect(),
        )
    }

    #[test]
    fn a_child_triggers_its_owners_of_the_right_kind() {
        let child = owned_by(&[
            ("apps/v1", "Deployment", "web"),
            ("v1", "Pod", "no"),
            ("extensions/v1beta1", "Deployment", "no"),
            // Another version of the same kind.
            ("apps/v1beta2", "Deployment", "db"),
        ]);
        let requests = collect(trigger_owners::<Deployment, _>(stream::iter([Ok(child)]), (), ()));
        let reason = "related object updated: ConfigMap.v1./child.ns".to_owned();
        let expected = ["web", "db"].map(|name| (format!("Deployment.v1.apps/{name}.ns"), reason.clone()));
        assert_eq!(requests, expected);
    }

    #[test]
    fn objects_trigger_themselves_and_mappers_trigger_any_object() {
        let itself = collect(trigger_self::<ConfigMap, _>(stream::iter([Ok(owned_by(&[]))]), ()));
        assert_eq!(itself, [("ConfigMap.v1./child.ns".into(), "object updated".into())]);
        let mapped = trigger_with(stream::iter([Ok(2)]), |n| {
            (0..n).map(|i| ObjectRef::<ConfigMap>::new(&format!("{i}")))
        });
        let expected = ["0", "1"].map(|name| (format!("ConfigMap.v1./{name}"), "unknown".to_owned()));
        assert_eq!(collect(mapped), expected);
    }
}
