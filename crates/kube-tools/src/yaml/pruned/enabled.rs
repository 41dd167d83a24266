//! The steps of pruning, and what the report keeps of them.

use std::fmt;

pub(in crate::yaml) use crate::apply_set::ApplySet as PruneSet;
use crate::apply_set::{ApplySetError, PrunedObject};
use crate::yaml::source::Source;

/// A step of pruning.
#[derive(Debug)]
#[non_exhaustive]
pub enum PruneStep {
    /// An object that is no longer in the set was deleted, or would be.
    Pruned {
        /// The object.
        object: PrunedObject,
        /// Whether it was not deleted, because the run was a dry run.
        dry_run: bool,
    },
    /// An object that is no longer in the set was kept, because another object owns it: its controller may have copied the label of the
    /// set, as from a Service to its EndpointSlices.
    Kept {
        /// The object.
        object: PrunedObject,
        /// Its owner.
        owner: String,
    },
    /// Nothing was pruned, because an object failed or is not ready.
    Skipped,
    /// The set was refused, so that nothing was written; or objects could not be pruned.
    Failed {
        /// Where the object was read that was refused, if it is known.
        source: Option<Source>,
        /// Why.
        error: ApplySetError,
    },
}

impl fmt::Display for PruneStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pruned { object, dry_run: false } => write!(f, "{object} pruned"),
            Self::Pruned { object, dry_run: true } => write!(f, "{object} pruned (server dry run)"),
            Self::Kept { object, owner } => {
                write!(f, "Warning: {object} was not pruned, because {owner} owns it")
            }
            Self::Skipped => {
                f.write_str("nothing was pruned, because not all objects were applied and are ready")
            }
            Self::Failed { source: Some(source), error } => write!(f, "{source}: {error}"),
            Self::Failed { source: None, error } => error.fmt(f),
        }
    }
}

/// What was pruned, and why something was not.
#[derive(Debug, Default)]
pub(in crate::yaml) struct Pruned {
    pub(in crate::yaml) objects: Vec<PrunedObject>,
    pub(in crate::yaml) error: Option<ApplySetError>,
    /// The lines of the objects.
    lines: Vec<String>,
    /// The line of the error, or that nothing was pruned.
    failure: Option<String>,
}

impl Pruned {
    pub(in crate::yaml) fn add(&mut self, step: PruneStep) {
        let line = step.to_string();
        match step {
            PruneStep::Pruned { object, .. } => {
                self.objects.push(object);
                self.lines.push(line);
            }
            PruneStep::Kept { .. } => self.lines.push(line),
            PruneStep::Skipped => self.failure = Some(line),
            PruneStep::Failed { error, .. } => {
                self.error = Some(error);
                self.failure = Some(line);
            }
        }
    }

    /// Why not everything was pruned, in words.
    pub(in crate::yaml) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

/// A line for each step.
impl fmt::Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().chain(&self.failure).try_for_each(|line| writeln!(f, "{line}"))
    }
}
