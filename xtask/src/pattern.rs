//! Regular expressions that are part of this program.

use regex::Regex;

/// A pattern that is known to be valid.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}
