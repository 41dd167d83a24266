//! [`Progress`]: the steps of a run, and how they reach its reader.

use std::fmt;

use futures::channel::mpsc::UnboundedSender;

use super::id::ObjectId;
use super::pruned::PruneStep;
use super::result::{ObjectResult, write_failure};
use super::source::Source;
use crate::ready::Readiness;
use crate::wait::WaitError;

/// A step of a [`Run`](super::Run). `{}` prints a line for it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Progress {
    /// The run waits until a CRD is established and served.
    WaitingForCrd {
        /// The name of the CRD.
        name: String,
    },
    /// An object is done.
    Object {
        /// How many objects are done, with this one.
        done: usize,
        /// The number of objects of the run.
        total: usize,
        /// What became of it.
        result: Box<ObjectResult>,
    },
    /// The readiness of an object that was not ready when it was written: at first, after each change, and when it is ready.
    Readiness {
        /// Which object.
        id: ObjectId,
        /// Whether it is ready, or what it waits for.
        readiness: Readiness,
    },
    /// An object was written and does not become ready. In the report, this is its outcome.
    NotReady {
        /// Which object.
        id: ObjectId,
        /// Where it was read; `None` for an object of the program.
        source: Option<Source>,
        /// Why.
        error: WaitError,
    },
    /// A step of pruning (feature `apply-set`).
    Prune(PruneStep),
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForCrd { name } => write!(f, "waiting for the CRD {name}"),
            Self::Object { done, total, result } => write!(f, "{done}/{total} {result}"),
            Self::Readiness { id, readiness } => write!(f, "{id}: {readiness}"),
            Self::NotReady { id, source, error } => write_failure(f, id, source.as_ref(), error),
            Self::Prune(step) => step.fmt(f),
        }
    }
}

/// Sends the steps of a run to its reader.
pub(super) struct Reporter {
    sender: UnboundedSender<Progress>,
    done: usize,
    total: usize,
}

impl Reporter {
    pub(super) fn new(sender: UnboundedSender<Progress>, total: usize) -> Self {
        Self { sender, done: 0, total }
    }

    pub(super) fn object(&mut self, result: ObjectResult) {
        self.done += 1;
        let (done, total, result) = (self.done, self.total, Box::new(result));
        self.send(Progress::Object { done, total, result });
    }

    pub(super) fn send(&self, step: Progress) {
        // The reader holds the work, so it is there.
        let _ = self.sender.unbounded_send(step);
    }
}
