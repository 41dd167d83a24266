//! Regular expressions: those of this program, and those of data files.

use anyhow::{Context as _, Result};
use regex::Regex;

/// A pattern of this program, which is known to be valid.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// A pattern of a data file, whose `^` and `$` are the ends of a line.
pub(crate) fn lines(pattern: &str) -> Result<Regex> {
    Regex::new(&format!("(?m){pattern}")).with_context(|| pattern.to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn patterns_of_data_files_match_single_lines() {
        assert!(super::lines("^b$").unwrap().is_match("a\nb\nc"));
        assert!(super::lines("(").is_err());
    }
}
