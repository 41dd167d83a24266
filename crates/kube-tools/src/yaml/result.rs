//! [`ObjectResult`]: what became of one object.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube_client::discovery::{ApiResource, RestMapperError};
use kube_client::error::{Error, FieldConflict};
use kube_core::DynamicObject;

use super::id::ObjectId;
use super::source::{Source, origin};
use crate::crds::CrdError;
use crate::wait::WaitError;

/// What became of one object in a run of an [`Applier`](super::Applier).
///
/// `{}` prints a line such as `deployment.apps/web configured`; for an object that failed also its namespace, its source and the reason.
#[derive(Debug)]
#[non_exhaustive]
pub struct ObjectResult {
    /// Which object.
    pub id: ObjectId,
    /// Its kind as the cluster serves it; `None` if the cluster does not.
    pub resource: Option<ApiResource>,
    /// Where it was read; `None` for an object of the program.
    pub source: Option<Source>,
    /// What was done.
    pub outcome: ObjectOutcome,
    /// Whether nothing was stored, because the run was a dry run.
    pub dry_run: bool,
    /// The object as it was before; `None` if it did not exist, or is not known.
    pub before: Option<Box<DynamicObject>>,
    /// The object as the server stored it, or would store it; `None` if it failed or was deleted.
    pub after: Option<Box<DynamicObject>>,
}

impl ObjectResult {
    /// Whether the object is as it should be: neither a conflict nor an error.
    pub fn is_ok(&self) -> bool {
        !matches!(self.outcome, ObjectOutcome::Conflict(_) | ObjectOutcome::Failed(_))
    }

    /// What kubectl warns of after an apply, in its words: that the object is being deleted. `{}` has it at the end of the line.
    pub fn warning(&self) -> Option<String> {
        let is_deleted = self.after.as_deref()?.metadata.deletion_timestamp.is_some();
        let name = &self.id.name;
        is_deleted.then(|| {
            format!("Warning: Detected changes to resource {name} which is currently being deleted.")
        })
    }
}

impl fmt::Display for ObjectResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_ok() {
            let dry_run = if self.dry_run { " (server dry run)" } else { "" };
            write!(f, "{} {}{dry_run}", self.id, self.outcome)?;
            return self.warning().map_or(Ok(()), |warning| write!(f, " ({warning})"));
        }
        write_failure(f, &self.id, self.source.as_ref(), &self.outcome)
    }
}

/// The line of an object that failed.
pub(super) fn write_failure(
    f: &mut fmt::Formatter<'_>,
    id: &ObjectId,
    source: Option<&Source>,
    reason: &impl fmt::Display,
) -> fmt::Result {
    f.write_str(&id.in_words())?;
    if let Some(source) = source {
        write!(f, " ({source})")?;
    }
    write!(f, ": {reason}")
}

/// What was done with an object.
#[derive(Debug)]
#[non_exhaustive]
pub enum ObjectOutcome {
    /// It did not exist, and was created.
    Created,
    /// It existed, and was changed.
    Configured,
    /// It was already as wanted.
    Unchanged,
    /// It was deleted, and is gone if the run waits for that.
    Deleted,
    /// It was to be deleted, and did not exist.
    NotFound,
    /// Other field managers own fields that the apply would change. Nothing was changed; `PatchParams::force` takes the fields.
    Conflict(Vec<FieldConflict>),
    /// It failed.
    Failed(ObjectError),
}

impl fmt::Display for ObjectOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created => f.write_str("created"),
            Self::Configured => f.write_str("configured"),
            Self::Unchanged => f.write_str("unchanged"),
            Self::Deleted => f.write_str("deleted"),
            Self::NotFound => f.write_str("not found"),
            Self::Conflict(conflicts) => {
                f.write_str("conflict: other managers own ")?;
                for (at, conflict) in conflicts.iter().enumerate() {
                    write!(f, "{}{conflict}", if at == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::Failed(err) => err.fmt(f),
        }
    }
}

/// Why an object failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The cluster does not serve the kind, or discovery failed.
    #[error("{0}")]
    Kind(#[source] RestMapperError),
    /// The server refused it, or could not be reached.
    #[error("{0}")]
    Request(#[source] Error),
    /// It has only a `generateName`, so that it can be created and nothing else.
    #[error("metadata.name: missing; an object with a generateName can only be created")]
    NoName,
    /// An object of the same set is the same, once it has the default namespace.
    #[error("the same object occurs twice: expected it once, here or in {}", origin(.0.as_ref()))]
    Duplicate(Option<Source>),
    /// The CRD of the same set is not served.
    #[error("{0}")]
    Crd(#[source] Arc<CrdError>),
    /// The CRD of the same set has the kind, and a dry run does not install it.
    #[error("a dry run does not install the CRD {0}, so its objects cannot be tried")]
    CrdNotInstalled(String),
    /// It was written, and does not become ready; or it is being deleted, and cannot be watched.
    #[error("{0}")]
    Wait(#[source] WaitError),
    /// It is being deleted, and was not gone in time.
    #[error("deleted, but not gone after {} s: {}", waited.as_secs(), kept_by(finalizers, conditions))]
    NotGone {
        /// For how long the run waited.
        waited: Duration,
        /// Its finalizers.
        finalizers: Vec<String>,
        /// What its conditions say about the deletion, as those of a namespace do.
        conditions: Vec<String>,
    },
    /// Its namespace is one of the same set, and a dry run does not create it.
    #[error("namespaces {0:?} not found: a dry run does not create it, so what is in it cannot be tried")]
    NamespaceNotCreated(String),
}

fn kept_by(finalizers: &[String], conditions: &[String]) -> String {
    let names = (!finalizers.is_empty()).then(|| format!("it has the finalizers {}", finalizers.join(", ")));
    let reasons: Vec<_> = names.iter().chain(conditions).map(String::as_str).collect();
    if reasons.is_empty() { "it has no finalizers".to_owned() } else { reasons.join("; ") }
}
