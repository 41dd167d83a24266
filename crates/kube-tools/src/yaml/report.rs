//! [`Report`]: what became of all objects of a run.

use std::fmt;

use super::progress::Progress;
use super::pruned::Pruned;
use super::result::{ObjectError, ObjectOutcome, ObjectResult};

/// What became of the objects, in the order in which they were done.
#[derive(Debug, Default)]
pub struct Report {
    results: Vec<ObjectResult>,
    pub(super) pruned: Box<Pruned>,
}

impl Report {
    pub(super) fn new(results: Vec<ObjectResult>) -> Self {
        Self { results, pruned: Box::default() }
    }

    fn add(&mut self, step: Progress) {
        match step {
            Progress::Object { result, .. } => self.results.push(*result),
            Progress::NotReady { id, error, .. } => {
                if let Some(result) = self.results.iter_mut().find(|result| result.id == id && result.is_ok())
                {
                    result.outcome = ObjectOutcome::Failed(ObjectError::Wait(error));
                }
            }
            Progress::Prune(step) => self.pruned.add(step),
            Progress::WaitingForCrd { .. } | Progress::Readiness { .. } => {}
        }
    }

    fn is_ok(&self) -> bool {
        self.failed().next().is_none() && self.pruned.failure().is_none()
    }

    /// The result of each object.
    pub fn results(&self) -> &[ObjectResult] {
        &self.results
    }

    /// The objects with a conflict or an error, and those that are not ready if the run waits for that.
    pub fn failed(&self) -> impl Iterator<Item = &ObjectResult> {
        self.results.iter().filter(|result| !result.is_ok())
    }

    /// The results, if no object failed, and what was to be pruned was.
    ///
    /// # Errors
    /// [`IncompleteRun`], which names every object that failed.
    pub fn into_result(self) -> Result<Vec<ObjectResult>, IncompleteRun> {
        if self.is_ok() { Ok(self.results) } else { Err(IncompleteRun(self)) }
    }
}

/// From the steps of a [`Run`](super::Run).
impl Extend<Progress> for Report {
    fn extend<I: IntoIterator<Item = Progress>>(&mut self, steps: I) {
        steps.into_iter().for_each(|step| self.add(step));
    }
}

/// A line for each object, then one for each that was pruned.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.results.iter().try_for_each(|result| writeln!(f, "{result}"))?;
        self.pruned.fmt(f)
    }
}

/// Some objects of a run failed, or could not be pruned. `{}` names each and its reason.
#[derive(Debug)]
pub struct IncompleteRun(pub Report);

impl fmt::Display for IncompleteRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(report) = self;
        let (failed, mut separator) = (report.failed().count(), "");
        if failed > 0 {
            write!(f, "{failed} of {} objects failed: ", report.results.len())?;
        }
        for failed in report.failed() {
            write!(f, "{separator}{failed}")?;
            separator = "; ";
        }
        match report.pruned.failure() {
            Some(failure) => write!(f, "{separator}{failure}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for IncompleteRun {}
