//! What the program may do: roles, and their bindings to its ServiceAccount.

use kube_core::ObjectMeta;
use serde_json::json;

use super::{
    error::ManifestsError,
    placement::{Objects, Placement, cluster_metadata},
    settings::Manifests,
};
use crate::rbac::Permissions;

pub(super) fn roles(
    manifests: &Manifests,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    let own = &manifests.facts.namespace;
    let permissions = manifests.granted().moved(|namespace| match placement.watched.get(&namespace) {
        _ if namespace == *own => Some(placement.namespace.clone()),
        Some(watched) => Some(watched.clone()),
        None => Some(namespace),
    });
    bound(manifests, &manifests.name, &permissions, placement, objects)
}

/// The roles of this name for these permissions, bound to the ServiceAccount in the namespace of the placement.
pub(super) fn bound(
    manifests: &Manifests,
    name: &str,
    permissions: &Permissions,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    // As JSON: whether `apiGroup` is optional depends on the version of k8s-openapi.
    let binding = |kind: &str, metadata: &ObjectMeta| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": format!("{kind}Binding"),
            "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name },
            "subjects": [
                { "kind": "ServiceAccount", "name": manifests.name, "namespace": placement.namespace },
            ],
        })
    };
    if let Some(mut role) = permissions.cluster_role(name) {
        role.metadata = ObjectMeta { name: Some(name.to_owned()), ..cluster_metadata(manifests) };
        objects.add(&role)?;
        objects.add(&binding("ClusterRole", &role.metadata))?;
    }
    for mut role in permissions.roles(name) {
        let namespace = role.metadata.namespace.take();
        role.metadata = ObjectMeta { namespace, name: Some(name.to_owned()), ..cluster_metadata(manifests) };
        objects.add(&role)?;
        objects.add(&binding("Role", &role.metadata))?;
    }
    Ok(())
}
