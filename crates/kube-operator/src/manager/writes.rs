//! What a program writes, as far as this library's helpers make the requests.

/// Writes of this library's helpers, for [`Manager::writes`](super::Manager::writes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Writes {
    /// Objects by server-side apply, such as children by [`apply`](mod@crate::apply): `get`, `create` and `patch`.
    Objects,
    /// The status, by [`status`](crate::status) or [`Api::patch_status`](kube_client::Api::patch_status): `patch` of the subresource,
    /// and `get` of the object after a conflict.
    Status,
    /// Finalizers, by [`finalizer`](kube_runtime::finalizer()): `patch` of the objects, and `get` after a conflict.
    Finalizers,
    /// Events about the objects, by a [`Recorder`](kube_runtime::events::Recorder): `create` and `patch` in the namespaces of the objects,
    /// and in `kube-system` for a cluster-scoped kind. Of a dynamic type without a namespace the scope is not known: this asks for all
    /// namespaces.
    Events,
    /// Owner references of children to the objects, by [`Apply`](crate::apply::Apply): `update` of the subresource `finalizers`, which
    /// clusters with the admission plugin OwnerReferencesPermissionEnforcement require.
    OwnerReferences,
    /// Objects that are [`children`](crate::children) of a set: `get`, `list`, `create`, `patch` and `delete`.
    Children,
    /// The record of children on their owners, by [`children`](crate::children): `get` and `patch` of the objects.
    ChildrenRecord,
}
