//! [`OwnerExt`]: makes one object the controller of another.

use std::any::TypeId;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::{ClusterResourceScope, NamespaceResourceScope, Resource, ResourceExt};

/// Sets the controller of an object: the owner that manages it, with which it is garbage collected.
pub trait OwnerExt: Resource + Sized {
    /// The object, with `owner` as its controller, and with the owner's namespace if it is of a namespaced kind and has none.
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube_core::{OwnerExt, ResourceExt};
    ///
    /// let web: Deployment = serde_json::from_str(r#"{"metadata":{"name":"web","namespace":"shop","uid":"f3a1"},"spec":{"selector":{},"template":{}}}"#)?;
    /// let map = ConfigMap::default().owned_by(&web)?;
    /// assert_eq!(map.namespace().as_deref(), Some("shop"));
    /// let owner = &map.owner_references()[0];
    /// assert_eq!((owner.name.as_str(), owner.controller, owner.block_owner_deletion), ("web", Some(true), Some(true)));
    ///
    /// let mut elsewhere = ConfigMap::default();
    /// elsewhere.metadata.namespace = Some("blog".into());
    /// let refused = elsewhere.owned_by(&web).unwrap_err();
    /// assert!(refused.to_string().starts_with("the object \"\" in namespace \"blog\" cannot be owned by Deployment \"web\" in namespace \"shop\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`set_controller`](Self::set_controller).
    fn owned_by<O>(mut self, owner: &O) -> Result<Self, OwnerError>
    where
        Self: Resource<Scope: 'static>,
        O: Resource<DynamicType: Default>,
    {
        self.set_controller(owner, &O::DynamicType::default())?;
        Ok(self)
    }

    /// Makes `owner` the controller of the object, as `controllerutil.SetControllerReference` of Go's controller-runtime; `dt` is the kind
    /// of the owner, `&()` for types that determine it.
    ///
    /// The reference has `controller` and `blockOwnerDeletion`: a deletion of the owner in the foreground waits for the object. (Where the
    /// admission plugin `OwnerReferencesPermissionEnforcement` is on, as in OpenShift, that needs the permission `update` of the owner's
    /// `finalizers`.) There is one reference to an owner: one to an earlier owner of the same kind and name is replaced. Other owners stay.
    /// The object gets the owner's namespace if it is of a namespaced kind and has none.
    ///
    /// # Errors
    ///
    /// [`OwnerError`]. The object is then unchanged.
    fn set_controller<O: Resource>(&mut self, owner: &O, dt: &O::DynamicType) -> Result<(), OwnerError>
    where
        Self: Resource<Scope: 'static>,
    {
        let kind = owner
            .api_version_and_kind()
            .map_or_else(|| O::kind(dt).into_owned(), |(_, kind)| kind.to_owned());
        let (owner_title, namespace) = (title(&kind, owner), own_namespace(owner));
        let reference = owner.controller_owner_ref(dt).filter(|it| !it.name.is_empty() && !it.uid.is_empty());
        let Some(mut reference) = reference else {
            return Err(OwnerError::NotStored { owner: owner_title });
        };
        if let Some((api_version, kind)) = owner.api_version_and_kind() {
            (reference.api_version, reference.kind) = (api_version.to_owned(), kind.to_owned());
        }
        reference.block_owner_deletion = Some(true);

        let object = title("the object", self);
        let scope = TypeId::of::<Self::Scope>();
        match (&namespace, own_namespace(self)) {
            (Some(_), _) if scope == TypeId::of::<ClusterResourceScope>() => {
                return Err(OwnerError::ClusterScoped { object, owner: owner_title });
            }
            (Some(namespace), Some(own)) if own != *namespace => {
                return Err(OwnerError::OtherNamespace { object, owner: owner_title });
            }
            _ => {}
        }
        let is_same = |it: &OwnerReference| it.uid == reference.uid || is_same_name(it, &reference);
        if let Some(other) =
            self.owner_references().iter().find(|it| it.controller == Some(true) && !is_same(it))
        {
            let controller = format!("{} {:?}", other.kind, other.name);
            return Err(OwnerError::OtherController { object, owner: owner_title, controller });
        }
        if own_namespace(self).is_none()
            && scope == TypeId::of::<NamespaceResourceScope>()
            && namespace.is_some()
        {
            self.meta_mut().namespace = namespace;
        }
        let references = self.owner_references_mut();
        match references.iter().position(is_same) {
            Some(at) => {
                references[at] = reference.clone();
                let mut place = 0..;
                references.retain(|it| place.next() == Some(at) || !is_same(it));
            }
            None => references.push(reference),
        }
        Ok(())
    }
}

impl<K: Resource> OwnerExt for K {}

/// Why an object cannot have this controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// The owner has no name or uid, so it is not from a server.
    #[error(
        "{owner} cannot own an object: it has no metadata.name or no metadata.uid, which the server sets when it is created"
    )]
    NotStored {
        /// The owner.
        owner: String,
    },
    /// The garbage collector would treat the owner as deleted, and delete the object.
    #[error(
        "{object} cannot be owned by {owner}: expected an owner in the same namespace, or a cluster-scoped one"
    )]
    OtherNamespace {
        /// The object.
        object: String,
        /// The owner.
        owner: String,
    },
    /// The garbage collector cannot find an owner in a namespace for an object without one.
    #[error("{object} is cluster-scoped and cannot be owned by {owner}: expected a cluster-scoped owner")]
    ClusterScoped {
        /// The object.
        object: String,
        /// The owner.
        owner: String,
    },
    /// An object has one controller.
    #[error("{object} cannot be owned by {owner}: it has the controller {controller}")]
    OtherController {
        /// The object.
        object: String,
        /// The owner.
        owner: String,
        /// Its present controller.
        controller: String,
    },
}

fn own_namespace<K: Resource>(object: &K) -> Option<String> {
    object.namespace().filter(|namespace| !namespace.is_empty())
}

fn title<K: Resource>(kind: &str, object: &K) -> String {
    match own_namespace(object) {
        Some(namespace) => format!("{kind} {:?} in namespace {namespace:?}", object.name_any()),
        None => format!("{kind} {:?}", object.name_any()),
    }
}

/// Whether both refer to one name, in any version: an owner that was created anew has another uid.
fn is_same_name(a: &OwnerReference, b: &OwnerReference) -> bool {
    let group = |it: &OwnerReference| it.api_version.rsplit_once('/').map(|(group, _)| group.to_owned());
    a.kind == b.kind && a.name == b.name && group(a) == group(b)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod};

    use super::*;
    use crate::{ApiResource, DynamicObject};

    fn object<K: serde::de::DeserializeOwned>(name: &str, namespace: Option<&str>, uid: &str) -> K {
        let metadata = serde_json::json!({ "name": name, "namespace": namespace, "uid": uid });
        serde_json::from_value(serde_json::json!({ "metadata": metadata })).expect("valid")
    }

    #[test]
    fn there_is_one_reference_to_an_owner() {
        let owner: Pod = object("web", Some("shop"), "1");
        let mut map: ConfigMap = object("a", Some("shop"), "2");
        let other = OwnerReference {
            kind: "Node".into(),
            name: "n".into(),
            uid: "9".into(),
            ..OwnerReference::default()
        };
        map.owner_references_mut().extend([owner.owner_ref(&()).expect("stored"), other]);
        let map = map.owned_by(&owner).and_then(|map| map.owned_by(&owner)).expect("same namespace");
        let uids: Vec<_> = map.owner_references().iter().map(|it| (it.uid.as_str(), it.controller)).collect();
        assert_eq!(uids, [("1", Some(true)), ("9", None)]);
        // The owner was deleted and created anew.
        let anew: Pod = object("web", Some("shop"), "3");
        let map = map.owned_by(&anew).expect("the same name");
        let uids: Vec<_> = map.owner_references().iter().map(|it| it.uid.as_str()).collect();
        assert_eq!(uids, ["3", "9"]);
    }

    #[test]
    fn an_object_gets_the_namespace_of_its_owner_if_it_may() {
        let owner: Pod = object("web", Some("shop"), "1");
        assert_eq!(
            ConfigMap::default().owned_by(&owner).expect("valid").namespace().as_deref(),
            Some("shop")
        );
        let node: Node = object("n", None, "2");
        assert_eq!(ConfigMap::default().owned_by(&node).expect("valid").namespace(), None);
        assert!(Namespace::default().owned_by(&node).is_ok());
        // The scope of a dynamic kind is not known.
        let dynamic = DynamicObject::new("d", &ApiResource::erase::<ConfigMap>(&()));
        assert_eq!(dynamic.owned_by(&owner).expect("valid").namespace(), None);
    }

    #[test]
    fn a_dynamic_owner_is_referred_to_by_its_own_kind() {
        let kind = ApiResource::erase::<Pod>(&());
        let mut owner = DynamicObject::new("web", &kind).within("shop");
        owner.metadata.uid = Some("1".into());
        let mut map = ConfigMap::default();
        map.set_controller(&owner, &kind).expect("valid");
        assert_eq!(
            (map.owner_references()[0].kind.as_str(), map.owner_references()[0].api_version.as_str()),
            ("Pod", "v1")
        );
    }

    #[test]
    fn a_wrong_owner_is_an_error_that_names_both_and_changes_nothing() {
        let owner: Pod = object("web", Some("shop"), "1");
        let refused = |map: &mut ConfigMap| {
            let before = map.clone();
            let error = map.set_controller(&owner, &()).expect_err("refused");
            assert_eq!(*map, before);
            error.to_string()
        };
        assert_eq!(
            refused(&mut object("a", Some("blog"), "2")),
            "the object \"a\" in namespace \"blog\" cannot be owned by Pod \"web\" in namespace \"shop\": expected an owner in the same \
             namespace, or a cluster-scoped one",
        );
        let mut controlled = ConfigMap::default().owned_by(&object::<Node>("n", None, "3")).expect("valid");
        assert_eq!(
            refused(&mut controlled),
            "the object \"\" cannot be owned by Pod \"web\" in namespace \"shop\": it has the controller Node \"n\"",
        );
        let namespace: Namespace = object("blog", None, "4");
        assert!(matches!(namespace.owned_by(&owner), Err(OwnerError::ClusterScoped { .. })));
        let fresh = Pod::default();
        assert!(matches!(ConfigMap::default().owned_by(&fresh), Err(OwnerError::NotStored { .. })));
    }
}
