//! From a child object to the apply patch that creates or updates it.

use k8s_openapi::{
    ClusterResourceScope, NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube_core::{
    ObjectMeta, Resource, ResourceExt,
    apply::{Configuration, ListMapKeys, MissingKey},
    request,
};
use serde_json::{Map, Value, json};
use std::any::TypeId;

/// A child that cannot be applied as it is, or an owner that cannot own it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidChild {
    /// The owner has no name or uid.
    #[error("the owner {owner} has no metadata.{field}: expected an object that was read from the server")]
    OwnerNotStored {
        /// Kind and name of the owner.
        owner: String,
        /// `name` or `uid`.
        field: &'static str,
    },
    /// The child has no name. Server-side apply does not support `generateName`.
    #[error("a child {kind} of {owner} has no metadata.name")]
    NoName {
        /// The kind of the child.
        kind: String,
        /// Kind and name of the owner.
        owner: String,
    },
    /// Objects can only own objects of their own namespace: the garbage collector would delete the child at once.
    #[error(
        "{child} cannot be owned by {owner}: expected the namespace {owner_namespace:?}, but the child is in {namespace:?}"
    )]
    OtherNamespace {
        /// Kind and name of the child.
        child: String,
        /// The namespace of the child.
        namespace: String,
        /// Kind and name of the owner.
        owner: String,
        /// The namespace of the owner.
        owner_namespace: String,
    },
    /// A namespaced object cannot own a cluster-scoped one.
    #[error("{child} is cluster-scoped and cannot be owned by {owner}, which is in a namespace")]
    ClusterScoped {
        /// Kind and name of the child.
        child: String,
        /// Kind and name of the owner.
        owner: String,
    },
    /// The child needs a namespace, and the owner has none that it could inherit.
    #[error(
        "{child} has no metadata.namespace, and its owner {owner} is cluster-scoped: expected a namespace"
    )]
    NoNamespace {
        /// Kind and name of the child.
        child: String,
        /// Kind and name of the owner.
        owner: String,
    },
    /// The child was read from the server, so applying it would take ownership of all fields of all managers.
    #[error(
        "{child} has metadata.{field}: expected a new object with only the fields to apply, not one from the server"
    )]
    FromServer {
        /// Kind and name of the child.
        child: String,
        /// The field that only servers set.
        field: &'static str,
    },
    /// The child has another controller already.
    #[error("{child} is controlled by {controller}, so {owner} cannot control it")]
    OtherController {
        /// Kind and name of the child.
        child: String,
        /// Kind, name and uid of its controller.
        controller: String,
        /// Kind and name of the owner.
        owner: String,
    },
    /// The child cannot be serialized.
    #[error("{child} cannot be serialized: {error}")]
    NotSerializable {
        /// The kind of the child.
        child: String,
        /// The reason.
        #[source]
        error: serde_json::Error,
    },
    /// The child is a configuration that carries an error, or no object.
    #[error("the configuration of a child {child} is invalid: {error}")]
    InvalidConfiguration {
        /// The kind of the child.
        child: String,
        /// The reason.
        #[source]
        error: request::Error,
    },
    /// An item of a list lacks the field that identifies it.
    #[error("{child}: {missing}")]
    MissingKey {
        /// Kind and name of the child.
        child: String,
        /// The list, the item and the field.
        #[source]
        missing: MissingKey,
    },
}

/// The owner of the children.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    reference: OwnerReference,
    namespace: Option<String>,
    finalizers: OwnerFinalizers,
}

/// An extension of apply requests: the permission that they need beyond their own where the admission plugin
/// OwnerReferencesPermissionEnforcement is on, `update` of the finalizers of the owner.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "manager"), allow(dead_code, reason = "read by the recorder of permissions"))]
pub(crate) struct OwnerFinalizers {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
}

/// A checked child.
#[derive(Debug, Clone)]
pub(crate) struct ChildPatch {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    /// For messages.
    pub(crate) title: String,
    pub(crate) patch: Value,
}

/// A child that is in no namespace yet, and has no owner.
struct Draft {
    name: String,
    title: String,
    meta: ObjectMeta,
    patch: Map<String, Value>,
}

impl Owner {
    pub(crate) fn new<O: Resource>(owner: &O, dyntype: &O::DynamicType) -> Result<Self, InvalidChild> {
        let missing = if owner.meta().name.is_none() { "name" } else { "uid" };
        let stored =
            owner.controller_owner_ref(dyntype).filter(|it| !it.uid.is_empty() && !it.name.is_empty());
        let Some(reference) = stored else {
            return Err(InvalidChild::OwnerNotStored { owner: title(owner, dyntype), field: missing });
        };
        let finalizers = OwnerFinalizers {
            group: O::group(dyntype).into_owned(),
            plural: O::plural(dyntype).into_owned(),
            namespace: owner.namespace(),
        };
        Ok(Self { reference, namespace: owner.namespace(), finalizers })
    }

    pub(super) fn finalizers(&self) -> OwnerFinalizers {
        self.finalizers.clone()
    }

    /// Checks `child` and adds the owner reference.
    pub(super) fn patch<C>(
        &self,
        child: &C,
        dyntype: &<C::Resource as Resource>::DynamicType,
    ) -> Result<ChildPatch, InvalidChild>
    where
        C: Configuration<Resource: Resource<Scope: 'static>>,
    {
        let Draft { name, title, meta, patch } = self.draft(child, dyntype)?;
        let namespace = self.namespace_of::<C::Resource>(&meta, &title)?;
        let owners = meta.owner_references.as_deref().unwrap_or_default();
        let patch = with_place(patch, namespace.as_deref(), &self.references(owners));
        Ok(ChildPatch { name, namespace, title, patch })
    }

    /// Like [`patch`](Self::patch); a child that the garbage collector could not assign to the owner has no reference to it. The second
    /// value is whether it has one.
    #[cfg(feature = "manager")]
    pub(crate) fn patch_of_set<C>(
        &self,
        child: &C,
        dyntype: &<C::Resource as Resource>::DynamicType,
    ) -> Result<(ChildPatch, bool), InvalidChild>
    where
        C: Configuration<Resource: Resource<Scope: 'static>>,
    {
        let Draft { name, title, meta, patch } = self.draft(child, dyntype)?;
        let owners = meta.owner_references.clone().unwrap_or_default();
        let (namespace, owners, is_owned) = match self.namespace_of::<C::Resource>(&meta, &title) {
            Ok(namespace) => (namespace, self.references(&owners), true),
            Err(InvalidChild::OtherNamespace { namespace, .. }) => (Some(namespace), owners, false),
            Err(InvalidChild::ClusterScoped { .. }) => (None, owners, false),
            Err(error) => return Err(error),
        };
        let title = in_namespace(&C::Resource::kind(dyntype), &name, namespace.as_deref());
        let patch = with_place(patch, namespace.as_deref(), &owners);
        Ok((ChildPatch { name, namespace, title, patch }, is_owned))
    }

    /// Checks `child`, as far as its owner and its namespace do not matter.
    fn draft<C>(
        &self,
        child: &C,
        dyntype: &<C::Resource as Resource>::DynamicType,
    ) -> Result<Draft, InvalidChild>
    where
        C: Configuration<Resource: Resource<Scope: 'static>>,
    {
        let kind = C::Resource::kind(dyntype);
        let (mut patch, meta) = read(child, &kind)?;
        let Some(name) = meta.name.clone().filter(|name| !name.is_empty()) else {
            return Err(InvalidChild::NoName { kind: kind.into_owned(), owner: self.title() });
        };
        let title = in_namespace(&kind, &name, meta.namespace.as_deref());
        if let Some(field) = server_field(&meta) {
            return Err(InvalidChild::FromServer { child: title, field });
        }
        let owners = meta.owner_references.as_deref().unwrap_or_default();
        self.check_controller(owners, &title)?;
        let api_version = C::Resource::api_version(dyntype);
        patch.insert("apiVersion".into(), json!(api_version));
        patch.insert("kind".into(), json!(kind));
        if let Some(Err(missing)) =
            ListMapKeys::of_built_in(&api_version, &kind).map(|it| it.check_json(&patch))
        {
            return Err(InvalidChild::MissingKey { child: title, missing });
        }
        Ok(Draft { name, title, meta, patch })
    }

    /// Whether this is the controller of `object`.
    pub(crate) fn controls<K: Resource>(&self, object: &K) -> bool {
        object.owner_references().iter().any(|it| it.controller == Some(true) && it.uid == self.reference.uid)
    }

    /// An error if an object with these owners has another controller.
    pub(crate) fn check_controller(
        &self,
        owners: &[OwnerReference],
        title: &str,
    ) -> Result<(), InvalidChild> {
        let other = |it: &&OwnerReference| it.controller == Some(true) && it.uid != self.reference.uid;
        match owners.iter().find(other) {
            None => Ok(()),
            Some(OwnerReference { kind, name, uid, .. }) => Err(InvalidChild::OtherController {
                child: title.to_owned(),
                controller: format!("{kind} {name} with uid {uid}"),
                owner: self.title(),
            }),
        }
    }

    /// The namespace of a child: that of the owner if the child has none.
    fn namespace_of<K>(&self, meta: &ObjectMeta, title: &str) -> Result<Option<String>, InvalidChild>
    where
        K: Resource<Scope: 'static>,
    {
        let (child_title, owner) = (title.to_owned(), self.title());
        let namespace = meta.namespace.clone().filter(|namespace| !namespace.is_empty());
        let scope = TypeId::of::<K::Scope>();
        let is_cluster_scoped = scope == TypeId::of::<ClusterResourceScope>();
        match (&self.namespace, namespace) {
            (Some(_), _) if is_cluster_scoped => {
                Err(InvalidChild::ClusterScoped { child: child_title, owner })
            }
            (Some(own), Some(namespace)) if *own != namespace => Err(InvalidChild::OtherNamespace {
                child: child_title,
                namespace,
                owner,
                owner_namespace: own.clone(),
            }),
            (Some(own), _) => Ok(Some(own.clone())),
            (None, _) if is_cluster_scoped => Ok(None),
            (None, None) if scope == TypeId::of::<NamespaceResourceScope>() => {
                Err(InvalidChild::NoNamespace { child: child_title, owner })
            }
            (None, namespace) => Ok(namespace),
        }
    }

    /// The owner references of the child, with this one.
    fn references(&self, owners: &[OwnerReference]) -> Vec<OwnerReference> {
        let others = owners.iter().filter(|it| it.uid != self.reference.uid).cloned();
        others.chain([self.reference.clone()]).collect()
    }

    /// The uid of the owner.
    #[cfg(feature = "manager")]
    pub(crate) fn uid(&self) -> &str {
        &self.reference.uid
    }

    /// The namespace of the owner.
    #[cfg(feature = "manager")]
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name of the owner.
    #[cfg(feature = "manager")]
    pub(crate) fn name(&self) -> &str {
        &self.reference.name
    }

    /// For messages.
    pub(crate) fn title(&self) -> String {
        let OwnerReference { kind, name, .. } = &self.reference;
        in_namespace(kind, name, self.namespace.as_deref())
    }
}

/// The patch in this namespace, with these owners.
fn with_place(mut patch: Map<String, Value>, namespace: Option<&str>, owners: &[OwnerReference]) -> Value {
    let metadata = &mut patch["metadata"];
    if !owners.is_empty() {
        metadata["ownerReferences"] = json!(owners);
    }
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    Value::Object(patch)
}

/// The configuration and its metadata.
fn read(child: &impl Configuration, kind: &str) -> Result<(Map<String, Value>, ObjectMeta), InvalidChild> {
    let unserializable = |error| InvalidChild::NotSerializable { child: kind.to_owned(), error };
    let patch = child.to_json().map_err(|error| match error {
        request::Error::SerializeBody(error) => unserializable(error),
        error => InvalidChild::InvalidConfiguration { child: kind.to_owned(), error },
    })?;
    let meta = match patch.get("metadata") {
        Some(metadata @ Value::Object(_)) => serde_json::from_value(metadata.clone()),
        _ => Err(serde::de::Error::custom("expected an object with the field metadata")),
    };
    Ok((patch, meta.map_err(unserializable)?))
}

fn server_field(meta: &ObjectMeta) -> Option<&'static str> {
    let set = [
        (meta.managed_fields.is_some(), "managedFields"),
        (meta.resource_version.is_some(), "resourceVersion"),
        (meta.uid.is_some(), "uid"),
    ];
    set.iter().find(|(is_set, _)| *is_set).map(|(_, field)| *field)
}

/// Kind, name and namespace, for messages.
pub(super) fn title<K: Resource>(object: &K, dyntype: &K::DynamicType) -> String {
    in_namespace(&K::kind(dyntype), &object.name_any(), object.namespace().as_deref())
}

fn in_namespace(kind: &str, name: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {name} in namespace {namespace}"),
        None => format!("{kind} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{
        core::v1::{ConfigMap, Namespace, Secret},
        rbac::v1::ClusterRole,
    };
    use kube_core::{ApiResource, DynamicObject, ObjectMeta};

    fn stored<K: Resource + Default>(name: &str, namespace: Option<&str>) -> K {
        let mut object = K::default();
        *object.meta_mut() = ObjectMeta {
            name: Some(name.into()),
            namespace: namespace.map(Into::into),
            uid: Some(format!("uid-{name}")),
            ..Default::default()
        };
        object
    }

    fn child<K: Resource + Default>(namespace: Option<&str>) -> K {
        let mut object: K = stored("child", namespace);
        object.meta_mut().uid = None;
        object
    }

    fn namespaced() -> Owner {
        Owner::new(&stored::<Secret>("page", Some("shop")), &()).unwrap()
    }

    fn cluster_scoped() -> Owner {
        Owner::new(&stored::<Namespace>("tenant", None), &()).unwrap()
    }

    fn message<T>(result: Result<T, InvalidChild>) -> String {
        result.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn a_child_inherits_the_namespace_and_gets_a_controller_reference() {
        let ChildPatch { namespace, patch, .. } = namespaced().patch(&child::<ConfigMap>(None), &()).unwrap();
        assert_eq!(namespace.as_deref(), Some("shop"));
        let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": "page", "uid": "uid-page", "controller": true });
        let metadata = json!({ "name": "child", "namespace": "shop", "ownerReferences": [reference] });
        assert_eq!(patch, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
        let explicit = namespaced().patch(&child::<ConfigMap>(Some("shop")), &()).unwrap();
        assert_eq!(explicit.patch, patch);
    }

    #[test]
    fn owners_of_other_scopes_are_errors_that_name_both_objects() {
        assert_eq!(
            message(namespaced().patch(&child::<ConfigMap>(Some("stage")), &())),
            "ConfigMap child in namespace stage cannot be owned by Secret page in namespace shop: expected the namespace \"shop\", but the \
             child is in \"stage\""
        );
        assert_eq!(
            message(namespaced().patch(&child::<ClusterRole>(None), &())),
            "ClusterRole child is cluster-scoped and cannot be owned by Secret page in namespace shop, which is in a namespace"
        );
        assert_eq!(
            message(cluster_scoped().patch(&child::<ConfigMap>(None), &())),
            "ConfigMap child has no metadata.namespace, and its owner Namespace tenant is cluster-scoped: expected a namespace"
        );
        assert_eq!(
            cluster_scoped().patch(&child::<ConfigMap>(Some("a")), &()).unwrap().namespace.as_deref(),
            Some("a")
        );
        assert_eq!(cluster_scoped().patch(&child::<ClusterRole>(None), &()).unwrap().namespace, None);
    }

    #[test]
    fn a_dynamic_child_gets_type_and_namespace() {
        let kind = ApiResource::erase::<ConfigMap>(&());
        let object = DynamicObject::new("child", &kind);
        let untyped = DynamicObject { types: None, ..object };
        let patch = namespaced().patch(&untyped, &kind).unwrap();
        assert_eq!((&patch.patch["kind"], &patch.patch["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
        assert_eq!(patch.namespace.as_deref(), Some("shop"));
        assert_eq!(cluster_scoped().patch(&untyped, &kind).unwrap().namespace, None);
    }

    #[test]
    fn objects_from_the_server_are_not_applied() {
        for field in ["managedFields", "resourceVersion", "uid"] {
            let mut object: ConfigMap = child(None);
            match field {
                "managedFields" => object.metadata.managed_fields = Some(Vec::new()),
                "resourceVersion" => object.metadata.resource_version = Some("1".into()),
                _ => object.metadata.uid = Some("1".into()),
            }
            assert!(message(namespaced().patch(&object, &())).contains(&format!("metadata.{field}")));
        }
        assert!(message(namespaced().patch(&ConfigMap::default(), &())).contains("has no metadata.name"));
        assert!(message(Owner::new(&child::<Secret>(None), &())).contains("has no metadata.uid"));
        assert!(message(Owner::new(&Secret::default(), &())).contains("has no metadata.name"));
    }

    #[test]
    fn a_child_has_one_controller_and_any_number_of_owners() {
        let reference = |uid: &str, controller| OwnerReference {
            uid: uid.into(),
            kind: "Job".into(),
            name: "other".into(),
            controller,
            ..Default::default()
        };
        let mut object: ConfigMap = child(None);
        object.metadata.owner_references = Some(vec![reference("1", None), reference("uid-page", None)]);
        let patch = namespaced().patch(&object, &()).unwrap().patch;
        let owners = patch["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(
            owners.iter().map(|it| it["uid"].as_str().unwrap()).collect::<Vec<_>>(),
            ["1", "uid-page"]
        );
        object.metadata.owner_references = Some(vec![reference("1", Some(true))]);
        let expected =
            "is controlled by Job other with uid 1, so Secret page in namespace shop cannot control it";
        assert!(message(namespaced().patch(&object, &())).contains(expected));
    }
}
