//! The end of a job that cannot run on this machine.

use anyhow::Result;

/// Why a job cannot run on this machine.
#[derive(Debug)]
pub(crate) struct Skipped(String);

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skipped {}

/// Ends the job: it cannot run here.
pub(crate) fn skip<T>(reason: impl Into<String>) -> Result<T> {
    Err(Skipped(reason.into()).into())
}
