//! Why children were not applied or deleted.

use super::status::ChildrenStatus;
use crate::apply::InvalidChild;
use kube_core::labels::InvalidLabel;

/// A set of children that cannot be applied, whatever the state of the cluster. Retrying is useless. No request was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidChildren {
    /// The owner cannot have children.
    #[error(transparent)]
    Owner(InvalidChild),
    /// One of them cannot be applied as it is.
    #[error("child {name:?}: {error}")]
    Child {
        /// Its name in the set.
        name: String,
        /// Why.
        #[source]
        error: InvalidChild,
    },
    /// Two children have the same name in the set.
    #[error("two children are named {0:?}")]
    SameName(String),
    /// Two children are the same object.
    #[error("the children {first:?} and {second:?} are both {object}")]
    SameObject {
        /// The name of one in the set.
        first: String,
        /// The name of the other.
        second: String,
        /// Kind, name and namespace.
        object: String,
    },
    /// A child comes after one that is not in the set.
    #[error("child {name:?} comes after {after:?}, which is not in the set: expected one of {}", quoted(.known))]
    UnknownAfter {
        /// Its name in the set.
        name: String,
        /// The name that is not in the set.
        after: String,
        /// The names in the set.
        known: Vec<String>,
    },
    /// Children come after each other.
    #[error("the children come after each other in a circle: {}", .0.join(" after "))]
    Cycle(Vec<String>),
    /// The garbage collector does not delete a child outside of the namespace of its owner.
    #[error(
        "child {name:?}, {object}, cannot have a reference to its owner {owner}, so nothing deletes it with the owner: expected a \
         finalizer on the owner, whose cleanup calls Children::delete"
    )]
    NoFinalizer {
        /// Its name in the set.
        name: String,
        /// Kind, name and namespace.
        object: String,
        /// Kind, name and namespace of the owner.
        owner: String,
    },
    /// The name of the set cannot be part of a label.
    #[error("the name {set:?} of a set of children is invalid: {source}")]
    Name {
        /// The name.
        set: String,
        /// Why.
        source: InvalidLabel,
    },
    /// The release of the set is no version.
    #[error(
        "the release {release:?} of the set of children {set:?} is invalid: expected a semantic version such as 1.2.3: {source}"
    )]
    Release {
        /// The name of the set.
        set: String,
        /// The release.
        release: String,
        /// Why.
        source: semver::Error,
    },
}

/// Why children were not applied or deleted. `{}` says which, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildrenError {
    /// The set is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidChildren),
    /// The owner has changed since it was read, was deleted, or replaced: what it wants now is for the next reconcile.
    #[error("{owner} has changed since it was read: {what}")]
    Outdated {
        /// Kind, name and namespace of the owner.
        owner: String,
        /// What is different.
        what: String,
    },
    /// The owner was not read, or the record of its children was not written. No child that needs the record was written.
    #[error("failed to {action} {owner}: {source}")]
    Owner {
        /// What failed.
        action: &'static str,
        /// Kind, name and namespace of the owner.
        owner: String,
        /// The cause.
        source: kube_client::Error,
    },
    /// Some children were not applied, or not deleted. The others were.
    #[error("{0}")]
    Failed(Box<ChildrenStatus>),
    /// [`Children::delete`](super::Children::delete) has not come to its end: call it again later, as the finalizer's cleanup does after
    /// an error.
    #[error("not all children are gone: {0}")]
    Deleting(Box<ChildrenStatus>),
    /// A child has not the type that was asked for.
    #[error("child {name:?} cannot be read as the type that was asked for: {source}")]
    Type {
        /// Its name in the set.
        name: String,
        /// Why.
        source: kube_core::dynamic::ParseDynamicObjectError,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
