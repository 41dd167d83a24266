//! The key of an object within its kind.

use super::object_ref::{Lookup, ObjectRef};

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

    pub(crate) fn to_ref<K: Lookup>(&self, dyntype: K::DynamicType) -> ObjectRef<K> {
        let reference = ObjectRef::new_with(&self.name, dyntype);
        match &self.namespace {
            Some(namespace) => reference.within(namespace),
            None => reference,
        }
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
