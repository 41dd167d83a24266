//! The key of an object within its kind.

use super::object_ref::{Lookup, ObjectRef};
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

    pub(crate) fn to_ref<K: Lookup>(&self, dyntype: K::DynamicType) -> ObjectRef<K> {
        let reference = ObjectRef::new_with(&self.name, dyntype);
        match &self.namespace {
            Some(namespace) => reference.within(namespace),
            None => reference,
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

    #[test]
    fn it_is_displayed_like_a_reference_without_the_kind() {
        let key =
            |namespace: Option<&str>| ObjectKey { namespace: namespace.map(Into::into), name: "a".into() };
        assert_eq!((key(Some("x")).to_string(), key(None).to_string()), ("a.x".to_owned(), "a".to_owned()));
    }
}
