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

/// How this program ends where a job was skipped, and what it prints before the reason.
pub(crate) const EXIT_CODE: u8 = 77;
pub(crate) const SKIPPED: &str = "skipped: ";

/// The reason at the end of what a job has printed.
pub(crate) fn reason(output: &str) -> &str {
    let mut lines = output.lines().rev();
    lines.find_map(|line| line.strip_prefix(SKIPPED)).unwrap_or("it does not say why")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_reason_is_that_of_the_last_line() {
        assert_eq!(super::reason("skipped: one\nthen\nskipped: no python3\n"), "no python3");
        assert_eq!(super::reason("nothing"), "it does not say why");
    }
}
