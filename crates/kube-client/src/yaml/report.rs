//! [`Report`]: what became of all objects of a run.

use std::fmt;

use super::result::ObjectResult;

/// What became of the objects, in the order in which they were done.
#[derive(Debug, Default)]
pub struct Report {
    results: Vec<ObjectResult>,
}

impl Report {
    pub(super) fn new(results: Vec<ObjectResult>) -> Self {
        Self { results }
    }

    /// The result of each object.
    pub fn results(&self) -> &[ObjectResult] {
        &self.results
    }

    /// The objects with a conflict or an error.
    pub fn failed(&self) -> impl Iterator<Item = &ObjectResult> {
        self.results.iter().filter(|result| !result.is_ok())
    }

    /// The results, if no object failed.
    ///
    /// # Errors
    /// [`IncompleteRun`], which names every object that failed.
    pub fn into_result(self) -> Result<Vec<ObjectResult>, IncompleteRun> {
        if self.failed().next().is_some() { Err(IncompleteRun(self)) } else { Ok(self.results) }
    }
}

/// A line for each object.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.results.iter().try_for_each(|result| writeln!(f, "{result}"))
    }
}

/// Some objects of a run failed. `{}` names each and its reason.
#[derive(Debug)]
pub struct IncompleteRun(pub Report);

impl fmt::Display for IncompleteRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(report) = self;
        write!(f, "{} of {} objects failed: ", report.failed().count(), report.results.len())?;
        for (at, failed) in report.failed().enumerate() {
            write!(f, "{}{failed}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for IncompleteRun {}
