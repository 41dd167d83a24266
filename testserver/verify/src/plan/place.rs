//! Places where a fault can happen.

use std::fmt;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    List,
    Create,
    Update,
    Patch,
    Apply,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub(crate) const ALL: [Self; 8] = [
        Self::Get,
        Self::List,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Apply,
        Self::Delete,
        Self::DeleteCollection,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Apply => "apply",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::List)
    }
}

/// A verb and what it is used on. The name has `*` in place of what is random.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Operation {
    pub(crate) verb: Verb,
    /// The resource and, after a slash, the subresource.
    pub(crate) resource: String,
    /// The name with its namespace, unless that is `default`; for a collection its namespace, or `*` for all.
    pub(crate) name: String,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb.name(), self.resource, self.name)
    }
}

/// The nth request of an operation in a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) operation: Operation,
    /// From 1.
    pub(crate) nth: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}", self.operation, self.nth)
    }
}

/// The nth event of a kind about an object, in the watches of a resource with the same namespace and selectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct EventPlace {
    /// `added`, `modified` or `deleted`.
    pub(crate) kind: String,
    /// The watch: its resource, then the namespace and the selectors, if it has any: `configmaps in shop?labelSelector=app`.
    pub(crate) watch: String,
    /// The name of the object, with its namespace unless that is `default`.
    pub(crate) object: String,
    pub(crate) nth: usize,
}

impl fmt::Display for EventPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} #{} of watch {}", self.kind, self.object, self.nth, self.watch)
    }
}
