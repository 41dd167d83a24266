//! [`ApplySetError`]: why a set cannot be applied or pruned.

use kube_client::discovery::RestMapperError;
use thiserror::Error;

use super::object::PrunedObject;

/// Why a set cannot be applied or pruned. Until it is finished, its parent records a superset of its members, so that nothing is lost:
/// the next run finds what this one has left.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ApplySetError {
    /// The parent exists, but is not the parent of this set, or belongs to another tool.
    #[error("{parent} cannot be the parent of the apply set: {message}")]
    Parent {
        /// The parent.
        parent: String,
        /// What was expected.
        message: String,
    },

    /// An object to be applied is in another set.
    #[error(
        "{object} is in another apply set: its label applyset.kubernetes.io/part-of is {other:?}, expected {expected:?} or none"
    )]
    OtherSet {
        /// The object.
        object: String,
        /// The ID of the other set.
        other: String,
        /// The ID of this set.
        expected: String,
    },

    /// It is not known whether the cluster serves the kind of an object, so that the set cannot record it. Nothing was applied.
    #[error("nothing was applied, because {object} could not be recorded in the apply set: {source}")]
    UnknownKind {
        /// The object.
        object: String,
        /// Why.
        source: RestMapperError,
    },

    /// There is no object to apply, so that every member would be deleted. kubectl refuses that too.
    #[error(
        "nothing was pruned: expected at least one object to apply, because without any, all members of the apply set would be deleted"
    )]
    NoObjects,

    /// Some objects could not be pruned. The others were.
    #[error("{} of {} objects could not be pruned: {}", .failures.len(), .failures.len() + .pruned.len(), list(.failures))]
    Prune {
        /// What was deleted.
        pruned: Vec<PrunedObject>,
        /// What was not.
        failures: Vec<PruneFailure>,
    },

    /// The kinds of these groups are not known, because discovery cannot reach them. Nothing was pruned.
    #[error("nothing was pruned: the API groups {} are not available, and the set may have members in them", .0.join(", "))]
    Discovery(Vec<String>),

    /// Another run of the set has begun after this one: it decides what is deleted. What this run has applied stays, and stays recorded.
    #[error(
        "{parent}, the parent of the apply set, was taken over by a later run, that of {by}; this run has deleted {}, and gives up",
        number(.pruned)
    )]
    Overtaken {
        /// The parent.
        parent: String,
        /// Who has written the parent last, and when.
        by: String,
        /// What was deleted before that was noticed.
        pruned: Vec<PrunedObject>,
    },

    /// The parent was changed by someone else, again and again.
    #[error("{0}, the parent of the apply set, is being changed by another program at the same time")]
    Busy(String),

    /// A request has failed.
    #[error("{context}: {source}")]
    Request {
        /// What the request was for.
        context: String,
        /// The error.
        source: kube_client::Error,
    },
}

/// An object that could not be pruned.
#[derive(Debug, Error)]
#[error("{object}: {source}")]
#[non_exhaustive]
pub struct PruneFailure {
    /// The object.
    pub object: PrunedObject,
    /// Why.
    pub source: PruneError,
}

/// Why an object could not be pruned.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PruneError {
    /// The deletion has failed.
    #[error(transparent)]
    Delete(#[from] kube_client::Error),
}

fn number(pruned: &[PrunedObject]) -> String {
    match pruned.len() {
        0 => "nothing".to_owned(),
        1 => "1 object".to_owned(),
        some => format!("{some} objects"),
    }
}

fn list(failures: &[PruneFailure]) -> String {
    failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
