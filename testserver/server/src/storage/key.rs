//! The key of an object in its resource.

use std::fmt;

/// The key of an object in its resource: `namespace/name`, or the name of a cluster-scoped object. Ordered as in lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(Box<str>);

impl Key {
    pub(crate) fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) => Self(format!("{namespace}/{name}").into()),
            None => Self(name.into()),
        }
    }

    /// The key in a continue token.
    pub(crate) fn raw(text: &str) -> Self {
        Self(text.into())
    }

    /// The lower bound of the keys of a namespace, or of all keys.
    pub(crate) fn first_in(namespace: Option<&str>) -> Self {
        namespace.map_or_else(|| Self::raw(""), |namespace| Self::new(Some(namespace), ""))
    }

    /// The first key after this one.
    pub(crate) fn successor(&self) -> Self {
        Self(format!("{}\0", self.0).into())
    }

    pub(crate) fn is_in(&self, namespace: Option<&str>) -> bool {
        namespace.is_none_or(|ns| self.0.strip_prefix(ns).is_some_and(|rest| rest.starts_with('/')))
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    pub(crate) fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
