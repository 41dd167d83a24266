//! The key of an object within its kind.

use super::object_ref::{Lookup, ObjectRef, ObjectRefExtra};
use std::fmt;

/// Namespace and name: an [`ObjectRef`] without the kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    pub(crate) namespace: Option<Box<str>>,
    pub(crate) name: Box<str>,
}

impl ObjectKey {
    pub(crate) fn of<K: Lookup + ?Sized>(object: &K) -> Self {
        let namespace = object.namespace().map(|namespace| namespace.as_ref().into());
        Self { namespace, name: object.name().unwrap_or_default().as_ref().into() }
    }

    /// Whether this is the key of `object`.
    pub(crate) fn is_of<K: Lookup + ?Sized>(&self, object: &K) -> bool {
        *self.name == *object.name().unwrap_or_default()
            && self.namespace.as_deref() == object.namespace().as_deref()
    }

    /// Displays the key as an [`ObjectRef`], which is made only if it is displayed.
    pub(crate) fn display_as<'a, K: Lookup>(&'a self, dyntype: &'a K::DynamicType) -> impl fmt::Display
    where
        K::DynamicType: Clone,
    {
        struct DisplayedAs<'a, K: Lookup>(&'a ObjectKey, &'a K::DynamicType);

        impl<K: Lookup<DynamicType: Clone>> fmt::Display for DisplayedAs<'_, K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.to_ref::<K>(self.1.clone()).fmt(f)
            }
        }

        DisplayedAs::<K>(self, dyntype)
    }

    pub(crate) fn to_ref<K: Lookup>(&self, dyntype: K::DynamicType) -> ObjectRef<K> {
        self.clone().into_ref(dyntype)
    }

    /// The reference with this key, which keeps the texts of it.
    pub(crate) fn into_ref<K: Lookup>(self, dyntype: K::DynamicType) -> ObjectRef<K> {
        ObjectRef {
            dyntype,
            name: self.name.into(),
            namespace: self.namespace.map(Into::into),
            extra: ObjectRefExtra::default(),
        }
    }
}

/// As an [`ObjectRef`] is displayed, without the kind.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.namespace.as_ref().map_or(Ok(()), |namespace| write!(f, ".{namespace}"))
    }
}

impl<K: Lookup> From<ObjectRef<K>> for ObjectKey {
    fn from(reference: ObjectRef<K>) -> Self {
        Self { namespace: reference.namespace.map(Into::into), name: reference.name.into() }
    }
}

impl<K: Lookup> From<&ObjectRef<K>> for ObjectKey {
    fn from(reference: &ObjectRef<K>) -> Self {
        Self {
            namespace: reference.namespace.as_deref().map(Into::into),
            name: reference.name.as_str().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_core::ObjectMeta;

    #[test]
    fn it_is_the_key_of_objects_with_the_same_namespace_and_name() {
        let object = |namespace: Option<&str>, name: &str| ConfigMap {
            metadata: ObjectMeta {
                namespace: namespace.map(Into::into),
                name: Some(name.into()),
                ..Default::default()
            },
            ..Default::default()
        };
        let objects =
            [object(Some("x"), "a"), object(None, "a"), object(Some("x"), "b"), ConfigMap::default()];
        for (index, one) in objects.iter().enumerate() {
            for (other_index, other) in objects.iter().enumerate() {
                assert_eq!(ObjectKey::of(one).is_of(other), index == other_index);
            }
        }
    }

    #[test]
    fn displayed_as_a_kind_it_is_a_reference() {
        let reference = ObjectRef::<ConfigMap>::new("a").within("x");
        let key = ObjectKey::from(&reference);
        assert_eq!(key.display_as::<ConfigMap>(&()).to_string(), reference.to_string());
    }

    #[test]
    fn it_is_displayed_like_a_reference_without_the_kind() {
        let key =
            |namespace: Option<&str>| ObjectKey { namespace: namespace.map(Into::into), name: "a".into() };
        assert_eq!((key(Some("x")).to_string(), key(None).to_string()), ("a.x".to_owned(), "a".to_owned()));
    }
}
